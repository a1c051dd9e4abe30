#!/usr/bin/python
# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An API key of a GPUStack server, with a secret that the site chose."""

from __future__ import annotations

DOCUMENTATION = r"""
module: api_key
short_description: Manage an API key of a GPUStack server
version_added: 0.1.0
description:
  - Makes an API key with a secret of your own, for example from a vault. So the same task makes the same key again, and
    clients keep working.
  - Keys with a secret that GPUStack chooses are not made, because it tells the secret only once. The other options can
    be managed for such a key too.
  - Making a key needs GPUStack 2.2 or later, because earlier ones choose the secret.
  - GPUStack cannot change the secret or the life of a key. When O(secret) or O(expires_in) asks for another one, the
    key is deleted and made again. It keeps what the task does not name, gets a new id, and does not work for a moment.
    Without O(secret) that is not possible, and such a task fails.
  - Write O(scope) and the other limits of the key into such a task. A run that is killed after the deletion leaves no
    key, and the next one makes it from the task alone.
author:
  - InferOps contributors (@inferops)
extends_documentation_fragment:
  - inferops.gpustack.auth
  - inferops.gpustack.auth.requests
  - inferops.gpustack.attributes
  - inferops.gpustack.resource
attributes:
  check_mode:
    details:
      - A secret is tried out in check mode too, of which nothing lasts.
      - When the server refuses another O(username) than the administrator's, check mode warns and counts it as a user
        that an earlier task makes.
  diff_mode:
    details: Of a secret the diff shows only whether it changes.
options:
  name:
    description: Name of the key. It is unique among the keys of a user.
    type: str
    required: true
  user:
    description:
      - Name of the user whose key it is. The user that the task connects as, when unset.
      - An administrator can change and delete keys of others. GPUStack makes keys only for the user that connects, so
        to make one for another user set O(username) and O(password) to that user's.
      - Needs GPUStack 2.2 or later.
    type: str
  secret:
    description:
      - What clients send as their API key. It is needed to make a key.
      - Visible ASCII characters without blanks. No two keys of a server can have the same.
      - Whether a key has it is found out by using it.
    type: str
  scope:
    description:
      - What the key may be used for. V(*) is everything, and what GPUStack gives a key when unset.
      - It cannot be empty. GPUStack would take that, and the key would open nothing.
      - Needs GPUStack 2.2 or later.
    type: list
    elements: str
    choices: ["*", management, inference]
  allowed_model_names:
    description: Names of the routes the key may use. An empty list is all that the user may use.
    type: list
    elements: str
  description:
    description: Text for people.
    type: str
  expires_in:
    description:
      - Seconds that the key lives, counted from when it is made. V(0) is for ever, and so is a key made without it.
      - A difference of up to a minute is none, because the server does not count exactly.
      - A key that expired is made again, when both O(secret) and this option are set.
    type: int
  state:
    description: Whether the key shall exist.
    type: str
    choices: [present, absent]
    default: present
seealso:
  - module: inferops.gpustack.api_key_info
  - module: inferops.gpustack.user
"""

EXAMPLES = r"""
- name: Make the key of the chat portal, which may use one model
  inferops.gpustack.api_key:
    url: http://10.0.0.10
    password: "{{ gpustack_admin_password }}"
    name: chat-portal
    secret: "{{ vault_chat_portal_key }}"
    scope: [inference]
    allowed_model_names: [deepseek-v4-flash]

- name: Make the user that a key is for
  inferops.gpustack.user:
    url: http://10.0.0.10
    password: "{{ gpustack_admin_password }}"
    name: ci-runner
    user_password: "{{ vault_ci_runner_password }}"

- name: Make the key, connected as that user, because a key belongs to the user that connects
  inferops.gpustack.api_key:
    url: http://10.0.0.10
    username: ci-runner
    password: "{{ vault_ci_runner_password }}"
    user: ci-runner
    name: pipeline
    secret: "{{ vault_pipeline_key }}"
    expires_in: 2592000

- name: Delete a key of another user
  inferops.gpustack.api_key:
    url: http://10.0.0.10
    password: "{{ gpustack_admin_password }}"
    user: ci-runner
    name: pipeline
    state: absent
"""

RETURN = r"""
api_key:
  description: The key, without its secret. Empty when it is absent.
  returned: success
  type: dict
  sample:
    id: 7
    name: chat-portal
    user: admin
    description: null
    scope: [inference]
    allowed_model_names: [deepseek-v4-flash]
    is_custom: true
    expires_at: null
actions:
  description: What was done, or would be done in check mode.
  returned: success
  type: list
  elements: str
  sample: ["replace api key: secret"]
"""

import datetime
import re
import uuid

from ansible_collections.inferops.gpustack.plugins.module_utils import _args, _release, _resource, _resource_module
from ansible_collections.inferops.gpustack.plugins.module_utils._client import ApiKey
from ansible_collections.inferops.gpustack.plugins.module_utils._errors import ApiError, GpustackError
from ansible_collections.inferops.gpustack.plugins.module_utils._resource import Field, same_members
from ansible_collections.inferops.gpustack.plugins.module_utils._views import api_key_view

ME = "/v2/users/me"
ADMINISTRATOR = "admin"
SCOPES = ["*", "management", "inference"]
#: The server counts from before it hashes the secret, and dates the key after it.
TOLERANCE = 60
DUPLICATE = re.compile(r"existing key (?P<name>.*) \(id: (?P<id>\d+),", re.DOTALL)
DEACTIVATED = "User account is deactivated"


def same_life(wanted, current):
    if wanted <= 0 or current is None:
        return wanted <= 0 and current is None
    return abs(wanted - current) <= TOLERANCE


def prepare(payload, wanted, current):
    if current:
        # The server ignores both in a PUT (T11).
        payload = {key: value for key, value in payload.items() if key not in ("custom", "expires_in")}
    return payload


API_KEY = _resource.Resource(
    kind="api key",
    path="/v2/api-keys",
    fields=(
        Field("name", spec={"required": True}),
        Field("secret", api_name="custom", secret=True, needed=True),
        Field("scope", type="list", compare=same_members, spec={"elements": "str", "choices": SCOPES}),
        Field("allowed_model_names", type="list", compare=same_members, spec={"elements": "str"}),
        Field("description", default_none=True),
        Field("expires_in", type="int", compare=same_life),
    ),
    prepare=prepare,
    view=api_key_view,
)


def checked(wanted):
    if wanted.get("scope") == []:
        raise GpustackError(
            f"scope of api key {wanted['name']} is empty, and such a key opens nothing.",
            reason="Invalid",
            hint=f"Name what it may be used for: {', '.join(SCOPES)}.",
        )
    if "secret" in wanted and not re.fullmatch(r"[!-~]+", wanted["secret"]):
        raise GpustackError(
            f"secret of api key {wanted['name']} is empty, or has characters that an HTTP header cannot carry.",
            reason="Invalid",
            hint="Use visible ASCII characters without blanks.",
        )
    return wanted


def check_release(client, params, keys):
    """Servers before 2.2 drop these options without a word (T24)."""
    names = ("secret", "scope", "user") if params["state"] == "present" else ("user",)
    asked = [name for name in names if params[name] is not None]
    if asked and not any("is_custom" in one for one in keys):
        _release.need(client, (2, 2), f"{' and '.join(asked)} of api key {params['name']}")


def keys_of(client, user):
    """The keys of that user, else those of the user that connects (T12)."""
    keys = client.list_all(API_KEY.path, user_id="*" if user else None)
    return [one for one in keys if user is None or "user_name" not in one or one["user_name"] == user]


def of_name(keys, name):
    """The list's filter `name` does nothing (T13). A key made within an organization is another one."""
    found = [one for one in keys if one["name"] == name]
    found.sort(key=lambda one: one.get("owner_principal_id") is not None)
    return dict(found[0], expires_in=life(found[0])) if found else None


def moment(text):
    parsed = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=datetime.timezone.utc)


def life(key):
    if not key.get("expires_at"):
        return None
    return round((moment(key["expires_at"]) - moment(key["created_at"])).total_seconds())


def seconds_left(key):
    """None for ever, 0 when it is over. By this host's clock, which may differ from the server's."""
    if not key.get("expires_at"):
        return None
    left = moment(key["expires_at"]) - datetime.datetime.now(datetime.timezone.utc)
    return max(0, int(left.total_seconds()))


def opens(module, secret):
    """Whether the server takes it as the API key of anybody."""
    try:
        _args.connect(module, auth=ApiKey(secret)).get(ME)
    except ApiError as error:
        if error.status not in (401, 403):
            raise
        # 403 is a key that may not be used for this; a deactivated user is told only to who has the right key.
        return error.status == 403 or error.api_message == DEACTIVATED
    return True


def holder(module, client, secret):
    """`(id, name)` of the key with this secret, or None.

    A secret that opens the server may be that of another key. The server tells which when one tries to make a second
    key with it, and refuses that (T8).
    """
    return second_key(client, secret) if opens(module, secret) else None


def second_key(client, secret):
    """Try to make a second key with this secret: `(id, name)` of the first one, or None."""
    second = {"name": uuid.uuid4().hex, "custom": secret, "expires_in": 1}
    try:
        made = client.post(API_KEY.path, second)
    except ApiError as error:
        found = DUPLICATE.search(error.api_message)
        if error.status != 409 or not found:
            raise
        return int(found["id"]), found["name"]
    # No key has it. What opens the server all the same is the registration token of its first cluster.
    _resource.delete(client, f"{API_KEY.path}/{made['id']}")
    return None


def with_secret(module, client, wanted, current):
    """The current key, with its secret as a field like any other: the one that opens it."""
    held = holder(module, client, wanted["secret"])
    check_own(held, wanted, current)
    return current and dict(current, custom=wanted["secret"] if held else None)


def check_own(held, wanted, current):
    if held and (current is None or held[0] != current["id"]):
        raise GpustackError(
            f"secret of api key {wanted['name']} is that of another key already: {held[1]} (id {held[0]}).",
            reason="AlreadyExists",
            hint="Give each key a secret of its own.",
        )


def reason_to_replace(wanted, current):
    """Why the key has to be made again, or None."""
    changes = _resource.differences(API_KEY, wanted, current)
    if "secret" in changes and seconds_left(current) == 0:
        if "expires_in" not in wanted:
            raise GpustackError(
                f"api key {wanted['name']} expired at {current['expires_at']}.",
                reason="Expired",
                hint="Set expires_in to how long it shall live from now on, 0 for ever; or delete the key.",
            )
        return "expired"
    return ", ".join(one for one in ("secret", "expires_in") if one in changes) or None


def _when(key):
    return f"at {key['expires_at']}" if key.get("expires_at") else "never"


def check_replaceable(module, client, wanted, current):
    if "secret" not in wanted:
        raise GpustackError(
            f"api key {wanted['name']} expires {_when(current)}, and expires_in {wanted['expires_in']} is asked for. "
            "GPUStack cannot change that.",
            reason="WriteOnce",
            hint="Set secret too: the key is then made again with it. Or leave expires_in unset.",
        )
    connection = module.params["api_key"]
    if connection and (holder(module, client, connection) or [None])[0] == current["id"]:
        raise GpustackError(
            f"api key {wanted['name']} has to be made again, and is the one this task connects with.",
            reason="Conflict",
            hint="Connect with a password, or with another key.",
        )


def check_maker(client, params):
    """Keys belong to who makes them."""
    me = client.get(ME)["username"] if params["user"] else None
    if params["user"] != me:
        raise GpustackError(
            f"api key {params['name']} of user {params['user']} cannot be made by {me}: GPUStack makes keys for the "
            "user that connects.",
            reason="Forbidden",
            hint=f"Set username to {params['user']}, and password.",
        )


def replace(client, wanted, current, why, check_mode):
    kept = {one.name: current[one.key] for one in API_KEY.fields if one.name != "secret" and one.key in current}
    if kept["expires_in"] is not None:
        # 0 would be for ever.
        kept["expires_in"] = max(1, seconds_left(current))
    if not check_mode:
        # That of a key that expired opens nothing, and yet no other key can have it.
        check_own(second_key(client, wanted["secret"]), wanted, current)
        _resource.delete(client, f"{API_KEY.path}/{current['id']}")
    made = _resource.sync(client, API_KEY, dict(kept, **wanted), None, check_mode)
    return dict(made, diff=_resource.diff_of(API_KEY, wanted, current), actions=[f"replace api key: {why}"])


def may_come_in_this_run(module, error):
    """Check mode has not made the user that the task connects as."""
    as_user = not module.params["api_key"] and module.params["username"] != ADMINISTRATOR
    return module.check_mode and error.status == 401 and as_user


def body(module, client):
    params = module.params
    wanted = _resource_module.desired(module, API_KEY, checked)
    try:
        keys = keys_of(client, params["user"])
    except ApiError as error:
        if not may_come_in_this_run(module, error):
            raise
        module.warn(f"{error.message}. Check mode counts {params['username']} as a user that an earlier task makes.")
        return _resource_module.report(API_KEY, _resource.sync(client, API_KEY, wanted, None, check_mode=True))
    check_release(client, params, keys)
    current = of_name(keys, params["name"])
    why = None
    if wanted:
        wanted = _resource.settled(API_KEY, wanted, current, params["comparisons"])
        if "secret" in wanted:
            current = with_secret(module, client, wanted, current)
        if current is None:
            check_maker(client, params)
        else:
            why = reason_to_replace(wanted, current)
    if why:
        check_replaceable(module, client, wanted, current)
        check_maker(client, params)
        result = replace(client, wanted, current, why, module.check_mode)
    else:
        result = _resource.sync(client, API_KEY, wanted, current, module.check_mode)
    return _resource_module.report(API_KEY, result)


def main():
    _resource_module.run(API_KEY, checked, extra_options={"user": {"type": "str"}}, body=body)


if __name__ == "__main__":
    main()
