"""KV-cache figures of DeepSeek-V4-Flash with DSpark, as calculated for the real engine. Nothing is interpolated."""

from __future__ import annotations

from dataclasses import dataclass

AVAILABLE_GIB = {"cuda": "108.37", "ascend": "13.89"}

# (platform, max-model-len, max-num-batched-tokens) -> tokens.
# CUDA is vLLM 0.25.0, fp8 cache, block size 256. Its 16384 rows are the figures of 0.26 at 8192: 0.26 counts two
# batches in flight, so the arithmetic is the same.
_TOKENS = {
    ("cuda", 65536, 8192): 2185140,
    ("cuda", 131072, 8192): 4050259,
    ("cuda", 300000, 8192): 7798123,
    ("cuda", 500000, 8192): 10938639,
    ("cuda", 65536, 16384): 1141543,
    ("cuda", 131072, 16384): 2192584,
    ("cuda", 300000, 16384): 4553104,
    ("cuda", 500000, 16384): 6837341,
    ("ascend", 65536, 8192): 92174,
    ("ascend", 131072, 8192): 176246,
    ("ascend", 262144, 8192): 324108,
    ("ascend", 500000, 8192): 539406,
    ("ascend", 65536, 4096): 175603,
    ("ascend", 131072, 4096): 323118,
    ("ascend", 262144, 4096): 556831,
    ("ascend", 500000, 4096): 848675,
    ("ascend", 65536, 2048): 321158,
    ("ascend", 131072, 2048): 553628,
    ("ascend", 262144, 2048): 868365,
    ("ascend", 500000, 2048): 1190448,
}

_BLOCK_SIZE = {"cuda": 256, "ascend": 128}
_LAYERS = 43


@dataclass(frozen=True)
class KvFigures:
    available_gib: str
    tokens: int
    max_model_len: int

    @property
    def concurrency(self) -> float:
        return self.tokens / self.max_model_len


def lookup(config, factor=1.0):
    """The figures for this launch times a factor, or None when it differs from what they were calculated for."""
    measured_like_this = (
        config.speculation.get("method") == "dspark"
        and config.gpu_memory_utilization == 0.9
        and config.tensor_parallel_size == 8
        and config.block_size == _BLOCK_SIZE[config.platform]
        and config.checkpoint.layers == _LAYERS
    )
    tokens = _TOKENS.get((config.platform, config.max_model_len, config.max_num_batched_tokens))
    if not measured_like_this or tokens is None:
        return None
    return KvFigures(AVAILABLE_GIB[config.platform], int(tokens * factor), config.max_model_len)
