# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the engines told when they started, against the plan they were started by."""

from __future__ import annotations

import dataclasses
import re

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _capacity
from ansible_collections.inferops.gpustack.plugins.plugin_utils._findings import error, warning

_TOLERANCE = 0.01
_ASKED = ("release", "platform", "max_model_len", "max_num_batched_tokens", "dspark")
# A name of the plan to the log's.
_TOLD = {
    "max_model_len": "max_model_len",
    "max_num_batched_tokens": "max_num_batched_tokens",
    "release": "engine_version",
}
_RELEASE = re.compile(r"\d+\.\d+")


def findings(deployments, instances):
    """The findings about these planned deployments; one that is true of several workers is told once."""
    found = {}
    for deployment in deployments:
        for instance in instances:
            if instance["model_name"] == deployment["name"]:
                for finding in _of(deployment, instance):
                    found.setdefault(finding, []).append(instance["worker_name"])
    return [
        dataclasses.replace(finding, where=f"{finding.where} on {', '.join(map(str, workers))}")
        for finding, workers in found.items()
    ]


def _of(deployment, told):
    where = f"deployment {deployment['name']}"
    inputs = (deployment.get("capacity") or {}).get("inputs") or {}
    if deployment.get("dspark") and told["draft_parameters"] == 0:
        yield error(
            "dspark_draft_empty",
            where,
            "DSpark is on, and the engine loaded a draft of 0 parameters",
            "the draft's weights, mtp.* in the checkpoint's model.safetensors.index.json",
            "give a checkpoint that has them, which quantised ones often lose, or set dspark: false",
            "vLLM 0.25.0 dspark.py:457",
        )
    length, planned = told["max_model_len"], inputs.get("max_model_len")
    if length and planned and length != planned:
        yield warning(
            "engine_context_differs",
            where,
            f"the engine serves a context of {length:,} tokens",
            f"{planned:,} tokens (max-model-len)",
            "look for what changed --max-model-len of the deployment in GPUStack, and run site.yml again",
        )
    yield from _capacity_differs(deployment, inputs, told, where)
    for name in told["unknown_variables"]:
        yield warning(
            "engine_variable_unknown",
            where,
            f"the engine does not know the variable {name} and goes on without it",
            "variables that this release of vLLM reads",
            "correct its name in env, or take it out",
            "vLLM 0.25.0 envs.py:2035-2041",
        )


def _capacity_differs(deployment, inputs, told, where):
    tokens = told["kv_cache_tokens"]
    planned = _tokens(deployment, inputs, told["kv_cache_gib"])
    if not tokens or not planned or abs(tokens - planned) <= _TOLERANCE * planned:
        return
    yield warning(
        "kv_capacity_differs",
        where,
        f"the engine's KV cache holds {tokens:,} tokens in {told['kv_cache_gib']} GiB",
        f"{planned:,} tokens in that memory, as planned ({100 * (tokens - planned) / planned:+.1f} %)",
        _cause(deployment, inputs, told),
        "docs/decisions/0013-kv-cache.md",
    )


def _tokens(deployment, inputs, gib):
    """What the planner works out for the memory that the engine has; None where that is not modelled."""
    config = deployment.get("config")
    if not isinstance(config, dict) or not gib or gib < 0 or any(inputs.get(name) is None for name in _ASKED):
        return None
    asked = {name: inputs[name] for name in _ASKED}
    try:
        return _capacity.capacity(config, gib_per_device=gib, **asked)["tokens"]
    except _capacity.CapacityError:
        return None


def _cause(deployment, inputs, told):
    """What to look at: what the log tells otherwise than the plan, else what it cannot tell."""
    others = {name: told[name_in_log] for name, name_in_log in _TOLD.items() if _is_other(name, inputs, told)}
    if not others:
        return (
            "the log tells no other context, batched tokens or release than planned: look for arguments in GPUStack "
            f"that the plan does not have, another image, or another checkpoint than {_checkpoint(inputs)}"
        )
    listed = ", ".join(f"{name} is {value}, planned was {inputs[name]}" for name, value in others.items())
    explained = _tokens(deployment, dict(inputs, **others), told["kv_cache_gib"])
    enough = explained and abs(told["kv_cache_tokens"] - explained) <= _TOLERANCE * explained
    return f"look at what the engine got: {listed}" + ("" if enough else "; that does not explain all of it")


def _checkpoint(inputs):
    known = inputs.get("config_from")
    return "planned" if known in (None, "the checkpoint") else f"{known}, whose config.json was planned with"


def _is_other(name, inputs, told):
    value, planned = told[_TOLD[name]], inputs[name]
    if name == "release":
        value, planned = _release(value), _release(planned)
    return value is not None and value != planned


def _release(version):
    """The two numbers by which releases are told apart."""
    found = _RELEASE.match(str(version))
    return found and found.group()
