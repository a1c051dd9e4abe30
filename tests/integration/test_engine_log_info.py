# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import fault_proxy
import pytest
from ansible_collections.inferops.gpustack.plugins.module_utils import _engine_log

MODULE = "engine_log_info"
PATH = "/v2/model-instances"
SECRET = "Canary-of-a-log"
START = [
    f"INFO [api_utils.py:273] non-default args: {{'api_key': ['{SECRET}'], 'max_num_batched_tokens': 8192}}",
    "WARNING [envs.py:2041] Unknown vLLM environment variable detected: VLLM_ENGINE_READY_TIMEOUT",
    "INFO [core.py:115] Initializing a V1 LLM engine (v0.26.0) with config: model='/srv/models/simulated'",
    "INFO [dspark.py:457] DSpark draft model loaded: 1186 params",
    "INFO [gpu_worker.py:539] Available KV cache memory: 108.37 GiB",
    "INFO [kv_cache_utils.py:2177] GPU KV cache size: 6,837,341 tokens",
    "INFO [kv_cache_utils.py:2179] Maximum concurrency for 500,000 tokens per request: 13.67x",
]
NO_FIGURES = "The beginning of its log does not tell the size of a KV cache."


@pytest.fixture
def running(server, worker, deploy, unique):
    """Makes a deployment whose engine writes these lines, and gives its instances once all of them run."""

    def make(says, **fields):
        name = unique("engine")
        worker.behave(name, says=says)
        model = deploy(name=name, **fields)
        count = fields.get("replicas", 1)
        found = server.api.wait(
            PATH,
            lambda answer: [one["state"] for one in answer["items"]] == ["running"] * count,
            model_id=model["id"],
        )
        return found["items"]

    return make


def test_figures_and_nothing_else(run, running, worker):
    (made,) = running(START)
    result = run(MODULE, deployments=[made["model_name"]])
    assert (result["changed"], result["instances"]) == (
        False,
        [
            {
                "name": made["name"],
                "model_name": made["model_name"],
                "worker_name": worker.name,
                "engine_version": "0.26.0",
                "kv_cache_gib": 108.37,
                "kv_cache_tokens": 6837341,
                "concurrency": 13.67,
                "max_model_len": 500000,
                "max_num_batched_tokens": 8192,
                "draft_parameters": 1186,
                "unknown_variables": ["VLLM_ENGINE_READY_TIMEOUT"],
                "problem": None,
            }
        ],
    )
    assert SECRET not in str(result)


def test_every_running_instance(run, running, worker, deploy):
    made = running(START, replicas=2)
    deploy(worker_selector={"rack": "nowhere"})
    found = run(MODULE)["instances"]
    assert {one["name"] for one in made} <= {one["name"] for one in found}
    assert run(MODULE, deployments=["there-is-none"])["instances"] == []


def test_a_long_log(run, running):
    """What comes after the start is not read, and not everything that comes before it."""
    line = "x" * 1000
    (late,) = running([line] * (_engine_log.LONGEST_START // 1000 + 1) + START)
    (early,) = running([line] * 1000 + START)
    (found,) = run(MODULE, deployments=[late["model_name"]])["instances"]
    assert (found["kv_cache_tokens"], found["problem"]) == (None, NO_FIGURES)
    (found,) = run(MODULE, deployments=[early["model_name"]])["instances"]
    assert (found["kv_cache_tokens"], found["problem"]) == (6837341, None)


def test_an_engine_that_tells_nothing(run, running):
    (made,) = running([])
    (found,) = run(MODULE, deployments=[made["model_name"]])["instances"]
    assert (found["kv_cache_gib"], found["problem"]) == (None, NO_FIGURES)


@pytest.mark.parametrize(
    ("fault", "problem"),
    [
        (fault_proxy.slow(3), "did not answer within 1 s."),
        (fault_proxy.reset(), "does not answer"),
        (fault_proxy.status(502), "answered 502"),
    ],
    ids=["slow", "reset", "502"],
)
def test_a_log_that_does_not_come(run, running, proxy, fault, problem, monkeypatch):
    monkeypatch.setattr(_engine_log, "SECONDS", 1)
    one, other = running(START, replicas=2)
    proxy.fault("GET", f"{PATH}/{one['id']}/logs", fault, count=None)
    found = {each["name"]: each for each in run(MODULE, url=proxy.url, deployments=[one["model_name"]])["instances"]}
    assert found[one["name"]]["kv_cache_tokens"] is None
    assert problem in found[one["name"]]["problem"]
    assert (found[other["name"]]["kv_cache_tokens"], found[other["name"]]["problem"]) == (6837341, None)


def test_a_log_is_followed_where_the_server_would_read_all_of_it(run, running, proxy, server):
    (made,) = running(START)
    run(MODULE, url=proxy.url, deployments=[made["model_name"]])
    (asked,) = proxy.sent("GET", f"{PATH}/{made['id']}/logs")
    assert asked.query == ({"follow": "true"} if server.version < "2.3" else {})


def test_no_server_in_check_mode(run):
    result = run(MODULE, check=True, url="http://127.0.0.1:9")
    assert (result["changed"], result["instances"], len(result["warnings"])) == (False, [], 1)
