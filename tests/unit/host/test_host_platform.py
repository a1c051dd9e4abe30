"""Kernel, boot, clock, firewall, disks and what waits for a restart."""

from __future__ import annotations

import os
import time

import pytest
from ansible_collections.inferops.gpustack.plugins.module_utils import _clock, _disks, _platform
from ansible_collections.inferops.gpustack.plugins.module_utils._sysroot import Sysroot
from made_machine import Tree, ids, nvidia, probe
from made_tree import write

SECURE_BOOT = "sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
KERNEL = "5.15.0-25-generic"


@pytest.mark.parametrize(
    ("value", "expected"),
    [(b"\x06\0\0\0\x01", True), (b"\x06\0\0\0\0", False), (b"\x06\0\0\0", None), (b"", None), (None, None)],
)
def test_secure_boot(tmp_path, value, expected):
    if value is not None:
        write(tmp_path, SECURE_BOOT, value)
    assert _platform.read_secure_boot(Sysroot(str(tmp_path))) is expected


def test_kernel_headers_are_looked_for_below_the_tree(tmp_path):
    build = tmp_path / f"lib/modules/{KERNEL}/build"
    build.parent.mkdir(parents=True)
    sysroot = Sysroot(str(tmp_path))
    assert _platform.has_kernel_headers(sysroot, KERNEL) is False
    # On the machine that reads the tree this would be a directory.
    build.symlink_to("/usr")
    assert _platform.has_kernel_headers(sysroot, KERNEL) is False
    (tmp_path / "usr").mkdir()
    assert _platform.has_kernel_headers(sysroot, KERNEL) is True
    assert _platform.has_kernel_headers(sysroot, "") is False


def test_page_size_of_a_tree_without_it(tmp_path):
    assert _platform.read_page_size(Sysroot(str(tmp_path))) is None


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [("5.15.167.4-microsoft-standard-WSL2", True), ("6.6.36-WSL", True), ("6.1.0-28-amd64", False), ("", False)],
)
def test_wsl(kernel, expected):
    assert _platform.is_wsl(kernel) is expected


@pytest.mark.parametrize(
    ("files", "processes", "expected"),
    [
        ({}, [], {"kind": "", "active": False}),
        ({"usr/sbin/firewalld": ""}, [], {"kind": "firewalld", "active": False}),
        ({"usr/sbin/firewalld": ""}, ["firewalld"], {"kind": "firewalld", "active": True}),
        ({"etc/ufw/ufw.conf": "# ENABLED=yes\nENABLED=no\n"}, [], {"kind": "ufw", "active": False}),
        ({"etc/ufw/ufw.conf": "ENABLED=yes\n"}, [], {"kind": "ufw", "active": True}),
        ({"etc/ufw/ufw.conf": "ENABLED=yes\n", "usr/sbin/firewalld": ""}, [], {"kind": "ufw", "active": True}),
    ],
)
def test_firewall(tmp_path, files, processes, expected):
    for path, text in files.items():
        write(tmp_path, path, text)
    assert _platform.read_firewall(Sysroot(str(tmp_path)), set(processes)) == expected


def test_why_a_reboot_is_due(tmp_path):
    tree = Tree(tmp_path)
    tree.write("run/gpustack/reboot-reasons.d/20-driver", "the driver was replaced\n")
    tree.write("run/gpustack/reboot-reasons.d/10-kernel", "kernel arguments changed\n")
    tree.write("run/gpustack/reboot-reasons.d/30-empty", "\n")
    tree.write("var/run/reboot-required", "*** System restart required ***\n")
    nvidia.loaded(tree, "580.82.07")
    nvidia.installed(tree, "580.95.05")
    found = probe(tmp_path)
    assert found["reboot"] == {
        "reasons": [
            "kernel arguments changed",
            "the driver was replaced",
            "NVIDIA driver 580.82.07 is loaded, 580.95.05 is installed",
        ],
        "system": True,
    }
    told = [finding for finding in found["findings"] if finding["id"] == "reboot_needed"]
    assert [finding["found"] for finding in told] == found["reboot"]["reasons"]
    assert {(finding["severity"], finding["where"], finding["expected"]) for finding in told} == {
        ("warning", "reboot", "none")
    }
    assert "gpustack_reboot: allow" in told[0]["fix"]


def test_what_the_distribution_wishes_is_no_finding(tmp_path):
    Tree(tmp_path).write("run/reboot-required", "*** System restart required ***\n")
    found = probe(tmp_path)
    assert found["reboot"] == {"reasons": [], "system": True}
    assert "reboot_needed" not in ids(found)


@pytest.mark.parametrize(
    ("process", "done", "synchronised", "service", "findings"),
    [
        ("systemd-timesyn", True, True, "systemd-timesyncd", []),
        ("systemd-timesyn", False, False, "systemd-timesyncd", ["clock_not_synchronised"]),
        # chronyd leaves no file that tells, and a recorded tree has no kernel to ask.
        ("chronyd", False, None, "chronyd", []),
        ("ntpd", False, None, "ntpd", []),
        ("bash", False, None, "", []),
    ],
)
def test_clock_of_a_tree(tmp_path, process, done, synchronised, service, findings):
    tree = Tree(tmp_path)
    tree.process(5, process)
    if not done:
        (tmp_path / "run/systemd/timesync/synchronized").unlink()
    found = probe(tmp_path)
    assert found["clock"] == {"synchronised": synchronised, "service": service, "offset_seconds": None}
    assert ids(found) == findings


@pytest.mark.parametrize(
    ("process", "severity", "fix"),
    [
        ("chronyd", "warning", "gpustack_ntp_servers"),
        ("systemd-timesyn", "warning", "gpustack_ntp_servers"),
        ("bash", "note", "site.yml installs chrony (role host_tuning)"),
    ],
)
def test_a_clock_that_nobody_keeps_is_a_note_because_site_yml_mends_it(monkeypatch, process, severity, fix):
    monkeypatch.setattr(_clock, "kernel_is_synchronised", lambda: False)
    _facts, (finding,) = _clock.read_clock(Sysroot("/"), {process}, None, 0)
    assert (finding["id"], finding["severity"]) == ("clock_not_synchronised", severity)
    assert fix in finding["fix"]


@pytest.mark.parametrize(("status", "expected"), [(0x2001, True), (0x2041, False), (0x40, False)])
def test_the_running_kernel_is_asked(monkeypatch, status, expected):
    class Library:
        def __init__(self, _name):
            pass

        @staticmethod
        def adjtimex(pointer):
            assert pointer._obj.modes == 0
            pointer._obj.status = status
            return 0

    monkeypatch.setattr(_clock.ctypes, "CDLL", Library)
    assert _clock.read_clock(Sysroot("/"), set(), None, 0)[0]["synchronised"] is expected


def test_the_kernels_answer_is_one_of_three():
    assert _clock.kernel_is_synchronised() in (True, False, None)


def test_offset_is_the_hosts_time_minus_the_controllers():
    facts, _findings = _clock.read_clock(Sysroot("/nonexistent"), set(), 1000, 1090.5)
    assert facts["offset_seconds"] == 90.5


def test_a_tool_that_takes_long_is_no_offset(tmp_path):
    nvidia.driver(Tree(tmp_path), [nvidia.card("0000:01:00.0", "26b9", "NVIDIA L40S", 46068)], "580.95.05", "13.0")
    write(tmp_path, "usr/bin/nvidia-smi", "#!/bin/sh\nsleep 300\n")
    asked = time.time()
    found = probe(tmp_path, controller_time=asked, timeout=2)
    assert "vendor_tool_hangs" in ids(found) and time.time() - asked >= 2
    assert 0 <= found["clock"]["offset_seconds"] < 1


def test_numbers_too_long_to_be_true_are_unknown(tmp_path):
    write(tmp_path, "proc/meminfo", f"MemTotal: {'9' * 5000} kB\n")
    write(tmp_path, "proc/self/smaps", f"KernelPageSize: {'9' * 5000} kB\n")
    memory, findings = _platform.read_memory(Sysroot(str(tmp_path)))
    assert (memory, findings[0]["id"]) == (None, "memory_unknown")
    assert _platform.read_page_size(Sysroot(str(tmp_path))) is None


def test_disks(tmp_path):
    missing = str(tmp_path / "srv" / "models")
    disks = _disks.read_disks(["/proc", missing, str(tmp_path), missing])
    assert [disk["path"] for disk in disks] == ["/proc", missing, str(tmp_path)]
    assert disks[0]["mount"] == "/proc"
    space = os.statvfs(tmp_path)
    assert disks[1]["total_bytes"] == disks[2]["total_bytes"] == space.f_blocks * space.f_frsize
    assert os.path.ismount(disks[1]["mount"])
    assert tmp_path.is_relative_to(disks[1]["mount"])


def test_a_disk_is_that_behind_the_link(tmp_path):
    (tmp_path / "models").symlink_to("/proc/self")
    assert _disks.read_disks([str(tmp_path / "models" / "new")])[0]["mount"] == "/proc"


def test_paths_and_the_engines_directories_are_measured(tmp_path):
    Tree(tmp_path)
    disks = probe(tmp_path, paths=["/srv/models", "/var/lib/docker"])["disks"]
    assert [disk["path"] for disk in disks] == ["/var/lib/docker", "/var/lib/containerd", "/srv/models"]
