# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the rules of data/rules.yml see of a planned deployment, and of the deployments behind one route."""

from __future__ import annotations

import collections
import json

from ansible_collections.inferops.gpustack.plugins.plugin_utils import (
    _data,
    _engine_images,
    _plan,
    _plan_capacity,
    _shown,
    _speculation,
)
from ansible_collections.inferops.gpustack.plugins.plugin_utils._arguments import identity, normalised, number
from ansible_collections.inferops.gpustack.plugins.plugin_utils._engine_images import GENERIC
from ansible_collections.inferops.gpustack.plugins.plugin_utils._speculation import FLAG


class Facts(dict):
    """A mapping whose missing keys are None, so that a rule can ask for any flag or field."""

    def __missing__(self, key):
        return None


def of_deployment(planned, model, entry, profiles, hosts):
    """The names a rule about a deployment can use.

    plan: the planned deployment; model, entry: what the inventory says of it.
    args, env: what the engine gets, by name without `no-`, numbers as numbers; profiled: the arguments of the profiles.
    place: the key of this deployment that says an argument or a variable, empty where something else says it.
    spec, loader, structured: the values of three arguments that are mappings.
    speculates: whether spec is DSpark. switched: whether the model asks for it.
    promise: max_concurrency of the inventory. capacity, context: what the KV cache holds, and which length fits.
    family, accelerator, limits: profiles. layouts, formats: of the family, the latter on this platform.
    dspark: what the profiles say about DSpark.
    has_pair, lacks_kernel, runs_here: does the family run on the accelerator. advice: what to do where it does not.
    image: its name for people. image_cards: what it is made for, where that is not this accelerator.
    platform: of the accelerator. engine, version, runtime: of the image, unknown where it is for another platform.
    driver_needed: the oldest NVIDIA driver for the runtime. hosts: {name, cards, driver} of each with this accelerator.
    checkpoint, draft: facts of the directories, empty where they cannot be read. model_types: the checkpoint's.
    config: config.json of the model, the published one where its own cannot be read.
    block_size: how many tokens the draft of that model makes at once.
    weights_per_device, memory_bytes: of one device.
    """
    family, accelerator = planned["family"], planned["accelerator"]
    args = Facts({identity(each["name"]): _value(each) for each in planned["values"] if each["kind"] == "argument"})
    spec = _mapping(args[FLAG])
    layers = profiles.layers(family, accelerator)
    checkpoint, draft = _checkpoint(planned["checkpoint"]), _checkpoint(planned["draft"])
    # Of an image for other cards there is nothing more to say.
    engine = planned["engine"] if planned["image_platform"] in (None, planned["platform"]) else GENERIC
    lacks_kernel = profiles.lacks_kernel(family, accelerator, planned["lifted_capabilities"])
    weight_bytes = _plan_capacity.weight_bytes(planned, profiles)
    return {
        "plan": planned,
        "args": args,
        "env": Facts(planned["env"]),
        "place": _places(planned, entry),
        "spec": spec,
        "loader": _mapping(args["model-loader-extra-config"]),
        "structured": _mapping(args["structured-outputs-config"]),
        "switched": model.get("dspark") is True and not planned["baseline"],
        "speculates": engine != GENERIC and spec["method"] == "dspark",
        "model": Facts(model),
        "entry": Facts(entry),
        "promise": entry.get("max_concurrency") or model.get("max_concurrency"),
        "family": _profile(profiles.family(family)),
        "accelerator": _profile(profiles.accelerator(accelerator)),
        "limits": _mapping(profiles.accelerator(accelerator).get("limits")),
        "profiled": Facts(
            {identity(name): value for layer in layers for name, value in layer.get("arguments").items()}
        ),
        "platform": planned["platform"],
        # Nobody wrote the tag latest beside a digest.
        "image": entry["image"] if "@" in (entry.get("image") or "") else planned["image_name"],
        "image_cards": _engine_images.cards(planned["image_name"], accelerator),
        "engine": engine,
        "version": planned["engine_version"] if engine != GENERIC else None,
        "runtime": Facts(planned["runtime"]),
        "driver_needed": _data.load("cuda_drivers.yml")["linux"].get(planned["runtime"].get("cuda")),
        "checkpoint": checkpoint,
        "draft": draft,
        "model_types": _model_types(checkpoint),
        "config": _language_model(planned["config"]),
        "block_size": checkpoint["dspark"]["block_size"] or _language_model(planned["config"])["dspark_block_size"],
        "hosts": hosts,
        "weights_per_device": weight_bytes and weight_bytes // _plan_capacity.shards(args, planned),
        "memory_bytes": profiles.accelerator(accelerator).get("memory_bytes"),
        "capacity": Facts(planned["capacity"]),
        "context": _mapping(planned["capacity"]["context"]),
        "dspark": Facts(_speculation.wanted(layers, {})[0]),
        "layouts": profiles.family(family).get("layouts") or [],
        "formats": _mapping(profiles.family(family).get("formats"))[planned["platform"]] or [],
        "has_pair": profiles.has_pair(family, accelerator),
        "lacks_kernel": lacks_kernel,
        "runs_here": profiles.runs_on(family, accelerator, planned["lifted_capabilities"]),
        "advice": _Later(lambda: _advice(planned, profiles)),
    }


class _Later:
    """A text that few findings need."""

    def __init__(self, make):
        self._make = make

    def __str__(self):
        return self._make()


def of_route(name, members):
    """A route's name, the planned deployments behind it, and the longest request of each."""
    return {
        "route": name,
        "members": members,
        "lengths": {planned["name"]: planned["capacity"]["inputs"]["max_model_len"] for planned in members},
    }


def _value(setting):
    """`no-x: true` is x switched off."""
    value = setting["value"]
    if normalised(setting["name"]).startswith("no-") and isinstance(value, bool):
        return not value
    found = number(value) if isinstance(value, str) else None
    return value if found is None else found


def _places(planned, entry):
    places = collections.defaultdict(str)
    for each in planned["values"]:
        # A key such as max_model_len, whose name its source starts with.
        if each["layer"] == _plan.FROM_DEPLOYMENT and each["source"]:
            places[identity(each["name"])] = each["source"].partition(";")[0]
    places.update((identity(name), f"args.{_shown.name(name)}") for name in entry.get("args") or {})
    places.update((name, f"env.{_shown.name(name)}") for name in entry.get("env") or {})
    return places


def _profile(profile):
    return Facts({**profile, "sources": _mapping(profile.get("sources"))})


def _checkpoint(facts):
    facts = Facts(facts or {})
    facts["dspark"] = _mapping(facts["dspark"])
    return facts


def _model_types(checkpoint):
    config = _mapping(checkpoint["config"])
    types = [config["model_type"], _mapping(config["text_config"])["model_type"]]
    return [each for each in types if each is not None]


def _language_model(config):
    """Vision models nest the keys of their language model."""
    config = _mapping(config)
    return Facts({**config, **_mapping(config["text_config"])})


def _mapping(value):
    """A mapping, also one that is written as JSON."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return Facts()
    return Facts(value) if isinstance(value, dict) else Facts()


def _advice(planned, profiles):
    """What to do with a model that this accelerator does not run: where it runs, and what runs here."""
    elsewhere = profiles.served_by(planned["family"])
    here = [name for name in profiles.runs(planned["accelerator"]) if name != planned["family"]]
    speculative = [name for name in here if profiles.family(name).get("speculative")]
    parts = [f"serve this model on {' or '.join(elsewhere)}"] if elsewhere else []
    if speculative:
        parts.append(f"run here a model of family {' or '.join(speculative)}, with DSpark and its draft in draft_path")
    elif here:
        parts.append(f"run here a model of family {' or '.join(here)}")
    return "; or ".join(parts)
