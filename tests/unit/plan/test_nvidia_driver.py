# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is to be done about the NVIDIA driver of a host."""

from __future__ import annotations

import pytest
from ansible_collections.inferops.gpustack.plugins.filter.nvidia_driver_action import nvidia_driver_action
from ansible_collections.inferops.gpustack.plugins.filter.nvidia_packages import nvidia_packages

SYSTEMS = {
    "debian": {"id": "debian", "version_id": "12", "major": 12, "family": "debian", "pretty": "Debian 12"},
    "ubuntu": {"id": "ubuntu", "version_id": "24.04", "major": 24, "family": "debian", "pretty": "Ubuntu 24.04"},
    "rocky": {"id": "rocky", "version_id": "9.5", "major": 9, "family": "redhat", "pretty": "Rocky Linux 9.5"},
    "arch": {"id": "arch", "version_id": "", "major": None, "family": "unknown", "pretty": "Arch Linux"},
}
CARDS = {"h20_3e": "10de:232c", "v100": "10de:1db6", "rtx_5090": "10de:2b85", "t4": "10de:1eb8"}
KERNELS = {"ubuntu": "6.8.0-45-generic", "rocky": "5.14.0-503.14.1.el9_5.x86_64"}
MODEL = {"name": "deepseek-1-run", "owner": "gpustack", "running": True}
NOTHING = {
    "action": "none",
    "reasons": [],
    "refusal": "",
    "driver": False,
    "fabric": "",
    "load": False,
    "start_fabric": False,
    "reboot_reasons": [],
}


def driver(version="", **more):
    """A driver that is installed and loaded."""
    facts = {
        "loaded": version,
        "installed": version,
        "userspace": version,
        "flavour": "open" if version else "",
        "nouveau": False,
        "run_file": False,
        "fabric_manager": {"needed": False, "version": "", "running": False, "state": ""},
    }
    return {**facts, **more}


def host(nvidia, card="h20_3e", system="debian", **more):
    facts = {
        "os": SYSTEMS[system],
        "architecture": "x86_64",
        "kernel": KERNELS.get(system, "6.1.0-28-amd64"),
        "kernel_headers": True,
        "secure_boot": False,
        "wsl": False,
        "accelerators": [{"vendor": "nvidia", "pci_id": CARDS[card], "name": card}] * 2,
        "switches": [],
        "drivers": {"nvidia": nvidia, "ascend": None},
        "engine": {"containers": []},
        "reboot": {"reasons": [], "system": False},
    }
    return {**facts, **more}


def decide(facts, reboot="fail", source="nvidia", **wishes):
    minimum = {name: value for name, value in wishes.items() if name == "minimum"}
    plan = nvidia_packages(facts, source=source, **wishes)
    asked = {name: value for name, value in wishes.items() if name != "minimum"}
    found = nvidia_driver_action(facts, plan, reboot=reboot, **asked, **minimum)
    summary = found.pop("summary")
    assert "\n" not in summary
    # Whatever is to be done is told, and a host that is as wanted is silent.
    assert (summary == "") == (found == NOTHING)
    assert [text for text in found["reasons"] if text not in summary] == []
    return found


@pytest.mark.parametrize("version", ["570.26", "575.57.08", "580.95.05", "595.71.05", "615.71.09"])
def test_a_driver_that_will_do_is_left_alone(version):
    assert decide(host(driver(version))) == NOTHING


def test_one_that_waits_for_a_reboot_has_nothing_to_be_installed():
    assert decide(host(driver("580.95.05", loaded="580.82.07"))) == NOTHING
    assert decide(host(driver("580.95.05", loaded="535.183.01"))) == NOTHING


def test_a_host_without_cards_needs_none():
    assert decide(host(None, accelerators=[])) == NOTHING
    assert decide(host(None, accelerators=[{"vendor": "ascend", "pci_id": "19e5:d802"}])) == NOTHING


def test_wsl_never_gets_one():
    found = decide(host(driver(), wsl=True))
    assert (found["action"], found["driver"]) == ("none", False)
    assert "Windows" in found["reasons"][0]


def test_a_missing_driver_is_installed():
    found = decide(host(driver()))
    assert (found["action"], found["driver"], found["load"], found["reboot_reasons"]) == ("install", True, False, [])
    assert found["reasons"] == ["there is no driver for 2 NVIDIA cards"]
    assert decide(host(None))["action"] == "install"


@pytest.mark.parametrize(
    ("there", "wishes", "words"),
    [
        ("535.183.01", {}, "driver 535.183.01 is older than 570.26, which is needed"),
        ("570.172.08", {"minimum": "580.65.06"}, "driver 570.172.08 is older than 580.65.06, which is needed"),
        ("570.172.08", {"branch": "580"}, "driver 570.172.08 is older than branch 580, which is asked for"),
        ("580.82.07", {"version": "580.95.05"}, "driver 580.82.07 is older than 580.95.05, which is asked for"),
    ],
)
def test_an_old_driver_is_upgraded(there, wishes, words):
    found = decide(host(driver(there)), **wishes)
    assert (found["action"], found["driver"], found["reasons"]) == ("upgrade", True, [words])


@pytest.mark.parametrize(
    ("there", "wishes", "wish"),
    [
        ("595.71.05", {"branch": "580"}, "branch 580"),
        ("580.95.05", {"version": "580.82.07"}, "580.82.07"),
    ],
)
def test_none_is_ever_downgraded(there, wishes, wish):
    found = decide(host(driver(there)), **wishes)
    assert (found["action"], found["driver"]) == ("none", False)
    assert found["reasons"] == [f"driver {there} stays, though {wish} is asked for: a driver is never downgraded"]


def test_a_driver_of_the_branch_or_release_asked_for_will_do():
    assert decide(host(driver("580.95.05")), branch="580") == NOTHING
    assert decide(host(driver("580.95.05")), version="580.95.05") == NOTHING


def begun(note, **differences):
    entry = {"kind": "package", "name": "nvidia-open-580", "by": "nvidia_driver", "note": note}
    return host(driver("580.95.05", **differences), manifest={"entries": [entry]})


@pytest.mark.parametrize("note", ["running: 580", "running: 580.95.05", "running: 580.95.05 over 570.172.08"])
def test_one_whose_installation_died_is_installed_again(note):
    found = decide(begun(note))
    assert (found["action"], found["driver"]) == ("install", True)
    assert found["reasons"] == ["the installation of 580.95.05 was begun and not finished"]
    assert "deepseek-1-run" in decide(dict(begun(note), engine={"containers": [MODEL]}))["refusal"]


@pytest.mark.parametrize("note", ["installed: 580", "finished: 580.95.05", "running: 570", "running: 580.9", None])
def test_one_that_was_finished_or_is_somebody_else_s_is_not(note):
    assert decide(begun(note)) == NOTHING


def test_tools_without_a_module_are_no_driver():
    found = decide(host(driver("580.95.05", installed="", loaded="", flavour="")))
    assert found["action"] == "install"
    assert found["reasons"] == ["the tools of driver 580.95.05 are there and its kernel module is not"]


def test_a_module_that_nothing_keeps_from_the_cards_is_loaded():
    asleep = driver("580.95.05", loaded="")
    assert decide(host(asleep)) == {**NOTHING, "load": True}
    assert decide(host({**asleep, "nouveau": True}))["load"] is False


def test_nouveau_waits_for_a_reboot_before_and_after_the_installation():
    for facts in (driver(nouveau=True), driver("580.95.05", loaded="", nouveau=True)):
        found = decide(host(facts))
        assert [reason["id"] for reason in found["reboot_reasons"]] == ["nouveau"]
        assert found["refusal"] == ""


@pytest.mark.parametrize(
    ("card", "flavour", "module"), [("rtx_5090", "proprietary", "open"), ("v100", "open", "proprietary")]
)
def test_a_module_that_the_card_does_not_take_makes_way_for_the_other(card, flavour, module):
    facts = host(driver("580.95.05", flavour=flavour), card)
    found = decide(facts)
    assert (found["action"], found["driver"]) == ("install", True)
    assert found["reasons"] == [f"{card} takes the {module} kernel module only, and the {flavour} one is there"]
    (reason,) = found["reboot_reasons"]
    assert reason["id"] == "nvidia-module"
    # Until the reboot the loaded module still tells the old kind.
    waiting = {**facts, "reboot": {"reasons": [reason["reason"]], "system": False}}
    assert decide(waiting)["action"] == "none"


def test_either_module_will_do_where_the_card_takes_both_and_nobody_asks():
    proprietary = host(driver("580.95.05", flavour="proprietary"))
    assert decide(proprietary) == NOTHING
    assert decide(proprietary, module="proprietary") == NOTHING
    found = decide(proprietary, module="open")
    assert (found["action"], [one["id"] for one in found["reboot_reasons"]]) == ("install", ["nvidia-module"])


def test_a_run_file_is_never_mixed_with_packages():
    found = decide(host(driver("535.183.01", run_file=True)))
    assert (found["action"], found["driver"], found["load"]) == ("refuse", False, False)
    assert "nvidia-uninstall" in found["refusal"]
    assert decide(host(driver("580.95.05", run_file=True))) == NOTHING


def test_secure_boot_takes_no_module_that_was_built_here():
    found = decide(host(driver(), system="ubuntu", secure_boot=True))
    assert found["action"] == "refuse"
    assert "gpustack_driver_source: distribution" in found["refusal"]
    assert decide(host(driver(), system="ubuntu", secure_boot=True), source="distribution")["action"] == "install"
    assert decide(host(driver("580.95.05"), secure_boot=True)) == NOTHING
    refusal = decide(host(driver(), secure_boot=True))["refusal"]
    assert "mokutil --import" in refusal and "distribution" not in refusal


def test_a_driver_is_not_changed_under_models_unless_they_may_stop():
    others = [{"name": "web", "owner": "", "running": True}, {**MODEL, "name": "old-run", "running": False}]
    old = driver("570.172.08")
    found = decide(host(old, engine={"containers": [*others, MODEL]}), branch="580")
    assert found["action"] == "refuse"
    assert "deepseek-1-run run on the driver 570.172.08" in found["refusal"]
    assert "gpustack_reboot: allow" in found["refusal"]
    busy = {"engine": {"containers": [MODEL]}}
    assert decide(host(old, **busy), branch="580", reboot="allow")["action"] == "upgrade"
    assert decide(host(old, engine={"containers": others}), branch="580")["action"] == "upgrade"
    # Without a loaded driver nothing of theirs runs on one.
    assert decide(host(driver(), **busy))["action"] == "install"


def test_missing_headers_are_installed_and_told():
    found = decide(host(driver(), kernel_headers=False))
    assert found["action"] == "install"
    assert found["reasons"][1:] == ["the module is built with linux-headers-6.1.0-28-amd64, which is installed as well"]
    (_why, told) = decide(host(driver(), system="rocky", kernel_headers=False))["reasons"]
    assert "kernel-devel-5.14.0-503.14.1.el9_5.x86_64" in told and "update the kernel and restart first" in told


@pytest.mark.parametrize(
    ("manager", "words"),
    [
        ({"version": "580.95.03", "running": False}, "Fabric Manager 580.95.03 is there"),
        ({"version": "", "running": False}, "there is no Fabric Manager"),
    ],
)
def test_fabric_manager_has_the_driver_s_version_to_the_last_digit(manager, words):
    facts = host(driver("580.95.05", fabric_manager=manager), switches=[{}])
    found = decide(facts)
    assert (found["action"], found["driver"], found["fabric"]) == ("install", False, "580.95.05")
    assert found["reasons"][0].startswith(words)
    assert decide({**facts, "switches": []}) == NOTHING


def test_fabric_manager_follows_the_installed_driver_and_not_the_loaded_one():
    manager = {"version": "580.82.07", "running": True}
    facts = host(driver("580.95.05", loaded="580.82.07", fabric_manager=manager), switches=[{}])
    assert decide(facts)["fabric"] == "580.95.05"


def test_fabric_manager_comes_after_a_driver_that_is_to_be_installed():
    found = decide(host(driver(), switches=[{}]))
    assert (found["driver"], found["fabric"]) == (True, "")


def test_fabric_manager_is_started_under_its_own_driver_only():
    manager = {"version": "580.95.05", "running": False}
    there = driver("580.95.05", fabric_manager=manager)
    assert decide(host(there, switches=[{}])) == {**NOTHING, "start_fabric": True}
    assert decide(host({**there, "fabric_manager": {**manager, "running": True}}, switches=[{}])) == NOTHING
    assert decide(host({**there, "loaded": "580.82.07"}, switches=[{}]))["start_fabric"] is False
    assert decide(host({**there, "loaded": ""}, switches=[{}]))["start_fabric"] is False


def test_what_cannot_be_had_is_refused_where_it_is_needed_only():
    found = decide(host(driver(), system="arch"))
    assert found["action"] == "refuse"
    assert found["refusal"].startswith("NVIDIA's packages are not known for Arch Linux.")
    assert decide(host(driver("580.95.05"), system="arch")) == NOTHING
    manager = {"version": "", "running": False}
    unsupplied = host(driver("580.95.05", fabric_manager=manager), system="arch", switches=[{}])
    assert decide(unsupplied)["action"] == "refuse"


def test_a_line_tells_what_is_done_from_where_and_why():
    facts = host(driver(nouveau=True), switches=[{}], kernel_headers=False)
    found = nvidia_driver_action(facts, nvidia_packages(facts))
    assert found["summary"] == (
        "install NVIDIA driver 580 with the open kernel module (it is NVIDIA's default, and the cards take both): "
        "nvidia-driver-pinning-580, nvidia-open-580, nvidia-persistenced, linux-headers-6.1.0-28-amd64, "
        "nvidia-fabricmanager, libnvidia-nscq from "
        "https://developer.download.nvidia.com/compute/cuda/repos/debian12/x86_64/, "
        "because there is no driver for 2 NVIDIA cards; the module is built with linux-headers-6.1.0-28-amd64, which "
        "is installed as well. A reboot is needed: nouveau is loaded and holds the cards; NVIDIA's driver takes them "
        "after a reboot"
    )


def test_facts_that_a_broken_host_gives_are_no_traceback():
    assert nvidia_driver_action({}, {"problem": "unknown"}) == {**NOTHING, "summary": ""}
    facts = {"accelerators": [{"vendor": "nvidia"}], "drivers": None, "engine": None}
    assert nvidia_driver_action(facts, {"problem": "unknown"})["refusal"] == "unknown"


def test_the_wrong_module_of_a_newer_branch_is_not_replaced_by_an_older_driver():
    there = host(driver("595.58.03", flavour="proprietary"), card="rtx_5090")
    done = nvidia_driver_action(there, nvidia_packages(there))
    assert done["action"] == "refuse"
    assert "Driver 595.58.03 is there, and packages of branch 580 would be older" in done["refusal"]
    done = nvidia_driver_action(there, nvidia_packages(there, branch="595"), branch="595")
    assert (done["action"], done["refusal"]) == ("install", "")
