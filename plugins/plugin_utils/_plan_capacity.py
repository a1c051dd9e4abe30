# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a planned deployment can hold, with every figure that the answer was made from."""

from __future__ import annotations

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _capacity, _speculation
from ansible_collections.inferops.gpustack.plugins.plugin_utils._arguments import number

_GIB = 2**30
#: A checkpoint whose weights differ by more than this share is another one than the published.
_ANOTHER_CHECKPOINT = 0.1
#: What GPUStack passes when nothing says a length and the model has a longer one.
GPUSTACK_LENGTH = 8192
#: The names the capacity calculation has for the platforms.
_PLATFORMS = {"cuda": "cuda", "cann": "ascend"}
_NOTHING = dict.fromkeys(("tokens", "admission_concurrency", "steady_concurrency", "minimum_gib", "blocks"))


def of(planned, arguments, entry, layers, profiles):
    """{capacity, config, gib}: the answer, the config.json it is about, the memory of one device."""
    config, config_from = _config(planned, profiles)
    memory = _memory(planned, arguments, entry, layers, profiles)
    asked = {
        "release": planned["engine_version"],
        "platform": _PLATFORMS.get(planned["platform"], planned["platform"]),
        "max_model_len": _length(arguments, config),
        "max_num_batched_tokens": _batched(planned, arguments, profiles),
        "dspark": planned["dspark"],
        "speculative_tokens": _drafted(arguments) if planned["dspark"] else None,
    }
    answer = _answer(planned, config, asked, memory)
    inputs = {**asked, "gib_per_device": memory["gib"], "gib_from": memory["from"], "config_from": config_from}
    return {"capacity": {**answer, "inputs": inputs, "memory": memory}, "config": config}


def _answer(planned, config, asked, memory):
    reason = _unknown(planned, config, asked)
    if reason:
        return {**_NOTHING, "reason": reason, "context": None}
    # Whether the checkpoint is modelled does not depend on the memory.
    question = {**asked, "gib_per_device": memory["gib"] or 1}
    try:
        answer = _capacity.capacity(config, **question)
        if not answer["reason"] and memory["gib"] is None:
            answer = {**_NOTHING, "reason": memory["from"]}
        if answer["reason"]:
            return {**answer, "context": None}
        context = _capacity.context(config, 1, **question)
        if asked["max_model_len"] > context["max_model_len"] > 0 and planned["longest"]:
            # The engine takes what fits.
            asked["max_model_len"] = question["max_model_len"] = context["max_model_len"]
            answer = _capacity.capacity(config, **question)
        return {**answer, "context": context}
    except _capacity.CapacityError as error:
        return {**_NOTHING, "reason": str(error), "context": None}


def _unknown(planned, config, asked):
    """What is missing for an answer, in words."""
    if config is None:
        return f"family {planned['family']} is not modelled"
    if asked["release"] is None:
        return "the release of the engine in this image is not known; declare it in gpustack_engine_images"
    if asked["max_model_len"] is None:
        return "max-model-len is not a number"
    if asked["max_num_batched_tokens"] is None:
        return "max-num-batched-tokens is not set, and the engine's default is not known for this platform"
    return None


def _config(planned, profiles):
    """The checkpoint's own config.json where it can be read, else the published one of the family."""
    checkpoint = planned["checkpoint"] or {}
    if checkpoint.get("config"):
        return checkpoint["config"], "the checkpoint"
    published = profiles.family(planned["family"]).get("published") or {}
    if published.get("config"):
        return published["config"], published.get("name", "the published checkpoint")
    return None, None


def asks_for_the_longest(arguments):
    return str(arguments.get("max-model-len")) in ("auto", "-1")


def _length(arguments, config):
    limit = (config or {}).get("max_position_embeddings")
    limit = limit if isinstance(limit, int) else None
    if asks_for_the_longest(arguments):
        return limit
    value = arguments.get("max-model-len")
    if value is None:
        return min(GPUSTACK_LENGTH, limit) if limit else GPUSTACK_LENGTH
    found = number(value)
    return found if isinstance(found, int) and found > 0 else None


def _batched(planned, arguments, profiles):
    """--max-num-batched-tokens, or what vLLM takes for it on a card of this size."""
    value = arguments.get("max-num-batched-tokens")
    if value is not None:
        found = number(value)
        return found if isinstance(found, int) and found > 0 else None
    defaults = profiles.platform(planned["platform"]).get("batched_tokens")
    if not defaults:
        return None
    memory = profiles.accelerator(planned["accelerator"]).get("memory_bytes") or 0
    small = memory < defaults["least_gib"] * _GIB or planned["accelerator"] in defaults["small_on"]
    return defaults["small"] if small else defaults["large"]


def _drafted(arguments):
    tokens = _speculation.given(arguments).get("num_speculative_tokens")
    return tokens if isinstance(tokens, int) and not isinstance(tokens, bool) and tokens > 0 else None


def _memory(planned, arguments, entry, layers, profiles):
    """GiB of one device that are left for the cache, and how that is known."""
    if entry.get("kv_cache_gib") is not None:
        return {"gib": entry["kv_cache_gib"], "from": "the inventory", "exact": True}
    share = number(arguments.get("gpu-memory-utilization"))
    for layer in reversed(layers):
        measured = layer.get("kv_cache_gib")
        if measured and _is_like(measured, planned, share, profiles):
            return {"gib": measured["gib"], "from": f"{layer.name}: {layer.source('kv_cache_gib')}", "exact": True}
    total = profiles.accelerator(planned["accelerator"]).get("memory_bytes")
    weights = weight_bytes(planned, profiles)
    if not share or not total or not weights:
        reason = "the memory left for the cache is not known: the size of the checkpoint's weights is not known"
        return {"gib": None, "from": reason, "exact": False}
    of_device = weights / shards(arguments, planned)
    left = total * share - of_device
    if left <= 0:
        needed, there = of_device / _GIB, total * share / _GIB
        reason = f"no memory is left for the cache: {needed:.1f} GiB of weights, {there:.1f} GiB to use"
        return {"gib": None, "from": reason, "exact": False}
    reason = "nominal memory x gpu-memory-utilization - weights; the engine's own needs come off it"
    return {"gib": round(left / _GIB, 2), "from": reason, "exact": False}


def _is_like(measured, planned, share, profiles):
    """Whether the set-up that printed the figure had the same share, devices, draft and weights."""
    published = _published(planned, profiles).get("weight_bytes")
    weights = (planned["checkpoint"] or {}).get("weight_bytes") or published
    return (
        measured["gpu_memory_utilization"] == share
        and measured["devices"] == planned["devices_per_instance"] == planned["parallel"]["tensor-parallel-size"]
        and measured.get("dspark", True) == planned["dspark"]
        and (not published or abs(weights - published) <= published * _ANOTHER_CHECKPOINT)
    )


def shards(arguments, planned):
    """Over how many devices the weights are spread; data parallelism spreads only experts."""
    if arguments.get("enable-expert-parallel"):
        return planned["devices_per_instance"]
    return planned["devices_per_instance"] // planned["parallel"]["data-parallel-size"]


def weight_bytes(planned, profiles):
    """Bytes of all weights: the checkpoint's where it can be read, else those of the published one."""
    return (planned["checkpoint"] or {}).get("weight_bytes") or _published(planned, profiles).get("weight_bytes")


def _published(planned, profiles):
    """The published checkpoint of the family, where its weights have the same size on this platform."""
    published = profiles.family(planned["family"]).get("published") or {}
    return published if planned["platform"] in published.get("platforms", ()) else {}
