# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Routes as people write them: the API numbers what they name, and keeps targets and access apart from the route."""

from __future__ import annotations

from ansible_collections.inferops.gpustack.plugins.module_utils._errors import GpustackError
from ansible_collections.inferops.gpustack.plugins.module_utils._views import target_view

ROUTES = "/v2/model-routes"
TARGETS = "/v2/model-route-targets"
SPEC = {
    "model": {"type": "str", "required": True},
    "weight": {"type": "int", "default": 1},
    "fallback_status_codes": {"type": "list", "elements": "str", "choices": ["4xx", "5xx"]},
}
#: What a target has besides what is managed here. GPUStack 2.1 knows the second under the name of the third.
KEPT = ("provider_id", "overridden_model_name", "provider_model_name", "max_running_requests")


def policy_for_api(policy):
    """By its old name, which every release takes; GPUStack 2.1 knows no other."""
    return policy.replace("allowed_principals", "allowed_users")


def allowed_users(client, route):
    """Names of the users who were allowed one by one."""
    return sorted(one["username"] for one in client.get(f"{ROUTES}/{route['id']}/access")["items"])


class Targets:
    """The targets a route has (`present`, sorted by deployment), and the numbers of the deployments (`ids`)."""

    def __init__(self, client, route):
        items = client.list_all(TARGETS, route_id=route["id"]) if route else []
        self.ids = {one["name"]: one["id"] for one in client.list_all("/v2/models")}
        names = {number: name for name, number in self.ids.items()}
        self._items = {target_view(one, names)["model"]: one for one in items}
        self.present = _sorted(_managed(target_view(one, names)) for one in items)

    def settled(self, wanted, others_stay):
        """What the user wrote. A suboption that is not set keeps what the target has."""
        present = {one["model"]: one for one in self.present}
        result = dict(present) if others_stay else {}
        for one in wanted:
            codes = one["fallback_status_codes"]
            if codes is None:
                codes = present.get(one["model"], {}).get("fallback_status_codes", [])
            result[one["model"]] = dict(one, fallback_status_codes=sorted(codes))
        return _sorted(result.values())

    def missing(self, wanted):
        return [one["model"] for one in wanted if one["model"] not in self.ids and one["model"] not in self._items]

    def payload(self, wanted):
        """A target that stays is sent with its id, or the server would delete and recreate it (T42)."""
        return [self._payload(one) for one in wanted]

    def _payload(self, wanted):
        before = self._items.get(wanted["model"], {})
        item = {key: before[key] for key in ("id",) + KEPT if before.get(key) is not None}
        if "provider_id" not in item:
            item["model_id"] = self.ids.get(wanted["model"])
        codes = wanted["fallback_status_codes"] or None
        if codes or _codes(before):
            item["fallback_status_codes"] = codes
        return dict(item, weight=wanted["weight"])

    def clear_fallbacks(self, client, route, wanted):
        """A null in a PUT does it, but GPUStack 2.1 takes that for nothing said. Its other way is broken in 2.2."""
        ordinary = [one["model"] for one in wanted if not one["fallback_status_codes"]]
        numbers = [one["id"] for name, one in self._items.items() if name in ordinary and _codes(one)]
        if not numbers:
            return
        for one in client.list_all(TARGETS, route_id=route["id"]):
            if one["id"] in numbers and _codes(one):
                path = f"{TARGETS}/{one['id']}/set-fallback"
                client.post(path, {"fallback_status_codes": None}, repeatable=True)


def _codes(item):
    return item.get("fallback_status_codes")


def _managed(view):
    return {key: view[key] for key in SPEC}


def _sorted(targets):
    return sorted(targets, key=lambda one: one["model"])


def check(route, targets):
    """What the server refuses, in words that name the targets."""
    names = [one["model"] for one in targets]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise GpustackError(
            f"targets of route {route} names {', '.join(twice)} more than once.",
            reason="Invalid",
            hint="Write each deployment once and add up the weights.",
        )
    fallbacks = [one["model"] for one in targets if one["fallback_status_codes"]]
    if len(fallbacks) > 1:
        raise GpustackError(
            f"targets of route {route} has more than one fallback: {', '.join(fallbacks)}.",
            reason="Invalid",
            hint="Set fallback_status_codes to an empty list on all but one.",
        )
    # A fallback takes no share, so its weight does not count (T44).
    weights = [one["weight"] for one in targets if not one["fallback_status_codes"]]
    if any(weight < 0 for weight in weights) or (0 in weights and any(weights)):
        raise GpustackError(
            f"targets of route {route} have the weights {weights}.",
            reason="Invalid",
            hint="Make all of them positive or all of them 0. To send nothing to a deployment, leave it out.",
        )
