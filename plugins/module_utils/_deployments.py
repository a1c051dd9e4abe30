# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waiting until deployments have a running instance."""

from __future__ import annotations

from ansible_collections.inferops.gpustack.plugins.module_utils._errors import TerminalState
from ansible_collections.inferops.gpustack.plugins.module_utils._wait import wait_for

HINT = (
    "Look at the instance's log in the web interface, or on the worker with 'docker ps -a' and 'docker logs'. "
    "A pending instance has no worker that fits: check labels, accelerators, and that local_path exists there."
)

#: GPUStack starts a failed instance again when the deployment has `restart_on_error`. A failure may be an old one, of a
#: host that was restarted for example; after so many restarts under our eyes it is the deployment's own.
RESTARTS = 2


def wait_for_running(client, names, timeout):
    """Wait until each named deployment has a running instance. One that keeps failing ends the wait."""
    first_counts = {}

    def read():
        models = {one["name"]: one for one in client.list_all("/v2/models") if one["name"] in names}
        instances = client.list_all("/v2/model-instances")
        for one in instances:
            first_counts.setdefault(one["id"], one.get("restart_count") or 0)
        return [situation(name, models.get(name), instances, first_counts) for name in names]

    def judge(situations):
        failed = [one for one in situations if one["problem"]]
        if failed:
            raise TerminalState(" ".join(one["problem"] for one in failed), last=situations, hint=HINT)
        waiting = [one["waits_for"] for one in situations if one["waits_for"]]
        return "; ".join(waiting) or None

    return wait_for("Waiting for a running instance of each deployment", read, judge, timeout, hint=HINT)


def situation(name, model, instances, first_counts):
    """`problem`: waiting cannot help. `waits_for`: it can. Neither: there is a running instance."""
    found = {"name": name, "instances": [], "problem": None, "waits_for": None}
    if model is None:
        return dict(found, problem=f"There is no deployment {name}.")
    mine = [one for one in instances if one.get("model_id") == model["id"]]
    keys = ("name", "state", "state_message", "worker_name")
    found["instances"] = [{key: one.get(key) for key in keys} for one in mine]
    if any(one["state"] == "running" for one in mine):
        return found
    broken = [one for one in mine if one["state"] == "error"]
    if broken and not all(_starts_again(model, one, first_counts) for one in broken):
        return dict(found, problem=" ".join(f"{_told(one)}." for one in broken))
    if not model.get("replicas"):
        return dict(found, problem=f"Deployment {name} is stopped (replicas is 0).")
    states = ", ".join(_told(one) for one in mine)
    return dict(found, waits_for=f"deployment {name}: {states or 'no instance yet'}")


def _starts_again(model, instance, first_counts):
    restarts = (instance.get("restart_count") or 0) - first_counts[instance["id"]]
    return bool(model.get("restart_on_error")) and restarts < RESTARTS


def _told(instance):
    place = f" on {instance['worker_name']}" if instance.get("worker_name") else ""
    message = " ".join((instance.get("state_message") or "no message").split()).rstrip(".")
    return f"instance {instance['name']}{place} is {instance['state']}: {message}"
