# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lines of a start as vLLM 0.25, 0.26 and 0.33 write them, figures from two real runs."""

from __future__ import annotations

import pytest
from ansible_collections.inferops.gpustack.plugins.module_utils import _engine_log

H20 = r"""
(APIServer pid=1) INFO 07-30 10:11:12 [api_utils.py:339] vLLM server version 0.26.0, serving model /srv/models/a
(APIServer pid=1) INFO 07-30 10:11:12 [api_utils.py:273] non-default args: {'model_tag': '/srv/models/a', 'max_model_len': 500000, 'max_num_batched_tokens': 8192, 'speculative_config': {'method': 'dspark', 'num_speculative_tokens': 7}}
(APIServer pid=1) WARNING 07-30 10:11:13 [envs.py:2041] Unknown vLLM environment variable detected: VLLM_ENGINE_READY_TIMEOUT
(EngineCore pid=171) INFO 07-30 10:11:30 [core.py:115] Initializing a V1 LLM engine (v0.26.0) with config: model='/srv/models/a', max_seq_len=500000
(Worker_TP0_EP0 pid=207) INFO 07-30 10:15:01 [dspark.py:457] DSpark draft model loaded: 1186 params
(Worker_TP1_EP1 pid=208) INFO 07-30 10:15:02 [dspark.py:457] DSpark draft model loaded: 1186 params
(Worker_TP0_EP0 pid=207) INFO 07-30 10:15:40 [gpu_worker.py:539] Available KV cache memory: 108.41 GiB
(Worker_TP1_EP1 pid=208) INFO 07-30 10:15:40 [gpu_worker.py:539] Available KV cache memory: 108.37 GiB
(EngineCore pid=171) INFO 07-30 10:15:41 [kv_cache_utils.py:2177] GPU KV cache size: 6,837,341 tokens
(EngineCore pid=171) INFO 07-30 10:15:41 [kv_cache_utils.py:2179] Maximum concurrency for 500,000 tokens per request: 13.67x
(APIServer pid=1) INFO:     Application startup complete.
""".strip().splitlines()  # noqa: E501 - lines of a log

ASCEND = r"""
(EngineCore_DP0 pid=301) INFO 08-02 03:00:01 [core.py:115] Initializing a V1 LLM engine (v0.26.0) with config: model='/srv/models/b'
(Worker_TP0_EP0 pid=311) INFO 08-02 03:04:11 [worker.py:410] Available KV cache memory: 13.89 GiB
(EngineCore_DP0 pid=301) INFO 08-02 03:04:12 [kv_cache_utils.py:2177] GPU KV cache size: 539,406 tokens
(EngineCore_DP0 pid=301) INFO 08-02 03:04:12 [kv_cache_utils.py:2179] Maximum concurrency for 500,000 tokens per request: 1.08x
""".strip().splitlines()  # noqa: E501 - lines of a log

MERGED = r"""
(EngineCore pid=9) INFO 10-01 00:00:01 [core.py:130] Initializing a V1 LLM engine (v0.33.0) with config: model='/srv/models/c'
(Worker pid=12) INFO 10-01 00:02:01 [gpu_worker.py:773] Available KV cache memory: 108.37 GiB
(EngineCore pid=9) INFO 10-01 00:02:02 [kv_cache_utils.py:1148] NPU + host KV cache size: 6,721,919 tokens, Maximum concurrency for 500,000 tokens per request: 13.44x
""".strip().splitlines()  # noqa: E501 - lines of a log

NOTHING = {
    "engine_version": None,
    "kv_cache_gib": None,
    "kv_cache_tokens": None,
    "concurrency": None,
    "max_model_len": None,
    "draft_parameters": None,
    "non_default_args": None,
    "unknown_variables": [],
}


def test_two_lines_and_the_smallest_memory():
    assert _engine_log.parse(H20) == {
        "engine_version": "0.26.0",
        "kv_cache_gib": 108.37,
        "kv_cache_tokens": 6837341,
        "concurrency": 13.67,
        "max_model_len": 500000,
        "draft_parameters": 1186,
        "non_default_args": {
            "model_tag": "/srv/models/a",
            "max_model_len": 500000,
            "max_num_batched_tokens": 8192,
            "speculative_config": {"method": "dspark", "num_speculative_tokens": 7},
        },
        "unknown_variables": ["VLLM_ENGINE_READY_TIMEOUT"],
    }


def figures(lines):
    told = _engine_log.parse(lines)
    return told["kv_cache_gib"], told["kv_cache_tokens"], told["concurrency"], told["max_model_len"]


def test_ascend():
    assert figures(ASCEND) == (13.89, 539406, 1.08, 500000)


@pytest.mark.parametrize("device", ["GPU", "NPU", "NPU + host", "CPU"])
def test_one_line_with_any_device(device):
    assert figures([line.replace("NPU + host", device) for line in MERGED]) == (108.37, 6721919, 13.44, 500000)


def test_json_lines():
    line = '{"level": "INFO", "message": "GPU KV cache size: 1,096,684 tokens, Maximum concurrency for 65,536 tokens '
    assert figures([line + 'per request: 16.73x"}']) == (None, 1096684, 16.73, 65536)


def test_colours_and_a_prefix():
    lines = [f"\x1b[1;36m[site a] \x1b[0;0m{line.replace('KV', f'{chr(27)}[32mKV{chr(27)}[0m')}" for line in H20]
    assert _engine_log.parse(lines) == _engine_log.parse(H20)


def test_nothing_of_an_engine():
    assert _engine_log.parse(["start of a with []", "\x1b[0m", "GPU KV cache usage: 1.0%"]) == NOTHING


def test_the_last_start_counts():
    again = [
        line.replace("500000", "131072").replace("500,000", "131,072").replace("6,837,341", "2,192,584")
        for line in H20
        if "DSpark" not in line and "Unknown" not in line
    ]
    told = _engine_log.parse(H20 + again)
    assert (told["kv_cache_tokens"], told["max_model_len"], told["draft_parameters"]) == (2192584, 131072, None)
    assert told["non_default_args"]["max_model_len"] == 131072
    # A start does not change the environment.
    assert told["unknown_variables"] == ["VLLM_ENGINE_READY_TIMEOUT"]


def test_a_start_that_failed_before_the_last():
    failed = H20[:3] + ["INFO Available KV cache memory: 5.10 GiB", "ERROR EngineCore failed to start."]
    assert figures(failed + H20) == figures(H20)


def test_a_start_without_its_arguments():
    assert figures(ASCEND + MERGED) == figures(MERGED)


def test_several_engines_of_one_start():
    """Data parallel: each engine tells its own, and their lines come in any order."""
    second = [line.replace("539,406", "530,000").replace("13.89", "13.70").replace("1.08", "1.06") for line in ASCEND]
    both = [ASCEND[0], second[0], ASCEND[1], *second[1:], *ASCEND[2:]]
    assert figures(both) == (13.7, 530000, 1.06, 500000)


def test_an_empty_draft():
    lines = [line.replace("1186 params", "0 params") for line in H20]
    assert _engine_log.parse(lines)["draft_parameters"] == 0


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("{'a': 1, 'b': <CUDAGraphMode.FULL: 2>, 'c': [True]}", {"a": 1, "b": None, "c": [True]}),
        ("{'a': 1, 'b': CompilationConfig(mode=3), 'c': 'x'}", {"a": 1, "c": "x"}),
        ("{'a': 1, 'b': }", None),
        ("{not python}", None),
        ("{1, 2}", None),
        ("{}", {}),
    ],
)
def test_arguments(text, found):
    assert _engine_log.parse([f"INFO non-default args: {text}"])["non_default_args"] == found
