from __future__ import annotations

import pytest
from ansible_collections.inferops.gpustack.plugins.plugin_utils import _data, _profiles


def test_pci_ids_of_cards_with_and_without_a_profile():
    cards = {card["pci_id"]: card for card in _profiles.pci_profiles()}
    assert cards["10de:232c"]["profile"] == "nvidia_h20_3e"
    assert cards["10de:232c"]["vendor"] == "nvidia"
    assert cards["19e5:d802"]["profile"] == "ascend_910b"
    assert cards["10de:2685"] == {
        "pci_id": "10de:2685",
        "vendor": "nvidia",
        "profile": None,
        "memory_bytes": None,
        "name": "NVIDIA RTX 4090 D",
    }


def test_a_pci_id_is_listed_once():
    ids = [card["pci_id"] for card in _profiles.pci_profiles()]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize(
    ("name", "runtime", "env", "platform"),
    [
        ("nvidia_h20_3e", "nvidia", {}, "cuda"),
        ("nvidia_rtx_4090", "nvidia", {}, "cuda"),
        ("ascend_910b", "ascend", {"ASCEND_VISIBLE_DEVICES": "0"}, "cann"),
    ],
)
def test_what_a_worker_container_needs(name, runtime, env, platform):
    profile = _profiles.accelerator(name)
    assert profile["container"] == {"runtime": runtime, "env": env}
    assert (profile["platform"], profile["device_type"], profile["profile"]) == (platform, platform, name)


def test_an_unknown_accelerator_lists_the_known_ones():
    with pytest.raises(_profiles.ProfileError, match="nvidia_h20_3e"):
        _profiles.accelerator("h20")


@pytest.mark.parametrize("name", _profiles.accelerators())
def test_every_fact_of_an_accelerator_has_a_source(name):
    profile = _profiles.accelerator(name)
    assert profile["cards_per_host"] >= 1
    facts = {"pci_id", "memory_bytes", "cards_per_host", "device_type", "container"}
    assert facts <= set(profile["sources"])
    assert (profile["compute_capability"] is None) == ("compute_capability" not in profile["sources"])


@pytest.mark.parametrize("pair", _data.names("pairs"))
def test_a_pair_is_complete(pair):
    family, accelerator = pair.split("__")
    data = _profiles.pair(family, accelerator)
    artefact = _data.load("artefacts.yml")["images"][data["image"]]
    assert artefact["platform"] == _profiles.accelerator(accelerator)["platform"]
    for entry in data["arguments"]:
        assert ("value" in entry and entry["source"]) or entry["from"] in ("family", "dspark")
    from_family = [entry["flag"] for entry in data["arguments"] if entry.get("from") == "family"]
    assert from_family == list(_profiles.family(family)["arguments"])
    assert all(entry["source"] and isinstance(entry["value"], str) for entry in data["env"])


@pytest.mark.parametrize("name", _profiles.families())
def test_every_value_of_a_family_has_a_source(name):
    family = _profiles.family(name)
    assert set(family["sources"]) == set(family["arguments"])
