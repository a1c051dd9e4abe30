#!/usr/bin/python
# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A user of a GPUStack server, its password included."""

from __future__ import annotations

DOCUMENTATION = r"""
module: user
short_description: Manage a user of a GPUStack server
version_added: 0.1.0
description:
  - Makes, changes or removes a user, and sets its password. Needs the credentials of an administrator.
  - The last active administrator is never removed, deactivated or made a plain user.
author:
  - InferOps contributors (@inferops)
extends_documentation_fragment:
  - inferops.gpustack.auth
  - inferops.gpustack.auth.requests
  - inferops.gpustack.attributes
  - inferops.gpustack.resource
  - inferops.gpustack.resource.rename
attributes:
  check_mode:
    details: A password is tried out in check mode too, which changes nothing.
  diff_mode:
    details: Of a password the diff shows only whether it changes.
options:
  name:
    description:
      - Name with which the user signs in. The API calls it C(username).
      - It may be the user of O(username), with which the task connects.
    type: str
    required: true
  full_name:
    description: Name for people.
    type: str
  is_admin:
    description: Whether the user is an administrator. A new user is not, unless this is V(true).
    type: bool
  is_active:
    description: Whether the user can sign in. A new user can, unless this is V(false).
    type: bool
  user_password:
    description:
      - Password of the user O(name). It is not O(password), which is for the connection.
      - It is needed to make a user.
      - It needs an upper-case letter, a lower-case letter, a digit, and one of the characters V(!@#$%^&*_+.), of which
        GPUStack before 2.3 does not count the full stop.
    type: str
  update_password:
    description:
      - V(on_create) sets O(user_password) only when the user is made.
      - V(always) tries to sign in with it, and sets it when that is refused. So nothing changes while it is right, also
        when the user is not active.
      - When the task changes the password of the user it connects with, it works again with the old O(password) too.
    type: str
    choices: [on_create, always]
    default: on_create
  require_password_change:
    description:
      - Whether the user interface asks for a new password at the next login. The API does not enforce it.
      - GPUStack writes it only with a password, so O(user_password) has to be set, and has to be right unless
        O(update_password=always).
      - The default is V(false) for a new user and with O(update_password=always). Otherwise it is not managed when
        unset.
    type: bool
  state:
    description: Whether the user shall exist. GPUStack removes with a user all that it owns, such as its API keys.
    type: str
    choices: [present, absent]
    default: present
seealso:
  - module: inferops.gpustack.user_info
  - module: inferops.gpustack.api_key
"""

EXAMPLES = r"""
- name: Make a user who chooses an own password at the first login
  inferops.gpustack.user:
    url: http://10.0.0.10
    password: "{{ gpustack_admin_password }}"
    name: li.wei
    full_name: Li Wei
    user_password: "{{ vault_li_wei_password }}"
    require_password_change: true

- name: Keep the account of a service, and its password, as they are in the vault
  inferops.gpustack.user:
    url: http://10.0.0.10
    password: "{{ gpustack_admin_password }}"
    name: chat-portal
    user_password: "{{ vault_chat_portal_password }}"
    update_password: always

- name: Deactivate a user
  inferops.gpustack.user:
    url: http://10.0.0.10
    password: "{{ gpustack_admin_password }}"
    name: li.wei
    is_active: false
"""

RETURN = r"""
user:
  description: The user, without its password. Empty when it is absent.
  returned: success
  type: dict
  sample:
    id: 4
    name: li.wei
    full_name: Li Wei
    is_admin: false
    is_active: true
    require_password_change: true
    source: Local
actions:
  description: What was done, or would be done in check mode.
  returned: success
  type: list
  elements: str
  sample: ["update user: user_password"]
"""

from ansible_collections.inferops.gpustack.plugins.module_utils import (
    _args,
    _password_policy,
    _resource,
    _resource_module,
)
from ansible_collections.inferops.gpustack.plugins.module_utils._client import Basic
from ansible_collections.inferops.gpustack.plugins.module_utils._errors import ApiError, GpustackError
from ansible_collections.inferops.gpustack.plugins.module_utils._resource import Field
from ansible_collections.inferops.gpustack.plugins.module_utils._views import user_view

ME = "/v2/users/me"
DEACTIVATED = "User account is deactivated"


def prepare(payload, wanted, current):
    """A password is sent only when it changes, or when the flag does, which goes only with a password."""
    flag = "require_password_change"
    if current and (payload.get("password"), payload.get(flag)) == (current.get("password"), current.get(flag)):
        payload.pop("password", None)
    return payload


USER = _resource.Resource(
    kind="user",
    path="/v2/users",
    fields=(
        Field("name", api_name="username", spec={"required": True}),
        Field("full_name", default_none=True),
        Field("is_admin", type="bool"),
        Field("is_active", type="bool"),
        Field("user_password", api_name="password", secret=True, needed=True),
        Field("require_password_change", type="bool", spec={"no_log": False}),
    ),
    lookup="search",
    rename=True,
    echo=("avatar_url",),
    prepare=prepare,
    view=user_view,
)


def checked(wanted):
    password = wanted.get("user_password")
    missing = [] if password is None else _password_policy.missing(password)
    if missing:
        raise GpustackError(
            f"user_password of user {wanted['name']} lacks {', '.join(missing)}",
            reason="Invalid",
            hint="GPUStack wants an upper-case letter, a lower-case letter, a digit and one of "
            f"{_password_policy.SYMBOLS}",
        )
    return wanted


def is_own(module):
    """Whether the task manages the user it connects with, by password."""
    return not module.params["api_key"] and module.params["username"] == module.params["name"]


def connected(module, client):
    """The client, with the new password when an earlier run set it already."""
    password = module.params["user_password"]
    if not (is_own(module) and password and module.params["update_password"] == "always"):
        return client
    try:
        client.get(ME)
    except ApiError as error:
        renewed = _args.connect(module, auth=Basic(module.params["username"], password))
        if error.status != 401 or not opens(renewed.get, ME):
            raise
        return renewed
    return client


def opens(ask, *arguments):
    """Whether the server takes the credentials of this request. It says "deactivated" only when they are right."""
    try:
        ask(*arguments)
    except ApiError as error:
        if error.status != 401:
            raise
        return error.api_message == DEACTIVATED
    return True


def with_password(client, wanted, current, always):
    """`(wanted, current)` in which the password is a field like any other.

    GPUStack tells no password, so the one that signs in is the current one.
    """
    wanted = dict(wanted)
    password = wanted.pop("user_password", None)
    if always and password:
        wanted.setdefault("require_password_change", False)
    changes = _resource.differences(USER, wanted, current)
    flag = "require_password_change" in changes
    if not flag and not (always and password):
        return wanted, current
    name = current["username"]
    if current.get("source") not in (None, "Local"):
        raise GpustackError(
            f"User {name} signs in through {current['source']} and has no password in GPUStack.",
            reason="Conflict",
            hint="Set neither update_password nor require_password_change for it.",
        )
    if not password:
        raise GpustackError(
            f"require_password_change of user {name} shall become {wanted['require_password_change']}, "
            "which GPUStack writes only with a password.",
            reason="Invalid",
            hint="Set user_password to the password the user has.",
        )
    right = opens(client.post_form, "/auth/login", {"username": name, "password": password})
    if not right and not always:
        raise GpustackError(
            f"require_password_change of user {name} shall become {wanted['require_password_change']}, "
            "which GPUStack writes only with a password, and user_password is not the one the user has.",
            reason="Conflict",
            hint="Set update_password to always to give the user this password.",
        )
    return dict(wanted, user_password=password), dict(current, password=password if right else None)


def keep_an_administrator(client, wanted, current):
    """The server lets the last administrator be made a plain user, after which nobody could manage it."""
    stays = wanted is not None and wanted.get("is_admin", True) and wanted.get("is_active", True)
    if stays or not (current and current["is_admin"] and current["is_active"]):
        return
    users = client.list_all(USER.path)
    if not any(one["is_admin"] and one["is_active"] and one["id"] != current["id"] for one in users):
        raise GpustackError(
            f"User {current['username']} is the only active administrator of {client.url}, and has to stay one.",
            reason="Conflict",
            hint="Make another administrator first.",
        )


def complete(client, wanted, made):
    """GPUStack 2.1 drops this flag of a new user."""
    flag = "require_password_change"
    if wanted.get(flag, made[flag]) == made[flag]:
        return made
    return client.put(f"{USER.path}/{made['id']}", _resource.update_payload(USER, wanted, made))


def make_deletable(client, current, check_mode):
    """The server counts the active administrators, and so takes an inactive one for the only one."""
    if current["is_admin"] and not current["is_active"] and not check_mode:
        demoted = _resource.update_payload(USER, {"is_admin": False}, current)
        client.put(f"{USER.path}/{current['id']}", demoted)


def forget_first_password(module, wanted):
    """Only this request makes the server remove its file with the first password, which is of no use any more."""
    name, password = wanted["name"], wanted["user_password"]
    body = {"current_password": password, "new_password": password}
    _args.connect(module, auth=Basic(name, password)).post("/auth/update-password", body, repeatable=True)


def body(module, client):
    client = connected(module, client)
    wanted, current = _resource_module.prepared(module, client, USER, checked)
    keep_an_administrator(client, wanted, current)
    if current and wanted is None:
        make_deletable(client, current, module.check_mode)
    if wanted and current:
        wanted, current = with_password(client, wanted, current, module.params["update_password"] == "always")
    changes = _resource.differences(USER, wanted, current) if wanted and current else {}
    result = _resource.sync(client, USER, wanted, current, module.check_mode)
    if wanted and current is None and not module.check_mode:
        result["object"] = complete(client, wanted, result["object"])
    if is_own(module) and "user_password" in changes and not module.check_mode:
        forget_first_password(module, wanted)
    return _resource_module.report(USER, result)


def main():
    when = {"type": "str", "choices": ["on_create", "always"], "default": "on_create", "no_log": False}
    _resource_module.run(USER, checked, extra_options={"update_password": when}, body=body)


if __name__ == "__main__":
    main()
