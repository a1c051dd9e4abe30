# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whose logs are read, how far, and what comes of it."""

from __future__ import annotations

import itertools
import types

import pytest
from ansible_collections.inferops.gpustack.plugins.module_utils import _engine_log

MODULE = "engine_log_info"
SECRET = "sk-Canary-4711"
LOG = f"""\
INFO non-default args: {{'api_key': ['{SECRET}'], 'max_num_batched_tokens': 8192}}
WARNING Unknown vLLM environment variable detected: VLLM_NO_SUCH
INFO Initializing a V1 LLM engine (v0.26.0) with config: model='/srv/models/a'
INFO Available KV cache memory: 108.37 GiB
INFO GPU KV cache size: 6,837,341 tokens
INFO Maximum concurrency for 500,000 tokens per request: 13.67x
INFO:     Application startup complete.
"""
LATER = "INFO GPU KV cache size: 17 tokens, Maximum concurrency for 17 tokens per request: 1.00x\n"
FOUND = {
    "name": "a-x1",
    "model_name": "a",
    "worker_name": "h20-01",
    "engine_version": "0.26.0",
    "kv_cache_gib": 108.37,
    "kv_cache_tokens": 6837341,
    "concurrency": 13.67,
    "max_model_len": 500000,
    "max_num_batched_tokens": 8192,
    "draft_parameters": None,
    "unknown_variables": ["VLLM_NO_SUCH"],
    "problem": None,
}


def instance(number, model="a", state="running"):
    return {"id": number, "name": f"{model}-x{number}", "model_name": model, "worker_name": "h20-01", "state": state}


@pytest.fixture
def instances(server):
    def there_are(*found, version="v2.3.0"):
        server.on("GET", "/v2/model-instances", {"items": found, "pagination": {"totalPage": 1}})
        server.on("GET", "/version", {"version": version})

    return there_are


def logs_read(server):
    return [path for _, path, _, _ in server.requests if "/logs" in path]


def test_figures_and_nothing_else(run, server, instances):
    instances(instance(1))
    server.on("GET", "/v2/model-instances/1/logs", LOG + LATER)
    result = run(MODULE)
    assert (result["changed"], result["instances"]) == (False, [FOUND])
    assert SECRET not in str(result)


def test_the_running_instances_of_the_named_deployments(run, server, instances):
    instances(instance(3), instance(1), instance(2, state="starting"), instance(4, model="b"))
    for number in (1, 2, 3, 4):
        server.on("GET", f"/v2/model-instances/{number}/logs", LOG)
    assert [one["name"] for one in run(MODULE)["instances"]] == ["a-x1", "a-x3", "b-x4"]
    assert [one["name"] for one in run(MODULE, deployments=["a", "c"])["instances"]] == ["a-x1", "a-x3"]
    assert run(MODULE, deployments=[])["instances"] == []


@pytest.mark.parametrize(
    ("version", "query"), [("v2.1.2", "?follow=true"), ("v2.2.3", "?follow=true"), ("v2.3.0", ""), ("0.0.0", "")]
)
def test_a_server_that_would_read_the_whole_log_is_asked_to_follow_it(run, server, instances, version, query):
    instances(instance(1), version=version)
    server.on("GET", "/v2/model-instances/1/logs", LOG)
    assert run(MODULE)["instances"] == [FOUND]
    assert logs_read(server) == [f"/v2/model-instances/1/logs{query}"]


def test_a_log_is_read_to_its_limit(run, server, instances, monkeypatch):
    monkeypatch.setattr(_engine_log, "LONGEST_START", 1000)
    instances(instance(1), instance(2))
    server.on("GET", "/v2/model-instances/1/logs", "x" * 990 + "\n" + LOG)
    server.on("GET", "/v2/model-instances/2/logs", "x" * 400 + "\n" + LOG)
    far, near = run(MODULE)["instances"]
    assert far["kv_cache_tokens"] is None
    assert far["problem"] == "The beginning of its log does not tell the size of a KV cache."
    assert (near["kv_cache_tokens"], near["problem"]) == (6837341, None)


def test_a_log_is_read_for_some_time(run, server, instances, monkeypatch):
    now = itertools.count(step=_engine_log.SECONDS // 2 + 1)
    monkeypatch.setattr(_engine_log, "time", types.SimpleNamespace(monotonic=lambda: next(now)))
    instances(instance(1))
    server.on("GET", "/v2/model-instances/1/logs", LOG)
    (found,) = run(MODULE)["instances"]
    # Two lines were read.
    assert (found["unknown_variables"], found["engine_version"]) == (["VLLM_NO_SUCH"], None)


def test_a_log_that_cannot_be_read_is_told_beside_the_others(run, server, instances):
    instances(instance(1), instance(2))
    server.on("GET", "/v2/model-instances/1/logs", LOG)
    server.on("GET", "/v2/model-instances/2/logs", "\x1b[999;1HUnable to read logs: ClientError\n", status=500)
    good, bad = run(MODULE)["instances"]
    assert good == FOUND
    assert bad["kv_cache_tokens"] is None
    assert bad["unknown_variables"] == []
    assert bad["problem"] == ("GET /v2/model-instances/2/logs answered 500: Unable to read logs: ClientError")


def test_a_log_that_ends_between_the_two_lines_of_its_size(run, server, instances):
    instances(instance(1))
    server.on("GET", "/v2/model-instances/1/logs", "INFO GPU KV cache size: 6,837,341 tokens\n")
    (found,) = run(MODULE)["instances"]
    assert (found["kv_cache_tokens"], found["concurrency"]) == (6837341, None)
    assert found["problem"] == "The beginning of its log does not tell the size of a KV cache."


def test_an_engine_that_tells_nothing(run, server, instances):
    instances(instance(1))
    server.on("GET", "/v2/model-instances/1/logs", "INFO:     Application startup complete.\n")
    (found,) = run(MODULE, check=True)["instances"]
    assert found["problem"] == "The beginning of its log does not tell the size of a KV cache."
