"""The judgement of hosts beyond its single kinds: who is judged, what is merged, accepted, raised and left out."""

from __future__ import annotations

import copy
import hashlib
import pathlib
import time

import made_hosts
import pytest
from ansible_collections.inferops.gpustack.plugins.plugin_utils import _check_host_facts, _findings, _preflight
from ansible_collections.inferops.gpustack.plugins.plugin_utils._site import Site

NPU = {"vendor": "ascend", "profile": "ascend_910b", "pci_id": "19e5:d802", "address": "0000:c1:00.0", "health": "ok"}
ON_ASCEND = {
    "gpustack_accelerator": "ascend_910b",
    "gpustack_accelerator_count": 1,
    "gpustack_models": [],
}
CLOCK_OFF = {"facts": {"clock": {"offset_seconds": 300}}}


def pairs(made):
    return _check_host_facts.check(Site(made))


def kinds(case, **more):
    return [finding.id for unused, finding in pairs(made_hosts.inventory(case, **more))]


def one(made, kind):
    """The one finding of a kind."""
    (finding,) = (finding for unused, finding in pairs(made) if finding.id == kind)
    return finding


def row(kind, severity="error", where="/some/place"):
    return {
        "id": kind,
        "severity": severity,
        "where": where,
        "found": "that",
        "expected": "this",
        "fix": "do it",
        "source": "a page",
    }


def test_a_host_that_was_not_looked_at_is_not_judged():
    made = made_hosts.inventory(CLOCK_OFF, count=2)
    made["facts"]["h20-02"] = None
    assert [name for name, unused in pairs(made)] == ["h20-01"]
    made["facts"] = {}
    assert pairs(made) == []


def test_the_same_finding_of_many_hosts_is_one_block():
    made = made_hosts.apart(made_hosts.inventory(CLOCK_OFF, count=18))
    found = pairs(made)
    assert len(found) == 18
    (finding,) = _check_host_facts.merged(found)
    assert finding.where == "h20-01, h20-02, h20-03, h20-04 and 14 more: clock"
    assert finding.found == "300 s ahead of this machine"
    assert _check_host_facts.each(found)[1].where == "h20-02: clock"


def test_what_differs_between_the_hosts_of_a_block_is_told():
    made = made_hosts.apart(made_hosts.inventory(CLOCK_OFF, count=3))
    made["facts"]["h20-02"]["clock"] = {"offset_seconds": -40}
    (finding,) = _check_host_facts.merged(pairs(made))
    assert finding.where == "h20-01, h20-02, h20-03: clock"
    assert finding.found == "300 s ahead of this machine on h20-01, h20-03; 40 s behind this machine on h20-02"


def test_an_accepted_finding_is_a_note_on_every_host():
    accepted = [
        {"id": "disk_tight", "reason": "the images of this site are small"},
        # Errors of the inventory's own are told there, and these do nothing here.
        {"id": "clock_off", "reason": "cannot be accepted at all"},
        {"id": "no_such_kind", "reason": "a kind that nobody knows"},
    ]
    case = {
        "inventory": {"gpustack_accept": accepted},
        "facts": {
            "clock": {"offset_seconds": 300},
            "disks": [{"path": "/var/lib/containerd", "mount": "/", "free_bytes": 60 * 10**9}],
        },
    }
    found = {finding.id: finding for unused, finding in pairs(made_hosts.inventory(case))}
    assert set(found) == {"disk_tight", "clock_off"}
    assert (found["disk_tight"].severity, found["disk_tight"].accepted) == ("note", accepted[0]["reason"])
    assert found["clock_off"].severity == "error"


def test_the_inventory_does_not_miss_what_only_the_hosts_can_tell():
    made = made_hosts.inventory(
        {"inventory": {"gpustack_accept": [{"id": "disk_tight", "reason": "images are small"}]}}
    )
    assert not [each for each in _preflight.check(made) if each.id.startswith("accept_")]


# Cards


def test_an_older_card_that_is_called_by_the_name_of_a_newer_one():
    card = {**NPU, "profile": None, "pci_id": "19e5:d801", "name": "910B"}
    case = {"inventory": ON_ASCEND, "facts": {"accelerators": [card], "drivers": {"ascend": {"driver": "23.0.0"}}}}
    ((unused, finding),) = pairs(made_hosts.inventory(case))
    assert finding.id == "accelerator_differs"
    assert finding.found == "1 x Huawei Ascend 910 (PCI 19e5:d801)"
    assert "write a profile with pci_ids: ['19e5:d801'] into gpustack_profiles" in finding.fix


def test_processors_are_counted_and_not_the_cards_that_hold_them():
    cards = [{**NPU, "profile": "ascend_910c", "pci_id": "19e5:d803", "chips": 2, "address": str(n)} for n in range(8)]
    case = {
        "inventory": {"gpustack_accelerator": "ascend_910c", "gpustack_accelerator_count": None, "gpustack_models": []},
        "facts": {"accelerators": cards, "drivers": {"ascend": {"driver": "25.5.0", "tool": "25.5.0"}}},
    }
    assert kinds(case) == []
    case["facts"]["accelerators"] = cards[:7]
    ((unused, finding),) = pairs(made_hosts.inventory(case))
    assert (finding.id, finding.found) == ("accelerator_count_fewer", "14 x ascend_910c")


def test_more_than_a_host_has_is_said_where_one_instance_needs_it():
    case = {"facts": {"accelerators": made_hosts.load("sound")["facts"]["accelerators"][:1]}}
    ((unused, finding),) = pairs(made_hosts.inventory(case))
    assert finding.expected == "2, as the inventory or the profile says; one instance needs 2"


def test_the_cards_of_a_host_with_mig_are_counted_by_the_site():
    cards = [{**card, "mig": True} for card in made_hosts.load("sound")["facts"]["accelerators"]]
    assert kinds({"inventory": {"gpustack_accelerator_count": 7}, "facts": {"accelerators": cards}}) == []


def test_a_profile_of_the_site_for_a_known_card_is_no_contradiction():
    own = {
        "name": "ours",
        "vendor": "nvidia",
        "pci_ids": ["10de:232c"],
        "memory_bytes": 1,
        "cards_per_host": 2,
        "platform": "cuda",
        "device_type": "cuda",
        "container": {"runtime": "nvidia", "env": {}},
    }
    assert not kinds(
        {
            "inventory": {
                "gpustack_accelerator": "our_h20",
                "gpustack_models": [],
                "gpustack_profiles": {"accelerators": {"our_h20": own}},
            }
        }
    )


def test_a_server_without_cards_declares_none():
    made = made_hosts.inventory({"facts": {"accelerators": [], "drivers": {"nvidia": None}, "ports": []}})
    made["groups"] = {"gpustack_server": ["h20-01"], "gpustack_worker": []}
    assert pairs(made) == []


def test_what_the_inventory_says_wrongly_is_judged_there():
    for wrong in ("nvidia_h20_3", None, 5, ["nvidia_h20"]):
        assert kinds({"inventory": {"gpustack_accelerator": wrong, "gpustack_models": "x"}}) == []


# Drivers


@pytest.mark.parametrize("driver", [None, {"driver": "", "tool": ""}])
def test_an_ascend_host_without_a_driver(driver):
    found = [row("ascend_driver_missing", "warning"), row("vendor_tool_missing", "warning"), row("os_unidentified")]
    facts = {"accelerators": [NPU], "drivers": {"nvidia": None, "ascend": driver}, "findings": found}
    made = pairs(made_hosts.inventory({"inventory": ON_ASCEND, "facts": facts}))
    assert [finding.id for unused, finding in made] == ["driver_missing", "os_unidentified"]
    assert made[0][1].where == "Ascend driver"
    assert made[0][1].fix.startswith("install the driver first, then the firmware, then restart the host; or set ")


def test_a_newer_driver_that_waits_for_a_restart_counts():
    driver = {"loaded": "535.154.05", "installed": "580.95.05", "userspace": "535.154.05"}
    assert kinds({"facts": {"drivers": {"nvidia": driver}}}) == []


def test_the_branch_to_install_is_one_that_lives():
    case = made_hosts.load("driver_below_minimum")
    case["inventory"] = {"gpustack_models": []}
    ((unused, finding),) = pairs(made_hosts.inventory(case))
    assert finding.expected == "570.26 or later: GPUStack's images need 570.26 at least"
    assert finding.fix.startswith("install NVIDIA driver branch 580 or later, or set gpustack_driver: present ")


@pytest.mark.parametrize(
    "case",
    ["driver_missing", "driver_below_minimum", "driver_too_old", "driver_flavour", "container_runtime_missing"],
)
def test_a_driver_that_nobody_is_to_look_after_is_not_judged(case):
    made = made_hosts.load(case)
    made["inventory"] = {**made.get("inventory", {}), "gpustack_driver": "skip"}
    assert {finding.severity for unused, finding in pairs(made_hosts.inventory(made))} <= {"note"}


@pytest.mark.parametrize("case", ["driver_missing", "driver_below_minimum", "driver_too_old"])
def test_a_driver_that_site_yml_mends_stops_nothing(case):
    made = made_hosts.load(case)
    made["inventory"] = {**made.get("inventory", {}), "gpustack_driver": "present", "gpustack_reboot": "allow"}
    found = {finding.id: finding.severity for unused, finding in pairs(made_hosts.inventory(made))}
    assert found == {"driver_to_install": "note"}


def test_the_driver_of_windows_is_not_judged_by_the_table_of_linux():
    driver = {"loaded": "", "installed": "", "userspace": "572.83"}
    assert kinds({"facts": {"wsl": True, "drivers": {"nvidia": driver}}}) == []
    nothing = {"loaded": "", "installed": "", "userspace": ""}
    assert kinds({"facts": {"wsl": True, "drivers": {"nvidia": nothing}}}) == ["driver_missing"]


@pytest.mark.parametrize("mode", ["check", "present"])
def test_the_driver_of_windows_is_judged_whatever_is_asked_for(mode):
    nothing = {"loaded": "", "installed": "", "userspace": ""}
    case = {"inventory": {"gpustack_driver": mode}, "facts": {"wsl": True, "drivers": {"nvidia": nothing}}}
    ((unused, finding),) = pairs(made_hosts.inventory(case))
    assert (finding.id, finding.severity) == ("driver_missing", "error")
    assert finding.expected.startswith("NVIDIA's driver for Windows, which WSL uses, for CUDA 13.0 in ")
    assert finding.fix == (
        "install or update NVIDIA's driver in Windows, branch 580 or later, then run wsl --shutdown there; inside WSL "
        "nothing is installed"
    )


def test_driver_work_goes_by_the_cards_that_are_there():
    # The inventory says NVIDIA, and the roles will find an Ascend card without a driver.
    facts = {"accelerators": [NPU], "drivers": {"nvidia": None, "ascend": None}, "architecture": "aarch64"}
    made = made_hosts.inventory({"inventory": {"gpustack_driver": "present"}, "facts": facts})
    assert [finding.id for unused, finding in pairs(made)] == ["accelerator_differs", "driver_not_installable"]
    assert one(made, "driver_not_installable").where == "Ascend driver"
    # A server declares nothing, and the roles look after its cards all the same.
    facts = {"drivers": {"nvidia": None}, "ports": []}
    made = made_hosts.inventory(
        {"inventory": {"gpustack_driver": "present", "gpustack_reboot": "allow"}, "facts": facts}
    )
    made["groups"] = {"gpustack_server": ["h20-01"], "gpustack_worker": []}
    assert [finding.id for unused, finding in pairs(made)] == ["driver_to_install"]
    made["facts"]["h20-01"]["accelerators"] = []
    assert pairs(made) == []


def switched(version, driver="595.58.03", **more):
    """A host with NVSwitches and this Fabric Manager."""
    fabric = {"needed": True, "version": version, "running": False, "state": ""}
    release = dict.fromkeys(("loaded", "installed", "userspace"), driver)
    return made_hosts.inventory(
        {
            "inventory": {"gpustack_driver": "present", **more},
            "facts": {"switches": [{}], "drivers": {"nvidia": {**release, "fabric_manager": fabric}}},
        }
    )


@pytest.mark.parametrize("version", ["", "580.95.05"])
def test_fabric_manager_is_named_in_the_release_of_the_driver_that_is_there(version):
    finding = one(switched(version), "driver_to_install")
    assert finding.fix == (
        "nothing: site.yml installs nvidia-fabricmanager=595.58.03-*, libnvidia-nscq=595.58.03-* from "
        "https://developer.download.nvidia.com/compute/cuda/repos/ubuntu2404/x86_64/; what needs a reboot afterwards "
        "waits for gpustack_reboot"
    )


def test_a_fabric_manager_that_cannot_be_had_is_an_error():
    finding = one(switched("", "610.30.01", gpustack_driver_source="distribution"), "driver_not_installable")
    assert "Branch 610 of the driver is not known in Ubuntu's archive" in finding.fix


def test_facts_of_an_older_probe_say_nothing_of_drivers():
    made = made_hosts.inventory()
    del made["facts"]["h20-01"]["drivers"]
    assert pairs(made) == []


@pytest.mark.parametrize(
    ("flavour", "capability", "found"),
    [
        ("open", "7.0", ["driver_flavour"]),
        ("proprietary", "7.0", []),
        ("open", "7.5", []),
        ("proprietary", "9.0", []),
        ("proprietary", "12.0", ["driver_flavour"]),
        ("open", "12.0", []),
        ("", "12.0", []),
        ("open", None, []),
    ],
)
def test_the_kernel_module_goes_with_the_card(flavour, capability, found):
    case = made_hosts.load("driver_flavour")
    case["inventory"]["gpustack_profiles"]["accelerators"]["our_b200"]["compute_capability"] = capability
    case["facts"]["drivers"]["nvidia"]["flavour"] = flavour
    assert kinds(case) == found


# What the probe found by itself


def test_a_finding_of_the_probe_is_taken_over_as_it_is():
    made = made_hosts.inventory(
        {"facts": {"findings": [row("engine_is_snap"), row("a_kind_of_a_later_release", "fatal")]}}
    )
    known, unknown = (finding for unused, finding in pairs(made))
    assert _findings.table([_check_host_facts.each(pairs(made))[0]]) == (
        "ERROR engine_is_snap\n  where     h20-01: /some/place\n  found     that\n  expected  this\n  fix       do it\n"
        "  source    a page\n\n1 error"
    )
    assert known.severity == "error"
    assert (unknown.id, unknown.severity, unknown.found) == ("a_kind_of_a_later_release", "warning", "that")


@pytest.mark.parametrize("damaged", [None, {}, ["text"], [{}], [{"id": "x"}]])
def test_damaged_findings_are_no_crash(damaged):
    assert all(kind in ("", "x") for kind in kinds({"facts": {"findings": damaged}}))


def test_a_driver_that_is_not_loaded_is_an_error_where_its_card_is_declared():
    made = made_hosts.inventory({"facts": {"findings": [row("nvidia_driver_not_loaded", "warning")]}})
    assert [finding.severity for unused, finding in pairs(made)] == ["error"]
    made["hosts"]["h20-01"].update(gpustack_accelerator=None, gpustack_models=[])
    assert [finding.severity for unused, finding in pairs(made)] == ["warning"]


@pytest.mark.parametrize(
    ("declared", "health", "severity"),
    [
        ("nvidia_h20_3e", ["unknown", "unknown"], "error"),
        ("nvidia_h20_3e", ["unknown", "ok"], "warning"),
        (None, ["unknown", "unknown"], "warning"),
    ],
)
def test_a_tool_that_says_nothing_of_any_declared_card_is_an_error(declared, health, severity):
    cards = copy.deepcopy(made_hosts.load("sound")["facts"]["accelerators"])
    for card, state in zip(cards, health):
        card["health"] = state
    found = {"accelerators": cards, "findings": [row("vendor_tool_garbled", "warning")]}
    says = {"gpustack_accelerator": declared, "gpustack_models": []}
    made = made_hosts.inventory({"facts": found, "inventory": says})
    assert [finding.severity for unused, finding in pairs(made)] == [severity]


@pytest.mark.parametrize(("health", "severity"), [(["error", "ok"], "warning"), (["error", "error"], "error")])
def test_one_unhealthy_card_of_several_is_a_warning(health, severity):
    cards = copy.deepcopy(made_hosts.load("sound")["facts"]["accelerators"])
    for card, state in zip(cards, health):
        card["health"] = state
    made = made_hosts.inventory({"facts": {"accelerators": cards, "findings": [row("nvidia_card_unhealthy")]}})
    assert [finding.severity for unused, finding in pairs(made)] == [severity]


def test_no_account_of_a_url_is_shown():
    found = row("engine_incomplete", "warning", "http://joe:hunter2@mirror.example.com/v2")
    ((unused, finding),) = pairs(made_hosts.inventory({"facts": {"findings": [found]}}))
    assert finding.where == "http://***@mirror.example.com/v2"


# Ports and disks


@pytest.mark.parametrize(
    ("owner", "name", "found"),
    [
        ("ours", "gpustack-worker", []),
        ("gpustack", "flash-1-run", []),
        ("", "prometheus", ["port_taken"]),
        (None, "gpustack-worker", []),
        (None, "prometheus", ["port_taken"]),
    ],
)
def test_a_port_of_our_own_containers_is_fine(owner, name, found):
    containers = [{"name": name, "owner": owner}] if owner is not None else []
    port = {"port": 10151, "address": "0.0.0.0", "process": "python3", "pid": 5, "container": name}
    assert kinds({"facts": {"engine": {"containers": containers}, "ports": [port]}}) == found


def test_the_ports_of_the_server_are_its_own():
    listening = {"port": 80, "address": "0.0.0.0", "process": "nginx", "pid": 80, "container": ""}
    made = made_hosts.inventory({"facts": {"ports": [listening]}})
    assert pairs(made) == []
    made["groups"] = {"gpustack_server": ["h20-01"], "gpustack_worker": []}
    ((unused, finding),) = pairs(made)
    assert (finding.id, finding.where, finding.found) == ("port_taken", "port 80", "nginx (pid 80)")
    assert finding.fix.endswith("write another port into gpustack_server_port")
    made["hosts"]["h20-01"]["gpustack_server_port"] = 8080
    assert pairs(made) == []


def test_a_silent_engine_makes_no_foreign_container():
    listening = {"port": 10150, "address": "0.0.0.0", "process": "python3", "pid": 5, "container": ""}
    case = {"facts": {"engine": {"answers": False, "containers": []}, "ports": [listening]}}
    assert kinds(case) == []


def test_images_that_are_there_need_no_room():
    images = [
        "docker.io/gpustack/gpustack:v2.3.0",
        "docker.io/gpustack/runtime:pause",
        "docker.io/gpustack/runtime:health",
        "docker.io/vllm/vllm-openai:v0.25.0",
    ]
    disks = [{"path": "/var/lib/containerd", "mount": "/", "free_bytes": 10**9}]
    assert kinds({"facts": {"engine": {"images": images}, "disks": disks}}) == []
    # Without the large one, what is left has no size that anybody knows.
    assert kinds({"facts": {"engine": {"images": images[1:]}, "disks": disks}}) == ["disk_tight"]


@pytest.mark.parametrize(
    ("reasons", "reboot", "severity"),
    [
        ([], "fail", "error"),
        (["a driver was installed"], "fail", "warning"),
        (["a driver was installed"], "never", "error"),
    ],
)
def test_a_tool_that_fails_until_the_reboot_keeps_nobody_from_it(reasons, reboot, severity):
    found = {"findings": [row("vendor_tool_fails", "error")], "reboot": {"reasons": reasons, "system": False}}
    made = pairs(made_hosts.inventory({"facts": found, "inventory": {"gpustack_reboot": reboot}}))
    assert [finding.severity for unused, finding in made if finding.id == "vendor_tool_fails"] == [severity]


HALF = {
    "gpustack_ascend_driver": {"file": "/srv/Ascend-hdk-910b-npu-driver_25.5.1_linux-aarch64.run", "sha256": "0" * 64},
    "gpustack_ascend_firmware": {"file": "/srv/Ascend-hdk-910b-npu-firmware_7.8.0.6.201.run", "sha256": "1" * 64},
}


@pytest.mark.parametrize(
    ("wishes", "firmware", "severity"),
    [
        # Killed between the two installers: the firmware is still to come.
        ({"gpustack_driver": "present", **HALF}, "", "warning"),
        ({"gpustack_driver": "present", **HALF}, "7.8.0.6.201", "error"),
        ({"gpustack_driver": "check", **HALF}, "", "error"),
        # Nothing is done where something is refused.
        ({"gpustack_driver": "present", "gpustack_ascend_firmware": {"file": "/srv/x.zip"}}, "", "error"),
    ],
)
def test_a_tool_that_fails_keeps_nobody_from_finishing_the_driver(wishes, firmware, severity):
    facts = {
        "architecture": "aarch64",
        "accelerators": [NPU],
        "drivers": {"nvidia": None, "ascend": {"driver": "25.5.1", "firmware": firmware, "tool": ""}},
        "findings": [row("vendor_tool_fails", "error", "npu-smi")],
    }
    made = made_hosts.inventory({"inventory": {**ON_ASCEND, **wishes}, "facts": facts})
    assert one(made, "vendor_tool_fails").severity == severity


def test_a_tool_that_fails_under_a_driver_that_will_be_loaded_is_a_warning():
    driver = {"loaded": "", "installed": "580.95.05", "userspace": "", "flavour": ""}
    facts = {"drivers": {"nvidia": driver}, "findings": [row("vendor_tool_fails", "error", "nvidia-smi")]}
    made = made_hosts.inventory({"inventory": {"gpustack_driver": "present"}, "facts": facts})
    assert one(made, "vendor_tool_fails").severity == "warning"


def test_images_will_lie_where_this_run_has_docker_keep_them():
    disks = [
        {"path": "/var/lib/docker", "mount": "/", "free_bytes": 10**9},
        {"path": "/data/docker", "mount": "/data", "free_bytes": 900 * 10**9},
    ]
    facts = {"engine": {"image_store": "classic"}, "disks": disks}
    assert kinds({"facts": facts}) == ["disk_too_small"]
    moved = {"gpustack_docker_settings": {"data-root": "/data/docker"}}
    assert kinds({"facts": facts, "inventory": moved}) == []


NO_ENGINE = {"present": False, "answers": False, "kind": "", "version": "", "runtimes": [], "containers": []}
PODMAN = {"kind": "podman", "version": "5.4.0", "runtimes": [], "configured_runtimes": []}


@pytest.mark.parametrize(
    ("wishes", "found"),
    [
        ({}, []),
        # Empty is not said, as in the role, and another type has a finding of its own in the inventory.
        ({"version": "", "source": ""}, []),
        ({"version": 28.1, "source": ["docker-ce"]}, []),
        ({"version": "28"}, []),
        ({"version": "29.1"}, ["engine_not_installable"]),
        ({"version": "newest"}, ["engine_not_installable"]),
        ({"source": "distribution"}, []),
        ({"source": "distribution", "version": "28"}, ["engine_not_installable"]),
        ({"source": "podman"}, ["engine_not_installable"]),
    ],
)
def test_an_engine_that_can_be_installed_is_no_finding(wishes, found):
    inventory = {f"gpustack_docker_{name}": wish for name, wish in wishes.items()}
    assert kinds({"inventory": inventory, "facts": {"engine": NO_ENGINE}}) == found


@pytest.mark.parametrize(
    ("settings", "engine", "found"),
    [
        (None, {}, ["container_runtime_missing"]),
        # In the file, and the engine was not told yet.
        (None, {"configured_runtimes": ["nvidia"]}, []),
        ({"runtimes": {"nvidia": {"path": "nvidia-container-runtime"}}}, {}, []),
        ({"runtimes": ["nvidia"]}, {}, ["container_runtime_missing"]),
        ("nvidia", {}, ["container_runtime_missing"]),
        (None, {"answers": False, "kind": "", "runtimes": []}, []),
        # Without /info nothing is known of them.
        (None, {"kind": "", "runtimes": []}, []),
        (None, {"runtimes": None}, []),
        (None, NO_ENGINE, []),
    ],
)
def test_docker_has_to_know_the_container_runtime_of_the_cards(settings, engine, found):
    lacking = {"runtimes": ["runc"], "configured_runtimes": [], **engine}
    inventory = {"gpustack_docker_settings": settings}
    assert kinds({"inventory": inventory, "facts": {"engine": lacking}}) == found


def test_an_ascend_host_is_told_of_its_vendors_runtime():
    driver = {"ascend": {"driver": "25.2.0", "tool": "25.2.0"}}
    facts = {"accelerators": [NPU], "drivers": driver, "engine": {"runtimes": ["nvidia"], "configured_runtimes": []}}
    ((unused, finding),) = pairs(made_hosts.inventory({"inventory": ON_ASCEND, "facts": facts}))
    assert (finding.id, finding.found) == ("container_runtime_missing", "container runtimes nvidia")
    assert finding.fix.startswith("install the Ascend Docker Runtime and enter ascend into runtimes of ")


TOLD = {"runtimes": ["runc"], "configured_runtimes": []}
BARE = {**NO_ENGINE, "configured_runtimes": []}
RUNTIME = {
    "file": "/srv/ascend/Ascend-docker-runtime_26.1.0_linux-aarch64.run",
    "sha256": "0" * 64,
}


@pytest.mark.parametrize("engine", [TOLD, BARE])
@pytest.mark.parametrize("mode", [{"gpustack_driver": "present"}, {"gpustack_container_runtime": "present"}])
def test_the_toolkit_that_will_be_installed_is_named(engine, mode):
    made = made_hosts.inventory({"inventory": mode, "facts": {"engine": engine}})
    finding = one(made, "container_runtime_to_install")
    assert (finding.severity, finding.where) == ("note", "NVIDIA Container Toolkit")
    assert finding.fix == (
        "nothing: site.yml installs nvidia-container-toolkit=1.20.0-1, nvidia-container-toolkit-base=1.20.0-1, "
        "libnvidia-container-tools=1.20.0-1, libnvidia-container1=1.20.0-1 from "
        "https://nvidia.github.io/libnvidia-container/stable/deb/$(ARCH), unless it is there, and enters nvidia into "
        "runtimes of /etc/docker/daemon.json"
    )


@pytest.mark.parametrize("engine", [TOLD, BARE])
def test_a_toolkit_that_cannot_be_installed_is_an_error_before_any_host_is_touched(engine):
    wrong = {"gpustack_container_runtime": "present", "gpustack_toolkit_version": "newest"}
    made = made_hosts.inventory({"inventory": wrong, "facts": {"engine": engine}})
    finding = one(made, "container_runtime_not_installable")
    assert (finding.severity, finding.where) == ("error", "NVIDIA Container Toolkit")
    assert "gpustack_toolkit_version is 'newest'" in finding.fix


@pytest.mark.parametrize(
    ("version", "found"), [("", []), ("1.19.1", []), ("1.19", ["container_runtime_not_installable"])]
)
def test_a_toolkit_that_docker_knows_is_asked_for_only_with_a_release(version, found):
    wish = {"gpustack_container_runtime": "present", "gpustack_toolkit_version": version}
    assert kinds({"inventory": wish}) == found


def on_ascend(engine, **wishes):
    facts = {
        "architecture": "aarch64",
        "accelerators": [NPU],
        "drivers": {"nvidia": None, "ascend": {"driver": "25.2.0", "tool": "25.2.0"}},
        "engine": engine,
    }
    return made_hosts.inventory(
        {"inventory": {**ON_ASCEND, "gpustack_container_runtime": "present", **wishes}, "facts": facts}
    )


@pytest.mark.parametrize("engine", [TOLD, BARE])
@pytest.mark.parametrize(
    ("wishes", "said"),
    [
        ({}, "There is no Ascend Docker Runtime, and nothing says which to install."),
        ({"gpustack_ascend_runtime": RUNTIME}, "set gpustack_ascend_accept_eula: true if you do"),
        ({"gpustack_ascend_runtime": {"file": RUNTIME["file"]}}, "gpustack_ascend_runtime has no sha256"),
    ],
)
def test_an_ascend_runtime_that_cannot_be_installed_is_an_error(engine, wishes, said):
    finding = one(on_ascend(engine, **wishes), "container_runtime_not_installable")
    assert (finding.severity, finding.where) == ("error", "Ascend Docker Runtime")
    assert finding.expected == "ascend, for 1 x ascend_910b"
    assert said in finding.fix


@pytest.mark.parametrize("engine", [TOLD, BARE])
def test_the_ascend_runtime_that_will_be_installed_is_named(engine, tmp_path):
    runtime = on_controller(tmp_path, RUNTIME)
    made = on_ascend(engine, gpustack_ascend_runtime=runtime, gpustack_ascend_accept_eula=True)
    finding = one(made, "container_runtime_to_install")
    assert finding.severity == "note"
    assert finding.fix == (
        "nothing: site.yml runs Ascend-docker-runtime_26.1.0_linux-aarch64.run, unless that release is there, and "
        "enters ascend into runtimes of /etc/docker/daemon.json"
    )


def on_controller(directory, package):
    path = directory / pathlib.PurePath(package["file"]).name
    path.write_bytes(b"an installer")
    return {"file": str(path), "sha256": hashlib.sha256(b"an installer").hexdigest()}


def test_installers_that_are_missing_or_others_are_told_before_any_host_is_touched(tmp_path):
    driver = on_controller(tmp_path, HALF["gpustack_ascend_driver"])
    lost = {"file": str(tmp_path / "Ascend-hdk-910b-npu-firmware_7.8.0.6.201.run"), "sha256": "1" * 64}
    other = {**on_controller(tmp_path, RUNTIME), "sha256": "2" * 64}
    facts = {
        "architecture": "aarch64",
        "accelerators": [NPU],
        "drivers": {"nvidia": None, "ascend": None},
        "engine": BARE,
    }
    wishes = {
        "gpustack_driver": "present",
        "gpustack_ascend_driver": driver,
        "gpustack_ascend_firmware": lost,
        "gpustack_ascend_runtime": other,
        "gpustack_ascend_accept_eula": True,
    }
    made = made_hosts.inventory({"inventory": {**ON_ASCEND, **wishes}, "facts": facts})
    assert f"{lost['file']} cannot be read on the controller" in one(made, "driver_not_installable").fix
    assert "gpustack_ascend_firmware" in one(made, "driver_not_installable").fix
    assert f"{'2' * 64} is asked for" in one(made, "container_runtime_not_installable").fix
    lost.update(on_controller(tmp_path, lost))
    assert one(made_hosts.inventory({"inventory": {**ON_ASCEND, **wishes}, "facts": facts}), "driver_to_install")


def test_a_wrong_file_is_told_before_anybody_stops_models_for_it(tmp_path):
    lost = {"file": str(tmp_path / "Ascend-hdk-910b-npu-driver_25.5.1_linux-aarch64.run"), "sha256": "1" * 64}
    facts = {
        "architecture": "aarch64",
        "accelerators": [NPU],
        "drivers": {"nvidia": None, "ascend": {"driver": "25.2.0", "firmware": "7.8.0", "tool": "25.2.0"}},
        "engine": {"containers": [{"name": "deepseek-1-run", "owner": "gpustack", "running": True}]},
    }
    wishes = {"gpustack_driver": "present", "gpustack_ascend_driver": lost}
    finding = one(
        made_hosts.inventory({"inventory": {**ON_ASCEND, **wishes}, "facts": facts}), "driver_not_installable"
    )
    assert finding.fix.startswith(f"{lost['file']} cannot be read on the controller")
    assert "deepseek-1-run" in finding.fix
    assert finding.expected == "driver 25.5.1 (gpustack_ascend_driver)"


def test_a_driver_that_cannot_be_had_is_named_with_who_asks_for_it():
    wishes = {"gpustack_driver": "present", "gpustack_driver_branch": "123"}
    driver = {"loaded": "", "installed": "", "userspace": "", "flavour": ""}
    made = made_hosts.inventory({"inventory": wishes, "facts": {"drivers": {"nvidia": driver}}})
    assert one(made, "driver_not_installable").expected == "branch 123 (gpustack_driver_branch)"


def test_an_ascend_runtime_that_docker_knows_stays():
    assert pairs(on_ascend({})) == []
    # Written by the vendor's installer before there was a Docker.
    assert pairs(on_ascend({**BARE, "configured_runtimes": ["ascend"]})) == []


def test_a_runtime_is_brought_for_the_cards_that_are_there():
    made = on_ascend(TOLD)
    made["hosts"]["h20-01"].update(gpustack_accelerator="nvidia_h20_3e")
    finding = one(made, "container_runtime_not_installable")
    assert finding.where == "Ascend Docker Runtime"
    assert "container_runtime_to_install" not in [each.id for unused, each in pairs(made)]
    made["facts"]["h20-01"]["accelerators"] = []
    assert [each.id for unused, each in pairs(made)] == ["accelerator_not_found"]


DEFAULT, SETTINGS = "gpustack_docker_default_runtime", "gpustack_docker_settings"
UNKNOWN = ["default_runtime_unknown"]


@pytest.mark.parametrize(
    ("wishes", "engine", "found"),
    [
        ({DEFAULT: "nvida"}, {}, UNKNOWN),
        ({DEFAULT: "nvida"}, BARE, UNKNOWN),
        ({DEFAULT: ""}, {}, []),
        ({DEFAULT: "nvidia"}, {}, []),
        ({DEFAULT: "runc"}, BARE, []),
        ({DEFAULT: "io.containerd.runc.v2"}, BARE, []),
        ({DEFAULT: "kata"}, {"runtimes": ["kata", "nvidia", "runc"]}, []),
        ({DEFAULT: "kata"}, {"configured_runtimes": ["kata"]}, []),
        ({DEFAULT: "kata", SETTINGS: {"runtimes": {"kata": {"path": "/usr/bin/kata"}}}}, {}, []),
        # On its way, of this host's cards only.
        ({DEFAULT: "nvidia", "gpustack_driver": "present"}, BARE, ["container_runtime_to_install"]),
        ({DEFAULT: "ascend", "gpustack_driver": "present"}, TOLD, ["container_runtime_to_install", *UNKNOWN]),
        # Nobody writes it.
        ({DEFAULT: "nvida", "gpustack_container_runtime": "skip"}, {}, []),
        # Written whatever becomes of the runtimes, and before these.
        ({SETTINGS: {"default-runtime": "nvida"}, "gpustack_container_runtime": "skip"}, {}, UNKNOWN),
        ({SETTINGS: {"default-runtime": "nvidia"}}, {}, []),
        (
            {SETTINGS: {"default-runtime": "nvidia"}, "gpustack_driver": "present"},
            TOLD,
            ["container_runtime_to_install", *UNKNOWN],
        ),
        ({SETTINGS: {"default-runtime": 5}}, {}, []),
        # Without /info nothing is known.
        ({DEFAULT: "kata"}, {"kind": "", "runtimes": []}, []),
        ({DEFAULT: "kata"}, {"runtimes": None}, []),
    ],
)
def test_a_default_runtime_has_to_be_one_that_docker_knows(wishes, engine, found):
    assert kinds({"inventory": wishes, "facts": {"engine": engine}}) == found


def test_a_default_that_the_roles_bring_belongs_into_its_own_variable():
    case = {
        "inventory": {SETTINGS: {"default-runtime": "nvidia"}, "gpustack_driver": "present"},
        "facts": {"engine": BARE},
    }
    finding = one(made_hosts.inventory(case), "default_runtime_unknown")
    assert finding.where == "gpustack_docker_settings.default-runtime"
    assert finding.fix == "write it into gpustack_docker_default_runtime instead, which is set once Docker knows nvidia"


def test_a_server_needs_no_container_runtime_of_a_vendor():
    made = made_hosts.inventory({"facts": {"engine": {"runtimes": ["runc"], "configured_runtimes": []}, "ports": []}})
    made["groups"] = {"gpustack_server": ["h20-01"], "gpustack_worker": []}
    assert pairs(made) == []


@pytest.mark.parametrize(("wish", "severity"), [(True, "note"), (False, "error"), (None, "error"), ("true", "error")])
def test_podman_is_an_error_unless_it_is_to_be_replaced(wish, severity):
    case = {
        "inventory": {"gpustack_docker_remove_conflicting": wish},
        "facts": {"engine": PODMAN, "findings": [row("engine_is_podman")]},
    }
    ((unused, finding),) = pairs(made_hosts.inventory(case))
    assert (finding.id, finding.severity) == ("engine_is_podman", severity)
    assert ("site.yml will remove podman-docker and install Docker" in finding.fix) is (severity == "note")


def test_podman_is_not_replaced_where_no_docker_can_be_installed():
    case = {
        "inventory": {"gpustack_docker_remove_conflicting": True},
        "facts": {"engine": PODMAN, "os": made_hosts.load("engine_not_installable")["facts"]["os"]},
    }
    ((unused, finding),) = pairs(made_hosts.inventory(case))
    assert (finding.id, finding.found) == ("engine_not_installable", "Podman in its place")


@pytest.mark.parametrize(("store", "path"), [("classic", "/data/docker"), ("containerd", "/data/containerd")])
def test_room_is_needed_where_the_engine_keeps_images(store, path):
    disks = [
        {"path": "/data/docker", "mount": "/data", "free_bytes": 10**9},
        {"path": "/data/containerd", "mount": "/more", "free_bytes": 10**9},
    ]
    engine = {"image_store": store, "data_root": "/data/docker", "containerd_root": "/data/containerd"}
    ((unused, finding),) = pairs(made_hosts.inventory({"facts": {"engine": engine, "disks": disks}}))
    assert (finding.id, finding.where) == ("disk_too_small", path)


@pytest.mark.parametrize(
    ("free", "where"),
    [
        # One disk under two mounts is full once, also when it changed between the two looks.
        ((10**9, 10**9 + 4096), ["/var/lib/docker and /var/lib/containerd"]),
        ((10**9, 2 * 10**9), ["/var/lib/docker", "/var/lib/containerd"]),
        ((500 * 10**9, 10**9), ["/var/lib/containerd"]),
    ],
)
def test_two_places_with_the_same_space_are_one_finding(free, where):
    paths = ("/var/lib/docker", "/var/lib/containerd")
    disks = [{"path": path, "mount": path, "free_bytes": count} for path, count in zip(paths, free)]
    made = pairs(made_hosts.inventory({"facts": {"engine": {"image_store": ""}, "disks": disks}}))
    assert [(finding.id, finding.where) for unused, finding in made] == [("disk_too_small", each) for each in where]


def test_500_hosts_stay_within_a_second():
    case = made_hosts.load("accelerator_differs")
    case["facts"]["clock"] = {"offset_seconds": 300}
    case["facts"]["findings"] = [row("engine_is_snap"), row("nvidia_xid", "warning")]
    made = made_hosts.apart(made_hosts.inventory(case, count=500))
    for number, facts in enumerate(made["facts"].values()):
        facts["disks"][1]["free_bytes"] = 39 * 10**9 + number * 10**6
    started = time.process_time()
    found = pairs(made)
    merged = _check_host_facts.merged(found)
    _findings.table(merged)
    assert time.process_time() - started < 1
    assert len(found) == 2500
    assert len(merged) == 5
