"""What a checkpoint is judged to be."""

from __future__ import annotations

import pytest
from ansible_collections.inferops.gpustack.plugins.module_utils import _checkpoint
from ansible_collections.inferops.gpustack.plugins.plugin_utils import _checkpoint_facts, _data

NO_DRAFT = "config.json has no dspark_* keys, so this checkpoint carries no DSpark draft"
# fixture: layout, format, layers, block size, n_predict, weight bytes, missing
EXPECTED = {
    "flash_0731": ("fused", "fp4", 5, 1, 167_000_000_000, []),
    "flash_preview": ("none", "fp4", None, 1, 160_000_000_000, [NO_DRAFT]),
    "flash_0731_w8a8": ("fused", "w8a8", 5, 1, 300_000_000_000, []),
    "flash_41": ("nested", "fp4", 5, 3, 180_000_000_000, []),
    "qwen3_8b": ("none", "none", None, None, 16_381_470_720, [NO_DRAFT]),
    "no_draft_weights": (
        "fused",
        "fp4",
        5,
        1,
        160_000_000_000,
        ["no mtp.* tensors among the weights, so the draft announced by config.json is not there"],
    ),
    "stage_lost": (
        "fused",
        "fp4",
        5,
        1,
        165_000_000_000,
        [
            "the draft has 3 stages, mtp.0 to mtp.2; among the weights are mtp.0, mtp.1",
            "mtp.2.markov_head is not among the weights",
        ],
    ),
    "layers_out_of_range": (
        "fused",
        "fp4",
        5,
        1,
        167_000_000_000,
        ["dspark_target_layer_ids is [41, 42, 43], where the target has layers 0 to 42"],
    ),
    "no_noise_token": (
        "fused",
        "fp4",
        5,
        1,
        167_000_000_000,
        [
            "no noise token: config.json has none of dflash_config.mask_token_id, mask_token_id, dspark_noise_token_id,"
            " pard_token, ptd_token_id"
        ],
    ),
    "markov_rank_0": (
        "fused",
        "fp4",
        5,
        1,
        167_000_000_000,
        ["dspark_markov_rank is 0, where a number above 0 is needed"],
    ),
    "index_missing": (
        "fused",
        "fp4",
        5,
        1,
        None,
        ["the names of the weights are unknown, so the draft cannot be looked for"],
    ),
    "report_a_filled": ("report_a", "fp4", 5, 1, 167_000_000_000, []),
    "report_a_empty": (
        "report_a",
        "fp4",
        5,
        1,
        167_000_000_000,
        [
            "DSpark runtime missing: dspark.json is there and dspark_config/ is empty (hidden folders are lost by sync"
            " tools)"
        ],
    ),
}
DSPARK = {
    "num_hidden_layers": 43,
    "vocab_size": 129280,
    "dspark_target_layer_ids": [40, 41, 42],
    "dspark_markov_rank": 256,
    "dspark_noise_token_id": 128799,
    "dspark_block_size": 5,
}
DRAFT = {"stages": [0, 1, 2], "tensors": 4705, "main_proj": True, "main_norm": True, "markov_head": True}


def of(config, **found):
    read = {"path": "/srv/models/x", "readable": True, "config": config, "tensors": 70000, "draft": DRAFT, **found}
    return _checkpoint_facts.facts(read, "h20-01")


def missing(config, **found):
    return of(config, **found)["dspark"]["missing"]


@pytest.mark.parametrize("name", EXPECTED)
def test_facts_of_a_fixture(checkpoint, name):
    layout, form, block_size, n_predict, weight_bytes, lacking = EXPECTED[name]
    found = _checkpoint_facts.facts(_checkpoint.read(checkpoint(name)), "h20-01")
    assert (found["path"], found["readable"]) == (checkpoint(name), True)
    assert (found["layout"], found["format"]) == (layout, form)
    assert found["weight_bytes"] == weight_bytes
    assert found["dspark"] == {
        "ready": lacking == [],
        "block_size": block_size,
        "n_predict": n_predict,
        "missing": lacking,
    }


def test_a_standalone_draft(checkpoint):
    found = _checkpoint_facts.facts(_checkpoint.read(checkpoint("qwen3_8b_dspark")), "h20-01")
    assert (found["layout"], found["format"]) == ("draft", "none")
    assert found["dspark"] == {"ready": True, "block_size": 7, "n_predict": None, "missing": []}


def test_a_standalone_draft_that_is_not_ready(checkpoint):
    found = _checkpoint_facts.facts(_checkpoint.read(checkpoint("draft_not_ready")), "h20-01")
    assert found["layout"] == "draft"
    assert found["dspark"]["missing"] == [
        "block_size is missing, where a number above 0 is needed",
        "the noise token mask_token_id is 151936, where the vocabulary has 0 to 151935",
    ]


def test_a_config_that_cannot_be_read(checkpoint):
    found = _checkpoint_facts.facts(_checkpoint.read(checkpoint("config_not_json")), "h20-01")
    assert (found["readable"], found["layout"], found["format"]) == (False, "none", "unknown")
    assert (found["family"], found["config"]) == (None, None)
    assert found["dspark"]["missing"] == [found["problem"]]
    assert "config.json is not JSON" in found["problem"]


@pytest.mark.parametrize(
    "config",
    [
        {"architectures": ["Qwen3DSparkModel"]},
        {"architectures": ["K3DSparkModel"]},
        {"markov_rank": 1, "target_layer_ids": [0]},
        {"speculators_model_type": "dspark"},
    ],
)
def test_what_makes_a_standalone_draft(config):
    assert of(config)["layout"] == "draft"


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"block_size": 8},
        {"markov_rank": 256},
        {"target_layer_ids": [1]},
        {"architectures": "Qwen3DSparkModel"},
        {"text_config": []},
    ],
)
def test_what_does_not(config):
    assert of(config)["layout"] == "none"


def test_a_draft_in_the_speculators_form():
    config = {"speculators_model_type": "dspark", "mask_token_id": 0, "transformer_layer_config": {"hidden_size": 1}}
    assert missing(config) == ["aux_hidden_state_layer_ids is missing in config.json"]
    assert missing({**config, "aux_hidden_state_layer_ids": [1]}) == []


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"dspark_target_layer_ids": []}, "dspark_target_layer_ids is [], where a list of layers"),
        ({"dspark_target_layer_ids": 41}, "dspark_target_layer_ids is 41, where a list of layers"),
        ({"dspark_target_layer_ids": None}, "dspark_target_layer_ids is missing, where a list of layers"),
        ({"dspark_target_layer_ids": [-1]}, "dspark_target_layer_ids is [-1], where the target has layers 0 to 42"),
        ({"dspark_target_layer_ids": [True]}, "dspark_target_layer_ids is [True], where the target has layers"),
        ({"dspark_target_layer_ids": ["4"]}, "dspark_target_layer_ids is ['4'], where the target has layers"),
        ({"dspark_target_layer_ids": [-1], "num_hidden_layers": "x"}, "where the target has layers 0 and up"),
        ({"dspark_markov_rank": "256"}, "dspark_markov_rank is '256', where a number above 0 is needed"),
        ({"dspark_block_size": True}, "dspark_block_size is True, where a number above 0 is needed"),
        ({"dspark_noise_token_id": 129280}, "dspark_noise_token_id is 129280, where the vocabulary has 0 to 129279"),
        ({"dspark_noise_token_id": -1, "vocab_size": None}, "where the vocabulary has 0 and up"),
    ],
)
def test_each_key_is_judged(changed, text):
    found = missing({**DSPARK, **changed})
    assert len(found) == 1
    assert text in found[0]


def test_the_first_noise_token_counts():
    assert missing({**DSPARK, "mask_token_id": -5}) == [
        "the noise token mask_token_id is -5, where the vocabulary has 0 to 129279"
    ]
    assert missing({**DSPARK, "mask_token_id": -5, "dflash_config": {"mask_token_id": 0}}) == []


def test_everything_that_is_missing_is_named_at_once():
    assert len(missing({"dspark_version": 1}, draft=None)) == 5


@pytest.mark.parametrize(
    ("config", "stages"),
    [
        (DSPARK, 3),
        ({**DSPARK, "num_nextn_predict_layers": 1}, 3),
        ({**DSPARK, "n_mtp_layers": 2}, 2),
        ({**DSPARK, "dspark_num_mtp_layers": 4}, 4),
        ({"text_config": {**DSPARK, "num_nextn_predict_layers": 2}}, 2),
        ({"text_config": DSPARK}, 3),
    ],
)
def test_how_many_stages_a_draft_has(config, stages):
    assert missing(config, draft={**DRAFT, "stages": list(range(stages))}) == []
    assert len(missing(config, draft={**DRAFT, "stages": list(range(stages + 1))})) == 1


@pytest.mark.parametrize("stages", [[0, 2], [0, 1, 3]])
def test_a_gap_between_stages_is_found(stages):
    assert len(missing(DSPARK, draft={**DRAFT, "stages": stages})) == 1


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ("main_proj", "mtp.0.main_proj is not among the weights"),
        ("main_norm", "mtp.0.main_norm is not among the weights"),
        ("markov_head", "mtp.2.markov_head is not among the weights"),
    ],
)
def test_each_weight_is_looked_for(part, text):
    assert missing(DSPARK, draft={**DRAFT, part: False}) == [text]


def test_report_a_without_its_folder():
    assert missing(DSPARK, dspark_json=True, dspark_config=None) == [
        "DSpark runtime missing: dspark.json is there and dspark_config/ is missing (hidden folders are lost by sync"
        " tools)"
    ]


def weights(type, bits):
    return {
        "quant_method": "compressed-tensors",
        "config_groups": {"group_0": {"weights": {"type": type, "num_bits": bits}}},
    }


@pytest.mark.parametrize(
    ("quantisation", "expected"),
    [
        (None, "none"),
        ({"quant_method": "fp8"}, "fp8"),
        ({"quant_method": "fp8", "expert_dtype": "fp4"}, "fp4"),
        ({"quant_method": "awq", "bits": 4}, "awq"),
        ({"quant_method": "gptq"}, "gptq"),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "fp4"),
        ({"quant_method": "modelopt", "quant_algo": "FP8"}, "fp8"),
        ({"quant_method": "modelopt"}, "unknown"),
        (weights("float", 8), "fp8"),
        (weights("float", 4), "fp4"),
        (weights("int", 8), "w8a8"),
        (weights("int", 4), "unknown"),
        (weights([], {}), "unknown"),
        ({"quant_method": "compressed-tensors", "config_groups": 1}, "unknown"),
        ({"quant_method": "bitsandbytes"}, "unknown"),
        ({"quant_method": ["fp8"]}, "unknown"),
        ({}, "unknown"),
        ("fp8", "unknown"),
    ],
)
def test_format(quantisation, expected):
    config = {"model_type": "x"} if quantisation is None else {"quantization_config": quantisation}
    assert of(config)["format"] == expected
    assert of({"text_config": config})["format"] == expected
    assert of(config, quant_description=True)["format"] == "w8a8"


def test_the_type_of_the_experts_may_be_beside_the_quantisation():
    assert of({"expert_dtype": "fp4", "quantization_config": {"quant_method": "fp8"}})["format"] == "fp4"
    assert of({"expert_dtype": "fp8", "quantization_config": {"quant_method": "fp8"}})["format"] == "fp8"


@pytest.mark.parametrize(
    ("config", "family"),
    [
        ({"model_type": "kind_a"}, "first"),
        ({"model_type": "wrapper", "text_config": {"model_type": "kind_b"}}, "second"),
        ({"model_type": "other"}, None),
        ({"model_type": ["kind_a"]}, None),
        ({}, None),
    ],
)
def test_the_family_is_told_by_model_type(monkeypatch, config, family):
    files = {
        "families/first.yml": {"model_types": ["kind_a"]},
        "families/old.yml": {"description": "a file that names no types"},
        "families/second.yml": {"model_types": ["kind_b", "kind_c"]},
    }
    load = _data.load
    monkeypatch.setattr(_data, "names", lambda directory: ("first", "old", "second"))
    monkeypatch.setattr(_data, "load", lambda path: files.get(path) or load(path))
    assert of(config)["family"] == family


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("flash_0731", "deepseek_v4"),
        ("flash_0731_w8a8", "deepseek_v4"),
        ("flash_41", "deepseek_v41"),
        ("qwen3_8b", "qwen3"),
        ("qwen3_8b_dspark", "qwen3"),
    ],
)
def test_families_of_this_collection(checkpoint, name, family):
    assert _checkpoint_facts.facts(_checkpoint.read(checkpoint(name)), "h20-01")["family"] == family
