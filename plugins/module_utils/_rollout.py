# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bringing the instances of a deployment to its specification, one at a time, each proven before the next.

GPUStack's own restart tears all instances down at once (T37). Everything a roll-out has to know stands on the server:
which instances are old (`_revision`), and in which state the others are. So one that was interrupted goes on where it
was when it is run again.
"""

from __future__ import annotations

from ansible_collections.inferops.gpustack.plugins.module_utils import _chat, _placement, _resource, _revision
from ansible_collections.inferops.gpustack.plugins.module_utils._deployments import (
    INSTANCES,
    RESTARTS,
    instances_of,
    log_of_failing,
)
from ansible_collections.inferops.gpustack.plugins.module_utils._errors import (
    ApiError,
    GpustackError,
    TerminalState,
    WaitTimeout,
)
from ansible_collections.inferops.gpustack.plugins.module_utils._model import MODEL

HINT = (
    "Look at the instance's log in the web interface, or on the worker with 'docker ps -a' and 'docker logs'. "
    "Instances that still run have the earlier settings."
)
#: The first answer of a model proves it; a longer one would only take longer.
GATE_TOKENS = 16
#: A key without the scope for inference, for one. Waiting does not help.
NOT_ALLOWED = (401, 403)


class Rollout:
    """`wait` is the waiting of the task, which may end and be taken up again between any two readings."""

    def __init__(self, client, model, timeout, wait):
        self.client = client
        self.path = f"{MODEL.path}/{model['id']}"
        self.name = model["name"]
        self.timeout = timeout
        self.wait = wait
        self.seen = model, []

    def read(self):
        try:
            model = self.client.get(self.path)
        except ApiError as error:
            if error.status != 404:
                raise
            raise TerminalState(
                f"Deployment {self.name} was deleted by somebody else meanwhile.",
                hint="Run the task again to make it anew.",
            ) from error
        self.seen = model, instances_of(self.client, model["id"])
        return self.seen

    def replace_outdated(self):
        """Replace the outdated instances, each after the ones before it run and answer."""
        model, instances = self.read()
        if _revision.is_pending(model) and not _revision.outdated(model, instances):
            # An earlier run ended before it saw the last of them run.
            model, instances = self.settle()
        while _revision.outdated(model, instances):
            model, instances = self.settle()
            old = _revision.outdated(model, instances)
            if old:
                self._replace(old[0])
                model, instances = self.settle()
        self._record(model, None)

    def forget_all(self):
        """Make every instance count as outdated, once in the task."""
        if not self.wait.memory.get("forgotten"):
            model, instances = self.read()
            self._record(model, _revision.record_all(model, instances))
            self.wait.memory["forgotten"] = True

    def settle(self, at_least_one=False):
        """Wait until the instances with the current specification run and answer."""
        self._replace_failed()
        model, instances = self._until(
            f"Waiting for the instances of deployment {self.name}",
            self.read,
            lambda found: self._unsettled(*found, at_least_one),
        )
        if any(one["state"] == "running" for one in instances):
            self._prove(model)
        return model, instances

    def _replace_failed(self):
        """What failed with earlier settings need not come back by itself, and no request is lost with it."""
        for one in _revision.outdated(*self.read()):
            if one["state"] == "error":
                self._replace(one)

    def _until(self, what, read, judge):
        try:
            return self.wait.until(what, read, judge, self.timeout, hint=HINT)
        except (TerminalState, WaitTimeout) as error:
            error.last = self._told(self.seen[1])
            raise

    def _told(self, instances):
        """What people need of the instances that were seen last."""
        keys = ("name", "state", "state_message", "worker_name", "restart_count")
        log = log_of_failing(self.client, {"instances": instances, "problem": True, "waits_for": None})
        return [{key: one.get(key) for key in keys} for one in instances] + ([{"log": log}] if log else [])

    def _unsettled(self, model, instances, at_least_one):
        outdated = _revision.outdated(model, instances)
        fresh = [one for one in instances if one not in outdated]
        broken = [one for one in fresh if one["state"] == "error" and not _starts_again(model, one)]
        if broken:
            problem = " ".join(f"{_placement.told(one)}." for one in broken)
            self.seen = model, broken
            raise TerminalState(problem, hint=HINT)
        if at_least_one and any(one["state"] == "running" for one in fresh):
            return None
        missing = model["replicas"] - len(instances)
        if missing > 0:
            return f"{missing} of {model['replicas']} instances do not exist yet"
        return "; ".join(_placement.told(one) for one in fresh if one["state"] != "running") or None

    def _replace(self, instance):
        if self.wait.memory.get("stopping") != instance["id"]:
            _resource.delete(self.client, f"{INSTANCES}/{instance['id']}")
            self.wait.memory["stopping"] = instance["id"]
            self._done(f"replace instance: {instance['name']}")

        def reason(found):
            return f"instance {instance['name']} is being stopped" if instance["id"] in found else None

        def read():
            return [one["id"] for one in self.read()[1]]

        self._until(f"Waiting for the end of instance {instance['name']}", read, reason)

    def _done(self, action):
        self.wait.done["changed"] = True
        self.wait.done["actions"] = self.wait.done.get("actions", []) + [action]

    def _prove(self, model):
        """A short chat request, where there is a route that leads to this deployment alone."""
        route = self._own_route(model)
        if route is None or (model.get("categories") or ["llm"]) != ["llm"]:
            return

        def read():
            try:
                return self.client.post(
                    _chat.PATH, _chat.request(route, _chat.PROMPT, GATE_TOKENS), repeatable=True
                ), None
            except ApiError as error:
                if error.status in NOT_ALLOWED:
                    error.hint = f"Proving an instance takes a chat request. {error.hint}"
                    raise
                return None, error.message

        def reason(found):
            answer, problem = found
            return problem or (None if (answer or {}).get("choices") else "the answer has no choices")

        self._until(f"Waiting for an answer of deployment {self.name}", read, reason)

    def _own_route(self, model):
        targets = self.client.list_all("/v2/model-route-targets")
        routes = {one["route_name"] for one in targets if one.get("model_id") == model["id"]}
        shared = {one["route_name"] for one in targets if one.get("model_id") != model["id"]}
        return min(routes - shared, default=None)

    def _record(self, model, record):
        """Write what this roll-out has to remember of the deployment, or that it has nothing to remember any more."""
        if (_revision.record_of(model) or None) == (record or None):
            return
        payload = _resource.update_payload(MODEL, {}, model)
        _resource.put(self.client, MODEL, model["id"], dict(payload, meta=_revision.meta_with(model, record)))

    def roll_back(self, error):
        """Return to the revision before the change that did not work, and say so."""
        model, instances = self.read()
        record = _revision.record_of(model)
        old = [one["id"] for one in _revision.outdated(model, instances)]
        if not record.get("revision"):
            raise error
        self.client.post(f"{self.path}/rollback", {"target_revision": record["revision"]})
        self._done(f"roll back model: revision {record['revision']}")
        self._record(self.client.get(self.path), None)
        for one in instances:
            if one["id"] not in old:
                _resource.delete(self.client, f"{INSTANCES}/{one['id']}")
        raise GpustackError(
            f"The changed deployment {self.name} did not become ready, and its earlier settings are back "
            f"(revision {record['revision']}). {error.message}",
            reason="RolledBack",
            hint="Correct the change before you run it again.",
            **self.wait.done,
        ) from error


def latest_revision(client, model):
    """The number of the current revision. GPUStack keeps them since 2.3."""
    try:
        answer = client.get(f"{MODEL.path}/{model['id']}/revisions", page=1, perPage=1)
    except ApiError as error:
        if error.status not in (404, 405):
            raise
        raise GpustackError(
            "rollback is set, and this server keeps no revisions of a deployment.",
            reason="Unsupported",
            hint="It needs GPUStack 2.3 or newer. Leave rollback out.",
        ) from error
    return answer["items"][0]["revision"] if answer["items"] else None


def _starts_again(model, instance):
    return bool(model.get("restart_on_error")) and (instance.get("restart_count") or 0) < RESTARTS
