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
  - Creates, changes or deletes a route, which is the model name that clients send, and its targets.
  - A target that stays keeps its number and everything that this module does not manage, such as its fallback codes.
author:
  - InferOps contributors (@inferops)
extends_documentation_fragment:
  - inferops.gpustack.auth
  - inferops.gpustack.attributes
attributes:
  check_mode:
    support: full
    details: A target whose deployment does not exist yet is a warning in check mode.
  diff_mode:
    support: full
options:
  name:
    description:
      - Name of the route. It starts with a letter, ends with a letter or a digit, and has letters, digits, V(_), V(-),
        V(.) and V(:) in between.
    type: str
    required: true
  state:
    description: Whether the route shall exist.
    type: str
    choices: [present, absent]
    default: present
  targets:
    description:
      - The deployments behind the route. They replace all the route has, in any order. Not managed when unset.
      - Weights are either all positive or all V(0). The server refuses a mixture.
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
  access_policy:
    description:
      - Who may use the route. V(public) is everybody, V(authed) is every user and key of the server.
      - Not managed when unset. A new route is then V(authed).
    type: str
    choices: [public, authed]
"""

EXAMPLES = r"""
- name: Three of four requests go to the H20 workers
  inferops.gpustack.model_route:
    url: http://10.0.0.10
    password: "{{ gpustack_admin_password }}"
    name: deepseek-v4-flash
    targets:
      - {model: deepseek-v4-flash-nvidia_h20_3e, weight: 3}
      - {model: deepseek-v4-flash-ascend_910b, weight: 1}
"""

RETURN = r"""
route:
  description: The route. Empty when it is absent. C(id) is null in check mode when it does not exist yet.
  returned: success
  type: dict
  contains:
    id: {description: Number of the route., type: int}
    name: {description: Name., type: str}
    access_policy: {description: Who may use it., type: str}
    targets: {description: "C({model, weight}) of each target, sorted by deployment.", type: list, elements: dict}
actions:
  description: What was done, or would be done in check mode.
  returned: success
  type: list
  elements: str
  sample: ["update route: targets"]
"""

import re

from ansible_collections.inferops.gpustack.plugins.module_utils import _args, _resource
from ansible_collections.inferops.gpustack.plugins.module_utils._errors import GpustackError

PATH = "/v2/model-routes"
NAME = re.compile(r"^[A-Za-z](?:[A-Za-z0-9_\-.:]*[A-Za-z0-9])?$")
ROUTE = _resource.Resource(kind="route", path=PATH, fields=(_resource.Field("name", spec={"required": True}),))
KEPT = ("overridden_model_name", "max_running_requests", "fallback_status_codes")


def checked(params):
    if not NAME.match(params["name"]):
        raise GpustackError(
            f"{params['name']!r} is no name for a route.",
            reason="Invalid",
            hint="Start with a letter, end with a letter or a digit, and use letters, digits and _ - . : in between.",
        )
    targets = params["targets"] or []
    names = [one["model"] for one in targets]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise GpustackError(
            f"targets of route {params['name']} names {', '.join(twice)} more than once.",
            reason="Invalid",
            hint="Write each deployment once and add up the weights.",
        )
    weights = [one["weight"] for one in targets]
    if any(weight < 0 for weight in weights) or (0 in weights and any(weights)):
        raise GpustackError(
            f"targets of route {params['name']} have the weights {weights}.",
            reason="Invalid",
            hint="Make all of them positive or all of them 0. To send nothing to a deployment, leave it out.",
        )


def by_name(targets):
    return sorted(({"model": one["model"], "weight": one["weight"]} for one in targets), key=lambda one: one["model"])


def target_name(target, names):
    if target.get("model_id"):
        return names.get(target["model_id"], f"deployment {target['model_id']}")
    return f"provider {target.get('provider_id')}: {target.get('overridden_model_name')}"


def current_targets(client, route):
    return client.list_all("/v2/model-route-targets", route_id=route["id"]) if route else []


def described(targets, names):
    """Targets of the API by the names of their deployments."""
    return by_name({"model": target_name(one, names), "weight": one["weight"]} for one in targets)


def target_payload(wanted, existing, ids):
    """The wanted targets. One that stays is sent with its id, or the server would delete and recreate it (T42)."""
    kept = {one.get("model_id"): one for one in existing}
    payload = []
    for one in wanted:
        model_id = ids.get(one["model"])
        before = kept.get(model_id) or {}
        target = {key: before[key] for key in ("id",) + KEPT if before.get(key) is not None}
        payload.append(dict(target, model_id=model_id, weight=one["weight"]))
    return payload


def known_or_fail(module, wanted, ids):
    missing = [one["model"] for one in wanted if one["model"] not in ids]
    if not missing:
        return
    message = f"Route {module.params['name']} names deployments that do not exist: {', '.join(missing)}."
    if not module.check_mode:
        known = ", ".join(sorted(ids)) or "none"
        raise GpustackError(
            message,
            reason="NotFound",
            hint=f"Make them first with inferops.gpustack.model, or correct the names. There are: {known}.",
        )
    module.warn(message)


def plan_targets(client, module, route):
    """`(before, after, payload)` when the targets have to change, else None."""
    wanted = module.params["targets"]
    if wanted is None:
        return None
    ids = {one["name"]: one["id"] for one in client.list_all("/v2/models")}
    known_or_fail(module, wanted, ids)
    existing = current_targets(client, route)
    before = described(existing, {number: name for name, number in ids.items()})
    after = by_name(wanted)
    if before == after:
        return None
    return before, after, target_payload(wanted, existing, ids)


def present(client, module, route):
    params = module.params
    before, after, actions = {}, {}, []
    plan = plan_targets(client, module, route)
    payload = {"name": params["name"]}
    if plan:
        before["targets"], after["targets"], payload["targets"] = plan
    route_id = route["id"] if route else None
    if route is None:
        actions.append("create route")
        before, after = {}, dict(after, name=params["name"])
        if not module.check_mode:
            route_id = client.post(PATH, payload)["id"]
    elif plan:
        actions.append("update route: targets")
        if not module.check_mode:
            client.put(f"{PATH}/{route_id}", payload)
    policy = (route or {}).get("access_policy", "authed")
    if params["access_policy"] not in (None, policy):
        before["access_policy"], after["access_policy"] = policy, params["access_policy"]
        actions.append("update route: access_policy")
        if not module.check_mode:
            # A PUT of the route ignores it (T45).
            client.post(f"{PATH}/{route_id}/access", {"access_policy": params["access_policy"]}, repeatable=True)
    result = {"id": route_id, "name": params["name"], "access_policy": params["access_policy"] or policy}
    if params["targets"] is not None:
        result["targets"] = by_name(params["targets"])
    return report(params["name"], before if route else {}, after, actions, result)


def absent(client, module, route):
    if route is None:
        return report(module.params["name"], {}, {}, [], {})
    if not module.check_mode:
        _resource.delete(client, f"{PATH}/{route['id']}")
    return report(module.params["name"], {"name": route["name"]}, {}, ["delete route"], {})


def report(name, before, after, actions, route):
    header = f"route {name}"
    diff = {"before_header": header, "after_header": header, "before": before, "after": after}
    return {"changed": bool(actions), "diff": diff if actions else {}, "actions": actions, "route": route}


def body(module):
    checked(module.params)
    client = _args.connect(module)
    route = _resource.find(client, ROUTE, module.params["name"])
    return (absent if module.params["state"] == "absent" else present)(client, module, route)


def when_unreachable(module):
    params = module.params
    if params["state"] == "absent":
        return report(params["name"], {}, {}, [], {})
    after = {"name": params["name"], "targets": by_name(params["targets"] or [])}
    route = dict(after, id=None, access_policy=params["access_policy"] or "authed")
    return report(params["name"], {}, after, ["create route"], route)


def main():
    options = {
        "name": {"type": "str", "required": True},
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        "targets": {
            "type": "list",
            "elements": "dict",
            "options": {
                "model": {"type": "str", "required": True},
                "weight": {"type": "int", "default": 1},
            },
        },
        "access_policy": {"type": "str", "choices": ["public", "authed"]},
    }
    _args.run(_args.api_module(options), body, when_unreachable)


if __name__ == "__main__":
    main()
