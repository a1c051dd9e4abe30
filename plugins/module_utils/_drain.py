# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Emptying a worker, so that what runs there runs somewhere else first.

GPUStack has no such thing. Maintenance only keeps new instances away, so the ones that are there are deleted, one at a
time, and the server makes another of each where it finds room.
"""

from __future__ import annotations

from ansible_collections.inferops.gpustack.plugins.module_utils import _placement, _resource
from ansible_collections.inferops.gpustack.plugins.module_utils._deployments import INSTANCES, instances_of


def instances_on(client, worker):
    """Instances that use this worker, as the main one or as one of several."""
    found = [one for one in client.list_all(INSTANCES) if worker["id"] in _workers_of(one)]
    return sorted(found, key=lambda one: one["name"])


def _workers_of(instance):
    others = (instance.get("distributed_servers") or {}).get("subordinate_workers") or []
    return [instance.get("worker_id")] + [one.get("worker_id") for one in others]


def with_nowhere_to_go(client, worker, instances):
    """Deployments of these instances that no other ready worker can take by cluster, labels and chosen devices.

    Whether there is room is for the scheduler to say.
    """
    others = [one for one in _placement.ready(client.list_all("/v2/workers")) if one["id"] != worker["id"]]
    concerned = {one["model_id"] for one in instances}
    models = [one for one in client.list_all("/v2/models") if one["id"] in concerned]
    return [model for model in models if not _takers(model, others)]


def _takers(model, workers):
    # A device's id is <worker>:<type>:<index>.
    devices = (model.get("gpu_selector") or {}).get("gpu_ids") or []
    chosen = {one.rsplit(":", 2)[0] for one in devices}
    return [one for one in _placement.fitting(model, workers) if not chosen or one["name"] in chosen]


def unsettled(worker, instances):
    """Which instances elsewhere are still starting. An earlier run may have moved them and not seen them run."""
    elsewhere = [one for one in instances if worker["id"] not in _workers_of(one)]
    return "; ".join(_placement.told(one) for one in elsewhere if one["state"] not in ("running", "error")) or None


def begin_move(client, instance, replaced):
    """Delete the instance, and tell what to wait for then.

    `replaced`: it counts as moved when as many instances of its deployment run as before.
    """
    before = _running(instances_of(client, instance["model_id"]))
    _resource.delete(client, f"{INSTANCES}/{instance['id']}")
    running = before if replaced and instance["state"] == "running" else 0
    return {"id": instance["id"], "name": instance["name"], "model_id": instance["model_id"], "running": running}


def not_moved(moving, instances):
    """Why the move is not over yet."""
    if any(one["id"] == moving["id"] for one in instances):
        return f"Instance {moving['name']} is being stopped"
    if _running(instances) >= moving["running"]:
        return None
    starting = [_placement.told(one) for one in instances if one["state"] != "running"]
    return "; ".join(starting) or f"Instance {moving['name']} has no successor yet"


def _running(instances):
    return sum(one["state"] == "running" for one in instances)
