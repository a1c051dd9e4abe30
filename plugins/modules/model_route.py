#!/usr/bin/python
# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A route: the name clients use, and the deployments behind it."""

from __future__ import annotations

DOCUMENTATION = r"""
module: model_route
short_description: Manage a route of a GPUStack server
version_added: 0.1.0
description:
  - Creates, changes or deletes a route, which is the model name that clients send, its targets, and who may use it.
  - A target that stays keeps its number and everything that this module does not manage.
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
    details: A deployment or a user that does not exist yet is a warning in check mode.
options:
  name:
    description:
      - Name of the route. It starts with a letter, ends with a letter or a digit, and has letters, digits, V(_), V(-),
        V(.) and V(:) in between. GPUStack 2.1 does not take V(:).
    type: str
    required: true
  state:
    description: Whether the route shall exist.
    type: str
    choices: [present, absent]
    default: present
  description:
    description: Text for people.
    type: str
  categories:
    description: Kinds of the models behind the route. Their order does not matter.
    type: list
    elements: str
    choices: [llm, embedding, image, reranker, speech_to_text, text_to_speech, unknown]
  targets:
    description:
      - The deployments behind the route. They replace all the route has, in any order.
      - With the comparison V(allow_more_present) other targets of the route stay.
      - Weights are either all positive or all V(0). The server refuses a mixture. A fallback does not count.
    type: list
    elements: dict
    suboptions:
      model:
        description: Name of the deployment.
        type: str
        required: true
      weight:
        description: Share of the requests, relative to the other targets.
        type: int
        default: 1
      fallback_status_codes:
        description:
          - Makes the target the fallback of the route, which is asked when another one answers with such a status.
          - One target of a route can be the fallback. An empty list makes it an ordinary target.
          - A new target without it is an ordinary target.
        type: list
        elements: str
        choices: [4xx, 5xx]
  access_policy:
    description:
      - Who may use the route. V(public) is everybody, V(authed) is every user and key of the server,
        V(allowed_principals) is O(users), and organizations and groups that were allowed elsewhere.
      - A new route is V(authed) when it is not set.
    type: str
    choices: [public, authed, allowed_principals]
  users:
    description:
      - Names of the users who may use the route. They have an effect with O(access_policy=allowed_principals) only.
      - Organizations and groups stay as they are.
    type: list
    elements: str
"""

EXAMPLES = r"""
- name: Two deployments of one model
  inferops.gpustack.model:
    url: http://10.0.0.10
    password: "{{ gpustack_admin_password }}"
    name: "{{ item }}"
    cluster: lab
    local_path: /srv/models/DeepSeek-V4-Flash-0731
    replicas: 0
  loop: [deepseek-v4-flash-nvidia_h20_3e, deepseek-v4-flash-ascend_910b]

- name: Three of four requests go to the H20 workers
  inferops.gpustack.model_route:
    url: http://10.0.0.10
    password: "{{ gpustack_admin_password }}"
    name: deepseek-v4-flash
    targets:
      - {model: deepseek-v4-flash-nvidia_h20_3e, weight: 3}
      - {model: deepseek-v4-flash-ascend_910b, weight: 1}

- name: The Ascend workers only answer when the H20 workers fail
  inferops.gpustack.model_route:
    url: http://10.0.0.10
    password: "{{ gpustack_admin_password }}"
    name: deepseek-v4-flash
    targets:
      - {model: deepseek-v4-flash-nvidia_h20_3e}
      - {model: deepseek-v4-flash-ascend_910b, fallback_status_codes: [5xx]}

- name: Only these users
  inferops.gpustack.model_route:
    url: http://10.0.0.10
    password: "{{ gpustack_admin_password }}"
    name: deepseek-v4-flash
    access_policy: allowed_principals
    users: [admin]

- name: Another name, which clients have to send from now on
  inferops.gpustack.model_route:
    url: http://10.0.0.10
    password: "{{ gpustack_admin_password }}"
    name: deepseek-v4-flash
    new_name: deepseek-v4
"""

RETURN = r"""
route:
  description: The route. Empty when it is absent. C(id) is null in check mode when it does not exist yet.
  returned: success
  type: dict
  contains:
    id: {description: Number of the route., type: int}
    name: {description: Name., type: str}
    description: {description: Text for people., type: str}
    categories: {description: Kinds of the models behind it., type: list, elements: str}
    access_policy: {description: Who may use it., type: str}
    targets:
      description:
        - "C({model, weight, fallback_status_codes}) of each target, sorted by deployment."
        - Only there when they are managed.
      type: list
      elements: dict
    users:
      description: Names of the users who may use it. Only there when they are managed.
      type: list
      elements: str
actions:
  description: What was done, or would be done in check mode.
  returned: success
  type: list
  elements: str
  sample: ["update route: targets", "update route: access_policy"]
"""

import dataclasses
import re

from ansible_collections.inferops.gpustack.plugins.module_utils import _resource, _resource_module, _routes
from ansible_collections.inferops.gpustack.plugins.module_utils._errors import GpustackError
from ansible_collections.inferops.gpustack.plugins.module_utils._model import CATEGORIES
from ansible_collections.inferops.gpustack.plugins.module_utils._resource import Field, same_members
from ansible_collections.inferops.gpustack.plugins.module_utils._views import access_policy

NAME = re.compile(r"^[A-Za-z](?:[A-Za-z0-9_\-.:]*[A-Za-z0-9])?$")
POLICIES = ["public", "authed", "allowed_principals"]

ROUTE = _resource.Resource(
    kind="route",
    path=_routes.ROUTES,
    fields=(
        Field("name", spec={"required": True}),
        Field("description", default_none=True),
        Field("categories", type="list", compare=same_members, spec={"elements": "str", "choices": CATEGORIES}),
        Field("targets", type="list", spec={"elements": "dict", "options": _routes.SPEC}),
        Field("access_policy", spec={"choices": POLICIES}),
        Field("users", type="list", compare=same_members, spec={"elements": "str"}),
    ),
    rename=True,
)
#: These have an URL of their own, and a PUT of the route ignores them (T45).
ACCESS = ("access_policy", "users")
NEW_ROUTE = {"access_policy": "authed"}


def part(keep):
    return dataclasses.replace(ROUTE, fields=tuple(one for one in ROUTE.fields if keep(one.name)))


def known(*sides):
    """The fields that the diff has something to say about."""
    return part(lambda name: any(name in side for side in sides if side))


def desired(module):
    check_name(module.params["name"])
    wanted = _resource_module.desired(module, ROUTE, checked)
    if wanted is not None:
        check_name(wanted["name"])
    return wanted


def check_name(name):
    if not NAME.match(name):
        raise GpustackError(
            f"{name!r} is no name for a route.",
            reason="Invalid",
            hint="Start with a letter, end with a letter or a digit, and use letters, digits and _ - . : in between.",
        )


def checked(wanted):
    policy = wanted.get("access_policy", "allowed_principals")
    if wanted.get("users") and policy != "allowed_principals":
        raise GpustackError(
            f"users of route {wanted['name']} have no effect with access_policy {policy}.",
            reason="Invalid",
            hint="Set access_policy to allowed_principals, or leave users out.",
        )
    _routes.check(wanted["name"], wanted.get("targets", []))
    return wanted


def body(module, client):
    wanted = desired(module)
    route = _resource.locate(client, ROUTE, module.params["name"], module.params["new_name"])
    current = None
    if route is not None:
        # The API has the number of targets under the name of the option.
        current = {key: value for key, value in route.items() if key != "targets"}
        current["access_policy"] = access_policy(route)
    if wanted is None:
        return report(_resource.sync(client, known(current), None, current, module.check_mode))

    targets = read(client, wanted, current)
    wanted = settled(module, wanted, current, targets)
    access = _resource.differences(part(lambda name: name in ACCESS), wanted, current or NEW_ROUTE)
    users = users_for_api(client, module, wanted, current) if access else []

    result = write_route(client, module, wanted, current, targets)
    if access:
        result["actions"].append(f"update route: {', '.join(sorted(access))}")
        if not module.check_mode:
            policy = wanted.get("access_policy") or (current or NEW_ROUTE)["access_policy"]
            payload = {"access_policy": _routes.policy_for_api(policy), "users": users}
            client.post(f"{_routes.ROUTES}/{result['object']['id']}/access", payload, repeatable=True)
    if result["actions"]:
        result.update(changed=True, diff=_resource.diff_of(known(current, wanted), wanted, current))
    result["object"] = by_option(result["object"], wanted, current)
    return report(result)


def read(client, wanted, current):
    """Completes the current route with what the options ask for, and returns its targets, when they are needed."""
    if current is not None and "users" in wanted:
        current["users"] = _routes.allowed_users(client, current)
    # A rename without targets is answered with 500 (T21).
    if "targets" not in wanted and (current is None or current["name"] == wanted["name"]):
        return None
    targets = _routes.Targets(client, current)
    if current is not None:
        current["targets"] = targets.present
    return targets


def settled(module, wanted, current, targets):
    how = _resource.checked_comparisons(ROUTE, module.params["comparisons"])["targets"]
    result = _resource.settled(ROUTE, wanted, current, module.params["comparisons"])
    if "targets" in result:
        result["targets"] = targets.settled(wanted["targets"], others_stay=how == _resource.MORE_ALLOWED)
        _routes.check(wanted["name"], result["targets"])
        known_or_fail(module, "deployments", targets.missing(result["targets"]), targets.ids)
    return result


def known_or_fail(module, what, missing, known):
    if not missing:
        return
    message = f"Route {module.params['name']} names {what} that do not exist: {', '.join(missing)}."
    if not module.check_mode:
        hint = f"Make them first, or correct the names. There are: {', '.join(sorted(known)) or 'none'}."
        raise GpustackError(message, reason="NotFound", hint=hint)
    module.warn(message)


def write_route(client, module, wanted, current, targets):
    def prepare(payload, wanted, current):
        # Targets that are sent are written again, so they go along only when they have to.
        renamed = current is not None and current["name"] != payload["name"]
        if current is not None and not renamed and payload.get("targets") == current.get("targets"):
            payload.pop("targets", None)
        if "targets" in payload:
            payload["targets"] = targets.payload(payload["targets"])
        return payload

    own = dataclasses.replace(part(lambda name: name not in ACCESS), prepare=prepare)
    result = _resource.sync(client, own, wanted, current, module.check_mode)
    if current and "targets" in wanted and not module.check_mode:
        targets.clear_fallbacks(client, current, wanted["targets"])
    return result


def users_for_api(client, module, wanted, current):
    names = wanted.get("users")
    if names is None:
        # GPUStack 2.1 takes no policy without users, so they are sent back.
        names = _routes.allowed_users(client, current) if current else []
    numbers = {one["username"]: one["id"] for one in client.list_all("/v2/users")} if names else {}
    known_or_fail(module, "users", [name for name in names if name not in numbers], numbers)
    return [{"id": numbers.get(name)} for name in names]


def by_option(made, wanted, current):
    """What the API answered, with the fields that only the options have."""
    special = ("targets",) + ACCESS
    result = {key: value for key, value in made.items() if key not in special}
    result.update({key: value for key, value in (current or NEW_ROUTE).items() if key in special})
    result.update(wanted)
    return result


def view(route):
    keys = ("id", "name", "description", "categories", "access_policy", "targets", "users")
    return {key: route.get(key) for key in keys if key in route or key not in ("targets", "users")}


def report(result):
    return {
        "changed": result["changed"],
        "diff": result["diff"],
        "actions": result["actions"],
        "route": {} if result["object"] is None else view(result["object"]),
    }


def when_unreachable(module):
    wanted = desired(module)
    if wanted is not None:
        wanted = dict(NEW_ROUTE, **wanted)
    return report(_resource.sync(None, ROUTE, wanted, None, check_mode=True))


def main():
    _resource_module.run(ROUTE, body=body, when_unreachable=when_unreachable)


if __name__ == "__main__":
    main()
