"""The start-up of the engine: its log lines, and the ways in which it can end there."""

from __future__ import annotations

import os
import time

from simulated_engine import kv_table, log
from simulated_engine.failure import LaunchError

_DEFAULT_READY_TIMEOUT = 600


def announce(args, given: dict, version: str) -> None:
    log.line(f"vLLM server version {version}, serving model {args.model_tag}", "api_utils.py:339")
    log.line(
        "simulated engine: no weights are loaded, tokens are counted as 1 per 4 characters", "simulated_engine.py:1"
    )
    log.line(f"non-default args: {given}", "api_utils.py:273")


def warn_environment(unknown: list, fatal: bool) -> None:
    for name in unknown:
        message = f"Unknown vLLM environment variable detected: {name}"
        if fatal:
            raise LaunchError("ValueError", message)
        log.line(message, "envs.py:2041", level="WARNING")


def start_engine(launch, settings) -> None:
    """Take the time and print the lines of a start; raise LaunchError where a real start would end."""
    started = time.monotonic()
    worker = launch.worker
    log.line(f"Resolved architecture: {launch.checkpoint.architecture}", "model.py:619")
    log.line(f"Using max model len {launch.max_model_len}", "model.py:1776")
    for message, source in launch.warnings:
        log.line(message, source, level="WARNING")
    log.line(
        f"Initializing a V1 LLM engine (v{settings.version}) with config: model='{launch.checkpoint.path}', "
        f"speculative_config={launch.speculation or None}, tensor_parallel_size={launch.tensor_parallel_size}, "
        f"max_seq_len={launch.max_model_len}, quantization={launch.quantization}",
        "core.py:115",
        "EngineCore",
    )
    if launch.platform == "cuda" and launch.checkpoint.is_deepseek_v4 and launch.kv_cache_dtype != "fp8_ds_mla":
        log.line("Using DeepSeek's fp8_ds_mla KV cache format.", "attention.py:91", worker)
    _wait(settings.start_delay)
    if settings.fail == "oom":
        raise _out_of_memory(launch)
    loading = time.monotonic() - started
    log.line(f"Loading weights took {loading:.2f} seconds", "default_loader.py:431", worker)
    _log_draft(launch, worker)
    log.line(f"Model loading took 0.00 GiB and {loading:.6f} seconds", "model_runner.py:303", worker)
    _log_cache(launch, worker, kv_table.lookup(launch, settings.kv_tokens_factor))
    log.line(
        f"init engine (profile, create kv cache, warmup model) took {time.monotonic() - started:.2f} s",
        "core.py:345",
        "EngineCore",
    )


def _wait(seconds: float) -> None:
    limit = int(os.environ.get("VLLM_ENGINE_READY_TIMEOUT_S") or _DEFAULT_READY_TIMEOUT)
    time.sleep(min(seconds, limit))
    if seconds > limit:
        raise LaunchError(
            "TimeoutError",
            "Timed out waiting for engine core processes to start. This is often caused by slow weight loading for "
            f"large models. Waited {limit}s (configured by VLLM_ENGINE_READY_TIMEOUT_S). To increase the timeout, "
            "set the environment variable: VLLM_ENGINE_READY_TIMEOUT_S=<seconds>",
        )


def _out_of_memory(launch):
    if launch.platform == "ascend":
        return LaunchError(
            "RuntimeError",
            "NPU out of memory. Tried to allocate 2.00 GiB (NPU 0; 60.96 GiB total capacity; 58.90 GiB already "
            "allocated; 59.02 GiB current active; 1.02 GiB free; 59.10 GiB reserved in total by PyTorch)",
            launch.worker,
        )
    return LaunchError(
        "torch.OutOfMemoryError",
        "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 139.72 GiB of which 1.12 GiB "
        "is free.",
        launch.worker,
    )


def _log_draft(launch, worker):
    if launch.speculation.get("method") != "dspark" or launch.speculation.get("model"):
        return
    count = launch.draft_tensors
    if count is None:
        log.line(
            "simulated engine: no model.safetensors.index.json, so the draft's tensors are not counted",
            "simulated_engine.py:1",
            worker,
            "WARNING",
        )
        return
    log.line(f"DSpark draft model loaded: {count} params", "dspark.py:457", worker)


def _log_cache(launch, worker, figures):
    if figures is None:
        log.line(
            f"simulated engine: no KV cache figure for platform {launch.platform}, max_model_len "
            f"{launch.max_model_len}, max_num_batched_tokens {launch.max_num_batched_tokens}, speculation "
            f"{launch.speculation.get('method') or 'off'}, gpu_memory_utilization {launch.gpu_memory_utilization}",
            "simulated_engine.py:1",
            "EngineCore",
        )
        return
    log.line(f"Available KV cache memory: {figures.available_gib} GiB", "gpu_worker.py:539", worker)
    log.line(f"GPU KV cache size: {figures.tokens:,} tokens", "kv_cache_utils.py:2146", "EngineCore")
    log.line(
        f"Maximum concurrency for {figures.max_model_len:,} tokens per request: {figures.concurrency:.2f}x",
        "kv_cache_utils.py:2148",
        "EngineCore",
    )
