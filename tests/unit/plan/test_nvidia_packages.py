# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What makes NVIDIA's driver on a host, against a golden that was typed by hand."""

from __future__ import annotations

import pathlib
import re

import pytest
import yaml
from ansible_collections.inferops.gpustack.plugins.filter import nvidia_packages as packages_filter
from ansible_collections.inferops.gpustack.plugins.plugin_utils import _data, _nvidia_module

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
GOLDEN = yaml.safe_load((REPOSITORY / "tests" / "golden" / "nvidia_packages.yml").read_text(encoding="utf-8"))
nvidia_packages = packages_filter.FilterModule().filters()["nvidia_packages"]

FAMILIES = {"debian": "debian", "ubuntu": "debian", "kylin": "openeuler", "openeuler": "openeuler", "arch": "unknown"}
#: What a row is made of, and what it tells of the answer.
ASKED = {"host", "cards", "switches", "ask"}
MIRROR = "https://developer.download.nvidia.com"


def host_of(row):
    name, version, architecture, kernel = row["host"]
    digits = re.match(r"\D?(\d+)", version)
    return {
        "os": {
            "id": name,
            "version_id": version,
            "major": int(digits[1]) if digits else None,
            "family": FAMILIES.get(name, "redhat"),
            "pretty": f"{name} {version}".strip(),
        },
        "architecture": architecture,
        "kernel": kernel,
        "wsl": False,
        "accelerators": [{"vendor": "nvidia", "pci_id": GOLDEN["cards"][card], "name": ""} for card in row["cards"]],
        "switches": [{"name": "NVSwitch", "pci_id": "10de:22a3"}] if row.get("switches") else [],
    }


def host(system="debian12", *cards, **more):
    return {**host_of({"host": GOLDEN["hosts"][system], "cards": cards or ["h20_3e"]}), **more}


def name_of(row):
    return "-".join([*row["host"][:3], *row["cards"], *(f"{value}" for value in row["ask"].values())])


@pytest.mark.parametrize("row", [row for row in GOLDEN["rows"] if "problem" not in row], ids=name_of)
def test_what_is_installed(row):
    found = nvidia_packages(host_of(row), **row["ask"])
    assert found["problem"] == ""
    expected = {name: value for name, value in row.items() if name not in ASKED}
    assert {"branch", "module", "packages"} <= set(expected)
    if "url" in expected:
        assert found["repository"]["url"] == expected.pop("url")
    assert {name: found[name] for name in expected} == expected
    assert (found["repository"] is None) == (row["ask"].get("source") == "distribution")


@pytest.mark.parametrize("row", [row for row in GOLDEN["rows"] if "problem" in row], ids=name_of)
def test_what_cannot_be_is_told_with_what_to_do(row):
    found = nvidia_packages(host_of(row), **row["ask"])
    assert set(found) == {"problem"}
    assert [text for text in map(str, row["problem"]) if text not in found["problem"]] == []
    assert "\n" not in found["problem"]


def test_the_golden_is_wide():
    rows = [row for row in GOLDEN["rows"] if "problem" not in row]
    assert len(rows) >= 60
    assert {(row["host"][0], row["host"][1].split(".")[0]) for row in rows} == {
        (system["id"], system["version"].split(".")[0]) for system in _data.load("nvidia_packages.yml")["systems"]
    }


def test_names_are_the_packages_without_their_versions():
    found = nvidia_packages(host("ubuntu24", switches=[{}]), version="580.95.05")
    assert found["names"] == ["nvidia-open-580"]
    assert found["fabric_names"] == ["nvidia-fabricmanager-580", "libnvidia-nscq-580"]


def test_the_apt_repository_is_that_of_the_keyring():
    assert nvidia_packages(host())["repository"] == {
        "url": f"{MIRROR}/compute/cuda/repos/debian12/x86_64/",
        "keyring": f"{MIRROR}/compute/cuda/repos/debian12/x86_64/cuda-keyring_1.1-1_all.deb",
        "keyring_package": "cuda-keyring",
        "sha256": "e7f219eab6fe4819cdb5c15b98233dc3420302d9c00883219cd3d896857cf48d",
        "list": "/etc/apt/sources.list.d/cuda-debian12-x86_64.list",
        "line": "deb [signed-by=/usr/share/keyrings/cuda-archive-keyring.gpg] "
        f"{MIRROR}/compute/cuda/repos/debian12/x86_64/ /",
    }


def test_the_dnf_repository_has_its_key():
    assert nvidia_packages(host("rocky9"))["repository"] == {
        "url": f"{MIRROR}/compute/cuda/repos/rhel9/x86_64/",
        "key": f"{MIRROR}/compute/cuda/repos/rhel9/x86_64/D42D0685.pub",
        "name": "cuda-rhel9-x86_64",
        "file": "cuda-rhel9",
    }


@pytest.mark.parametrize(
    ("system", "sha256"),
    [
        ("ubuntu22", "d93190d50b98ad4699ff40f4f7af50f16a76dac3bb8da1eaaf366d47898ff8df"),
        ("ubuntu24", "d2a6b11c096396d868758b86dab1823b25e14d70333f1dfa74da5ddaf6a06dba"),
        ("debian12", "e7f219eab6fe4819cdb5c15b98233dc3420302d9c00883219cd3d896857cf48d"),
        ("debian13", "dd28f1f6ba0038180d6b23f846cefca1e3de4c9327751665241370bacea452a1"),
    ],
)
def test_keyrings_whose_digest_somebody_saw(system, sha256):
    assert nvidia_packages(host(system))["repository"]["sha256"] == sha256


def test_a_mirror_has_the_same_tree_and_may_have_its_own_keyring():
    found = nvidia_packages(host(), mirror="http://10.0.0.9:8080/", keyring_sha256="ab" * 32)["repository"]
    assert found["url"] == "http://10.0.0.9:8080/compute/cuda/repos/debian12/x86_64/"
    assert found["keyring"].startswith(found["url"])
    assert found["line"].endswith(f" {found['url']} /")
    assert found["sha256"] == "ab" * 32


def test_wsl_has_the_driver_of_windows():
    assert "Windows" in nvidia_packages(host(wsl=True))["problem"]


def test_a_module_has_its_reason():
    assert nvidia_packages(host())["module_reason"] == "it is NVIDIA's default, and the cards take both"
    assert nvidia_packages(host("debian12", "b200"))["module_reason"] == "10de:2901 takes no other"
    assert "nothing is known of 10de:ffff" in nvidia_packages(host("debian12", "unheard_of"))["module_reason"]
    assert nvidia_packages(host(), module="proprietary")["module_reason"] == "gpustack_driver_module"


def test_a_card_of_another_vendor_does_not_count():
    ascend = {"vendor": "ascend", "pci_id": "10de:1db6"}
    found = host()
    found["accelerators"].append(ascend)
    assert nvidia_packages(found)["module"] == "open"


def test_every_card_with_a_name_has_a_generation():
    named = set(_data.load("pci_ids.yml")["nvidia"])
    assert {identifier for identifier in named if _nvidia_module.taken_by({"pci_id": identifier}) is None} == set()


def test_facts_that_a_broken_host_gives_are_told_in_words():
    for facts in ({}, {"os": None, "accelerators": None}, {"os": {"id": "debian", "version_id": "12"}}):
        assert nvidia_packages(facts)["problem"]
