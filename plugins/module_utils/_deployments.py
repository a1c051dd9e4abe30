# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waiting until deployments have a running instance."""

from __future__ import annotations

import re

from ansible_collections.inferops.gpustack.plugins.module_utils import _placement, _revision
from ansible_collections.inferops.gpustack.plugins.module_utils._errors import (
    GpustackError,
    TerminalState,
    WaitTimeout,
)
from ansible_collections.inferops.gpustack.plugins.module_utils._secrets import masked_text

HINT = (
    "Look at the instance's log in the web interface, or on the worker with 'docker ps -a' and 'docker logs'. "
    "A pending instance has no worker that fits: check labels, accelerators, and that local_path exists there."
)

#: GPUStack starts a failed instance again when the deployment has `restart_on_error`. A failure may be an old one, of a
#: host that was restarted for example; after so many restarts under our eyes it is the deployment's own.
RESTARTS = 2

#: A worker that has just registered or is coming back is not ready for a few heartbeats, which come every 30 s.
LONGEST_PATIENCE = 60

INSTANCES = "/v2/model-instances"
LOG_LINES = 20
LOG_LINE_LENGTH = 500
LOG_TIMEOUT = 5
TERMINAL_CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def instances_of(client, model_id):
    return [one for one in client.list_all(INSTANCES, model_id=model_id) if one["model_id"] == model_id]


def wait_for_running(client, names, timeout, wait):
    """Wait until each named deployment has a running instance, or has been without a worker for too long.

    An instance that keeps failing ends the wait.
    """
    first_counts = wait.memory.setdefault("restarts", {})
    # Shorter than the wait, so that a worker which never comes is not what the wait ends on.
    patience = Patience(min(LONGEST_PATIENCE, timeout / 2), wait)

    def read():
        models = {one["name"]: one for one in client.list_all("/v2/models") if one["name"] in names}
        instances = client.list_all(INSTANCES)
        workers = client.list_all("/v2/workers")
        for one in instances:
            first_counts.setdefault(str(one["id"]), one.get("restart_count") or 0)
        return [situation(name, models.get(name), instances, workers, first_counts) for name in names]

    def judge(situations):
        failed = [one for one in situations if one["problem"]]
        if failed:
            hint = HINT if any(one["instances"] for one in failed) else ""
            raise TerminalState(" ".join(one["problem"] for one in failed), last=situations, hint=hint)
        waiting = [one["waits_for"] for one in situations if not patience.is_over(one) and one["waits_for"]]
        return "; ".join(waiting) or None

    try:
        return wait.until("Waiting for a running instance of each deployment", read, judge, timeout, hint=HINT)
    except (TerminalState, WaitTimeout) as error:
        for one in error.last or []:
            one["log"] = log_of_failing(client, one)
        raise


def log_of_failing(client, one):
    """The end of the log of the instance that most likely tells why the deployment does not run.

    Whoever asks is about to report another error, so no log is no error.
    """
    placed = [instance for instance in one["instances"] if instance["worker_name"] and instance["state"] != "running"]
    if not placed or not (one["problem"] or one["waits_for"]):
        return []
    failing = min(placed, key=lambda instance: instance["state"] != "error")
    try:
        text = client.text(f"{INSTANCES}/{failing['id']}/logs", timeout=LOG_TIMEOUT, tail=LOG_LINES)
    except GpustackError:
        return []
    lines = TERMINAL_CODES.sub("", text).splitlines()[-LOG_LINES:]
    return [masked_text(line)[:LOG_LINE_LENGTH] for line in lines]


class Patience:
    """How long a deployment has been seen without a worker, without a break."""

    def __init__(self, seconds, wait):
        self.seconds = seconds
        self.elapsed = wait.elapsed
        self.since = wait.memory.setdefault("unplaced_since", {})

    def is_over(self, one):
        if not one["unplaced"]:
            self.since.pop(one["name"], None)
            return False
        now = self.elapsed()
        return now - self.since.setdefault(one["name"], now) >= self.seconds


def situation(name, model, instances, workers, first_counts):
    """`problem`: waiting cannot help. `waits_for`: it can. Neither: there is a running instance.

    `unplaced`: why no worker can take an instance now.
    """
    found = {"name": name, "instances": [], "outdated": [], "problem": None, "waits_for": None, "unplaced": None}
    if model is None:
        return dict(found, problem=f"There is no deployment {name}.")
    mine = [one for one in instances if one.get("model_id") == model["id"]]
    fitting = _placement.fitting(model, workers)
    usable = {worker["id"] for worker in _placement.ready(fitting)}
    keys = ("id", "name", "state", "state_message", "worker_name", "download_progress")
    found.update(
        id=model["id"],
        replicas=model.get("replicas") or 0,
        worker_selector=model.get("worker_selector") or {},
        instances=[{key: one.get(key) for key in keys} for one in mine],
        outdated=sorted(one["name"] for one in _revision.outdated(model, mine)),
    )
    if any(one["state"] == "running" for one in mine):
        return found
    if not model.get("replicas"):
        return dict(found, problem=f"Deployment {name} is stopped (replicas is 0).")
    if not usable:
        why = _placement.why_unplaced(fitting)
        return dict(found, unplaced=why, waits_for=f"deployment {name}: {why}")
    lost = {worker["id"] for worker in fitting} - usable
    broken = [one for one in mine if one["state"] == "error" and one.get("worker_id") not in lost]
    if broken and not all(_starts_again(model, one, first_counts) for one in broken):
        return dict(found, problem=" ".join(f"{_placement.told(one)}." for one in broken))
    states = ", ".join(_placement.told(one) for one in mine)
    return dict(found, waits_for=f"deployment {name}: {states or 'no instance yet'}")


def _starts_again(model, instance, first_counts):
    restarts = (instance.get("restart_count") or 0) - first_counts[str(instance["id"])]
    return bool(model.get("restart_on_error")) and restarts < RESTARTS
