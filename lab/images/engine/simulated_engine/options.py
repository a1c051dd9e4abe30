"""The options of `vllm serve` 0.25 that the simulated engine knows. An option missing here is refused."""

from __future__ import annotations

import argparse
import json
import re

TEXT = {
    # server
    "--host": None,
    "--root-path": None,
    "--uds": None,
    "--ssl-keyfile": None,
    "--ssl-certfile": None,
    "--chat-template": None,
    "--response-role": "assistant",
    "--tool-call-parser": None,
    "--tool-parser-plugin": "",
    "--disable-access-log-for-endpoints": None,
    # model
    "--tokenizer": None,
    "--tokenizer-mode": "auto",
    "--revision": None,
    "--hf-config-path": None,
    "--config-format": "auto",
    "--generation-config": "auto",
    "--quantization": None,
    "--load-format": "auto",
    "--download-dir": None,
    "--safetensors-load-strategy": None,
    "--reasoning-parser": "",
    "--attention-backend": None,
    # parallelism
    "--distributed-executor-backend": None,
    "--master-addr": "127.0.0.1",
    "--data-parallel-address": None,
    # speculation shortcuts
    "--spec-method": None,
    "--spec-model": None,
}

INTEGER = {
    "--port": 8000,
    "--api-server-count": None,
    "--seed": 0,
    "--max-logprobs": 20,
    "--max-num-seqs": None,
    "--max-num-partial-prefills": 1,
    "--long-prefill-token-threshold": 0,
    "--stream-interval": 1,
    "--block-size": None,
    "--num-gpu-blocks-override": None,
    "--tensor-parallel-size": 1,
    "--pipeline-parallel-size": 1,
    "--prefill-context-parallel-size": 1,
    "--decode-context-parallel-size": 1,
    "--data-parallel-size": 1,
    "--data-parallel-size-local": None,
    "--data-parallel-rank": None,
    "--data-parallel-start-rank": None,
    "--data-parallel-rpc-port": None,
    "--nnodes": 1,
    "--node-rank": 0,
    "--master-port": 29501,
    "--max-parallel-loading-workers": None,
    "--max-loras": 1,
    "--spec-tokens": None,
    "--max-cudagraph-capture-size": None,
    "--optimization-level": 2,
    "--shutdown-timeout": 0,
}

HUMAN_INTEGER = {"--max-num-batched-tokens": None, "--kv-cache-memory-bytes": None}

HUMAN_INTEGER_OR_AUTO = {"--max-model-len": None}

FLOAT = {"--gpu-memory-utilization": 0.92, "--cpu-offload-gb": 0.0, "--kv-offloading-size": None}

JSON = {
    "--speculative-config": None,
    "--model-loader-extra-config": {},
    "--compilation-config": {},
    "--additional-config": {},
    "--structured-outputs-config": {},
    "--kv-transfer-config": None,
    "--kv-events-config": None,
    "--attention-config": {},
    "--kernel-config": {},
    "--eplb-config": {},
    "--hf-overrides": {},
    "--override-generation-config": {},
    "--default-chat-template-kwargs": None,
    "--limit-mm-per-prompt": {},
    "--mm-processor-kwargs": None,
}

BOOLEAN = {
    "--trust-remote-code": False,
    "--enable-auto-tool-choice": False,
    "--enable-prompt-tokens-details": False,
    "--enable-force-include-usage": False,
    "--enable-log-requests": False,
    "--enable-request-id-headers": False,
    "--enable-server-load-tracking": False,
    "--disable-uvicorn-access-log": False,
    "--disable-fastapi-docs": False,
    "--disable-log-stats": False,
    "--fail-on-environ-validation": False,
    "--enforce-eager": False,
    "--skip-tokenizer-init": False,
    "--enable-sleep-mode": False,
    "--disable-cascade-attn": False,
    "--disable-custom-all-reduce": False,
    "--enable-prefix-caching": None,
    "--enable-chunked-prefill": None,
    "--enable-expert-parallel": False,
    "--enable-eplb": False,
    "--enable-dbo": False,
    "--data-parallel-hybrid-lb": False,
    "--data-parallel-external-lb": False,
    "--disable-hybrid-kv-cache-manager": None,
    "--async-scheduling": None,
    "--enable-flashinfer-autotune": None,
    "--enable-lora": None,
    "--enable-mfu-metrics": False,
    "--kv-cache-metrics": False,
    "--calculate-kv-scales": False,
    "--language-model-only": False,
}

# option -> (default, closed set of values)
CHOICE = {
    "--kv-cache-dtype": (
        "auto",
        (
            "auto",
            "bfloat16",
            "float16",
            "fp8",
            "fp8_ds_mla",
            "fp8_e4m3",
            "fp8_e5m2",
            "fp8_inc",
            "fp8_per_token_head",
            "int4_per_token_head",
            "int8_per_token_head",
            "nvfp4",
            "turboquant_3bit_nc",
            "turboquant_4bit_nc",
            "turboquant_k3v4_nc",
            "turboquant_k8v4",
        ),
    ),
    "--dtype": ("auto", ("auto", "bfloat16", "float", "float16", "float32", "half")),
    "--uvicorn-log-level": ("info", ("critical", "debug", "error", "info", "trace", "warning")),
    "--performance-mode": ("balanced", ("balanced", "interactivity", "throughput")),
    "--data-parallel-backend": ("mp", ("mp", "ray")),
    "--scheduling-policy": ("fcfs", ("fcfs", "priority")),
    "--max-lora-rank": (16, (1, 8, 16, 32, 64, 128, 256, 320, 512)),
}

LISTS = {"--served-model-name": None, "--api-key": None, "--lora-modules": None, "--middleware": []}

SHORT = {
    "--tensor-parallel-size": "-tp",
    "--pipeline-parallel-size": "-pp",
    "--data-parallel-size": "-dp",
    "--enable-expert-parallel": "-ep",
    "--speculative-config": "-sc",
    "--compilation-config": "-cc",
    "--attention-config": "-ac",
    "--quantization": "-q",
    "--nnodes": "-n",
    "--node-rank": "-r",
}

_CUDAGRAPH_MODES = ("NONE", "PIECEWISE", "FULL", "FULL_DECODE_ONLY", "FULL_AND_PIECEWISE")
_MULTIPLIERS = {
    "k": 10**3,
    "m": 10**6,
    "g": 10**9,
    "t": 10**12,
    "K": 2**10,
    "M": 2**20,
    "G": 2**30,
    "T": 2**40,
}


def _converted(convert):
    """Word a failed conversion as vLLM does."""

    def parse(text):
        try:
            return convert(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(f"Value {text} cannot be converted to {convert}.") from error

    return parse


def human_integer(text: str) -> int:
    """`1k` is 1000, `1K` is 1024; decimals only with the decimal suffixes."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([kKmMgGtT])", text.strip())
    if not match:
        return int(text)
    number, suffix = match.groups()
    if suffix.islower():
        return int(float(number) * _MULTIPLIERS[suffix])
    if "." in number:
        raise argparse.ArgumentTypeError(
            f"Decimals are not allowed with binary suffixes like {suffix}. "
            f"Did you mean to use {number}{suffix.lower()} instead?"
        )
    return int(number) * _MULTIPLIERS[suffix]


def human_integer_or_auto(text: str) -> int:
    return -1 if text.strip().lower() in ("-1", "auto") else human_integer(text)


def json_object(text: str) -> dict:
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    return value


def _compilation_config(text: str):
    value = _converted(json_object)(text)
    mode = value.get("cudagraph_mode")
    if mode is not None and str(mode).upper() not in _CUDAGRAPH_MODES:
        allowed = ", ".join(_CUDAGRAPH_MODES)
        raise argparse.ArgumentTypeError(f"Invalid cudagraph_mode: {mode}. Must be one of {allowed}.")
    return value


def add_options(parser: argparse.ArgumentParser) -> None:
    def add(name, **kwargs):
        names = [name] + ([SHORT[name]] if name in SHORT else [])
        parser.add_argument(*names, **kwargs)

    parser.add_argument("model_tag", nargs="?")
    for name, default in TEXT.items():
        add(name, default=default)
    for table, convert in (
        (INTEGER, int),
        (HUMAN_INTEGER, human_integer),
        (HUMAN_INTEGER_OR_AUTO, human_integer_or_auto),
        (FLOAT, float),
        (JSON, json_object),
    ):
        for name, default in table.items():
            kind = _compilation_config if name == "--compilation-config" else _converted(convert)
            add(name, type=kind, default=default)
    for name, (default, choices) in CHOICE.items():
        add(name, type=type(choices[0]), choices=choices, default=default)
    for name, default in LISTS.items():
        add(name, nargs="+", default=default)
    for name, default in BOOLEAN.items():
        add(name, action=argparse.BooleanOptionalAction, default=default)
