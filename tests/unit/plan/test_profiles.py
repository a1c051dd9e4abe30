from __future__ import annotations

import itertools

import pytest
from ansible_collections.inferops.gpustack.plugins.plugin_utils import _data, _profiles, _schema
from ansible_collections.inferops.gpustack.plugins.plugin_utils._arguments import identity, normalised

SCHEMA = _data.load("profile_schema.yml")
KINDS = {"platforms": "platform", "accelerators": "accelerator", "families": "family", "pairs": "pair"}
FILES = [(kind, name) for kind in KINDS for name in _data.names(kind)]
IMAGES = _data.load("artefacts.yml")["images"]
ENGINES = {name: entry for name, entry in IMAGES.items() if "engine" in entry}
PROFILES = _profiles.Profiles()

#: Keys of a file whose value says something about the outside world. Those that are null have no source.
FACTS = {
    "platforms": {"order", "env_order", "batched_tokens"},
    "accelerators": {
        "pci_ids",
        "memory_bytes",
        "compute_capability",
        "cards_per_host",
        "device_type",
        "container",
        "limits",
    },
    "families": {"model_types", "layouts", "formats", "published"},
    "pairs": set(),
}


def load(kind, name):
    return _data.load(f"{kind}/{name}.yml")


def layers(kind, data):
    """Every layer of a file: its own, and those of a family on its platforms."""
    return [data, *data.get("platforms", {}).values()] if kind == "families" else [data]


def facts_of_layer(layer):
    return {*layer.get("arguments", {}), *layer.get("env", {}), *(layer.keys() & {"image", "dspark", "kv_cache_gib"})}


ALL_LAYERS = [(kind, name, layer) for kind, name in FILES for layer in layers(kind, load(kind, name))]


@pytest.mark.parametrize(("kind", "name"), FILES)
def test_a_file_is_as_described(kind, name):
    assert list(_schema.problems(load(kind, name), SCHEMA[KINDS[kind]])) == []


@pytest.mark.parametrize("name", IMAGES)
def test_an_artefact_is_as_described(name):
    assert list(_schema.problems(IMAGES[name], SCHEMA["artefact"])) == []


@pytest.mark.parametrize(
    ("kind", "change", "path"),
    [
        ("pair", {"arguments": {}, "sources": {}, "argument": {}}, "argument"),
        ("pair", {"env": {"OMP_NUM_THREADS": 10}, "sources": {}}, "env.OMP_NUM_THREADS"),
        ("pair", {"dspark": {"sampling": "gredy"}, "sources": {}}, "dspark.sampling"),
        ("pair", {"dspark": {"samplings": ["gredy"]}, "sources": {}}, "dspark.samplings[0]"),
        ("pair", {"arguments": {"block-size": 256}}, "sources"),
        ("artefact", dict(ENGINES["vllm_cuda"], cuda=13.0), "cuda"),
        ("accelerator", dict(load("accelerators", "nvidia_h20"), pci_ids=["10DE:2329"]), "pci_ids[0]"),
        ("family", dict(load("families", "qwen3"), platforms={"cann": {"env": {}}}), "platforms.cann.sources"),
    ],
)
def test_the_description_sees_a_mistake(kind, change, path):
    assert [problem.path for problem in _schema.problems(change, SCHEMA[kind])] == [path]


@pytest.mark.parametrize(("kind", "name"), FILES)
def test_every_value_has_a_source_and_every_source_a_value(kind, name):
    data = load(kind, name)
    own = {key for key in FACTS[kind] if data.get(key) is not None}
    for layer in layers(kind, data):
        facts = facts_of_layer(layer) | (own if layer is data else set())
        assert set(layer["sources"]) == facts
        assert all(text.strip() for text in layer["sources"].values())


@pytest.mark.parametrize("name", IMAGES)
def test_an_artefact_has_its_sources(name):
    entry = IMAGES[name]
    # A version is what its tag is made of.
    facts = {"version" if "version" in entry else "tag", *(entry.keys() & {"engine_version", "cards", "cuda", "cann"})}
    assert set(entry["sources"]) == facts


@pytest.mark.parametrize(("kind", "name", "layer"), ALL_LAYERS)
def test_flags_are_in_normal_form_and_written_once(kind, name, layer):
    flags = list(layer.get("arguments", {}))
    assert flags == [normalised(flag) for flag in flags]
    assert len({identity(flag) for flag in flags}) == len(flags)


@pytest.mark.parametrize("platform", _data.names("platforms"))
def test_an_order_names_a_flag_once(platform):
    order, env_order = load("platforms", platform)["order"], load("platforms", platform)["env_order"]
    assert order == [identity(flag) for flag in order]
    assert len(set(order)) == len(order)
    assert len(set(env_order)) == len(env_order)


def test_the_cards_of_a_platform_are_known():
    for platform in _data.names("platforms"):
        small = load("platforms", platform).get("batched_tokens", {}).get("small_on", ())
        assert set(small) <= set(PROFILES.accelerators())


def test_every_setting_has_its_place_in_the_order():
    for family, accelerator in itertools.product(PROFILES.families(), PROFILES.accelerators()):
        if not PROFILES.runs_on(family, accelerator):
            continue
        platform = PROFILES.platform(PROFILES.accelerator(accelerator)["platform"])
        for layer in PROFILES.layers(family, accelerator):
            assert {identity(flag) for flag in layer.get("arguments")} <= set(platform["order"])
            assert set(layer.get("env")) <= set(platform["env_order"])


@pytest.mark.parametrize("pair", _data.names("pairs"))
def test_a_pair_is_of_a_family_and_an_accelerator_that_go_together(pair):
    family, accelerator = pair.split("__")
    assert family in PROFILES.families()
    assert accelerator in PROFILES.accelerators()
    assert PROFILES.runs_on(family, accelerator)


@pytest.mark.parametrize("pair", _data.names("pairs"))
def test_a_pair_keeps_within_the_limits_of_its_card(pair):
    limits = load("accelerators", pair.split("__")[1]).get("limits", {})
    arguments = load("pairs", pair).get("arguments", {})
    for flag, limit in (("max-model-len", "max_model_len"), ("max-num-seqs", "max_num_seqs")):
        assert arguments.get(flag, 0) <= limits.get(limit, float("inf"))


@pytest.mark.parametrize("pair", _data.names("pairs"))
def test_a_pair_fits_on_a_host(pair):
    arguments = load("pairs", pair).get("arguments", {})
    devices = arguments.get("tensor-parallel-size", 1) * arguments.get("data-parallel-size", 1)
    assert devices <= load("accelerators", pair.split("__")[1])["cards_per_host"]


@pytest.mark.parametrize("pair", _data.names("pairs"))
def test_a_pair_says_something_of_its_own(pair):
    family, accelerator = pair.split("__")
    below = [layer for layer in PROFILES.layers(family, accelerator) if "pair" not in layer.name]
    inherited = {}
    for layer in below:
        inherited.update(layer.get("arguments"))
        inherited.update(layer.get("env"))
    own = load("pairs", pair)
    written = {**own.get("arguments", {}), **own.get("env", {})}
    assert written
    assert not {name for name, value in written.items() if inherited.get(name) == value}


def test_a_family_that_needs_a_pair_has_one():
    for name in PROFILES.families():
        if load("families", name)["needs_pair"]:
            assert PROFILES.served_by(name)


def test_a_model_type_is_of_one_family():
    types = [each for name in PROFILES.families() for each in load("families", name)["model_types"]]
    assert len(types) == len(set(types))


@pytest.mark.parametrize(("kind", "name", "layer"), ALL_LAYERS)
def test_the_image_is_one_of_an_engine(kind, name, layer):
    if "image" in layer:
        assert layer["image"] in ENGINES


def test_every_launch_has_an_image_of_its_platform():
    for family, accelerator in itertools.product(PROFILES.families(), PROFILES.accelerators()):
        if PROFILES.runs_on(family, accelerator):
            images = [layer.data["image"] for layer in PROFILES.layers(family, accelerator) if "image" in layer.data]
            assert ENGINES[images[-1]]["platform"] == PROFILES.accelerator(accelerator)["platform"]


@pytest.mark.parametrize("name", ENGINES)
def test_what_an_engine_image_says(name):
    entry = ENGINES[name]
    runtimes = entry.keys() & {"cuda", "cann"}
    assert runtimes <= {entry["platform"]}
    if not entry.get("moving"):
        assert entry["version"] == entry["engine_version"]


def test_pci_ids_of_cards_with_and_without_a_profile():
    cards = {card["pci_id"]: card for card in PROFILES.pci_profiles()}
    assert cards["10de:232c"]["profile"] == "nvidia_h20_3e"
    assert cards["10de:232c"]["vendor"] == "nvidia"
    assert cards["10de:2331"]["profile"] == cards["10de:2330"]["profile"] == "nvidia_h100"
    assert cards["19e5:d802"]["profile"] == "ascend_910b"
    assert cards["10de:2685"] == {
        "pci_id": "10de:2685",
        "vendor": "nvidia",
        "profile": None,
        "memory_bytes": None,
        "name": "NVIDIA RTX 4090 D",
    }


def test_a_pci_id_is_listed_once():
    ids = [pci_id for cards in _data.load("pci_ids.yml").values() for pci_id in cards]
    for name in _data.names("accelerators"):
        ids += load("accelerators", name)["pci_ids"]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize(
    ("name", "runtime", "env", "platform"),
    [
        ("nvidia_h20_3e", "nvidia", {}, "cuda"),
        ("nvidia_rtx_4090", "nvidia", {}, "cuda"),
        ("ascend_910b", "ascend", {"ASCEND_VISIBLE_DEVICES": "0"}, "cann"),
        ("ascend_910c", "ascend", {"ASCEND_VISIBLE_DEVICES": "0"}, "cann"),
    ],
)
def test_what_a_worker_container_needs(name, runtime, env, platform):
    profile = PROFILES.accelerator(name)
    assert profile["container"] == {"runtime": runtime, "env": env}
    assert (profile["platform"], profile["device_type"], profile["profile"]) == (platform, platform, name)


# Report A: 24 GB cards run AWQ or FP8 up to 16384 tokens and 4 requests, 48 GB cards unquantised models.
@pytest.mark.parametrize(
    ("name", "limits"),
    [
        (
            "nvidia_rtx_4090",
            {"formats": ["awq", "fp8"], "max_model_len": 16384, "max_num_seqs": 4, "unquantised": False},
        ),
        ("nvidia_l40s", {"unquantised": True}),
        ("nvidia_a6000", {"unquantised": True}),
    ],
)
def test_limits_of_report_a(name, limits):
    assert PROFILES.accelerator(name)["limits"] == limits


@pytest.mark.parametrize("name", _data.names("accelerators"))
def test_a_small_card_runs_no_unquantised_model(name):
    profile = load("accelerators", name)
    small = profile["memory_bytes"] < 32 * 2**30
    assert (profile.get("limits", {}).get("unquantised") is False) == small


def test_an_unknown_accelerator_lists_the_known_ones():
    with pytest.raises(_profiles.ProfileError, match="nvidia_h20_3e"):
        PROFILES.accelerator("h20")


# V4 has kernels for compute capability 9, 10 and 12 only; its Ascend form runs on 910B and 910C.
@pytest.mark.parametrize(
    ("family", "served"),
    [
        ("deepseek_v4", {"nvidia_h20", "nvidia_h20_3e", "nvidia_h100", "nvidia_h200", "ascend_910b", "ascend_910c"}),
        ("deepseek_v41", {"nvidia_h20_3e", "nvidia_h200"}),
        ("qwen3", set(_data.names("accelerators"))),
        ("generic", set(_data.names("accelerators"))),
    ],
)
def test_where_a_family_runs(family, served):
    assert set(PROFILES.served_by(family)) == served
