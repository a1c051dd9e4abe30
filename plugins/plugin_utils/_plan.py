# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""From the models of an inventory to the deployments and routes GPUStack is asked for.

Pure: the same models, hosts, rewrites and lock always give the same plan.
"""

from __future__ import annotations

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _images, _profiles
from ansible_collections.inferops.gpustack.plugins.plugin_utils._arguments import (
    Settings,
    identity,
    normalised,
    render,
)
from ansible_collections.inferops.gpustack.plugins.plugin_utils._data import plain

ACCELERATOR_LABEL = "gpustack-accelerator"
BACKEND = "vLLM"
READY_TIMEOUT = "VLLM_ENGINE_READY_TIMEOUT_S"
# What people write for READY_TIMEOUT; no engine reads it, so the default of 600 s would stay.
READY_TIMEOUT_MISNAMED = "VLLM_ENGINE_READY_TIMEOUT"
# Written by GPUStack itself; it refuses them in any spelling.
RESERVED_FLAGS = ("port", "api-key", "served-model-name")

FROM_DEPLOYMENT = "inventory: deployment"
FROM_PAIR = "accelerator x family"
FROM_DSPARK = "dspark switch"


class PlanError(ValueError):
    """A model that cannot be planned, with the reason and the cure."""


def launch_plan(models, hosts=None, rewrites=None, lock=None):
    """The plan of all models: {deployments, routes, images}."""
    hosts, rewrites, lock = plain(hosts or {}), plain(rewrites or {}), plain(lock or {})
    deployments, routes, images = [], [], {}
    for model in plain(models or []):
        own = [_deployment(model, entry, hosts, rewrites, lock) for entry in model.get("deployments") or []]
        deployments.extend(own)
        routes.append(_route(model, own))
        for deployment in own:
            of_accelerator = images.setdefault(deployment["accelerator"], [])
            if deployment["image"] not in of_accelerator:
                of_accelerator.append(deployment["image"])
    _refuse_duplicates(deployments)
    return {"deployments": deployments, "routes": routes, "images": images}


def deployment_name(model_name, accelerator):
    return f"{model_name}-{accelerator}"


def engine_image(family, entry):
    """Canonical name (or the user's own) of the engine image of one deployment."""
    if entry.get("image"):
        return entry["image"]
    return _images.artefact(_profiles.pair(family, entry["accelerator"])["image"], entry.get("engine_version"))


def _deployment(model, entry, hosts, rewrites, lock):
    accelerator = entry["accelerator"]
    name = deployment_name(model["name"], accelerator)
    try:
        pair = _profiles.pair(model["family"], accelerator)
        image = _images.reference(engine_image(model["family"], entry), rewrites, lock)
    except (_profiles.ProfileError, _images.ImageError) as error:
        raise PlanError(f"deployment {name}: {error}") from error
    settings = arguments(model, entry, pair)
    environment = _environment(entry, pair, name)
    origins = {flag: origin for flag, unused, origin in settings}
    origins.update({variable: origin for variable, unused, origin in environment})
    return {
        "name": name,
        "model": model["name"],
        "accelerator": accelerator,
        "path": entry["path"],
        "directories": _directories(model, entry),
        "backend": BACKEND,
        "image": image,
        "parameters": [render(flag, value) for flag, value, unused in settings],
        "env": {variable: str(value) for variable, value, unused in environment},
        "replicas": _replicas(entry, hosts, name),
        "worker_selector": {ACCELERATOR_LABEL: accelerator},
        "origins": origins,
    }


def arguments(model, entry, pair):
    """(flag, value, origin) of the command line, in order."""
    settings = Settings(identity)
    family = _profiles.family(model["family"])["arguments"]
    for argument in pair["arguments"]:
        flag, origin = argument["flag"], argument.get("from")
        if origin == "family":
            settings.put(flag, family[flag], f"family {model['family']}")
        elif origin == "dspark":
            if model.get("dspark"):
                settings.put(flag, speculative_config(model, entry, pair["dspark"]), FROM_DSPARK)
        else:
            settings.put(flag, argument["value"], FROM_PAIR)
    if entry.get("max_model_len") is not None:
        settings.put("max-model-len", entry["max_model_len"], FROM_DEPLOYMENT)
    for flag, value in (entry.get("args") or {}).items():
        settings.put(normalised(flag), value, FROM_DEPLOYMENT)
    return list(settings)


def speculative_config(model, entry, profile):
    """The value of --speculative-config that the one line `dspark: true` stands for."""
    options = model.get("dspark_options") or {}
    sampling = options.get("sampling") or profile["sampling"]
    config = {"method": "dspark", "num_speculative_tokens": options.get("tokens") or profile["tokens"]}
    if sampling:
        config["draft_sample_method"] = sampling
    config.update(profile["extra"])
    # Only a draft of its own is named; a fused checkpoint is target and draft in one directory.
    if entry.get("draft_path"):
        config["model"] = entry["draft_path"]
    return config


def _directories(model, entry):
    """The directories that the engine reads."""
    draft = [entry["draft_path"]] if model.get("dspark") and entry.get("draft_path") else []
    return list(dict.fromkeys([entry["path"], *draft]))


def _environment(entry, pair, name):
    settings = Settings()
    for variable in pair["env"]:
        settings.put(variable["name"], variable["value"], FROM_PAIR)
    for variable, value in (entry.get("env") or {}).items():
        if variable == READY_TIMEOUT_MISNAMED:
            raise PlanError(f"deployment {name}: env {variable} is read by no engine; write {READY_TIMEOUT}")
        settings.put(variable, value, FROM_DEPLOYMENT)
    return list(settings)


def _replicas(entry, hosts, name):
    replicas = entry.get("replicas")
    if replicas is None:
        return 1
    if replicas != "per_worker":
        return int(replicas)
    count = int(hosts.get(entry["accelerator"], 0))
    if count < 1:
        raise PlanError(
            f"deployment {name}: replicas is per_worker, but no worker host has accelerator "
            f"{entry['accelerator']!r}; counted: {hosts or 'no hosts at all'}"
        )
    return count


def _route(model, deployments):
    weights = (model.get("route") or {}).get("weights") or {}
    return {
        "name": model["name"],
        "targets": [
            {"model": deployment["name"], "weight": int(weights.get(deployment["accelerator"], 1))}
            for deployment in deployments
        ],
    }


def _refuse_duplicates(deployments):
    seen = set()
    for deployment in deployments:
        if deployment["name"] in seen:
            raise PlanError(f"two deployments are named {deployment['name']!r}; a name stands for one deployment")
        seen.add(deployment["name"])
