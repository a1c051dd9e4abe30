"""Ascend's installers on a bare host: what is wrong with files, then driver, firmware and runtime, then an upgrade.

The first firmware is older than the driver needs, as where somebody mixed the files of two releases.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import lab_site
import pytest
import yaml
from host_snapshot import files
from lab_site import BARE_NPU, ROOT

PLAYBOOK = ROOT / "tests" / "e2e" / "ascend_drivers.yml"
PROBE = ROOT / "playbooks" / "probe.yml"
MAKE = ROOT / "lab" / "files" / "ascend" / "make_run.py"
RUNTIME = "26.1.0"
# Driver and firmware that belong together; the second is what the lab's inventory names.
OLD, FIRST, NEWER = ("25.2.0", "7.7.0.6.236"), ("25.5.1", "7.8.0.6.201"), ("26.0.0", "7.9.0.1.300")
ASCEND = "/usr/local/Ascend"
OPERATIONS = "/var/log/ascend_seclog/operation.log"
# What bring.yml copies to the host and removes again.
BROUGHT = "/var/cache/gpustack-ascend"
# Or the role before it would be the first to refuse or install something.
RUNTIME_ALONE = {"gpustack_driver": "check", "gpustack_container_runtime": "present"}
PAUSE = "172.29.77.5:5000/docker.io/gpustack/runtime:pause"


@pytest.fixture(scope="module")
def inventory(tmp_path_factory):
    """Beside inventories/lab, whose variables of all hosts hold for it as well."""
    path = tmp_path_factory.mktemp("inventory") / "hosts.yml"
    host = {"ansible_host": lab_site.ADDRESSES[BARE_NPU], "gpustack_accelerator": "ascend_910b"}
    path.write_text(yaml.safe_dump({"gpustack_worker": {"hosts": {BARE_NPU: host}}}))
    return path


@pytest.fixture(scope="module")
def arguments(inventory):
    def made(*more, **variables):
        extra = json.dumps({"gpustack_reboot": "fail", **variables})
        where = ("-i", str(lab_site.INVENTORY), "-i", str(inventory), "--limit", BARE_NPU)
        return (*where, "-e", extra, *more)

    return made


@pytest.fixture(scope="module")
def drivers(arguments):
    def run(log, *more, **variables):
        return lab_site.playbook(str(PLAYBOOK), *arguments(*more, **variables), log=f"ascend_drivers_{log}.log")

    return run


@pytest.fixture(scope="module")
def installers(tmp_path_factory):
    """{(part, release): path}"""
    directory, found = tmp_path_factory.mktemp("installers"), {}
    for release, firmware in (OLD, FIRST, NEWER):
        command = [sys.executable, MAKE, directory, "--release", release, "--firmware", firmware, "--runtime", RUNTIME]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        found["driver", release] = directory / f"Ascend-hdk-910b-npu-driver_{release}_linux-x86-64.run"
        found["firmware", firmware] = directory / f"Ascend-hdk-910b-npu-firmware_{firmware}.run"
    return found


@pytest.fixture(scope="module")
def mixed(installers):
    """A driver and the firmware of an older release."""
    return {
        "gpustack_ascend_driver": wish(installers["driver", FIRST[0]]),
        "gpustack_ascend_firmware": wish(installers["firmware", OLD[1]]),
    }


@pytest.fixture(scope="module")
def newer(installers):
    return {
        "gpustack_ascend_driver": wish(installers["driver", NEWER[0]]),
        "gpustack_ascend_firmware": wish(installers["firmware", NEWER[1]]),
    }


def wish(path, whole=None):
    """What an inventory says of a file; whole: the one whose checksum it has."""
    return {"file": str(path), "sha256": hashlib.sha256((whole or path).read_bytes()).hexdigest()}


@pytest.fixture
def cut_off(installers, tmp_path):
    whole = installers["driver", FIRST[0]]
    path = tmp_path / whole.name
    path.write_bytes(whole.read_bytes()[:-4096])
    return path


def told(run):
    assert run.code == 2, run.tail()
    return " ".join(run.output.split())


def releases(lab):
    """Part to release, as the vendor's own files tell it."""
    text = lab.sh(BARE_NPU, f"grep -H ^Version= {ASCEND}/*/version.info", check=False)
    rows = [line.split(":Version=") for line in text.splitlines() if ":Version=" in line]
    return {Path(path).parent.name: release for path, release in rows}


def operations(lab):
    """What the installers of driver and firmware did, in their order."""
    lines = [line.split() for line in lab.sh(BARE_NPU, f"cat {OPERATIONS}").splitlines()]
    return [(words[0], next(word for word in words if word.endswith(".run")), "success" in words) for words in lines]


def compatibility(lab):
    return lab.sh(BARE_NPU, "npu-smi info -t board -i 0 | sed -n 's/^ *Compatibility *: //p'")


def docker(lab, what):
    return lab.sh(BARE_NPU, f"docker info -f '{what}'")


def runtimes(lab):
    return set(docker(lab, "{{range $name, $unused := .Runtimes}}{{$name}} {{end}}").split())


def nothing_of_the_vendor(lab):
    found = lab.sh(BARE_NPU, f"ls -d {ASCEND} {BROUGHT} /etc/ascend_install.info /usr/local/bin/npu-smi", check=False)
    return all(line.startswith("ls: cannot access") for line in found.splitlines())


def test_a_check_names_the_installers_and_changes_nothing(lab, drivers):
    def snapshot():
        # Where Ansible copies its modules to.
        return {path: state for path, state in files(lab, BARE_NPU).items() if not path.startswith("/root")}

    before = snapshot()
    run = drivers("check", "--check", "--diff")
    assert run.code == 0, run.tail()
    message = " ".join(run.output.split())
    driver = f"install Ascend driver {FIRST[0]} from Ascend-hdk-910b-npu-driver_{FIRST[0]}_linux-x86-64.run"
    firmware = f"install Ascend firmware {FIRST[1]} from Ascend-hdk-910b-npu-firmware_{FIRST[1]}.run"
    assert f"{driver}, then {firmware}" in message
    assert f"install Ascend Docker Runtime {RUNTIME} from Ascend-docker-runtime_{RUNTIME}_linux-x86_64.run" in message
    assert snapshot() == before
    assert nothing_of_the_vendor(lab)


def test_a_file_that_is_cut_off_is_refused(lab, drivers, cut_off):
    """Its checksum was taken from what was left of it; the installer itself tells that something is missing."""
    message = told(drivers("cut_off", gpustack_ascend_driver=wish(cut_off)))
    assert f"{cut_off.name} is cut off or damaged, and was not run." in message
    assert "Get the file anew, and set sha256 in gpustack_ascend_driver to what the vendor's page tells." in message
    assert nothing_of_the_vendor(lab)


def test_less_of_a_file_than_was_meant_is_refused(lab, drivers, installers, cut_off):
    """The checksum is that of the whole file."""
    wanted = wish(cut_off, whole=installers["driver", FIRST[0]])
    message = told(drivers("part", gpustack_ascend_driver=wanted))
    assert f"{cut_off.name} has the SHA-256 {wish(cut_off)['sha256']}" in message
    assert f"{wanted['sha256']} is asked for. Get the file anew, or correct sha256 in gpustack_ascend_driver" in message
    assert nothing_of_the_vendor(lab)


def test_another_file_than_was_meant_is_refused(lab, drivers):
    """The runtime's, whose installer does not check itself."""
    runtime = dict(lab.variables()["gpustack_ascend_runtime"], sha256="0" * 64)
    message = told(drivers("sha256", gpustack_ascend_runtime=runtime, **RUNTIME_ALONE))
    assert f"{Path(runtime['file']).name} has the SHA-256 " in message
    assert f"{'0' * 64} is asked for. Get the file anew, or correct sha256 in gpustack_ascend_runtime" in message
    assert nothing_of_the_vendor(lab)


def test_files_that_are_not_on_the_controller_are_named(lab, drivers, installers, tmp_path):
    lost = [tmp_path / installers[key].name for key in (("driver", FIRST[0]), ("firmware", FIRST[1]))]
    parts = ("gpustack_ascend_driver", "gpustack_ascend_firmware")
    wishes = {part: {"file": str(path), "sha256": "0" * 64} for part, path in zip(parts, lost)}
    message = told(drivers("lost", **wishes))
    assert f"{lost[0]} and {lost[1]} cannot be found on the controller. Put it there, or correct file in" in message
    assert nothing_of_the_vendor(lab)


def test_without_the_licence_nothing_is_installed(lab, drivers):
    message = told(drivers("licence", gpustack_ascend_accept_eula=False, **RUNTIME_ALONE))
    assert "asks from 26.1.0 on whether you accept the vendor's licence" in message
    assert "set gpustack_ascend_accept_eula: true if you do. Nothing was changed." in message
    assert nothing_of_the_vendor(lab)


def test_a_run_that_is_killed_leaves_something_to_continue(lab, arguments, mixed):
    """In the middle of the driver's installer, which is made slow for it; then between driver and firmware."""
    host, slow = lab.root(BARE_NPU), "/usr/local/bin/chgrp"
    lab.sh(BARE_NPU, f"printf '#!/bin/sh\\nsleep 9\\n' > {slow}; chmod 755 {slow}")
    moments = {
        "installer": lambda: (host / "usr/local/bin/npu-smi").exists(),
        "between": lambda: f"finished: {FIRST[0]}" in (host / "etc/gpustack/manifest.json").read_text(),
    }
    for name, moment in moments.items():
        assert not moment()
        run = lab_site.Run(str(PLAYBOOK), *arguments(**mixed), log=f"ascend_drivers_killed_{name}.log")
        assert run.kill_when(moment), run.tail()
        # A killed controller alone lets what it began on the host go on.
        lab.sh(BARE_NPU, "pkill -KILL -x 'Ascend-hdk-910b|bash|sleep|timeout|python3'", check=False)
        assert releases(lab) == ({} if name == "installer" else {"driver": FIRST[0]})
        lab.sh(BARE_NPU, f"rm -f {slow}")


def test_the_next_run_continues_and_stops_before_the_reboot(lab, drivers, mixed):
    message = told(drivers("continued", **mixed))
    for what in (f"driver {FIRST[0]}", f"firmware {OLD[1]}"):
        assert f"the installer of Ascend {what} ran, and what it installed works after a reboot" in message
    assert "set gpustack_reboot to allow" in message
    assert releases(lab) == {"driver": FIRST[0], "firmware": OLD[1]}
    assert lab.restarts(BARE_NPU) == 0
    assert lab.sh(BARE_NPU, f"ls -d {BROUGHT}", check=False).startswith("ls: cannot access")


def test_docker_knows_the_runtime_and_keeps_its_default(lab):
    """The installer made its runtime the default, and nobody asked for that."""
    assert "daemon.json modify success" in lab.sh(BARE_NPU, "cat /var/log/ascend-docker-runtime/installer.log")
    assert "ascend" in runtimes(lab)
    assert docker(lab, "{{.DefaultRuntime}}") == "lab"


def test_after_one_reboot_the_driver_is_at_work(lab, drivers, mixed):
    run = drivers("rebooted", gpustack_reboot="allow", **mixed)
    assert run.code == 0, run.tail()
    assert lab.restarts(BARE_NPU) == 1
    assert FIRST[0] in lab.sh(BARE_NPU, "npu-smi info")
    assert compatibility(lab) == "NOK"
    assert docker(lab, "{{.DefaultRuntime}}") == "lab"
    run = drivers("again", gpustack_reboot="allow", **mixed)
    assert (run.code, run.changed()) == (0, 0), run.tail()
    assert lab.restarts(BARE_NPU) == 1


def test_a_firmware_that_is_older_than_the_driver_needs_is_an_error(lab, arguments, mixed, tmp_path):
    run = lab_site.playbook(
        *(str(PROBE), *arguments(gpustack_report_dir=str(tmp_path), **mixed)), log="ascend_drivers_mixed.log"
    )
    message = told(run)
    assert "ERROR ascend_firmware_incompatible" in message
    assert f"Compatibility NOK: driver {FIRST[0]}, firmware {OLD[1]}" in message
    assert "install the driver and the firmware of one release (an upgrade: firmware first), then reboot" in message


def test_a_driver_that_needs_a_newer_firmware_is_refused(lab, drivers, installers, mixed):
    """By its installer, whose words reach the user."""
    alone = {**mixed, "gpustack_ascend_driver": wish(installers["driver", NEWER[0]])}
    message = told(drivers("alone", **alone))
    assert f"The installer of Ascend driver {NEWER[0]} ended with 1 on {BARE_NPU}" in message
    assert f"driver {NEWER[0]} needs firmware {NEWER[1]}, and {OLD[1]} is installed" in message
    assert "Upgrade the firmware before the driver." in message
    assert releases(lab) == {"driver": FIRST[0], "firmware": OLD[1]}


def test_an_upgrade_takes_the_firmware_first_and_waits_for_the_reboot(lab, drivers, newer):
    driver, firmware = (Path(newer[f"gpustack_ascend_{part}"]["file"]).name for part in ("driver", "firmware"))
    before = operations(lab)
    message = told(drivers("upgrade", **newer))
    steps = f"upgrade Ascend firmware {NEWER[1]} from {firmware}, then upgrade Ascend driver {NEWER[0]} from {driver}"
    assert steps in message
    assert operations(lab)[len(before) :] == [("Upgrade", firmware, True), ("Upgrade", driver, True)]
    for what in (f"firmware {NEWER[1]}", f"driver {NEWER[0]}"):
        assert f"the installer of Ascend {what} ran, and what it installed works after a reboot" in message
    assert lab.restarts(BARE_NPU) == 1


def test_after_the_reboot_the_upgrade_is_at_work(lab, drivers, newer):
    run = drivers("upgrade_rebooted", gpustack_reboot="allow", **newer)
    assert run.code == 0, run.tail()
    assert lab.restarts(BARE_NPU) == 2
    assert releases(lab) == dict(zip(("driver", "firmware"), NEWER))
    assert compatibility(lab) == "OK"


@pytest.fixture(scope="module")
def bystander(lab):
    """A container of somebody else: (process of the engine, what runs on it)."""
    lab.sh(BARE_NPU, f"docker run -d --name bystander {PAUSE}")
    return lab.sh(BARE_NPU, "cat /run/docker.pid"), lab.running(BARE_NPU)


def test_another_runtime_and_default_are_taken_up_under_a_running_container(lab, drivers, newer, bystander):
    spare = {"runtimes": {"spare": {"path": "/usr/local/sbin/runc-within-bounds"}}}
    run = drivers("reload", gpustack_docker_settings=spare, gpustack_docker_default_runtime="ascend", **newer)
    assert run.code == 0, run.tail()
    assert {"ascend", "lab", "spare"} <= runtimes(lab)
    assert docker(lab, "{{.DefaultRuntime}}") == "ascend"
    assert (lab.sh(BARE_NPU, "cat /run/docker.pid"), lab.running(BARE_NPU)) == bystander


def test_a_restart_that_would_stop_the_container_is_refused(lab, drivers, newer, bystander):
    stopping = {"live-restore": False, "default-shm-size": "128M"}
    message = told(drivers("restart", gpustack_docker_settings=stopping, **newer))
    assert "only when it restarts, and bystander would stop then" in message
    assert "or set gpustack_docker_restart: allow" in message
    assert (lab.sh(BARE_NPU, "cat /run/docker.pid"), lab.running(BARE_NPU)) == bystander
