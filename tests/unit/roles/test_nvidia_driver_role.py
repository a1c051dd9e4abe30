# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which hosts the role nvidia_driver touches, and where it begins. Every host's connection is refused."""

from __future__ import annotations

import json

import pytest
import yaml
from unit.ansible_run import REPOSITORY
from unit.roles.role_runner import first_contact, host_facts, run_playbook, told

ROLE = REPOSITORY / "roles" / "nvidia_driver"
PRESENT = {"gpustack_driver": "present"}
IN_USE = "Ask which processes hold a card"
JOURNAL = "Look for the journal that an interrupted dpkg leaves"
RECORD = "Record the files and the key in the host's manifest"
CARD = {"vendor": "nvidia", "pci_id": "10de:232c", "name": "H20-3e"}
FABRIC = {"needed": False, "version": "", "running": False, "state": ""}
NO_DRIVER = {
    "loaded": "",
    "installed": "",
    "userspace": "",
    "flavour": "",
    "persistence": None,
    "nouveau": False,
    "run_file": False,
    "fabric_manager": FABRIC,
}
DRIVER = {
    **NO_DRIVER,
    "loaded": "580.95.05",
    "installed": "580.95.05",
    "userspace": "580.95.05",
    "flavour": "open",
    "persistence": True,
}


def nvidia(there, **more):
    """What differs on a host with two cards and this driver."""
    facts = {
        "architecture": "x86_64",
        "kernel": "6.1.0-28-amd64",
        "kernel_headers": True,
        "secure_boot": False,
        "accelerators": [CARD, CARD],
        "switches": [],
        "drivers": {"nvidia": there, "ascend": None},
    }
    return {**facts, **more}


def recorded(note):
    entry = {"kind": "package", "name": "nvidia-open-580", "by": "nvidia_driver"}
    return {"manifest": {"entries": [{**entry, "note": note} if note else entry]}}


def blacklisted(note):
    entry = {"kind": "file", "name": "/etc/modprobe.d/gpustack-nouveau.conf", "by": "nvidia_driver"}
    return {"manifest": {"entries": [{**entry, "note": note} if note else entry]}}


def made(differences):
    drivers = differences["drivers"]
    return {
        **host_facts({name: value for name, value in differences.items() if value is not drivers}),
        "drivers": drivers,
    }


def play(tmp_path, facts, variables, *arguments, tasks=(), roles=("inferops.gpustack.nvidia_driver",)):
    hosts = {name: made(differences) for name, differences in facts.items()}
    plays = [{"hosts": "all", "gather_facts": False, "roles": list(roles), "tasks": list(tasks)}]
    return run_playbook(tmp_path, plays, hosts, {"gpustack_worker": list(facts)}, variables, *arguments)


def test_hosts_are_touched_only_where_a_fact_says_so(tmp_path):
    asleep = {**DRIVER, "loaded": ""}
    nouveau = {**asleep, "nouveau": True}
    waits = "nouveau is loaded and holds the cards; NVIDIA's driver takes them after a reboot"
    off_by_a_digit = {**DRIVER, "fabric_manager": {**FABRIC, "version": "580.95.03"}}
    stopped = {**DRIVER, "fabric_manager": {**FABRIC, "version": "580.95.05"}}
    facts = {
        "well": nvidia(DRIVER),
        "well_and_ours": nvidia(DRIVER, **recorded("finished: 580.95.05")),
        "newer": nvidia({**DRIVER, "loaded": "595.71.05", "installed": "595.71.05"}),
        "waits_for_a_reboot": nvidia({**DRIVER, "loaded": "580.82.07"}),
        "waits_for_nouveau_to_go": nvidia(
            nouveau, reboot={"reasons": [waits]}, **blacklisted("in the initial RAM disks")
        ),
        "killed_before_the_initial_ram_disk": nvidia(nouveau, reboot={"reasons": [waits]}, **blacklisted("")),
        "run_file_that_will_do": nvidia({**DRIVER, "run_file": True}),
        "no_cards": nvidia(None, accelerators=[]),
        "ascend": nvidia(None, accelerators=[{"vendor": "ascend", "pci_id": "19e5:d802"}]),
        "wsl": nvidia(NO_DRIVER, wsl=True),
        "missing": nvidia(NO_DRIVER),
        "old": nvidia({**DRIVER, "loaded": "535.183.01", "installed": "535.183.01"}),
        "asleep": nvidia(asleep),
        "nouveau": nvidia(nouveau),
        "off_by_a_digit": nvidia(off_by_a_digit, switches=[{}]),
        "stopped": nvidia(stopped, switches=[{}]),
        "killed": nvidia(DRIVER, **recorded("")),
        "upgraded_and_killed": nvidia(DRIVER, **recorded("finished: 580.82.07")),
    }
    done = play(tmp_path, facts, PRESENT)
    assert first_contact(done.stdout) == {
        "missing": RECORD,
        "old": IN_USE,
        "asleep": "Load the kernel module",
        "nouveau": "Record the file in the host's manifest",
        "killed_before_the_initial_ram_disk": "Record the file in the host's manifest",
        "off_by_a_digit": "Record the packages in the host's manifest",
        "stopped": "Have Fabric Manager run",
        "killed": JOURNAL,
        "upgraded_and_killed": JOURNAL,
    }


@pytest.mark.parametrize("variables", [{}, {"gpustack_driver": "check"}, {"gpustack_driver": "skip"}])
def test_unless_it_is_asked_for_nothing_is_touched_and_nothing_said(tmp_path, variables):
    done = play(tmp_path, {"missing": nvidia(NO_DRIVER)}, variables)
    assert done.returncode == 0, done.stdout
    assert first_contact(done.stdout) == {}
    assert "is no driver" not in done.stdout


def test_what_would_not_work_is_refused_before_anything_changes(tmp_path):
    model = {"name": "deepseek-1-run", "owner": "gpustack", "running": True}
    old = {**DRIVER, "loaded": "570.172.08", "installed": "570.172.08"}
    facts = {
        "secure": nvidia(NO_DRIVER, secure_boot=True),
        "run_file": nvidia({**NO_DRIVER, "userspace": "535.183.01", "run_file": True}),
        "busy": nvidia(old, engine={"containers": [model]}),
        "unknown": nvidia(
            NO_DRIVER, os={"id": "arch", "version_id": "", "major": None, "family": "unknown", "pretty": ""}
        ),
    }
    done = play(tmp_path, facts, {**PRESENT, "gpustack_driver_branch": "580"})
    assert done.returncode != 0
    assert first_contact(done.stdout) == {}
    text = told(done.stdout)
    assert "secure: Secure Boot is on" in text
    assert "run_file: Driver 535.183.01 was installed from NVIDIA's .run file" in text
    assert "busy: deepseek-1-run run on the driver 570.172.08" in text
    assert "unknown: NVIDIA's packages are not known for arch." in text
    assert text.count("Nothing was changed.") >= 4


def test_running_models_give_way_where_reboots_are_allowed(tmp_path):
    model = {"name": "deepseek-1-run", "owner": "gpustack", "running": True}
    old = {**DRIVER, "loaded": "570.172.08", "installed": "570.172.08"}
    variables = {**PRESENT, "gpustack_driver_branch": "580", "gpustack_reboot": "allow"}
    done = play(tmp_path, {"busy": nvidia(old, engine={"containers": [model]})}, variables)
    assert first_contact(done.stdout) == {"busy": RECORD}


def test_others_who_use_the_cards_are_asked_for_unless_reboots_are_allowed(tmp_path):
    old = {**DRIVER, "loaded": "570.172.08", "installed": "570.172.08"}
    worker = {"name": "gpustack-worker", "owner": "ours", "running": True}
    facts = {
        "old": nvidia(old, engine={"containers": [worker]}),
        # Nobody can use what is not loaded.
        "asleep": nvidia({**old, "loaded": ""}),
        "missing": nvidia(NO_DRIVER),
    }
    for reboot, first in (("fail", IN_USE), ("never", IN_USE), ("allow", RECORD)):
        done = play(tmp_path, facts, {**PRESENT, "gpustack_driver_branch": "580", "gpustack_reboot": reboot})
        assert first_contact(done.stdout) == {"old": first, "asleep": RECORD, "missing": RECORD}


def test_the_driver_s_own_and_gpustack_s_worker_do_not_count():
    (include,) = [task for task in tasks("driver.yml") if "in_use" in str(task)]
    assert include["vars"]["host_probe_devices"] == "/dev/nvidia*"
    assert include["vars"]["host_probe_devices_spared"] == ["nvidia-persistenced", "nv-fabricmanager"]
    assert include["vars"]["host_probe_devices_container"] == "gpustack-worker"


def test_one_line_tells_what_is_done_before_it_is(tmp_path):
    done = play(tmp_path, {"missing": nvidia(NO_DRIVER)}, PRESENT)
    before = told(done.stdout.split("TASK [inferops.gpustack.nvidia_driver : Refuse what would not work]")[0])
    assert (
        "missing: install NVIDIA driver 580 with the open kernel module (it is NVIDIA's default, and the cards take "
        "both): nvidia-driver-pinning-580, nvidia-open-580, nvidia-persistenced from "
        "https://developer.download.nvidia.com/compute/cuda/repos/debian12/x86_64/, because there is no driver for 2 "
        "NVIDIA cards."
    ) in before


def test_a_number_for_a_branch_is_a_branch(tmp_path):
    done = play(tmp_path, {"missing": nvidia(NO_DRIVER)}, {**PRESENT, "gpustack_driver_branch": 595}, "--check")
    assert "install NVIDIA driver 595" in told(done.stdout)


def test_a_check_on_a_bare_host_tells_and_changes_nothing(tmp_path):
    path = tmp_path / "manifest.json"
    variables = {**PRESENT, "ansible_connection": "local"}
    facts = {
        "bare": nvidia({**NO_DRIVER, "nouveau": True}, switches=[{}]),
        "rocky": nvidia(
            NO_DRIVER,
            os={"id": "rocky", "version_id": "9.5", "major": 9, "family": "redhat", "pretty": "Rocky Linux 9.5"},
        ),
    }
    plays = [
        {
            "hosts": "all",
            "gather_facts": False,
            "module_defaults": {"inferops.gpustack.manifest": {"path": str(path)}},
            "roles": ["inferops.gpustack.nvidia_driver"],
        }
    ]
    hosts = {name: made(differences) for name, differences in facts.items()}
    done = run_playbook(tmp_path, plays, hosts, {}, variables, "--check", "--diff")
    assert done.returncode == 0, done.stdout + done.stderr
    text = told(done.stdout)
    assert "nvidia-fabricmanager, libnvidia-nscq from" in text
    assert "A reboot is needed: nouveau is loaded" in text
    assert "kmod-nvidia-open-dkms-580.*" in text
    # --diff shows what would be recorded.
    assert '"name": "nvidia-open-580"' in done.stdout.replace("\\", "")
    assert not path.exists()


def variables_of_the_role(tmp_path, facts, variables, names, extra=None):
    """What the role makes of facts, as Ansible resolves its variables."""
    shown = {name: f"{{{{ {name} }}}}" for name in names}
    write = {
        "ansible.builtin.copy": {
            "content": "{{ shown | to_json }}",
            "dest": f"{tmp_path}/{{{{ inventory_hostname }}}}.json",
        },
        "vars": {"shown": shown},
        "delegate_to": "localhost",
    }
    load = [{"ansible.builtin.include_vars": {"file": f"{ROLE}/{part}/main.yml"}} for part in ("defaults", "vars")]
    local = {"ansible_connection": "local", **variables}
    # The plan of a site is another role's.
    given = {"nvidia_driver_minimum": "", **(extra or {})}
    done = play(tmp_path, facts, local, "-e", json.dumps(given), tasks=[*load, write], roles=())
    assert done.returncode == 0, done.stdout + done.stderr
    return {name: json.loads((tmp_path / f"{name}.json").read_text(encoding="utf-8")) for name in facts}


def test_what_is_recorded_and_written(tmp_path):
    rocky = {"id": "rocky", "version_id": "9.5", "major": 9, "family": "redhat", "pretty": "Rocky Linux 9.5"}
    ubuntu = {"id": "ubuntu", "version_id": "24.04", "major": 24, "family": "debian", "pretty": "Ubuntu 24.04"}
    facts = {
        "debian": nvidia(NO_DRIVER, kernel_headers=False),
        "ubuntu": nvidia(NO_DRIVER, os=ubuntu),
        "rocky": nvidia(NO_DRIVER, os=rocky),
    }
    variables = {"gpustack_driver_version": "580.95.05"}
    names = [
        "__nvidia_driver_wanted",
        "__nvidia_driver_packages",
        "__nvidia_driver_files",
        "__nvidia_driver_package_state",
    ]
    found = variables_of_the_role(tmp_path, facts, variables, names)
    persistence = "/etc/systemd/system/nvidia-persistenced.service.d/gpustack.conf"
    guard = "/etc/apt/apt.conf.d/52gpustack-nvidia"
    assert found["debian"] == {
        "__nvidia_driver_wanted": [
            "nvidia-open-580=580.95.05-*",
            "nvidia-persistenced=580.95.05-*",
            "linux-headers-6.1.0-28-amd64",
        ],
        "__nvidia_driver_packages": [
            "nvidia-driver-pinning-580.95.05",
            "nvidia-open-580",
            "nvidia-persistenced",
            "cuda-keyring",
        ],
        "__nvidia_driver_files": [persistence, guard, "/etc/apt/sources.list.d/cuda-debian12-x86_64.list"],
        "__nvidia_driver_package_state": "present",
    }
    assert found["ubuntu"]["__nvidia_driver_files"] == [
        persistence,
        "/etc/apt/preferences.d/gpustack-nvidia",
        guard,
        "/etc/apt/sources.list.d/cuda-ubuntu2404-x86_64.list",
    ]
    assert found["rocky"]["__nvidia_driver_packages"] == ["nvidia-driver-cuda", "kmod-nvidia-open-dkms"]
    assert found["rocky"]["__nvidia_driver_files"] == [persistence, "/etc/yum.repos.d/cuda-rhel9.repo"]


def test_an_upgrade_within_a_branch_takes_the_newest(tmp_path):
    old = {**DRIVER, "loaded": "580.65.06", "installed": "580.65.06"}
    names = ["__nvidia_driver_package_state"]
    options = {"nvidia_driver_minimum": "580.95.05"}
    found = variables_of_the_role(tmp_path, {"old": nvidia(old)}, {}, names, options)
    assert found["old"] == {"__nvidia_driver_package_state": "latest"}


def test_every_package_of_the_release_is_held_and_no_other(tmp_path):
    lines = [
        "ii |nvidia-open-580|580.95.05-1",
        "ii |libcuda1:amd64|580.95.05-1",
        "hi |nvidia-persistenced|580.95.05-0ubuntu0.24.04.1",
        "ii |xserver-xorg-video-nvidia-580|1:580.95.05-1",
        "ii |nvidia-container-toolkit|1.20.0-1",
        "ii |other|580x95.05-1",
        "ii |older|580.95.050-1",
        "rc |libnvidia-compute-570|580.95.05-1",
        "ii |nvidia-driver-pinning-580|580-1",
    ]
    query = {"__nvidia_driver_query": {"stdout_lines": lines}}
    found = variables_of_the_role(tmp_path, {"h": nvidia(DRIVER)}, {}, ["__nvidia_driver_held"], query)
    assert found["h"]["__nvidia_driver_held"] == [
        "libcuda1:amd64",
        "nvidia-open-580",
        "nvidia-persistenced",
        "xserver-xorg-video-nvidia-580",
    ]


def test_only_the_driver_s_release_is_let_go(tmp_path):
    entries = [*recorded("finished: 570.172.08")["manifest"]["entries"], *blacklisted("x")["manifest"]["entries"]]
    facts = {"old": nvidia(DRIVER, manifest={"entries": entries}), "new": nvidia(DRIVER, **recorded(""))}
    found = variables_of_the_role(tmp_path, facts, {}, ["__nvidia_driver_locks"])
    assert found["old"]["__nvidia_driver_locks"] == ["*nvidia*:570.172.08-*"]
    assert found["new"]["__nvidia_driver_locks"] == []
    died = {"h": nvidia(DRIVER, **recorded("running: 580.95.05 over 570.172.08"))}
    found = variables_of_the_role(tmp_path, died, {}, ["__nvidia_driver_locks"])
    assert found["h"]["__nvidia_driver_locks"] == ["*nvidia*:570.172.08-*"]


def test_one_entry_tells_what_was_begun_whichever_branch_recorded_it(tmp_path):
    older = {"kind": "package", "name": "nvidia-open-570", "by": "nvidia_driver", "note": "finished: 570.172.08"}
    facts = {
        "bare": nvidia(NO_DRIVER),
        "old": nvidia(
            {**DRIVER, "installed": "570.172.08"},
            manifest={"entries": [{**recorded("")["manifest"]["entries"][0], "name": "cuda-keyring"}, older]},
        ),
    }
    found = variables_of_the_role(tmp_path, facts, {}, ["__nvidia_driver_begun"])
    assert found["bare"]["__nvidia_driver_begun"]["note"] == "running: 580"
    assert found["old"]["__nvidia_driver_begun"] == {**older, "note": "running: 580 over 570.172.08"}


def test_streams_are_read_from_what_dnf_lists(tmp_path):
    listed = """NVIDIA driver and CUDA
Name          Stream          Profiles                    Summary
nvidia-driver latest          default [d], fm, ks         Nvidia driver for latest branch
nvidia-driver open-dkms [d]   default [d], fm, ks         Nvidia driver for open-dkms branch
nvidia-driver 570-open [e]    default [d] [i], fm, ks     Nvidia driver for 570-open branch
nvidia-driver 580-open        default [d], fm, ks, src    Nvidia driver for 580-open branch

Hint: [d]efault, [e]nabled, [x]disabled, [i]nstalled
"""
    names = ["__nvidia_driver_streams", "__nvidia_driver_enabled_stream"]
    for text, enabled in (
        (listed, "570-open"),
        (listed.replace("570-open [e] ", "570-open     "), ""),
        (listed.replace("570-open [e] ", "570-open     ").replace("open-dkms [d]   ", "open-dkms [d][e]"), "open-dkms"),
    ):
        query = {"__nvidia_driver_stream_list": {"stdout": text}}
        found = variables_of_the_role(tmp_path, {"h": nvidia(DRIVER)}, {}, names, query)["h"]
        assert found["__nvidia_driver_streams"] == ["latest", "open-dkms", "570-open", "580-open"]
        assert found["__nvidia_driver_enabled_stream"] == enabled


def tasks(name):
    for item in yaml.safe_load((ROLE / "tasks" / name).read_text(encoding="utf-8")):
        yield item
        yield from item.get("block", [])


def all_tasks():
    return [task for path in sorted((ROLE / "tasks").glob("*.yml")) for task in tasks(path.name)]


def test_nothing_here_reboots_or_reloads_systemd_or_removes_packages():
    for task in all_tasks():
        assert "ansible.builtin.reboot" not in task
        assert "daemon_reload" not in str(task.get("ansible.builtin.systemd_service"))
        for manager in ("ansible.builtin.apt", "ansible.builtin.dnf"):
            assert task.get(manager, {}).get("state") != "absent"

    # Fabric Manager follows the driver that is there, in either direction.
    downgrading = [task for task in all_tasks() if "allow_downgrade" in task.get("ansible.builtin.apt", {})]
    assert ["fabric_packages" in task["ansible.builtin.apt"]["name"] for task in downgrading] == [True]


def test_the_release_is_finished_last():
    names = [task["name"] for task in tasks("finish.yml")]
    assert names.index("Record that the release is finished") > names.index("Have the services run")
    assert names.index("Have the services run") > names.index("Load the driver that nothing keeps from the cards")


def test_what_is_not_on_offer_ends_before_anything_is_let_go_or_recorded():
    names = [task["name"] for task in tasks("install.yml")]
    assert names.index("Know the packages") < names.index("Record the packages in the host's manifest")
    asked = [task["name"] for task in tasks("apt_repository.yml")]
    assert asked.index("Have the repository answer") < asked.index("Name the repository")


def test_the_service_s_settings_are_there_before_its_package():
    _know, block = [task["block"] for task in tasks("install.yml") if "block" in task]
    names = [task["name"] for task in block]
    assert names.index("Prepare the service that keeps the cards' state") < names.index("Install the packages")
