# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What modules return of GPUStack's objects: stable names, no noise, no secrets."""

from __future__ import annotations

from ansible_collections.inferops.gpustack.plugins.module_utils import _revision
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
        "provider": cluster.get("provider"),
        "server_url": cluster.get("server_url"),
        "system_default_container_registry": cluster.get("system_default_container_registry"),
        "worker_config": masked(cluster.get("worker_config") or {}),
        "is_default": cluster.get("is_default"),
        "state": cluster.get("state"),
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
        "maintenance": _told_maintenance(worker),
        "accelerators": accelerators_of(worker),
    }


def gpu_device_view(device):
    memory = device.get("memory") or {}
    return {
        "id": device.get("id"),
        "worker": device.get("worker_name"),
        "cluster_id": device.get("cluster_id"),
        "vendor": device.get("vendor"),
        "type": device.get("type"),
        "index": device.get("index"),
        "name": device.get("name"),
        "uuid": device.get("uuid"),
        "driver_version": device.get("driver_version"),
        "runtime_version": device.get("runtime_version"),
        "compute_capability": device.get("compute_capability"),
        "memory_bytes": memory.get("total"),
        "memory_used_bytes": memory.get("used"),
        "memory_allocated_bytes": memory.get("allocated"),
        "temperature": device.get("temperature"),
    }


def _told_maintenance(worker):
    """By the names of the module's options."""
    has = maintenance_view(worker)
    return {"enabled": has["enabled"], "reason": has["message"]}


def maintenance_view(worker):
    maintenance = worker.get("maintenance") or {}
    return {"enabled": bool(maintenance.get("enabled")), "message": maintenance.get("message")}


def instance_view(instance):
    return {
        "name": instance.get("name"),
        "worker_name": instance.get("worker_name"),
        "state": instance.get("state"),
        "state_message": instance.get("state_message"),
        "ports": instance.get("ports") or [],
        "restart_count": instance.get("restart_count") or 0,
    }


def model_file_view(file, worker_name):
    return {
        "id": file.get("id"),
        "worker": worker_name,
        "local_path": file.get("local_path"),
        "huggingface_repo_id": file.get("huggingface_repo_id"),
        "huggingface_filename": file.get("huggingface_filename"),
        "model_scope_model_id": file.get("model_scope_model_id"),
        "model_scope_file_path": file.get("model_scope_file_path"),
        "local_dir": file.get("local_dir"),
        "state": file.get("state"),
        "state_message": file.get("state_message"),
        "download_progress": file.get("download_progress"),
        "size": file.get("size"),
        "resolved_paths": file.get("resolved_paths") or [],
    }


def model_view(model, instances):
    """A deployment. The names are those of the options of the model module, so that the two can be compared."""
    mine = [one for one in instances if one.get("model_id") == model.get("id")]
    return {
        "id": model.get("id"),
        "name": model.get("name"),
        "description": model.get("description"),
        "cluster_id": model.get("cluster_id"),
        "local_path": model.get("local_path"),
        "huggingface_repo_id": model.get("huggingface_repo_id"),
        "huggingface_filename": model.get("huggingface_filename"),
        "model_scope_model_id": model.get("model_scope_model_id"),
        "model_scope_file_path": model.get("model_scope_file_path"),
        "backend": model.get("backend"),
        "backend_version": model.get("backend_version"),
        "image_name": model.get("image_name"),
        "run_command": masked(model.get("run_command")),
        "backend_parameters": masked(model.get("backend_parameters") or []),
        "env": masked(model.get("env") or {}),
        "replicas": model.get("replicas"),
        "ready_replicas": model.get("ready_replicas"),
        "worker_selector": model.get("worker_selector") or {},
        "gpu_selector": _set_keys(model.get("gpu_selector")),
        "placement_strategy": model.get("placement_strategy"),
        "categories": model.get("categories") or [],
        "distributed_inference_across_workers": model.get("distributed_inference_across_workers"),
        "cpu_offloading": model.get("cpu_offloading"),
        "extended_kv_cache": _set_keys(model.get("extended_kv_cache")),
        "speculative_config": _set_keys(model.get("speculative_config")),
        "generic_proxy": model.get("generic_proxy"),
        "restart_on_error": model.get("restart_on_error"),
        "state": model.get("state"),
        "state_message": model.get("state_message"),
        "instances": [instance_view(one) for one in mine],
        "outdated_instances": sorted(one["name"] for one in _revision.outdated(model, mine)),
        "rollout_pending": _revision.is_pending(model),
    }


def _set_keys(value):
    return {key: one for key, one in (value or {}).items() if one is not None}


def route_view(route, targets, model_names):
    mine = [target_view(one, model_names) for one in targets if one.get("route_id") == route.get("id")]
    return {
        "id": route.get("id"),
        "name": route.get("name"),
        "description": route.get("description"),
        "categories": route.get("categories") or [],
        "access_policy": access_policy(route),
        "targets": sorted(mine, key=lambda one: one["model"]),
    }


def access_policy(route):
    """GPUStack 2.1 has another name for one of them."""
    return (route.get("access_policy") or "authed").replace("allowed_users", "allowed_principals")


def target_view(target, model_names):
    return {
        "model": _target_model(target, model_names),
        "weight": target.get("weight"),
        "fallback_status_codes": sorted(target.get("fallback_status_codes") or []),
        "state": target.get("state"),
    }


def _target_model(target, names):
    if target.get("model_id"):
        return names.get(target["model_id"], f"deployment {target['model_id']}")
    # GPUStack 2.1 has another name for the name.
    name = target.get("overridden_model_name") or target.get("provider_model_name")
    return f"provider {target.get('provider_id')}: {name}"


def user_view(user):
    return {
        "id": user.get("id"),
        "name": user.get("username"),
        "full_name": user.get("full_name"),
        "is_admin": user.get("is_admin"),
        "is_active": user.get("is_active"),
        "require_password_change": user.get("require_password_change"),
        "source": user.get("source"),
    }


def api_key_view(key):
    """An API key without its secret. GPUStack before 2.2 knows neither scope nor user nor whose secret it is."""
    return {
        "id": key.get("id"),
        "name": key.get("name"),
        "user": key.get("user_name"),
        "description": key.get("description"),
        "scope": key.get("scope"),
        "allowed_model_names": key.get("allowed_model_names") or [],
        "is_custom": key.get("is_custom"),
        "expires_at": key.get("expires_at"),
    }
