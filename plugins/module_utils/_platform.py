# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a host is, whatever accelerators it has: kernel, memory, boot, firewall, and what waits for a restart."""

from __future__ import annotations

import os
import re

from ansible_collections.inferops.gpustack.plugins.module_utils._host_finding import finding

MACHINE_ID = re.compile(r"^[0-9a-f]{32}$")
WSL_KERNEL = re.compile(r"microsoft|wsl", re.IGNORECASE)
# Four bytes of attributes, then the value.
SECURE_BOOT = "sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
REBOOT_REASONS = "run/gpustack/reboot-reasons.d"
REBOOT_REQUIRED = ("run/reboot-required", "var/run/reboot-required")
FIREWALLD = ("usr/sbin/firewalld", "sbin/firewalld")


def processes(sysroot):
    """The names of all processes, which the kernel cuts at 15 characters."""
    names = (sysroot.read("proc", pid, "comm") for pid in sysroot.listdir("proc") if pid.isdigit())
    return {name.strip() for name in names if name}


def read_kernel(sysroot):
    """(architecture, release). uname() speaks for the running machine only, not for a recorded tree."""
    if sysroot.is_real:
        uname = os.uname()
        return uname.machine, uname.release
    release = (sysroot.read("proc/sys/kernel/osrelease") or "").strip()
    architecture = (sysroot.read("proc/sys/kernel/arch") or "").strip()
    return architecture, release


def is_wsl(kernel):
    return WSL_KERNEL.search(kernel) is not None


def read_machine_id(sysroot):
    text = sysroot.read("etc/machine-id")
    machine_id = (text or "").strip()
    if MACHINE_ID.match(machine_id):
        return machine_id, []
    return "", [
        finding(
            "machine_id_invalid",
            "error",
            sysroot.path("etc/machine-id"),
            "no such file" if text is None else repr(machine_id[:40]),
            "32 hexadecimal digits, different on every host",
            "systemd-machine-id-setup",
            "gpustack/gpustack#4578",
        )
    ]


def read_memory(sysroot):
    match = re.search(r"^MemTotal:\s+([0-9]{1,15}) kB$", sysroot.read("proc/meminfo") or "", re.MULTILINE)
    if match:
        return int(match.group(1)) * 1024, []
    return None, [
        finding(
            "memory_unknown",
            "warning",
            sysroot.path("proc/meminfo"),
            "no line MemTotal",
            "MemTotal: <number> kB",
            "mount /proc",
        )
    ]


def read_page_size(sysroot):
    """Bytes, from what the kernel says of a process: a recorded tree of an arm64 host tells 64 KiB this way too."""
    match = re.search(r"^KernelPageSize:\s+([0-9]{1,9}) kB$", sysroot.read("proc/self/smaps") or "", re.MULTILINE)
    return int(match.group(1)) * 1024 if match else None


def read_secure_boot(sysroot):
    value = sysroot.read(SECURE_BOOT) or ""
    return value[4] == "\x01" if len(value) > 4 else None


def has_kernel_headers(sysroot, kernel):
    """An absolute link means a place below the sysroot, not one of the machine that reads it."""
    if not kernel:
        return False
    link = os.path.join("lib/modules", kernel, "build")
    target = os.path.join(os.path.dirname(link), sysroot.readlink(link) or "build")
    return os.path.isdir(sysroot.path(target))


def read_firewall(sysroot, names):
    if "firewalld" in names:
        return {"kind": "firewalld", "active": True}
    ufw = sysroot.read("etc/ufw/ufw.conf")
    if ufw is not None and re.search(r"^\s*ENABLED\s*=\s*['\"]?yes", ufw, re.IGNORECASE | re.MULTILINE):
        return {"kind": "ufw", "active": True}
    if any(sysroot.lexists(path) for path in FIREWALLD):
        return {"kind": "firewalld", "active": False}
    return {"kind": "" if ufw is None else "ufw", "active": False}


def read_reboot(sysroot, nvidia):
    """({reasons, system}, findings). What the distribution wishes alone is no finding: it says so for any update."""
    texts = (sysroot.read(REBOOT_REASONS, name) or "" for name in sysroot.listdir(REBOOT_REASONS))
    reasons = [text.strip() for text in texts if text.strip()]
    if nvidia and nvidia["loaded"] and nvidia["installed"] and nvidia["loaded"] != nvidia["installed"]:
        reasons.append(f"NVIDIA driver {nvidia['loaded']} is loaded, {nvidia['installed']} is installed")
    facts = {"reasons": reasons, "system": any(sysroot.lexists(path) for path in REBOOT_REQUIRED)}
    return facts, [_reboot_needed(reason) for reason in reasons]


def _reboot_needed(reason):
    return finding(
        "reboot_needed",
        "warning",
        "reboot",
        reason,
        "none",
        "gpustack_reboot: allow, or restart the host by hand and run this again",
    )
