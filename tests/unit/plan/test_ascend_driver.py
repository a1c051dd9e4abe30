# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is to be done about the Ascend driver, firmware and container runtime of a host, in which order."""

from __future__ import annotations

import pytest
from ansible_collections.inferops.gpustack.plugins.filter.ascend_driver_action import ascend_driver_action
from ansible_collections.inferops.gpustack.plugins.filter.ascend_runtime_action import ascend_runtime_action
from ansible_collections.inferops.gpustack.plugins.plugin_utils import _ascend_package

SYSTEMS = {
    "debian": {"id": "debian", "family": "debian", "pretty": "Debian 12"},
    "ubuntu": {"id": "ubuntu", "family": "debian", "pretty": "Ubuntu 22.04"},
    "rocky": {"id": "rocky", "family": "redhat", "pretty": "Rocky Linux 9.5"},
    "openeuler": {"id": "openEuler", "family": "openeuler", "pretty": "openEuler 22.03"},
    "arch": {"id": "arch", "family": "unknown", "pretty": "Arch Linux"},
}
CARDS = {"910b": "19e5:d802", "910c": "19e5:d803", "310p": "19e5:d500", "910a": "19e5:d801"}
MODEL = {"name": "deepseek-1-run", "owner": "gpustack", "running": True}
SHA = "1f" * 32
DRIVER = "Ascend-hdk-910b-npu-driver_25.5.1_linux-aarch64.run"
FIRMWARE = "Ascend-hdk-910b-npu-firmware_7.8.0.6.201.run"
RUNTIME = "Ascend-docker-runtime_26.1.0_linux-aarch64.run"
OLD_RUNTIME = "Ascend-docker-runtime_26.0.1_linux-aarch64.run"
NOTHING = {
    "action": "none",
    "reasons": [],
    "refusal": "",
    "steps": [],
    "manager": "",
    "packages": [],
    "epel": "",
    "account": "",
    "reboot_reasons": [],
}


def file(name, **more):
    return {"file": f"/srv/ascend/{name}", "sha256": SHA, **more}


def host(driver="", firmware="", card="910b", system="debian", **more):
    facts = {
        "os": SYSTEMS[system],
        "architecture": "aarch64",
        "kernel": "5.10.0-182.0.0",
        "kernel_headers": True,
        "wsl": False,
        "accelerators": [{"vendor": "ascend", "pci_id": CARDS[card]}] * 8,
        "drivers": {
            "nvidia": None,
            "ascend": {"driver": driver, "firmware": firmware, "tool": "", "compatibility": ""},
        },
        "engine": {"containers": [], "runtimes": ["runc"], "default_runtime": "runc"},
        "manifest": {"entries": []},
    }
    return {**facts, **more}


def decide(facts, driver=None, firmware=None, **options):
    found = ascend_driver_action(facts, driver=driver or {}, firmware=firmware or {}, **options)
    summary = found.pop("summary")
    assert {type(found.pop(name)) for name in ("left", "died")} == {list}
    assert "\n" not in summary
    assert (summary == "") == (found == NOTHING)
    assert (found["refusal"] != "") == (found["action"] == "refuse")
    assert found["steps"] == [] or found["action"] in ("install", "upgrade")
    return found


def steps(found):
    return [(one["part"], one["version"], one["arguments"]) for one in found["steps"]]


FULL_DRIVER = ("driver", "25.5.1", ["--full", "--install-for-all", "--quiet"])
FULL_FIRMWARE = ("firmware", "7.8.0.6.201", ["--full", "--quiet"])
UP_DRIVER = ("driver", "25.5.1", ["--upgrade", "--quiet"])
UP_FIRMWARE = ("firmware", "7.8.0.6.201", ["--upgrade", "--quiet"])
BOTH = {"driver": file(DRIVER), "firmware": file(FIRMWARE)}


@pytest.mark.parametrize(
    ("driver", "firmware", "action", "expected"),
    [
        ("", "", "install", [FULL_DRIVER, FULL_FIRMWARE]),
        # Interrupted.
        ("25.5.1", "", "install", [FULL_FIRMWARE]),
        ("", "7.8.0.6.201", "install", [FULL_DRIVER]),
        ("25.2.0", "7.7.0.6.236", "upgrade", [UP_FIRMWARE, UP_DRIVER]),
        ("25.2.0", "7.8.0.6.201", "upgrade", [UP_DRIVER]),
        ("25.5.1", "7.7.0.6.236", "upgrade", [UP_FIRMWARE]),
        ("25.2.0", "", "install", [FULL_FIRMWARE, UP_DRIVER]),
        ("", "7.7.0.6.236", "install", [FULL_DRIVER, UP_FIRMWARE]),
        ("25.5.1", "7.8.0.6.201", "none", []),
        # A candidate comes before its release.
        ("25.5.rc1", "7.8.0.6.201", "upgrade", [UP_DRIVER]),
        ("25.3.RC1.2", "7.8.0.2.212", "upgrade", [UP_FIRMWARE, UP_DRIVER]),
    ],
)
def test_what_is_there_decides_what_is_run_and_in_which_order(driver, firmware, action, expected):
    found = decide(host(driver, firmware), **BOTH)
    assert (found["action"], steps(found)) == (action, expected)


@pytest.mark.parametrize(
    "facts",
    [
        host("25.2.0", "7.7.0.6.236"),
        host("25.2.0"),
        # npu-smi answers, and no file tells its release.
        host(drivers={"ascend": {"driver": "", "firmware": "", "tool": "25.2.0"}}),
        host(accelerators=[]),
        host(accelerators=[{"vendor": "nvidia", "pci_id": "10de:232c"}]),
        host(wsl=True),
        host("25.2.0", "7.7.0.6.236", system="arch"),
        host("25.2.0", "7.7.0.6.236", card="910a"),
    ],
)
def test_what_nobody_names_a_file_for_is_left_alone(facts):
    assert decide(facts) == NOTHING


def test_a_host_as_wanted_is_not_asked_for_more():
    there = host("25.5.1", "7.8.0.6.201", engine={"containers": [MODEL]}, system="arch")
    assert decide(there, **BOTH) == NOTHING
    assert decide(host("25.5.1", "7.8.0.6.201"), driver={"file": f"/srv/{DRIVER}"}) == NOTHING
    assert decide(host("25.3.RC1.2", "7.8"), driver=file(DRIVER.replace("25.5.1", "25.3.rc1.2"))) == NOTHING
    assert decide(host(wsl=True), **BOTH) == NOTHING


@pytest.mark.parametrize(
    ("facts", "driver", "words"),
    [
        # For another card.
        (host(card="910c"), file(DRIVER), "whose driver is called Atlas-A3-hdk-npu-driver_"),
        (host(card="310p"), file(DRIVER), "whose driver is called Ascend-hdk-310p-npu-driver_"),
        (host(), file("Atlas-A3-hdk-npu-driver_25.5.1_linux-aarch64.run"), "Ascend 910B (A2) (19e5:d802)"),
        (host(card="910a"), file(DRIVER), "for the card 19e5:d801 are not known"),
        # For another architecture; the vendor writes x86-64.
        (
            host(architecture="x86_64"),
            file(DRIVER),
            "which is for aarch64, and the host is x86_64. Set it to the file for x86-64",
        ),
        (host(), file(DRIVER.replace("aarch64", "x86-64")), "which is for x86-64, and the host is aarch64"),
        # The other part.
        (host(), file(FIRMWARE), "which is the firmware. That belongs into gpustack_ascend_firmware"),
        (host(), file(RUNTIME), "which is the runtime. That belongs into gpustack_ascend_runtime"),
        (host(), file("Ascend-hdk-910b-npu-driver_25.5.1_linux-aarch64.zip"), "which is no .run file"),
        (host(), file("my driver.run"), "which is no .run file"),
        (host(), {"file": f"/srv/{DRIVER}"}, "gpustack_ascend_driver has no sha256"),
        (host(), {"file": f"/srv/{DRIVER}", "sha256": "abc"}, "gpustack_ascend_driver has no sha256"),
        (host(), file("driver.run"), "driver.run does not tell its release"),
        (host(), file(DRIVER, version="25.2.0"), f"says version 25.2.0, and {DRIVER} is 25.5.1"),
        (host(), {"sha256": SHA}, "gpustack_ascend_driver names neither a file"),
        (host(), file(DRIVER, url=f"https://h/{DRIVER}"), "names both a file and a url"),
        (host(system="arch"), file(DRIVER), "not known for Arch Linux"),
    ],
)
def test_what_would_not_work_is_refused_in_a_sentence(facts, driver, words):
    firmware = (
        "Atlas-A3-hdk-npu-firmware_7.8.0.6.201.run" if facts["accelerators"][0]["pci_id"] == CARDS["910c"] else FIRMWARE
    )
    found = decide(facts, driver=driver, firmware=file(firmware))
    assert found == {**NOTHING, "action": "refuse", "refusal": found["refusal"]}
    assert words in found["refusal"]
    assert found["refusal"].endswith(".")


def test_a_missing_driver_without_a_file_names_the_variables():
    refusal = decide(host())["refusal"]
    assert refusal.startswith("There is no driver for 8 Ascend cards, and nothing says which driver and firmware")
    assert "Set gpustack_ascend_driver and gpustack_ascend_firmware" in refusal
    half = decide(host(), driver=file(DRIVER))["refusal"]
    assert "Set gpustack_ascend_firmware" in half and "gpustack_ascend_driver " not in half
    assert decide(host(firmware="7.8.0.6.201"), driver=file(DRIVER))["action"] == "install"


@pytest.mark.parametrize(
    ("driver", "firmware", "words"),
    [
        ("26.0.0", "7.8.0.6.201", ["driver 26.0.0 stays, though 25.5.1 is asked for: none is downgraded"]),
        ("25.5.1", "7.9.0", ["firmware 7.9.0 stays, though 7.8.0.6.201 is asked for: none is downgraded"]),
    ],
)
def test_one_that_is_newer_stays_and_is_told(driver, firmware, words):
    found = decide(host(driver, firmware), **BOTH)
    assert found == {**NOTHING, "reasons": words}


def test_one_that_is_newer_is_not_mixed_with_one_that_would_be_changed():
    found = decide(host("25.2.0", "7.9.0"), **BOTH)
    assert found["action"] == "refuse"
    assert "firmware 7.9.0 stays, though 7.8.0.6.201 is asked for" in found["refusal"]
    assert "Name a driver and a firmware that belong together" in found["refusal"]


@pytest.mark.parametrize(
    ("card", "architecture", "name"),
    [
        ("910b", "x86_64", "Ascend-hdk-910b-npu-driver_25.5.1_linux-x86-64.run"),
        ("910c", "aarch64", "Atlas-A3-hdk-npu-driver_25.5.1_linux-aarch64.run"),
        ("310p", "x86_64", "Ascend-hdk-310p-npu-driver_25.5.1_linux-x86-64.run"),
    ],
)
def test_the_file_of_a_card_and_architecture_is_taken(card, architecture, name):
    found = decide(host(firmware="7.8", card=card, architecture=architecture), driver=file(name))
    assert steps(found) == [FULL_DRIVER]


def test_a_name_that_tells_nothing_is_made_up_for_by_a_version():
    found = decide(host(firmware="7.8"), driver=file("driver.run", version="25.5.1"))
    assert steps(found) == [FULL_DRIVER]


def test_a_step_tells_all_that_running_it_takes():
    driver = {"url": f"https://mirror.example/a%20b/{DRIVER}?x=1", "sha256": SHA.upper()}
    (step,) = decide(host(firmware="7.8"), driver=driver)["steps"]
    assert step == {
        "part": "driver",
        "verb": "install",
        "what": "Ascend driver 25.5.1",
        "name": DRIVER,
        "file": "",
        "url": f"https://mirror.example/a%20b/{DRIVER}?x=1",
        "sha256": SHA,
        "version": "25.5.1",
        "arguments": ["--full", "--install-for-all", "--quiet"],
        "verify": True,
        "codes": [0],
        "timeout": 1800,
        "path": "/usr/local/Ascend/driver",
        "log": "/var/log/ascend_seclog/ascend_install.log",
        "variable": "gpustack_ascend_driver",
        "running": "running: 25.5.1",
        "finished": "finished: 25.5.1",
        "stdin": "",
        "reboot_reason": "the installer of Ascend driver 25.5.1 ran, and what it installed works after a reboot",
    }
    (step,) = decide(host("25.5.1"), firmware=file(FIRMWARE))["steps"]
    assert (step["file"], step["url"], step["codes"]) == (f"/srv/ascend/{FIRMWARE}", "", [0, 2])


def test_each_step_waits_for_a_reboot():
    found = decide(host(), **BOTH)
    assert [one["id"] for one in found["reboot_reasons"]] == ["ascend-driver", "ascend-firmware"]
    assert [one["reason"] for one in found["reboot_reasons"]] == [one["reboot_reason"] for one in found["steps"]]


def test_a_driver_is_never_changed_under_models():
    others = [{"name": "web", "owner": "", "running": True}, {**MODEL, "name": "old-run", "running": False}]
    busy = {"engine": {"containers": [*others, MODEL]}}
    for there in (host("25.2.0", "7.7.0.6.236", **busy), host("25.5.1", "7.7.0.6.236", **busy)):
        found = decide(there, **BOTH)
        assert found["refusal"].startswith(f"deepseek-1-run run on the driver {there['drivers']['ascend']['driver']}")
        assert "put its worker into maintenance and stop them" in found["refusal"]
        assert "gpustack_reboot" not in found["refusal"]
    assert decide(host("25.2.0", "7.7.0.6.236", engine={"containers": others}), **BOTH)["action"] == "upgrade"
    assert decide(host(**busy), **BOTH)["action"] == "install"


def began(**notes):
    """A host's manifest with these notes of driver and firmware."""
    path = "/usr/local/Ascend"
    entries = [
        {"kind": "directory", "name": f"{path}/{part}", "by": "ascend_driver", **({"note": note} if note else {})}
        for part, note in notes.items()
    ]
    return {"manifest": {"entries": entries}}


@pytest.mark.parametrize(
    ("driver", "firmware", "notes", "expected"),
    [
        # Died though its file tells the release: run again as it was begun, and in the order it was begun in.
        ("25.5.1", "", {"driver": "running: 25.5.1"}, [FULL_DRIVER, FULL_FIRMWARE]),
        ("25.5.1", "7.8.0.6.201", {"driver": "finished: 25.5.1", "firmware": "running: 7.8.0.6.201"}, [FULL_FIRMWARE]),
        (
            "25.2.0",
            "7.8.0.6.201",
            {"driver": "finished: 25.2.0", "firmware": "running: 7.8.0.6.201 over 7.7.0.6.236"},
            [UP_FIRMWARE, UP_DRIVER],
        ),
        ("25.5.1", "7.8.0.6.201", {"driver": "running: 25.5.1 over 25.2.0"}, [UP_DRIVER]),
        # Died before it wrote anything.
        ("25.2.0", "7.8.0.6.201", {"driver": "running: 25.5.1 over 25.2.0"}, [UP_DRIVER]),
        ("", "", {"driver": "running: 25.5.1"}, [FULL_DRIVER, FULL_FIRMWARE]),
        # It died with the old one's files gone.
        ("", "7.8.0.6.201", {"driver": "running: 25.5.1 over 25.2.0"}, [FULL_DRIVER]),
        # Finished, or somebody else's since then.
        ("25.5.1", "7.8.0.6.201", {"driver": "finished: 25.5.1", "firmware": "finished: 7.8.0.6.201"}, []),
        ("25.5.1", "7.8.0.6.201", {"driver": "running: 25.2.0", "firmware": ""}, []),
    ],
)
def test_an_installer_that_died_is_run_again(driver, firmware, notes, expected):
    assert steps(decide(host(driver, firmware, **began(**notes)), **BOTH)) == expected


def test_an_installer_that_died_is_told():
    there = host("25.5.1", "7.8.0.6.201", **began(driver="running: 25.5.1", firmware="finished: 7.8.0.6.201"))
    assert decide(there, **BOTH)["reasons"] == ["the installer of driver 25.5.1 was started and nobody saw it end well"]
    assert ascend_driver_action(there)["died"] == ["driver"]


def test_an_upgrade_notes_what_it_is_over():
    noted = [one["running"] for one in decide(host("25.2.0", "7.7.0.6.236"), **BOTH)["steps"]]
    assert noted == ["running: 7.8.0.6.201 over 7.7.0.6.236", "running: 25.5.1 over 25.2.0"]
    again = decide(host("25.5.1", "7.8.0.6.201", **began(driver="running: 25.5.1 over 25.2.0")), **BOTH)
    assert [one["running"] for one in again["steps"]] == ["running: 25.5.1 over 25.2.0"]


def test_what_is_left_is_told_by_the_version_files_alone():
    busy = {"engine": {"containers": [MODEL]}, **began(driver="running: 25.5.1")}
    for driver, firmware, left in (
        ("25.2.0", "7.8.0.6.201", ["driver"]),
        ("25.5.1", "7.8.0.6.201", []),
        ("", "", ["driver", "firmware"]),
        ("25.5.1.0", "7.7", ["firmware"]),
    ):
        assert ascend_driver_action(host(driver, firmware, **busy), **BOTH)["left"] == left
    assert ascend_driver_action(host(), driver=BOTH["driver"])["left"] == ["driver"]


def test_the_first_package_beside_a_factory_firmware_is_an_installation():
    told = {"driver": "25.5.1", "firmware": "7.1.0.5.220", "tool": "25.5.1", "compatibility": ""}
    for more, expected in (
        ({"firmware_installed": False}, FULL_FIRMWARE),
        ({"firmware_installed": True}, UP_FIRMWARE),
        # Facts of an older probe do not tell.
        ({}, UP_FIRMWARE),
    ):
        found = decide(host(drivers={"ascend": {**told, **more}}), **BOTH)
        assert steps(found) == [expected]
    as_wanted = {**told, "firmware": "7.8.0.6.201", "firmware_installed": False}
    assert steps(decide(host(drivers={"ascend": as_wanted}), **BOTH)) == []


@pytest.mark.parametrize(
    ("system", "headers", "manager", "packages", "epel"),
    [
        ("debian", True, "apt", [], ""),
        ("ubuntu", False, "apt", ["linux-headers-5.10.0-182.0.0"], ""),
        ("rocky", True, "dnf", [], "epel-release"),
        ("openeuler", False, "dnf", ["kernel-devel-5.10.0-182.0.0"], ""),
    ],
)
def test_what_the_installers_call_is_installed(system, headers, manager, packages, epel):
    found = decide(host(system=system, kernel_headers=headers), **BOTH)
    assert found["packages"] == ["dkms", "gcc", "make", "pciutils", "net-tools", *packages]
    assert (found["manager"], found["epel"], found["account"]) == (manager, epel, "HwHiAiUser")


def test_a_line_tells_what_is_done_and_why():
    found = ascend_driver_action(host("25.2.0", "7.7.0.6.236"), **BOTH)
    assert found["summary"] == (
        f"upgrade Ascend firmware 7.8.0.6.201 from {FIRMWARE}, then upgrade Ascend driver 25.5.1 from {DRIVER}, which "
        "takes dkms, gcc, make, pciutils, net-tools, because firmware 7.7.0.6.236 is older than 7.8.0.6.201, which is "
        "asked for; driver 25.2.0 is older than 25.5.1, which is asked for. A reboot is needed afterwards"
    )
    assert decide(host("25.5.1"), **BOTH)["reasons"] == ["driver 25.5.1 is there and the firmware is not"]


def test_facts_that_a_broken_host_gives_are_no_traceback():
    assert ascend_driver_action({}) == {**NOTHING, "left": [], "died": [], "summary": ""}
    facts = {"accelerators": [{"vendor": "ascend"}], "drivers": None, "engine": None}
    assert ascend_driver_action(facts)["action"] == "refuse"
    assert ascend_driver_action(facts, **BOTH)["action"] == "refuse"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("25.2.0", "25.10.0"),
        ("7.8.0.2.212", "7.8.0.6.201"),
        ("25.3.rc1.2", "25.3.rc2"),
        ("26.0.RC1", "26.0.0"),
        ("25.5.1", "25.5.1.1"),
    ],
)
def test_releases_are_compared_as_numbers(one, other):
    assert _ascend_package.is_older(one, other) and not _ascend_package.is_older(other, one)
    assert not _ascend_package.is_same(one, other)


def test_some_spellings_are_one_release():
    for one, other in (("v26.1.0", "26.1.0"), ("26.0.RC1", "26.0.rc1"), ("25.3", "25.3.0")):
        assert _ascend_package.is_same(one, other)


def runtime(name=RUNTIME, **more):
    return file(name, **more)


INFO = "version=v26.1.0\narch=aarch64\nos=linux\npath=/usr/local/Ascend/Ascend-Docker-Runtime\n"
KNOWS = {"containers": [], "runtimes": ["ascend", "runc"], "default_runtime": "runc"}


def recorded(note):
    entry = {"kind": "directory", "name": "/usr/local/Ascend/Ascend-Docker-Runtime", "by": "ascend_docker_runtime"}
    return {"entries": [{**entry, "note": note}]}


@pytest.mark.parametrize(
    ("facts", "wish", "installed", "action", "look"),
    [
        (host(engine=KNOWS), {}, None, "none", False),
        (host(accelerators=[]), runtime(), None, "none", False),
        (host(wsl=True), runtime(), None, "none", False),
        (host(), {}, None, "none", True),
        (host(), runtime(), None, "none", True),
        (host(engine=KNOWS), runtime(), None, "none", True),
        (host(engine=KNOWS, manifest=recorded("finished: 26.1.0")), runtime(), None, "none", False),
        (host(engine=KNOWS, manifest=recorded("installed: 26.1.0, default-runtime before: ")), {}, None, "none", True),
        (host(), {}, "", "refuse", False),
        (host(), {}, INFO, "none", False),
        (host(), runtime(), "", "install", False),
        (host(), runtime(), INFO, "none", False),
        (host(), runtime(), INFO.replace("26.1.0", "26.0.1"), "upgrade", False),
        (host(engine=KNOWS), runtime(OLD_RUNTIME), INFO, "none", False),
        (host(engine=KNOWS), runtime(), "", "none", False),
        (host(engine=KNOWS, manifest=recorded("finished: 26.0.1")), runtime(), None, "upgrade", False),
        (host(architecture="x86_64"), runtime(), "", "refuse", False),
        (host(), {"file": f"/srv/{RUNTIME}"}, "", "refuse", False),
        (host(), runtime("runtime.run", version="26.1.0"), "", "refuse", False),
        (host(), runtime(DRIVER), "", "refuse", False),
    ],
)
def test_the_runtime_is_installed_where_docker_lacks_it(facts, wish, installed, action, look):
    found = ascend_runtime_action(facts, runtime=wish, installed=installed, accept_eula=True)
    assert (found["action"], found["look"]) == (action, look)
    assert (found["step"] is None) == (action in ("none", "refuse"))


def test_the_licence_is_accepted_by_the_user_alone():
    refused = ascend_runtime_action(host(), runtime=runtime(), installed="")
    assert refused["action"] == "refuse" and refused["step"] is None
    assert "asks from 26.1.0 on" in refused["refusal"] and "gpustack_ascend_accept_eula: true" in refused["refusal"]
    later = runtime("Ascend-docker-runtime_26.10.0_linux-aarch64.run")
    assert ascend_runtime_action(host(), runtime=later, installed="")["action"] == "refuse"
    # An older one does not ask. Were it to, it would be told no.
    older = ascend_runtime_action(host(), runtime=runtime(OLD_RUNTIME), installed="")
    assert (older["action"], older["step"]["stdin"]) == ("install", "N")
    assert ascend_runtime_action(host(), runtime=runtime(), installed="", accept_eula=True)["step"]["stdin"] == "Y"


def test_the_runtime_s_installer_is_told_the_scene():
    step = ascend_runtime_action(host(), runtime=runtime(), installed="", accept_eula=True)["step"]
    assert (step["arguments"], step["verify"], step["timeout"]) == (["--install", "--install-scene=docker"], False, 300)
    older = INFO.replace("26.1.0", "26.0.1")
    upgrade = ascend_runtime_action(host(engine=KNOWS), runtime=runtime(), installed=older, accept_eula=True)
    assert (upgrade["step"]["arguments"], upgrade["step"]["running"]) == (["--upgrade"], "running: 26.1.0 over 26.0.1")
    assert upgrade["step"]["installed"] == "installed: 26.1.0"


def test_an_installer_of_the_runtime_that_died_is_run_again():
    lab = {**KNOWS, "runtimes": ["runc"], "default_runtime": "ascend"}
    for engine, note, installed, arguments in (
        (lab, "running: 26.1.0, default-runtime before: lab", INFO, ["--install", "--install-scene=docker"]),
        (lab, "running: 26.1.0, default-runtime before: lab", "", ["--install", "--install-scene=docker"]),
        # Docker was restarted meanwhile.
        (KNOWS, "running: 26.1.0, default-runtime before: lab", "", ["--install", "--install-scene=docker"]),
        (KNOWS, "running: 26.1.0 over 26.0.1", INFO, ["--upgrade"]),
        (KNOWS, "running: 26.1.0 over 26.0.1", INFO.replace("26.1.0", "26.0.1"), ["--upgrade"]),
    ):
        found = ascend_runtime_action(
            host(engine=engine, manifest=recorded(note)), runtime=runtime(), installed=installed, accept_eula=True
        )
        assert (found["step"]["arguments"], found["step"]["running"], found["died"]) == (arguments, note, True)
        # Whoever ran it is told by the info file whether it installed what it holds.
        assert found["left"] == (installed != INFO)
        assert found["reasons"] == ["the installer of 26.1.0 was started and nobody saw it end well"]
    # The upgrade took the files of the old one along, and an installation makes itself Docker's default.
    gone = host(engine={**KNOWS, "default_runtime": "lab"}, manifest=recorded("running: 26.1.0 over 26.0.1"))
    step = ascend_runtime_action(gone, runtime=runtime(), installed="", accept_eula=True)["step"]
    assert (step["verb"], step["running"]) == ("install", "running: 26.1.0, default-runtime before: lab")
    ended = host(engine=lab, manifest=recorded("installed: 26.1.0, default-runtime before: lab"))
    found = ascend_runtime_action(ended, runtime=runtime(), installed=INFO)
    assert (found["step"], found["died"], found["unfinished"], found["restore"]) == (None, False, True, "lab")


@pytest.mark.parametrize(
    ("note", "unfinished", "restore", "forget"),
    [
        ("running: 26.1.0, default-runtime before: runc", True, "", True),
        ("installed: 26.1.0, default-runtime before: runc", True, "", True),
        ("installed: 26.1.0, default-runtime before: ", True, "", True),
        ("installed: 26.1.0, default-runtime before: lab", True, "lab", False),
        ("installed: 26.1.0", True, "", False),
        ("finished: 26.1.0", False, "", False),
    ],
)
def test_the_manifest_remembers_docker_s_default_from_before(note, unfinished, restore, forget):
    now = {**KNOWS, "default_runtime": "ascend"}
    found = ascend_runtime_action(host(engine=now, manifest=recorded(note)), runtime=runtime(), installed=INFO)
    assert (found["unfinished"], found["restore"], found["forget"]) == (unfinished, restore, forget)


def test_what_is_recorded_first_is_not_replaced_by_what_the_installer_made():
    now = {**KNOWS, "runtimes": ["runc"], "default_runtime": "ascend"}
    began_so = recorded("running: 26.1.0, default-runtime before: lab")
    for facts in (host(engine=now, manifest=began_so), host(engine={**now, "default_runtime": "lab"})):
        step = ascend_runtime_action(facts, runtime=runtime(), installed="", accept_eula=True)["step"]
        assert step["running"] == "running: 26.1.0, default-runtime before: lab"
        assert step["installed"] == "installed: 26.1.0, default-runtime before: lab"
