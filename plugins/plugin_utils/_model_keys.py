# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Keys of a model or deployment that stand for an argument or a variable of the engine or of GPUStack."""

from __future__ import annotations

#: The variable GPUStack's scheduler reads, in bytes over all devices of an instance.
VRAM_CLAIM = "GPUSTACK_MODEL_VRAM_CLAIM"
#: MiB that xgrammar may keep compiled grammars in.
GRAMMAR_CACHE = "VLLM_XGRAMMAR_CACHE_MB"
_GIB = 2**30
KEYS = ("max_model_len", "gpu_memory_utilization", "max_concurrency", "structured_outputs", "vram_claim_gib")

SOURCES = {
    "max-model-len": "max_model_len",
    "max-num-seqs": "max_concurrency; vLLM 0.25.0 config/scheduler.py",
    "gpu-memory-utilization": "gpu_memory_utilization; GPUStack 2.3.0 claims the same share of each card",
    "structured-outputs-config": "structured_outputs.backend; vLLM 0.25.0 config/structured_outputs.py",
    GRAMMAR_CACHE: "structured_outputs.cache_mb; vLLM 0.25.0 envs.py",
    VRAM_CLAIM: "vram_claim_gib; GPUStack 2.3.0 policies/utils.py",
}


def settings(keys):
    """(arguments, environment) of the keys that are written."""
    structured = keys.get("structured_outputs") or {}
    claim = keys.get("vram_claim_gib")
    backend = structured.get("backend")
    arguments = {
        "max-model-len": keys.get("max_model_len"),
        "gpu-memory-utilization": keys.get("gpu_memory_utilization"),
        "max-num-seqs": keys.get("max_concurrency"),
        "structured-outputs-config": {"backend": backend} if backend else None,
    }
    environment = {
        GRAMMAR_CACHE: structured.get("cache_mb"),
        VRAM_CLAIM: None if claim is None else int(claim * _GIB),
    }
    return _written(arguments), _written(environment)


def _written(values):
    return {name: value for name, value in values.items() if value is not None}
