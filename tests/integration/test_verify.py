# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role verify: what the engines told stands in its summary beside the plan, and an error there fails the run."""

from __future__ import annotations

import re

import pytest

from playbooks import play

PATH = "/v2/model-instances"
CONFIG = {
    "model_type": "deepseek_v4",
    "num_hidden_layers": 43,
    "compress_ratios": [0, 0, *[4, 128] * 20, 4, 0, 0, 0],
}
CAPACITY = {
    "tokens": 6309240,
    "admission_concurrency": 12.62,
    "inputs": {
        "release": "0.26.0",
        "platform": "cuda",
        "max_model_len": 500000,
        "max_num_batched_tokens": 8192,
        "gib_per_device": 100.0,
        "dspark": True,
    },
}
PLAN = {"dspark": True, "config": CONFIG, "capacity": CAPACITY}


def start(tokens="6,837,341", draft="1186"):
    return [
        "INFO [core.py:115] Initializing a V1 LLM engine (v0.26.0) with config: model='/srv/models/simulated'",
        f"INFO [dspark.py:457] DSpark draft model loaded: {draft} params",
        "INFO [gpu_worker.py:539] Available KV cache memory: 108.37 GiB",
        f"INFO [kv_cache_utils.py:2177] GPU KV cache size: {tokens} tokens",
        "INFO [kv_cache_utils.py:2179] Maximum concurrency for 500,000 tokens per request: 13.67x",
    ]


@pytest.fixture
def verify(server, worker, deploy, unique, tmp_path):
    """Runs the role for a deployment that is planned like this and whose engine says that."""

    def run(says, plan):
        name = unique("verified")
        worker.behave(name, says=says)
        model = deploy(name=name)
        server.api.wait(
            PATH, lambda answer: [one["state"] for one in answer["items"]] == ["running"], model_id=model["id"]
        )
        variables = {
            "gpustack_server_url": server.url,
            "gpustack_admin_password": server.password,
            "verify_planned_deployments": [{"name": name, **plan}],
            "verify_deployments": [name],
            "verify_stopped_deployments": [],
            "verify_routes": [],
            "verify_timeout": 60,
        }
        role = {"ansible.builtin.import_role": {"name": "inferops.gpustack.verify"}}
        plays = [{"hosts": "localhost", "gather_facts": False, "tasks": [role]}]
        done = play(plays, "-vvv", variables=variables, directory=tmp_path)
        # A line of a message stands in the output as a part of JSON, or by itself.
        return done, done.output.replace("\\n", "\n").replace(name, "NAME").replace(worker.name, "WORKER")

    return run


def test_as_planned(verify):
    done, output = verify(start(), PLAN)
    assert done.code == 0, done.of("localhost")
    assert (
        "KV cache on each device, as the engines tell it\n"
        "  NAME [WORKER]: 108.37 GiB, 6,837,341 tokens, 13.67 requests of 500,000 tokens\n"
        "    planned: 100.0 GiB, 6,309,240 tokens, 12.62 requests\n"
    ) in output
    assert "Not as planned" not in output
    assert done.recap["localhost"]["changed"] == 0
    executions = re.findall(r"Using module file .*/modules/(\w+)\.py", done.output)
    assert executions == ["chat_probe", "engine_log_info", "cluster_info"]


def test_another_size_is_told(verify):
    done, output = verify(start(tokens="6,153,606"), PLAN)
    assert done.code == 0, done.of("localhost")
    assert (
        "Not as planned\n"
        "  deployment NAME on WORKER: the engine's KV cache holds 6,153,606 tokens in 108.37 GiB.\n"
        "    Expected 6,837,341 tokens in that memory, as planned (-10.0 %); "
    ) in output


def test_a_draft_without_weights_fails(verify):
    done, output = verify(start(draft="0"), PLAN)
    assert done.code == 2
    assert "Not as planned\n  deployment NAME on WORKER: DSpark is on, and the engine loaded a draft of 0" in output
    assert "Stop when an engine cannot do what was planned" in output
    told = "What the engines told when they started\ndeployment NAME on WORKER: DSpark is on, "
    assert told in output
    assert "mtp.* in the checkpoint's model.safetensors.index.json" in output.partition(told)[2]


def test_a_plan_without_capacity_and_a_log_without_figures(verify):
    done, output = verify([], {})
    assert done.code == 0, done.of("localhost")
    assert "  NAME [WORKER]: not known. The beginning of its log does not tell the size of a KV cache.\n" in output
    assert "planned:" not in output
