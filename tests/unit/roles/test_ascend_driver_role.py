# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which hosts the role ascend_driver touches, where it begins, and how a .run file is run."""

from __future__ import annotations

import hashlib
import json
import re

import pytest
import yaml
from unit.ansible_run import REPOSITORY
from unit.roles.role_runner import first_contact, host_facts, run_playbook, told

ROLE = REPOSITORY / "roles" / "ascend_driver"
ASK = "Ask which of the packages are there"
IN_USE = "Ask which processes hold a card"
CARD = {"vendor": "ascend", "pci_id": "19e5:d802", "name": "910B3"}
MODEL = {"name": "deepseek-1-run", "owner": "gpustack", "running": True}
DRIVER = "Ascend-hdk-910b-npu-driver_25.5.1_linux-aarch64.run"
FIRMWARE = "Ascend-hdk-910b-npu-firmware_7.8.0.6.201.run"
SHA = "1f" * 32
PRESENT = {
    "gpustack_driver": "present",
    "gpustack_ascend_driver": {"url": f"http://127.0.0.1:1/{DRIVER}", "sha256": SHA},
    "gpustack_ascend_firmware": {"url": f"http://127.0.0.1:1/{FIRMWARE}", "sha256": SHA},
}


def ascend(driver="", firmware="", **more):
    """What differs on a host with two cards and this driver."""
    facts = {
        "architecture": "aarch64",
        "kernel": "5.10.0-182.0.0",
        "kernel_headers": True,
        "accelerators": [CARD, CARD],
        "drivers": {
            "nvidia": None,
            "ascend": {"driver": driver, "firmware": firmware, "tool": "", "compatibility": ""},
        },
    }
    return {**facts, **more}


def noted(**notes):
    """What the manifest tells of driver and firmware."""
    entries = [
        {"kind": "directory", "name": f"/usr/local/Ascend/{part}", "by": "ascend_driver", "note": note}
        for part, note in notes.items()
    ]
    return {"manifest": {"entries": entries}}


def play(tmp_path, facts, variables, *arguments, tasks=(), roles=("inferops.gpustack.ascend_driver",), defaults=None):
    hosts = {
        name: {
            **host_facts({key: value for key, value in differences.items() if key != "drivers"}),
            "drivers": differences["drivers"],
        }
        for name, differences in facts.items()
    }
    plays = [
        {
            "hosts": "all",
            "gather_facts": False,
            "module_defaults": defaults or {},
            "roles": list(roles),
            "tasks": list(tasks),
        }
    ]
    return run_playbook(tmp_path, plays, hosts, {"gpustack_worker": list(facts)}, variables, *arguments)


def test_hosts_are_touched_only_where_a_fact_says_so(tmp_path):
    nvidia = {
        "accelerators": [{"vendor": "nvidia", "pci_id": "10de:232c"}],
        "drivers": {"nvidia": None, "ascend": None},
    }
    facts = {
        "well": ascend("25.5.1", "7.8.0.6.201"),
        "well_and_busy": ascend("25.5.1", "7.8.0.6.201", engine={"containers": [MODEL]}),
        "nvidia": ascend(**nvidia),
        "no_cards": ascend(**{**nvidia, "accelerators": []}),
        "finished": ascend("25.5.1", "7.8.0.6.201", **noted(driver="finished: 25.5.1")),
        "wsl": ascend(wsl=True),
        "missing": ascend(),
        "interrupted": ascend("25.5.1"),
        "old": ascend("25.2.0", "7.7.0.6.236"),
        # Its copy of the vendor's file may lie there.
        "died": ascend("25.5.1", "7.8.0.6.201", **noted(driver="running: 25.5.1")),
        "died_and_nobody_names_the_file": ascend("25.5.1", "7.7", **noted(firmware="running: 7.7")),
    }
    done = play(tmp_path, facts, PRESENT)
    assert first_contact(done.stdout) == {
        "missing": ASK,
        "interrupted": IN_USE,
        "old": IN_USE,
        "died": "Remove the file",
        "died_and_nobody_names_the_file": "Remove the file",
    }


def test_a_driver_that_nobody_names_a_file_for_is_left_alone(tmp_path):
    facts = {"driver": ascend("25.2.0", "7.7.0.6.236"), "half": ascend("25.2.0")}
    done = play(tmp_path, facts, {"gpustack_driver": "present"})
    assert done.returncode == 0, done.stdout
    assert first_contact(done.stdout) == {}
    assert "is older" not in done.stdout


@pytest.mark.parametrize("mode", [None, "check", "skip"])
def test_unless_it_is_asked_for_nothing_is_touched_and_nothing_said(tmp_path, mode):
    variables = {name: value for name, value in PRESENT.items() if name != "gpustack_driver"}
    done = play(tmp_path, {"missing": ascend()}, {**variables, **({"gpustack_driver": mode} if mode else {})})
    assert done.returncode == 0, done.stdout
    assert first_contact(done.stdout) == {}
    assert "there is no driver" not in done.stdout


def test_what_would_not_work_is_refused_before_anything_changes(tmp_path):
    facts = {
        "arch": ascend(architecture="x86_64"),
        "card": ascend(accelerators=[{**CARD, "pci_id": "19e5:d803"}]),
        "busy": ascend("25.2.0", "7.7.0.6.236", engine={"containers": [MODEL]}),
        "newer": ascend("26.0.0", "7.8.0.6.201"),
        "system": ascend(os={"id": "arch", "family": "unknown", "pretty": "Arch Linux"}),
    }
    done = play(tmp_path, facts, PRESENT)
    assert done.returncode != 0
    assert first_contact(done.stdout) == {}
    text = told(done.stdout)
    assert f"arch: gpustack_ascend_driver names {DRIVER}, which is for aarch64, and the host is x86_64." in text
    assert "whose driver is called Atlas-A3-hdk-npu-driver_" in text
    assert "busy: deepseek-1-run run on the driver 25.2.0" in text
    assert "newer: driver 26.0.0 stays, though 25.5.1 is asked for: none is downgraded." in text
    assert text.count("Nothing was changed.") >= 4


def test_a_file_that_is_not_on_the_controller_is_refused_before_anything_changes(tmp_path):
    lost = {**PRESENT, "gpustack_ascend_driver": {"file": f"/nonexistent/{DRIVER}", "sha256": SHA}}
    done = play(tmp_path, {"missing": ascend()}, lost)
    assert first_contact(done.stdout) == {}
    assert f"missing: /nonexistent/{DRIVER} cannot be found on the controller." in told(done.stdout)


@pytest.mark.parametrize("reboot", ["fail", "allow", "never"])
def test_a_driver_in_use_is_never_changed(tmp_path, reboot):
    facts = {
        "busy": ascend("25.2.0", "7.7.0.6.236", engine={"containers": [MODEL]}),
        "asked": ascend("25.2.0", "7.7.0.6.236"),
    }
    done = play(tmp_path, facts, {**PRESENT, "gpustack_reboot": reboot})
    assert first_contact(done.stdout) == {"asked": IN_USE}
    assert "busy: deepseek-1-run run on the driver 25.2.0, which the vendor wants unused" in told(done.stdout)


def test_a_check_on_a_bare_host_tells_and_changes_nothing(tmp_path):
    path = tmp_path / "manifest.json"
    defaults = {"inferops.gpustack.manifest": {"path": str(path)}}
    variables = {**PRESENT, "ansible_connection": "local"}
    done = play(tmp_path, {"bare": ascend(kernel_headers=False)}, variables, "--check", "--diff", defaults=defaults)
    assert done.returncode == 0, done.stdout + done.stderr
    text = told(done.stdout)
    assert (
        f"bare: install Ascend driver 25.5.1 from {DRIVER}, then install Ascend firmware 7.8.0.6.201 from {FIRMWARE}, "
        "which takes dkms, gcc, make, pciutils, net-tools, linux-headers-5.10.0-182.0.0, because there is no driver; "
    ) in text
    # --diff shows what would be recorded.
    assert '"name": "/usr/local/Ascend/driver"' in done.stdout.replace("\\", "")
    assert "linux-headers-5.10.0-182.0.0" in done.stdout.partition("Record the packages")[2]
    assert not path.exists()


def variables_of_the_role(tmp_path, facts, names, extra):
    """What the role makes of facts, as Ansible resolves its variables."""
    shown = {name: f"{{{{ __ascend_driver_{name} }}}}" for name in names}
    write = {
        "ansible.builtin.copy": {"content": "{{ shown | to_json }}", "dest": f"{tmp_path}/shown.json"},
        "vars": {"shown": shown},
    }
    load = [{"ansible.builtin.include_vars": {"file": f"{ROLE}/{part}/main.yml"}} for part in ("defaults", "vars")]
    local = {"ansible_connection": "local", **PRESENT}
    done = play(tmp_path, {"h": facts}, local, "-e", json.dumps(extra), tasks=[*load, write], roles=())
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads((tmp_path / "shown.json").read_text(encoding="utf-8"))


def test_only_what_is_missing_is_installed_and_recorded(tmp_path):
    lines = ["ii |gcc", "hi |make", "rc |dkms", "ii |pciutils"]
    facts = ascend(kernel_headers=False)
    found = variables_of_the_role(
        tmp_path, facts, ["missing", "entries"], {"__ascend_driver_query": {"stdout_lines": lines}}
    )
    assert found["missing"] == ["dkms", "net-tools", "linux-headers-5.10.0-182.0.0"]
    assert [(entry["kind"], entry["name"]) for entry in found["entries"]] == [
        ("package", "dkms"),
        ("package", "net-tools"),
        ("package", "linux-headers-5.10.0-182.0.0"),
        ("directory", "/usr/local/Ascend/driver"),
        ("directory", "/usr/local/Ascend/firmware"),
    ]
    rocky = {"os": {"id": "rocky", "family": "redhat", "pretty": "Rocky Linux 9.5"}}
    for lines, missing in (
        (["ii |gcc", "ii |make", "ii |kernel-devel", "ii |pciutils", "ii |net-tools"], ["dkms"]),
        (["ii |dkms", "ii |gcc", "ii |make", "ii |pciutils", "ii |net-tools"], ["kernel-devel-5.10.0-182.0.0"]),
    ):
        query = {"__ascend_driver_query": {"stdout_lines": lines}}
        assert variables_of_the_role(tmp_path, {**facts, **rocky}, ["missing"], query) == {"missing": missing}


INSTALLER = """#!/bin/sh
echo "$0 $*" >> {log}
case $1 in --check) {check} ;; esac
read -r answer; echo "answer $answer" >> {log}
echo "first line"; echo "last line" >&2
{rest}
"""


def run_file(tmp_path, rest, check="exit 0", **more):
    """Runs the tasks that other roles include, with an installer that does `rest`, and `check` to check itself."""
    log, where = tmp_path / "log", tmp_path / "root-only"
    run = tmp_path / FIRMWARE
    run.write_text(INSTALLER.format(log=log, rest=rest, check=check), encoding="utf-8")
    step = {
        "part": "firmware",
        "what": "Ascend firmware 7.8.0.6.201",
        "name": FIRMWARE,
        "file": str(run),
        "url": "",
        "sha256": hashlib.sha256(run.read_bytes()).hexdigest(),
        "version": "7.8.0.6.201",
        "arguments": ["--full", "--quiet"],
        "verify": True,
        "codes": [0, 2],
        "timeout": 5,
        "log": "/var/log/ascend_seclog/ascend_install.log",
        "variable": "gpustack_ascend_firmware",
        "stdin": "Y",
        "reboot_reason": "",
        **more,
    }
    include = {
        "ansible.builtin.include_role": {"name": "inferops.gpustack.ascend_driver", "tasks_from": "run_file"},
        "vars": {"ascend_driver_step": step},
    }
    extra = {"__ascend_driver_directory": str(where)}
    local = {"ansible_connection": "local"}
    done = play(tmp_path, {"h": ascend()}, local, "-e", json.dumps(extra), tasks=[include], roles=())
    assert not where.exists()
    return done, log.read_text(encoding="utf-8").splitlines() if log.exists() else [], where / FIRMWARE


@pytest.mark.parametrize("code", [0, 2])
def test_a_file_verifies_itself_and_runs_under_its_own_name_and_is_gone(tmp_path, code):
    done, log, path = run_file(tmp_path, f"stat -c %a . >> {tmp_path}/log; exit {code}")
    assert done.returncode == 0, done.stdout
    assert log == [f"{path} --check", f"{path} --full --quiet", "answer Y", "700"]
    assert re.search(r"changed: \[h\].*", done.stdout.partition("Run it until it ends")[2])


def test_a_file_that_nobody_vouches_for_is_not_run(tmp_path):
    done, log, _path = run_file(tmp_path, "exit 0", sha256=SHA)
    assert done.returncode != 0
    assert log == []
    assert f"and {SHA} is asked for." in told(done.stdout) and "gpustack_ascend_firmware" in told(done.stdout)


def test_a_file_that_does_not_pass_its_own_check_is_not_run(tmp_path):
    done, log, path = run_file(tmp_path, "exit 0", check="echo 'SHA256 checksums differ' >&2; exit 2")
    assert done.returncode != 0
    assert log == [f"{path} --check"]
    assert (
        f"{FIRMWARE} is cut off or damaged, and was not run. Get the file anew, and set sha256 in "
        "gpustack_ascend_firmware to what the vendor's page tells. Its own check (--check) on h ended with 2: SHA256 "
        "checksums differ"
    ) in told(done.stdout)


def test_an_installer_that_fails_is_told_with_its_words(tmp_path):
    done, _log, _path = run_file(tmp_path, "exit 1")
    assert done.returncode != 0
    assert (
        "The installer of Ascend firmware 7.8.0.6.201 ended with 1 on h. It said last: first line / last line."
        in told(done.stdout)
    )
    assert "/var/log/ascend_seclog/ascend_install.log there may tell more." in told(done.stdout)


def test_an_installer_that_does_not_end_is_ended(tmp_path):
    done, _log, _path = run_file(tmp_path, "sleep 60", timeout=1)
    assert done.returncode != 0
    assert "did not end within 1 seconds on h." in told(done.stdout)


@pytest.mark.parametrize(
    ("rest", "note"),
    [
        ("echo Version=7.8.0.6.201 > {info}", "finished: 7.8.0.6.201"),
        ("echo Version=7.8.0.6.201 > {info}; exit 1", "running: 7.8.0.6.201"),
        ("exit 0", "running: 7.8.0.6.201"),
    ],
)
def test_the_manifest_tells_an_installer_that_began_from_one_that_was_seen_to_end(tmp_path, rest, note):
    root = tmp_path / "root"
    for part, release in (("driver", "25.5.1"), ("firmware", "")):
        (root / "usr/local/Ascend" / part).mkdir(parents=True)
        (root / "usr/local/Ascend" / part / "version.info").write_text(f"Version={release}\n", encoding="utf-8")
    path, run = tmp_path / "manifest.json", tmp_path / FIRMWARE
    info = root / "usr/local/Ascend/firmware/version.info"
    # What the manifest holds while it runs.
    run.write_text(f"#!/bin/sh\ncp {path} {tmp_path}/before\n" + rest.format(info=info), encoding="utf-8")
    step = {
        "part": "firmware",
        "verb": "install",
        "what": "Ascend firmware 7.8.0.6.201",
        "name": FIRMWARE,
        "file": str(run),
        "url": "",
        "sha256": hashlib.sha256(run.read_bytes()).hexdigest(),
        "version": "7.8.0.6.201",
        "arguments": [],
        "verify": False,
        "codes": [0, 2],
        "timeout": 5,
        "path": "/usr/local/Ascend/firmware",
        "log": "a.log",
        "variable": "gpustack_ascend_firmware",
        "running": "running: 7.8.0.6.201",
        "finished": "finished: 7.8.0.6.201",
        "stdin": "",
        "reboot_reason": "",
    }
    make = {"ansible.builtin.file": {"path": str(tmp_path / "root-only"), "state": "directory", "mode": "0700"}}
    includes = [
        {
            "ansible.builtin.include_role": {"name": "inferops.gpustack.ascend_driver", "tasks_from": part},
            "vars": {"ascend_driver_step": step},
        }
        for part in ("bring", "step")
    ]
    defaults = {
        "inferops.gpustack.manifest": {"path": str(path)},
        "inferops.gpustack.host_facts": {"engine_socket": "/nonexistent"},
    }
    local = {"ansible_connection": "local", "host_probe_sysroot": str(root), **PRESENT}
    extra = {"__ascend_driver_directory": str(tmp_path / "root-only")}
    arguments = ("-e", json.dumps(extra))
    done = play(tmp_path, {"h": ascend()}, local, *arguments, tasks=[make, *includes], roles=(), defaults=defaults)
    assert (done.returncode == 0) == note.startswith("finished"), done.stdout
    assert '"note": "running: 7.8.0.6.201"' in (tmp_path / "before").read_text(encoding="utf-8")
    (entry,) = json.loads(path.read_text(encoding="utf-8"))["entries"]
    assert entry == {"kind": "directory", "name": "/usr/local/Ascend/firmware", "by": "ascend_driver", "note": note}


def tasks(name):
    """All of a file, those of blocks included."""

    def every(items):
        for item in items:
            yield item
            for part in ("block", "rescue", "always"):
                yield from every(item.get(part, []))

    return list(every(yaml.safe_load((ROLE / "tasks" / name).read_text(encoding="utf-8"))))


def test_nothing_here_reboots_or_removes_packages():
    for path in sorted((ROLE / "tasks").glob("*.yml")):
        for task in tasks(path.name):
            assert "ansible.builtin.reboot" not in task
            for manager in ("ansible.builtin.apt", "ansible.builtin.dnf"):
                assert task.get(manager, {}).get("state") != "absent"


def test_an_installer_that_refuses_leaves_no_reason_for_a_reboot():
    names = [task["name"] for task in tasks("step.yml")]
    assert names.index("Record why the host needs a reboot") == names.index("Run one installer") + 1


def test_all_files_are_brought_before_the_first_installer_runs():
    (block,) = [task["block"] for task in tasks("install.yml") if "always" in task]
    names = [task["name"] for task in block]
    assert names.index("Bring the files") < names.index("Run them in their order")
