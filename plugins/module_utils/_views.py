# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What modules return of GPUStack's objects: stable names, no noise, no secrets."""

from __future__ import annotations

from ansible_collections.inferops.gpustack.plugins.module_utils._secrets import masked


def accelerators_of(worker):
    """Devices of a worker, summed up by vendor and name. `memory_bytes` is that of one device."""
    groups = {}
    for device in (worker.get("status") or {}).get("gpu_devices") or []:
        memory = (device.get("memory") or {}).get("total") or 0
        group = (device.get("vendor"), device.get("name"), memory)
        groups[group] = groups.get(group, 0) + 1
    return [
        {"vendor": vendor, "name": name, "memory_bytes": memory, "count": count}
        for (vendor, name, memory), count in sorted(groups.items(), key=str)
    ]


def device_count(worker):
    return len((worker.get("status") or {}).get("gpu_devices") or [])


def cluster_view(cluster):
    return {
        "id": cluster.get("id"),
        "name": cluster.get("name"),
        "description": cluster.get("description"),
        "state": cluster.get("state"),
        "is_default": cluster.get("is_default"),
    }


def worker_view(worker):
    return {
        "id": worker.get("id"),
        "name": worker.get("name"),
        "ip": worker.get("ip"),
        "port": worker.get("port"),
        "cluster_id": worker.get("cluster_id"),
        "state": worker.get("state"),
        "state_message": worker.get("state_message"),
        "version": worker.get("worker_version"),
        "labels": worker.get("labels") or {},
        "accelerators": accelerators_of(worker),
    }


def instance_view(instance):
    return {
        "name": instance.get("name"),
        "worker_name": instance.get("worker_name"),
        "state": instance.get("state"),
        "state_message": instance.get("state_message"),
        "ports": instance.get("ports") or [],
        "restart_count": instance.get("restart_count") or 0,
    }


def model_view(model, instances):
    """A deployment. The names are those of the options of the model module, so that the two can be compared."""
    return {
        "id": model.get("id"),
        "name": model.get("name"),
        "cluster_id": model.get("cluster_id"),
        "local_path": model.get("local_path"),
        "backend": model.get("backend"),
        "backend_version": model.get("backend_version"),
        "image_name": model.get("image_name"),
        "backend_parameters": model.get("backend_parameters") or [],
        "env": masked(model.get("env") or {}),
        "replicas": model.get("replicas"),
        "ready_replicas": model.get("ready_replicas"),
        "worker_selector": model.get("worker_selector") or {},
        "placement_strategy": model.get("placement_strategy"),
        "categories": model.get("categories") or [],
        "restart_on_error": model.get("restart_on_error"),
        "state": model.get("state"),
        "state_message": model.get("state_message"),
        "instances": [instance_view(one) for one in instances if one.get("model_id") == model.get("id")],
    }


def route_view(route, targets, model_names):
    mine = [
        {"model": model_names.get(one.get("model_id")), "weight": one.get("weight"), "state": one.get("state")}
        for one in targets
        if one.get("route_id") == route.get("id")
    ]
    return {
        "id": route.get("id"),
        "name": route.get("name"),
        "access_policy": route.get("access_policy"),
        "targets": sorted(mine, key=lambda one: one["model"] or ""),
    }
