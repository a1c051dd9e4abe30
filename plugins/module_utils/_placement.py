# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which workers GPUStack can give a deployment, and what to tell people when there are too few."""

from __future__ import annotations

from ansible_collections.inferops.gpustack.plugins.module_utils._host_finding import finding

SOURCE = "GPUStack 2.3.0, gpustack/policies/worker_filters: cluster_filter, label_matching_filter, status_filter"

#: States that an instance does not leave by itself, or not soon.
STUCK = ("pending", "error", "unreachable")


def fitting(model, workers):
    """The workers with the labels that the deployment asks for, in whatever state they are."""
    wanted = (model.get("worker_selector") or {}).items()
    return [
        worker
        for worker in workers
        if worker.get("cluster_id") == model.get("cluster_id")
        and all((worker.get("labels") or {}).get(key) == value for key, value in wanted)
    ]


def ready(workers):
    return [worker for worker in workers if worker["state"] == "ready"]


def why_unplaced(workers):
    """Why none of the fitting workers will do."""
    states = ", ".join(f"{worker['name']} is {worker['state']}" for worker in workers)
    return f"no worker that fits is ready: {states}" if states else "the server knows no worker that fits"


def dead_routes(targets, idle):
    """Names of the routes with nothing behind them but deployments that do not run; `idle` are the ids of those.

    A route with another target serves: GPUStack sends nothing to a target that does not run, whatever its weight.
    """
    alive = {target["route_name"] for target in targets if target.get("model_id") not in idle}
    return {target["route_name"] for target in targets} - alive


def without_worker(one, targets, dead):
    """The finding about a deployment that no worker can take; `dead` are the routes that lead nowhere because of it."""
    routes = {target["route_name"] for target in targets if target.get("model_id") == one["id"]} - {one["name"]}
    found = one["unplaced"]
    if routes & dead:
        found += f"; nothing answers on route {', '.join(sorted(routes & dead))}"
    if routes - dead:
        found += f"; its requests on route {', '.join(sorted(routes - dead))} go to the route's other targets"
    return finding(
        "deployment_without_worker",
        "warning",
        f"deployment {one['name']}",
        found,
        f"a ready worker {_labelled(one['worker_selector'])}",
        "bring the worker back (on its host: docker logs gpustack-worker) and run again; "
        "or take the deployment out of gpustack_models",
        SOURCE,
    )


def replicas_short(one):
    """The finding about a deployment that runs with fewer instances than it should; None when the others will come.

    Each instance tells its own reason. One that nobody has looked at yet is pending without a message.
    """
    stuck = [
        instance
        for instance in one["instances"]
        if instance["state"] in STUCK and (instance["state"] != "pending" or instance["state_message"])
    ]
    if one["unplaced"] or not stuck or len(one["instances"]) - len(stuck) >= one["replicas"]:
        return None
    running = sum(instance["state"] == "running" for instance in one["instances"])
    return finding(
        "replicas_short",
        "warning",
        f"deployment {one['name']}",
        f"{running} of {one['replicas']} instances run; {'; '.join(map(told, stuck))}",
        f"{one['replicas']} running instances on ready workers {_labelled(one['worker_selector'])}",
        "bring missing workers back or free their cards, and run again; or lower replicas in gpustack_models",
        SOURCE,
    )


def outdated(one):
    """The finding about instances that were started before the last change of their deployment; None without any."""
    if not one["outdated"]:
        return None
    return finding(
        "instances_outdated",
        "warning",
        f"deployment {one['name']}",
        f"{', '.join(one['outdated'])} still runs with the settings from before the last change",
        "instances with the present settings",
        "run site.yml with -e gpustack_model_restart=on_change when requests may be cut; "
        "it replaces them one at a time",
        "GPUStack 2.3.0: an edit never restarts an instance",
    )


def told(instance):
    """An instance with its state and the server's reason for it, in one line."""
    place = f" on {instance['worker_name']}" if instance.get("worker_name") else ""
    message = " ".join((instance.get("state_message") or "no message").split()).rstrip(".")
    if instance["state"] == "downloading":
        message = f"{instance.get('download_progress') or 0:.0f} %"
    return f"instance {instance['name']}{place} is {instance['state']}: {message}"


def _labelled(selector):
    if not selector:
        return "of its cluster"
    labels = ", ".join(f"{key}={value}" for key, value in sorted(selector.items()))
    return f"with {'labels' if len(selector) > 1 else 'label'} {labels}"
