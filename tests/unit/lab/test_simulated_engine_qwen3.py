"""Qwen3 with a DSpark draft in a directory of its own, as vLLM 0.25.0 takes and refuses it."""

from __future__ import annotations

import json

import pytest
from engine_process import ENGINE_FOLDER, QWEN3_CONFIG, QWEN3_DRAFT_CONFIG, write_config
from simulated_engine import checkpoint, speculation
from simulated_engine.failure import LaunchError

LAB_MODELS = ENGINE_FOLDER.parents[1] / "files" / "models"
PARSERS = ["--enable-auto-tool-choice", "--tool-call-parser=hermes", "--reasoning-parser=qwen3"]


@pytest.fixture
def target(tmp_path):
    return write_config(tmp_path / "Qwen3-8B-AWQ", QWEN3_CONFIG)


@pytest.fixture
def draft(tmp_path):
    return write_config(tmp_path / "draft", QWEN3_DRAFT_CONFIG)


def speculative(draft, **changes):
    pairs = {
        "method": "dspark",
        "num_speculative_tokens": 7,
        "draft_sample_method": "greedy",
        "model": str(draft),
        **changes,
    }
    given = {key: value for key, value in pairs.items() if value is not None}
    return "--speculative-config=" + json.dumps(given, separators=(",", ":"))


def resolve(draft, **given):
    target = checkpoint.Checkpoint("/target", QWEN3_CONFIG)
    return speculation.resolve({"model": str(draft), **given}, target, "cuda", 1, 1)


def test_the_labs_checkpoints_start(start_engine):
    model, draft = LAB_MODELS / "Qwen3-8B-AWQ", LAB_MODELS / "dspark_qwen3_8b_block7"
    engine = start_engine("--max-model-len=16384", *PARSERS, speculative(draft), model=model)
    for line in (
        "Resolved architecture: Qwen3ForCausalLM",
        "Using max model len 16384",
        "quantization=auto_awq",
        f"'model': '{draft}'",
    ):
        assert line in engine.log
    assert "KV cache size" not in engine.log
    assert "draft model loaded" not in engine.log
    engine.chat("Tell a story.", max_tokens=40)
    assert engine.metric("vllm:spec_decode_num_drafts_total") > 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"markov_rank": None}, "AttributeError: 'Qwen3Config' object has no attribute 'markov_rank'"),
        ({"mask_token_id": None}, "ValueError: Model config must specify `dflash_config.mask_token_id`"),
        # vLLM then takes it for a DeepSeek-V4 draft.
        (
            {"architectures": ["Qwen3ForCausalLM"]},
            "AttributeError: 'Qwen3Config' object has no attribute 'dspark_target_layer_ids'",
        ),
        ({"architectures": None}, "No model architectures are specified"),
        ({"n_predict": 3}, "num_speculative_tokens:7 must be divisible by n_predict=3"),
    ],
)
def test_a_draft_that_does_not_fit_is_refused(launch_and_fail, target, draft, changes, message):
    write_config(draft, QWEN3_DRAFT_CONFIG, **changes)
    status, output = launch_and_fail(speculative(draft), model=target)
    assert status == 1
    assert message in output


@pytest.mark.parametrize("missing", ["block_size", "enable_confidence_head", "target_layer_ids"])
def test_what_vllm_starts_without(start_engine, target, draft, missing):
    write_config(draft, QWEN3_DRAFT_CONFIG, **{missing: None})
    start_engine(speculative(draft), model=target)


def test_a_draft_that_is_not_there_is_refused(launch_and_fail, target, tmp_path):
    status, output = launch_and_fail(speculative(tmp_path / "nowhere"), model=target)
    assert status == 1
    assert "validation error for SpeculativeConfig" in output
    assert f"Invalid repository ID or local directory specified: '{tmp_path / 'nowhere'}'" in output


def test_without_a_draft_qwen3_has_none(launch_and_fail, target):
    status, output = launch_and_fail(speculative(None, model=None), model=target)
    assert status == 1
    assert "'Qwen3Config' object has no attribute 'dspark_target_layer_ids'" in output


def test_the_number_of_tokens_comes_from_n_predict_alone(draft):
    with pytest.raises(LaunchError) as refused:
        resolve(draft, method="dspark")
    assert "A speculative model was provided, but `num_speculative_tokens` was not provided" in str(refused.value)
    write_config(draft, QWEN3_DRAFT_CONFIG, n_predict=7)
    assert resolve(draft, method="dspark")["num_speculative_tokens"] == 7


@pytest.mark.parametrize("given", [{}, {"method": "draft_model"}])
def test_the_method_is_read_off_the_draft(draft, given):
    assert resolve(draft, num_speculative_tokens=7, **given)["method"] == "dspark"


def test_ngram_looks_at_no_draft():
    assert resolve("/nowhere", method="ngram", num_speculative_tokens=2)["method"] == "ngram"


def test_another_quantisation_than_the_checkpoints_is_refused(launch_and_fail, target):
    status, output = launch_and_fail("--quantization=gptq", model=target)
    assert status == 1
    assert "model config (awq) does not match the quantization method specified" in output


@pytest.mark.parametrize("given", ["awq", "awq_marlin"])
def test_the_checkpoints_own_quantisation_may_be_said(start_engine, target, given):
    assert "quantization=auto_awq" in start_engine(f"--quantization={given}", model=target).log
