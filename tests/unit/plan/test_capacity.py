"""The figures that engines printed or their own code worked out, and what must hold between any two answers."""

from __future__ import annotations

import json

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.inferops.gpustack.plugins.filter.kv_capacity import kv_capacity
from ansible_collections.inferops.gpustack.plugins.filter.kv_context import kv_context
from ansible_collections.inferops.gpustack.plugins.plugin_utils._kv_layout import Layout
from hypothesis import given, settings
from hypothesis import strategies as st

FLASH = {
    "model_type": "deepseek_v4",
    "num_hidden_layers": 43,
    "compress_ratios": [0, 0, *[4, 128] * 20, 4, 0, 0, 0],
}
PRO = {
    "model_type": "deepseek_v4",
    "num_hidden_layers": 61,
    "compress_ratios": [128, 128, *[4, 128] * 29, 4, 0, 0, 0],
}
H20 = {"release": "0.26.0", "platform": "cuda", "max_num_batched_tokens": 8192, "gib_per_device": 108.37}
NPU = {"release": "0.26.0", "platform": "ascend", "max_num_batched_tokens": 8192, "gib_per_device": 13.89}


def asked(base, **more):
    return {"max_model_len": 500000, "dspark": True, **base, **more}


# The two articles' logs are the 500000 rows of 0.26 with 8192; the others are vLLM's own code on a CPU.
@pytest.mark.parametrize(
    ("release", "batched", "length", "tokens", "concurrency"),
    [
        ("0.25.0", 8192, 65536, 2185140, 33.34),
        ("0.25.0", 8192, 131072, 4050259, 30.90),
        ("0.25.0", 8192, 300000, 7798123, 25.99),
        ("0.25.0", 8192, 500000, 10938639, 21.88),
        ("0.26.0", 8192, 65536, 1141543, 17.42),
        ("0.26.0", 8192, 131072, 2192584, 16.73),
        ("0.26.0", 8192, 300000, 4553104, 15.18),
        ("0.26.0", 8192, 500000, 6837341, 13.67),
        ("0.26.0", 4096, 65536, 2185140, 33.34),
        ("0.26.0", 4096, 131072, 4050259, 30.90),
        ("0.26.0", 4096, 300000, 7798123, 25.99),
        ("0.26.0", 4096, 500000, 10938639, 21.88),
        ("0.33.0", 8192, 65536, 1096684, 16.73),
        ("0.33.0", 8192, 131072, 2115316, 16.14),
        ("0.33.0", 8192, 300000, 4434721, 14.78),
        ("0.33.0", 8192, 500000, 6721919, 13.44),
    ],
)
def test_h20(release, batched, length, tokens, concurrency):
    found = kv_capacity(FLASH, **asked(H20, release=release, max_num_batched_tokens=batched, max_model_len=length))
    assert (found["tokens"], found["admission_concurrency"]) == (tokens, concurrency)


@pytest.mark.parametrize(
    ("batched", "length", "tokens", "concurrency"),
    [
        (8192, 65536, 92174, 1.41),
        (8192, 131072, 176246, 1.34),
        (8192, 262144, 324108, 1.24),
        (8192, 500000, 539406, 1.08),
        (4096, 65536, 175603, 2.68),
        (4096, 131072, 323118, 2.47),
        (4096, 262144, 556831, 2.12),
        (4096, 500000, 848675, 1.70),
        (2048, 65536, 321158, 4.90),
        (2048, 131072, 553628, 4.22),
        (2048, 262144, 868365, 3.31),
        (2048, 500000, 1190448, 2.38),
    ],
)
def test_910b(batched, length, tokens, concurrency):
    found = kv_capacity(FLASH, **asked(NPU, max_num_batched_tokens=batched, max_model_len=length))
    assert (found["tokens"], found["admission_concurrency"], found["blocks"]) == (tokens, concurrency, 4038)


@pytest.mark.parametrize(
    ("length", "batched", "gib"), [(500000, 8192, 12.13), (131072, 8192, 9.78), (131072, 4096, 5.33)]
)
def test_910b_minimum(length, batched, gib):
    assert kv_capacity(FLASH, **asked(NPU, max_model_len=length, max_num_batched_tokens=batched))["minimum_gib"] == gib


@pytest.mark.parametrize(
    ("platform", "release", "size"),
    [
        ("cuda", "0.25.0", 1077120),
        ("cuda", "0.26.0", 1077120),
        ("cuda", "0.33.0", 1002240),
        ("ascend", "0.26.0", 3692800),
    ],
)
def test_bytes_of_a_block(platform, release, size):
    assert Layout(FLASH, release, platform, dspark=True).bytes_per_block == size


# By hand from the page table: 1954 + 2 * 259 + 4099 + 2065 pages.
@pytest.mark.parametrize(("release", "gib"), [("0.26.0", 8.84), ("0.27.1", 8.84), ("0.29.0", 8.06), ("0.33.0", 8.06)])
def test_minimum_of_the_h20(release, gib):
    assert kv_capacity(FLASH, **asked(H20, release=release))["minimum_gib"] == gib


# From 0.27 on a request is counted in pages: 4038 blocks for 977 + 31 + 2 * 130 + 2050 + 517 of them.
def test_910b_of_later_releases():
    found = kv_capacity(FLASH, **asked(NPU, release="0.27.1"))
    assert (found["tokens"], found["admission_concurrency"], found["minimum_gib"]) == (526466, 1.05, 12.13)


# By hand, with 2 * (1 + 7) tokens in flight: 108030 / (1954 + 2 * 4 + 7 + 19), 4038 / (977 + 31 + 2 * 3 + 4 + 6).
@pytest.mark.parametrize(("base", "steady"), [(H20, 54.34), (NPU, 3.94)])
def test_past_the_prefill(base, steady):
    assert kv_capacity(FLASH, **asked(base))["steady_concurrency"] == steady


def test_past_the_prefill_with_other_load():
    # One token in flight: 4038 / (977 + 31 + 2 * 2 + 2 + 5).
    alone = asked(NPU, max_concurrent_batches=1, speculative_tokens=0)
    assert kv_capacity(FLASH, **alone)["steady_concurrency"] == 3.96


# Pro has 64 windows with its draft stages, 61 without: two groups of 32, or of 31 and 30.
@pytest.mark.parametrize(
    ("config", "dspark", "platform", "size"),
    [
        (PRO, True, "cuda", 32 * 37440 + 30 * 8640 + 31 * 1728),
        (PRO, False, "cuda", 31 * 37440 + 30 * 8640 + 31 * 1728),
        (PRO, True, "ascend", (31 + 3) * 147712),
        (FLASH, False, "cuda", 22 * 37440 + 21 * 8640 + 20 * 1728),
        (FLASH, False, "ascend", 22 * 147712),
        (dict(FLASH, n_mtp_layers=1), True, "ascend", (22 + 1) * 147712),
    ],
)
def test_layers_come_from_the_checkpoint(config, dspark, platform, size):
    assert Layout(config, "0.26.0", platform, dspark).bytes_per_block == size


@pytest.mark.parametrize("base", [H20, NPU])
def test_fewer_batched_tokens_help_most(base):
    found = kv_context(FLASH, 2, **asked(base))
    assert found["lever"] == "max_num_batched_tokens"
    assert found["halved"]["max_num_batched_tokens"] > found["halved"]["max_model_len"]


def test_a_shorter_context_helps_where_prefills_are_small():
    found = kv_context(FLASH, 2, **asked(NPU, max_num_batched_tokens=256))
    assert found["lever"] == "max_model_len"


def test_halves_are_those_of_the_table():
    found = kv_context(FLASH, 2, **asked(NPU, max_model_len=262144))
    assert found["halved"] == {"max_num_batched_tokens": 2.12, "max_model_len": 1.34}


def test_largest_context():
    # 500000 tokens take 3743 of the 4038 blocks, and no block holds more than 512 further tokens.
    assert 500000 < kv_context(FLASH, 1, **asked(NPU))["max_model_len"] < 500000 + (4038 - 3743) * 512
    assert kv_context(FLASH, 1000, **asked(NPU))["max_model_len"] == 0
    assert kv_context(dict(FLASH, max_position_embeddings=400000), 1, **asked(NPU))["max_model_len"] == 400000


V41 = {"model_type": "deepseek_v41", "text_config": dict(FLASH)}


@pytest.mark.parametrize(
    ("config", "more", "reason"),
    [
        (V41, {}, "text_config"),
        (dict(FLASH, text_config={}), {}, "text_config"),
        (dict(FLASH, model_type="deepseek_v41"), {}, "model_type 'deepseek_v41'"),
        (dict(FLASH, model_type="qwen3"), {}, "model_type 'qwen3'"),
        ({}, {}, "model_type None"),
        ({"model_type": "deepseek_v4"}, {}, "num_hidden_layers None"),
        (dict(FLASH, num_hidden_layers=True), {}, "num_hidden_layers True"),
        (dict(FLASH, compress_ratios=None), {}, "compress_ratios"),
        (dict(FLASH, compress_ratios=[4, 128]), {}, "compress_ratios"),
        (dict(FLASH, compress_ratios=[2] * 43), {}, "compress_ratios"),
        (dict(FLASH, compress_ratios=[4] * 43), {}, "compress_ratios"),
        (dict(FLASH, head_dim=576), {}, "head_dim 576"),
        (dict(FLASH, n_mtp_layers="3"), {}, "n_mtp_layers '3'"),
        (FLASH, {"platform": "ascend_a5"}, "platform 'ascend_a5'"),
        (FLASH, {"platform": "rocm"}, "platform 'rocm'"),
        (FLASH, {"release": "0.24.0"}, "release '0.24.0'"),
        (FLASH, {"release": "0.2"}, "release '0.2'"),
        (FLASH, {"release": "0.28.0"}, "release '0.28.0'"),
        (FLASH, {"release": "0.255"}, "release '0.255'"),
        (FLASH, {"release": "nightly-main"}, "release 'nightly-main'"),
        (FLASH, {"release": "0.30.0", "platform": "ascend"}, "release '0.30.0'"),
    ],
)
def test_never_guesses(config, more, reason):
    for found in (kv_capacity(config, **asked(H20, **more)), kv_context(config, 1, **asked(H20, **more))):
        assert reason in found.pop("reason")
        assert set(found.values()) == {None}


@pytest.mark.parametrize("release", ["0.25", "v0.25.1", "0.25.1rc1", "0.25.0.post1"])
def test_releases_are_known_by_two_numbers(release):
    assert kv_capacity(FLASH, **asked(H20, release=release))["tokens"] == 10938639


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"release": 0.26}, r"release is 0.26 \(float\); write text in quotes, such as '0.26.0'"),
        ({"platform": None}, "platform is NoneType; write text"),
        ({"max_model_len": "500000"}, r"max_model_len is '500000' \(str\); write a whole number of at least 1"),
        ({"max_model_len": 0}, "max_model_len is 0"),
        ({"max_num_batched_tokens": -8192}, "max_num_batched_tokens is -8192"),
        ({"max_num_batched_tokens": True}, "max_num_batched_tokens is True"),
        ({"gib_per_device": 0}, "gib_per_device is 0"),
        ({"gib_per_device": float("nan")}, "gib_per_device is nan"),
        ({"gib_per_device": 1e308}, r"gib_per_device is 1e\+308"),
        ({"gib_per_device": "108.37"}, "gib_per_device is '108.37'"),
        ({"dspark": "yes"}, "dspark is 'yes'"),
        ({"max_concurrent_batches": 0}, "max_concurrent_batches is 0"),
        (
            {"max_concurrent_batches": 2, "release": "0.25.0"},
            "max_concurrent_batches is 2, but release 0.25.0 reserves for one",
        ),
        ({"speculative_tokens": -1}, "speculative_tokens is -1"),
        ({"speculative_tokens": 5, "dspark": False}, "speculative_tokens is 5 without dspark"),
    ],
)
def test_nonsense_is_refused(more, said):
    with pytest.raises(AnsibleFilterError, match=f"^kv_capacity: {said}"):
        kv_capacity(FLASH, **asked(H20, **more))
    with pytest.raises(AnsibleFilterError, match=f"^kv_context: {said}"):
        kv_context(FLASH, 1, **asked(H20, **more))


def test_nonsense_in_the_input_is_refused():
    with pytest.raises(AnsibleFilterError, match="^kv_capacity: config is '/srv/m/config.json'"):
        kv_capacity("/srv/m/config.json", **asked(H20))
    with pytest.raises(AnsibleFilterError, match="^kv_context: requests is 0"):
        kv_context(FLASH, 0, **asked(H20))


def test_the_answer_is_plain_data():
    for found in (kv_capacity(FLASH, **asked(H20)), kv_context(FLASH, 2, **asked(H20))):
        assert json.loads(json.dumps(found)) == found


RELEASES = [("cuda", f"0.{minor}.0") for minor in (25, 26, 27, 29, 30, 31, 32, 33)]
RELEASES += [("ascend", f"0.{minor}.0") for minor in (25, 26, 27)]
QUESTIONS = st.builds(
    lambda where, length, batched, gib, dspark: {
        "platform": where[0],
        "release": where[1],
        "max_model_len": length,
        "max_num_batched_tokens": batched,
        "gib_per_device": gib,
        "dspark": dspark,
    },
    st.sampled_from(RELEASES),
    st.integers(1, 1 << 20),
    st.integers(1, 1 << 15),
    st.floats(0.5, 200),
    st.booleans(),
)
MODELS = st.sampled_from([FLASH, PRO])
few = settings(max_examples=60, deadline=None)


@few
@given(MODELS, QUESTIONS, st.floats(0, 100))
def test_more_memory_never_holds_less(config, question, more):
    larger = kv_capacity(config, **dict(question, gib_per_device=question["gib_per_device"] + more))
    smaller = kv_capacity(config, **question)
    for name in ("tokens", "blocks", "admission_concurrency", "steady_concurrency"):
        assert larger[name] >= smaller[name]
    assert larger["minimum_gib"] == smaller["minimum_gib"]


@few
@given(MODELS, QUESTIONS, st.integers(0, 1 << 20))
def test_a_longer_context_never_admits_more(config, question, more):
    longer = kv_capacity(config, **dict(question, max_model_len=question["max_model_len"] + more))
    shorter = kv_capacity(config, **question)
    for name in ("admission_concurrency", "steady_concurrency"):
        assert longer[name] <= shorter[name]
    assert longer["minimum_gib"] >= shorter["minimum_gib"]


@few
@given(MODELS, QUESTIONS, st.integers(1, 64))
def test_forward_and_inverse_agree(config, question, requests):
    layout = Layout(config, question["release"], question["platform"], question["dspark"])
    in_flight = question["max_num_batched_tokens"] * layout.concurrent_batches

    def serves(length):
        starts = layout.minimum_bytes(length, in_flight) <= question["gib_per_device"] * 2**30
        return starts and kv_capacity(config, **dict(question, max_model_len=length))["tokens"] >= requests * length

    largest = kv_context(config, requests, **question)["max_model_len"]
    assert largest == 0 or serves(largest)
    assert not serves(largest + 1)
