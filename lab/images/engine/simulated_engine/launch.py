"""From parsed options and a checkpoint to the launch the engine runs with, or the reason why it refuses."""

from __future__ import annotations

from dataclasses import dataclass, field

from simulated_engine import parsers, speculation
from simulated_engine.failure import LaunchError

_DEFAULT_BATCHED_TOKENS = {"cuda": 8192, "ascend": 2048}
_DEFAULT_BLOCK_SIZE = {"cuda": 16, "ascend": 128}
_DEEPSEEK_V4_BLOCK_SIZE = 256
_DEFAULT_MAX_NUM_SEQS = 256
_ASCEND_BLOCK_SIZES = (32, 64, 128)
_LOADER_KEYS = frozenset(("enable_multithread_load", "num_threads", "enable_weights_track"))


@dataclass(frozen=True)
class Launch:
    platform: str
    checkpoint: object
    served_names: tuple
    max_model_len: int
    max_num_batched_tokens: int
    max_num_seqs: int
    block_size: int
    tensor_parallel_size: int
    expert_parallel: bool
    gpu_memory_utilization: float
    kv_cache_dtype: str
    prefix_caching: bool
    quantization: object = None
    speculation: dict = field(default_factory=dict)
    warnings: tuple = ()

    @property
    def worker(self) -> str:
        if self.tensor_parallel_size == 1:
            return "EngineCore"
        return "Worker_TP0_EP0" if self.expert_parallel else "Worker_TP0"

    @property
    def draft_length(self) -> int:
        return self.speculation.get("num_speculative_tokens") or 0

    @property
    def draft_tensors(self):
        """Tensors of the draft inside the target's checkpoint; None when they cannot be counted there."""
        return None if self.speculation.get("model") else self.checkpoint.draft_tensors


def check_server_options(args) -> None:
    """What vLLM checks on the parsed command line, before it looks at the model."""
    if args.enable_auto_tool_choice and not args.tool_call_parser:
        raise LaunchError("TypeError", "Error: --enable-auto-tool-choice requires --tool-call-parser")
    if args.enable_auto_tool_choice and args.tool_call_parser not in parsers.TOOL:
        raise _unknown_parser("tool call", args.tool_call_parser, parsers.TOOL)
    if args.reasoning_parser and args.reasoning_parser not in parsers.REASONING:
        raise _unknown_parser("reasoning", args.reasoning_parser, parsers.REASONING)


def _unknown_parser(kind, name, known):
    choices = ",".join(sorted(known))
    return LaunchError("KeyError", f"invalid {kind} parser: {name} (chose from {{ {choices} }})")


def plan(args, checkpoint, platform: str) -> Launch:
    warnings = []
    max_model_len = _max_model_len(args.max_model_len, checkpoint)
    batched = args.max_num_batched_tokens
    batched = _positive(_DEFAULT_BATCHED_TOKENS[platform] if batched is None else batched, "max_num_batched_tokens")
    sequences = args.max_num_seqs if args.max_num_seqs is not None else _DEFAULT_MAX_NUM_SEQS
    _positive(sequences, "max_num_seqs")
    _positive(args.tensor_parallel_size, "tensor_parallel_size")
    if not 0 < args.gpu_memory_utilization <= 1:
        raise LaunchError(
            "pydantic_core._pydantic_core.ValidationError",
            "1 validation error for CacheConfig\ngpu_memory_utilization\n  Input should be greater than 0 and at "
            f"most 1 [input_value={args.gpu_memory_utilization}]",
        )
    quantization = _quantization(args.quantization, checkpoint, platform)
    given = _speculation(args)
    if given:
        given = speculation.resolve(given, checkpoint, platform, args.tensor_parallel_size, args.pipeline_parallel_size)
        warnings += _scheduling_warnings(given, batched, sequences)
    _check_loader(args.model_loader_extra_config, args.safetensors_load_strategy)
    block_size = _block_size(args.block_size, checkpoint, platform, warnings)
    _check_cache_dtype(args.kv_cache_dtype, checkpoint, platform)
    return Launch(
        platform=platform,
        checkpoint=checkpoint,
        served_names=tuple(args.served_model_name or (checkpoint.path,)),
        max_model_len=max_model_len,
        max_num_batched_tokens=batched,
        max_num_seqs=sequences,
        block_size=block_size,
        tensor_parallel_size=args.tensor_parallel_size,
        expert_parallel=args.enable_expert_parallel,
        gpu_memory_utilization=args.gpu_memory_utilization,
        kv_cache_dtype=args.kv_cache_dtype,
        prefix_caching=args.enable_prefix_caching is not False,
        quantization=quantization,
        speculation=given,
        warnings=tuple(warnings),
    )


def _positive(value, name):
    if value < 1:
        raise LaunchError(
            "pydantic_core._pydantic_core.ValidationError",
            f"1 validation error\n{name}\n  Input should be greater than or equal to 1 [input_value={value}]",
        )
    return value


def _max_model_len(given, checkpoint):
    limit = checkpoint.context_length
    if given in (None, -1):
        return limit or 8192
    if limit and given > limit:
        raise LaunchError(
            "pydantic_core._pydantic_core.ValidationError",
            "1 validation error for ModelConfig\n  Value error, User-specified max_model_len "
            f"({given}) is greater than the derived max_model_len (max_position_embeddings={limit} or "
            "model_max_length=None in model's config.json). To allow overriding this maximum, set the env var "
            "VLLM_ALLOW_LONG_MAX_MODEL_LEN=1.",
        )
    return _positive(given, "max_model_len")


def _quantization(given, checkpoint, platform):
    """An AWQ or GPTQ checkpoint needs no option: its config.json says the method, which vLLM then calls auto_*."""
    found = checkpoint.quantization
    if given == "ascend" and platform != "ascend":
        raise LaunchError("ValueError", "Unknown quantization method: ascend.")
    if found not in ("awq", "gptq"):
        return given or found
    if given not in (None, found, f"{found}_marlin", f"auto_{found}", "marlin"):
        raise LaunchError(
            "pydantic_core._pydantic_core.ValidationError",
            "1 validation error for ModelConfig\n  Value error, Quantization method specified in the model config "
            f"({found}) does not match the quantization method specified in the `quantization` argument ({given}).",
        )
    return f"auto_{found}"


def _speculation(args) -> dict:
    given = dict(args.speculative_config or {})
    shortcuts = {
        "method": args.spec_method,
        "model": args.spec_model,
        "num_speculative_tokens": args.spec_tokens,
    }
    given.update({key: value for key, value in shortcuts.items() if value is not None})
    return given


def _scheduling_warnings(given, batched, sequences):
    if given.get("method") != "dspark":
        return []
    scheduled = batched - (given["num_speculative_tokens"] - 1) * sequences
    head = f"max_num_scheduled_tokens is set to {scheduled} based on the speculative decoding settings"
    if scheduled <= 0:
        raise LaunchError(
            "ValueError",
            f"{head}, which does not allow any tokens to be scheduled. Increase max_num_batched_tokens to "
            "accommodate the additional draft token slots, or decrease num_speculative_tokens or max_num_seqs.",
        )
    return [(f"{head}.", "vllm.py:1646")] if scheduled < 8192 else []


def _check_loader(config, strategy):
    unexpected = set(config) - _LOADER_KEYS
    if unexpected:
        raise LaunchError(
            "ValueError", f"Unexpected extra config keys for load format auto: {unexpected}", "Worker_TP0"
        )
    multithread = config.get("enable_multithread_load", False)
    if not isinstance(multithread, bool):
        raise LaunchError(
            "ValueError", f"enable_multithread_load must be a bool, got {type(multithread).__name__}", "Worker_TP0"
        )
    threads = config.get("num_threads")
    if threads is not None and not (isinstance(threads, int) and threads > 0):
        raise LaunchError("ValueError", f"num_threads must be a positive integer, got {threads!r}", "Worker_TP0")
    if multithread and strategy not in (None, "lazy"):
        raise LaunchError(
            "ValueError",
            f"enable_multithread_load does not support safetensors_load_strategy={strategy!r}; the multi-thread "
            "loader only implements the default lazy strategy.",
            "Worker_TP0",
        )


def _block_size(given, checkpoint, platform, warnings):
    if platform == "ascend" and given is not None and given not in _ASCEND_BLOCK_SIZES:
        warnings.append((f"Block size {given} is not supported on this NPU, resetting it to 32.", "platform.py:1"))
        return 32
    needs_its_own = platform == "cuda" and checkpoint.is_deepseek_v4
    if given is not None:
        block_size = given
    else:
        block_size = _DEEPSEEK_V4_BLOCK_SIZE if needs_its_own else _DEFAULT_BLOCK_SIZE[platform]
    if needs_its_own and block_size != _DEEPSEEK_V4_BLOCK_SIZE:
        # The real engine dies in KV grouping with a bare assertion.
        raise LaunchError("AssertionError", "", "EngineCore")
    return block_size


def _check_cache_dtype(dtype, checkpoint, platform):
    if platform == "cuda" and checkpoint.is_deepseek_v4 and not dtype.startswith("fp8"):
        raise LaunchError(
            "AssertionError",
            f"DeepseekV4 fp8_ds_mla layout only supports fp8 kv-cache, got {dtype}",
            "Worker_TP0",
        )
