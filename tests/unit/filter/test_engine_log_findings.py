# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two real logs against what was planned for them, and one difference at a time."""

from __future__ import annotations

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.inferops.gpustack.plugins.filter.engine_log_findings import engine_log_findings
from ansible_collections.inferops.gpustack.plugins.plugin_utils import _data

FLASH = {
    "model_type": "deepseek_v4",
    "num_hidden_layers": 43,
    "compress_ratios": [0, 0, *[4, 128] * 20, 4, 0, 0, 0],
}
INPUTS = {
    "release": "0.26.0",
    "platform": "cuda",
    "max_model_len": 500000,
    "max_num_batched_tokens": 8192,
    "gib_per_device": 100.0,
    "gib_from": "estimate",
    "config_from": "the checkpoint",
    "dspark": True,
    "speculative_tokens": 7,
}
H20 = {
    "name": "flash-h20-x1",
    "model_name": "flash-h20",
    "worker_name": "h20-01",
    "engine_version": "0.26.0",
    "kv_cache_gib": 108.37,
    "kv_cache_tokens": 6837341,
    "concurrency": 13.67,
    "max_model_len": 500000,
    "max_num_batched_tokens": 8192,
    "draft_parameters": 1186,
    "unknown_variables": [],
    "problem": None,
}
ASCEND = dict(H20, kv_cache_gib=13.89, kv_cache_tokens=539406, concurrency=1.08, max_num_batched_tokens=None)
UNREAD = dict.fromkeys(H20) | {"model_name": "flash-h20", "worker_name": "h20-01", "unknown_variables": []}


def planned(config=FLASH, dspark=True, **inputs):
    return {"name": "flash-h20", "dspark": dspark, "config": config, "capacity": {"inputs": {**INPUTS, **inputs}}}


def told(deployment, *instances):
    return engine_log_findings([deployment], list(instances))


def kinds(deployment, *instances):
    return [finding["id"] for finding in told(deployment, *instances)]


@pytest.mark.parametrize(
    ("deployment", "instance"),
    [
        (planned(), H20),
        (planned(platform="ascend"), ASCEND),
        # 0.33 gives other figures, as it should.
        (planned(release="0.33.0"), dict(H20, engine_version="0.33.0", kv_cache_tokens=6721919)),
        (planned(), dict(H20, engine_version="0.26.1+local")),
    ],
)
def test_as_planned(deployment, instance):
    assert told(deployment, instance) == []


@pytest.mark.parametrize(
    ("tokens", "found"), [(6837341 - 68373, 0), (6837341 - 68374, 1), (6837341 + 68373, 0), (6837341 + 68374, 1)]
)
def test_more_than_one_per_cent(tokens, found):
    assert kinds(planned(), dict(H20, kv_cache_tokens=tokens)) == ["kv_capacity_differs"] * found


def test_a_planted_difference():
    (finding,) = told(planned(), dict(H20, kv_cache_tokens=6153606))
    assert finding == {
        "id": "kv_capacity_differs",
        "severity": "warning",
        "where": "deployment flash-h20 on h20-01",
        "found": "the engine's KV cache holds 6,153,606 tokens in 108.37 GiB",
        "expected": "6,837,341 tokens in that memory, as planned (-10.0 %)",
        "fix": "the log tells no other context, batched tokens or release than planned: look for arguments in GPUStack "
        "that the plan does not have, another image, or another checkpoint than planned",
        "source": "docs/decisions/0013-kv-cache.md",
        "accepted": "",
    }


def test_a_checkpoint_that_could_not_be_read_is_named():
    (finding,) = told(planned(config_from="DeepSeek-V4-Flash"), dict(H20, kv_cache_tokens=6153606))
    assert "another checkpoint than DeepSeek-V4-Flash, whose config.json was planned with" in finding["fix"]


def test_other_batched_tokens_explain_it():
    (finding,) = told(planned(max_num_batched_tokens=4096), H20)
    assert (finding["id"], finding["expected"]) == (
        "kv_capacity_differs",
        "10,938,639 tokens in that memory, as planned (-37.5 %)",
    )
    assert finding["fix"] == "look at what the engine got: max_num_batched_tokens is 8192, planned was 4096"


def test_another_release_explains_it():
    (finding,) = told(planned(release="0.25.0"), H20)
    assert finding["fix"] == "look at what the engine got: release is 0.26.0, planned was 0.25.0"


def test_another_context():
    """The command line of 300000 that a log of 500000 was shown with."""
    context, capacity = told(planned(max_model_len=300000), H20)
    assert (context["id"], context["found"], context["expected"]) == (
        "engine_context_differs",
        "the engine serves a context of 500,000 tokens",
        "300,000 tokens (max-model-len)",
    )
    assert capacity["found"] == "the engine's KV cache holds 6,837,341 tokens in 108.37 GiB"
    assert capacity["expected"] == "4,553,104 tokens in that memory, as planned (+50.2 %)"
    assert capacity["fix"] == "look at what the engine got: max_model_len is 500000, planned was 300000"


def test_something_else_on_top():
    (finding,) = told(planned(max_num_batched_tokens=4096), dict(H20, kv_cache_tokens=6000000))
    assert finding["fix"] == (
        "look at what the engine got: max_num_batched_tokens is 8192, planned was 4096; that does not explain all of it"
    )


def test_an_empty_draft_is_an_error():
    (finding,) = told(planned(), dict(H20, draft_parameters=0))
    assert (finding["id"], finding["severity"]) == ("dspark_draft_empty", "error")
    assert "mtp.*" in finding["expected"]
    assert kinds(planned(), dict(H20, draft_parameters=None)) == []


def test_no_draft_is_wanted_without_dspark():
    without = planned(dspark=False)
    without["capacity"] = {"inputs": {}}
    assert told(without, dict(H20, draft_parameters=0)) == []


def test_unknown_variables():
    found = told(planned(), dict(H20, unknown_variables=["VLLM_A", "VLLM_B"]))
    assert [finding["id"] for finding in found] == ["engine_variable_unknown"] * 2
    assert "VLLM_B" in found[1]["found"]


@pytest.mark.parametrize(
    "deployment",
    [
        planned(config=None),
        planned(config={"model_type": "qwen3"}),
        planned(release=None),
        planned(release="0.28.0"),
        planned(max_num_batched_tokens=None),
        planned(max_num_batched_tokens=0),
        {"name": "flash-h20", "dspark": True, "capacity": {"tokens": None, "reason": "not modelled"}},
        {"name": "flash-h20", "capacity": None},
        {"name": "flash-h20"},
        {"name": "another"},
    ],
)
def test_what_is_not_modelled_is_not_compared(deployment):
    assert told(deployment, dict(H20, kv_cache_tokens=1)) == []


@pytest.mark.parametrize("instance", [UNREAD, dict(H20, kv_cache_gib=None), dict(H20, kv_cache_gib=-0.5)])
def test_a_log_without_figures(instance):
    assert told(planned(), instance) == []


def test_one_difference_on_several_workers_is_told_once_and_errors_come_first():
    wrong = dict(H20, kv_cache_tokens=6153606)
    found = told(
        planned(), wrong, dict(wrong, worker_name="h20-02"), dict(H20, worker_name="h20-03", draft_parameters=0)
    )
    assert [(finding["id"], finding["where"]) for finding in found] == [
        ("dspark_draft_empty", "deployment flash-h20 on h20-03"),
        ("kv_capacity_differs", "deployment flash-h20 on h20-01, h20-02"),
    ]


def test_every_kind_is_in_the_catalogue_with_its_severity():
    wrong = dict(H20, draft_parameters=0, unknown_variables=["VLLM_A"])
    found = told(planned(max_model_len=300000), wrong)
    catalogue = _data.load("findings.yml")
    assert {finding["id"]: finding["severity"] for finding in found} == {
        kind: catalogue[kind]["severity"]
        for kind in ("dspark_draft_empty", "engine_context_differs", "kv_capacity_differs", "engine_variable_unknown")
    }


@pytest.mark.parametrize(
    ("deployments", "instances", "problem"),
    [
        ("flash", [], "the input is not a list of dictionaries"),
        ([planned()], None, "instances is not a list of dictionaries"),
        ([{"path": "/a"}], [H20], "has no 'name'"),
        ([planned()], [{"name": "a"}], "has no 'model_name'"),
    ],
)
def test_refusals(deployments, instances, problem):
    with pytest.raises(AnsibleFilterError, match=f"^engine_log_findings: .*{problem}"):
        engine_log_findings(deployments, instances)
