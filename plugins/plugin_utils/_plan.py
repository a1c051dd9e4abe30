# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""From the models of an inventory to the deployments and routes GPUStack is asked for.

Pure: the same models, hosts, profiles, images and checkpoints always give the same plan.
"""

from __future__ import annotations

import math

from ansible_collections.inferops.gpustack.plugins.plugin_utils import (
    _engine_images,
    _images,
    _model_keys,
    _plan_capacity,
    _shown,
    _speculation,
)
from ansible_collections.inferops.gpustack.plugins.plugin_utils._arguments import (
    identity,
    normalised,
    number,
    render,
)
from ansible_collections.inferops.gpustack.plugins.plugin_utils._data import plain
from ansible_collections.inferops.gpustack.plugins.plugin_utils._layers import Settings
from ansible_collections.inferops.gpustack.plugins.plugin_utils._profiles import ProfileError, Profiles

ACCELERATOR_LABEL = "gpustack-accelerator"
BACKEND = "vLLM"
FROM_DEPLOYMENT = "inventory: deployment"
FROM_MODEL = "inventory: model"
BASELINE = "plain"
NOT_SHOWN = "(from the inventory, not shown)"
# What multiplies the devices of one instance.
PARALLEL = ("tensor-parallel-size", "pipeline-parallel-size", "data-parallel-size")


class PlanError(ValueError):
    """A model that cannot be planned, with the reason and the cure."""


def plan(models, hosts=None, rewrites=None, lock=None, profiles=None, engine_images=None, checkpoints=None):
    """The plan of all models: {deployments, routes, images}.

    `hosts`: accelerator to number of worker hosts. `checkpoints`: (accelerator, path) to the facts of what lies there.
    """
    site = Known(hosts, rewrites, lock, profiles, engine_images, checkpoints)
    deployments, routes = [], []
    for model in plain(models or []):
        for baseline in variants(model):
            own = [deployment(model, entry, site, baseline) for entry in model.get("deployments") or []]
            deployments.extend(own)
            routes.append(route(model, own, baseline))
    _refuse_duplicates(deployments)
    return {"deployments": deployments, "routes": routes, "images": images(deployments)}


class Known:
    """What a plan is made with beside the models."""

    def __init__(self, hosts=None, rewrites=None, lock=None, profiles=None, engine_images=None, checkpoints=None):
        self.hosts, self.rewrites, self.lock = plain(hosts or {}), plain(rewrites or {}), plain(lock or {})
        self.profiles = Profiles(plain(profiles or {}))
        self.engine_images = plain(engine_images or {})
        self._checkpoints = checkpoints or {}

    def checkpoint(self, accelerator, path):
        """Facts of a model directory on the hosts of one accelerator, or None where nobody could look."""
        return self._checkpoints.get((accelerator, path))


def variants(model):
    """Whether a deployment is the baseline, for each one that an entry of the model stands for."""
    both = model.get("dspark") is True and model.get("dspark_baseline") is True
    return (False, True) if both else (False,)


def images(deployments):
    """Accelerator to the references of the engine images its hosts need."""
    found = {}
    for planned in deployments:
        of_accelerator = found.setdefault(planned["accelerator"], [])
        if planned["image"] not in of_accelerator:
            of_accelerator.append(planned["image"])
    return found


def route_name(model_name, baseline=False):
    return f"{model_name}-{BASELINE}" if baseline else model_name


def deployment_name(model_name, accelerator, baseline=False):
    return f"{route_name(model_name, baseline)}-{accelerator}"


def deployment(model, entry, site, baseline=False):
    """One deployment, with every value's origin and what it can hold."""
    accelerator, family = entry["accelerator"], model["family"]
    name = deployment_name(model["name"], accelerator, baseline)
    try:
        layers = site.profiles.layers(family, accelerator)
        image = engine_image(entry, layers, site.engine_images)
        reference = _images.reference(image.name, site.rewrites, site.lock)
    except (ProfileError, _images.ImageError) as error:
        raise PlanError(f"deployment {name}: {error}") from error
    platform = site.profiles.platform(site.profiles.accelerator(accelerator)["platform"])
    arguments, environment = _settings(model, entry, layers, bool(model.get("dspark")) and not baseline)
    # Whoever writes the argument itself has the last word.
    dspark = _speculation.given(arguments).get("method") == _speculation.METHOD
    flags = list(arguments.items(platform["order"]))
    variables = list(environment.items(platform.get("env_order", ())))
    planned = {
        "name": name,
        "model": model["name"],
        "accelerator": accelerator,
        "family": family,
        "platform": site.profiles.accelerator(accelerator)["platform"],
        "path": entry["path"],
        "draft_path": entry.get("draft_path"),
        "directories": _directories(entry, dspark),
        "backend": BACKEND,
        "image": reference,
        "image_name": _images.canonical(image.name),
        "engine": image.engine,
        "engine_version": image.version,
        "image_platform": image.platform,
        "runtime": image.runtime,
        "lifted_capabilities": list(image.capabilities),
        "release_undeclared": image.undeclared_release,
        "parameters": [render(written.name, written.value) for written, unused in flags],
        "env": {written.name: str(written.value) for written, unused in variables},
        "replicas": _replicas(entry, site.hosts, name),
        "worker_selector": {ACCELERATOR_LABEL: accelerator},
        "dspark": dspark,
        "longest": _plan_capacity.asks_for_the_longest(arguments),
        "baseline": baseline,
        "parallel": parallel(arguments),
        "devices_per_instance": math.prod(parallel(arguments).values()),
        "values": [
            *(_explained(written, replaced, "argument") for written, replaced in flags),
            *(_explained(written, replaced, "variable") for written, replaced in variables),
        ],
        "removed": [
            *(_explained(chain[-1], chain[:-1], "argument") for chain in arguments.removed()),
            *(_explained(chain[-1], chain[:-1], "variable") for chain in environment.removed()),
        ],
        "checkpoint": site.checkpoint(accelerator, entry["path"]),
        "draft": site.checkpoint(accelerator, entry.get("draft_path")),
    }
    planned.update(_plan_capacity.of(planned, arguments, entry, layers, site.profiles))
    return planned


def engine_image(entry, layers, declared=None):
    """What is in the image of a deployment; the profile's unless the deployment names one."""
    default = next((layer.data["image"] for layer in reversed(layers) if layer.data.get("image")), None)
    return _engine_images.of_deployment(entry, default, declared)


def parallel(arguments):
    """The sizes whose product is the devices of one instance."""
    return {name: _factor(arguments.get(name)) for name in PARALLEL}


def _factor(value):
    found = number(value)
    # Far more than any site has.
    return min(found, 10**6) if isinstance(found, int) and found > 0 else 1


def _settings(model, entry, layers, dspark):
    """The arguments and the environment, every layer of them."""
    arguments, environment = Settings(identity), Settings()
    for layer in layers:
        sources = layer.get("sources")
        said = {normalised(name): text for name, text in sources.items()}
        arguments = arguments.under(Settings.of(layer.name, _flags(layer.get("arguments")), said, identity))
        environment = environment.under(Settings.of(layer.name, layer.get("env"), sources))
    if dspark:
        parts, sources = _speculation.wanted(layers, model)
        value = {_speculation.FLAG: _speculation.config(parts, entry.get("draft_path"))}
        said = {_speculation.FLAG: _speculation.source(sources)}
        arguments = arguments.under(Settings.of(_speculation.LAYER, value, said, identity))
    for name, keys in ((FROM_MODEL, model), (FROM_DEPLOYMENT, entry)):
        flags, variables = _model_keys.settings(keys)
        arguments = arguments.under(Settings.of(name, flags, _model_keys.SOURCES, identity))
        environment = environment.under(Settings.of(name, variables, _model_keys.SOURCES))
    arguments = arguments.under(Settings.of(FROM_DEPLOYMENT, _flags(entry.get("args")), None, identity))
    environment = environment.under(Settings.of(FROM_DEPLOYMENT, entry.get("env")))
    return arguments, environment


def _flags(written):
    return {normalised(flag): value for flag, value in (written or {}).items()}


def _explained(written, replaced, kind):
    """One value for people. What somebody wrote into a deployment's environment may be a secret."""
    here, *earlier = (_for_people(each, kind) for each in (written, *replaced))
    differing = [each for each, old in zip(earlier, replaced) if _says(old) != _says(written)]
    return {**here, "kind": kind, "replaced": differing}


def _for_people(written, kind):
    hide = kind == "variable" and written.layer == FROM_DEPLOYMENT and not written.source and written.value is not None
    return {**written.as_dict(), "value": NOT_SHOWN if hide else _shown.value(written.name, written.value)}


def _says(written):
    """`no-x: true` says the same as `x: false`."""
    opposite = normalised(written.name).startswith("no-") and isinstance(written.value, bool)
    return (not written.value,) if opposite else (written.value,)


def _directories(entry, dspark):
    """The directories that the engine reads."""
    draft = [entry["draft_path"]] if dspark and entry.get("draft_path") else []
    return list(dict.fromkeys([entry["path"], *draft]))


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


def route(model, deployments, baseline):
    weights = (model.get("route") or {}).get("weights") or {}
    return {
        "name": route_name(model["name"], baseline),
        "targets": [
            {"model": planned["name"], "weight": int(weights.get(planned["accelerator"], 1))} for planned in deployments
        ],
    }


def _refuse_duplicates(deployments):
    seen = set()
    for planned in deployments:
        if planned["name"] in seen:
            raise PlanError(f"two deployments are named {planned['name']!r}; a name stands for one deployment")
        seen.add(planned["name"])
