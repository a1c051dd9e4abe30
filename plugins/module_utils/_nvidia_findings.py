# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with NVIDIA cards, their driver or their fabric, whatever the inventory says of them."""

from __future__ import annotations

from ansible_collections.inferops.gpustack.plugins.module_utils import _nvidia_xid, _tools
from ansible_collections.inferops.gpustack.plugins.module_utils._host_finding import finding

MISMATCH = "version mismatch"
MODULE = "sys/module/nvidia"
NOUVEAU = "sys/module/nouveau"
RUN_FILE = "usr/bin/nvidia-uninstall"


def driver(sysroot, cards, driver, log, problem):
    """problem: what is wrong with the answer of nvidia-smi; None without one and where there is no nvidia-smi."""
    findings = _answer(sysroot, cards, driver, log, problem)
    if cards and driver["nouveau"]:
        findings.append(_nouveau(sysroot))
    if driver["run_file"]:
        findings.append(_run_file(sysroot))
    return findings


def _answer(sysroot, cards, driver, log, problem):
    """Why nvidia-smi does not report, once: a module that is not loaded is the cause, the tool's failure the effect."""
    if log or (problem and problem["id"] == "vendor_tool_hangs"):
        return [problem] if problem else []
    if problem and MISMATCH in problem["found"]:
        return [_mismatch(driver)]
    if not driver["loaded"]:
        if not cards:
            return []
        return [_not_loaded(sysroot, driver) if driver["installed"] else _missing(sysroot, cards)]
    if problem:
        return [problem]
    return [_tools.missing("nvidia-smi", sysroot)] if cards else []


def cards(sysroot, tools, expected, seen, log):
    """expected: the cards that the driver should see; seen: {address: what nvidia-smi says}."""
    findings = []
    where = tools.find("nvidia-smi")
    lost = [card["address"] for card in expected if card["address"] not in seen]
    if log and lost:
        findings.append(_lost(where, lost, len(expected)))
    for key, make in (("faults", _unhealthy), ("warnings", _degraded)):
        told = [f"{gpu['address']}: {', '.join(gpu[key])}" for gpu in seen.values() if gpu[key]]
        if told:
            findings.append(make(where, "; ".join(told)))
    split = [address for address, gpu in seen.items() if gpu["mig"]]
    if split:
        findings.append(_split(where, split))
    silent = [card["address"] for card in expected if card["address"] in seen and card["memory_bytes"] is None]
    if silent:
        findings.append(_no_memory(where, silent))
    return findings


def xids(sysroot, found):
    hardware = [f"{xid['address']}: Xid {xid['xid']}" for xid in found if xid["xid"] in _nvidia_xid.HARDWARE]
    if not hardware:
        return []
    return [
        finding(
            "nvidia_xid",
            "warning",
            sysroot.path(_nvidia_xid.KERNEL_LOG),
            ", ".join(hardware),
            "no hardware fault since the host started",
            "look the numbers up in NVIDIA's Xid catalogue; a restart of the host clears the log and resets the cards",
            _nvidia_xid.SOURCE,
        )
    ]


def fabric(driver, switches):
    manager = driver["fabric_manager"]
    # Without a driver there is nothing to manage yet, and that is reported already.
    if not manager["needed"] or not driver["loaded"]:
        return []
    if switches and not manager["version"] and not manager["running"]:
        return [_fabric_missing(switches, driver)]
    if manager["version"] and manager["version"] != driver["loaded"]:
        return [_fabric_version(driver)]
    if (switches and not manager["running"]) or manager["state"] not in ("", "completed"):
        return [_fabric_stopped(manager)]
    return []


def _missing(sysroot, cards):
    return finding(
        "nvidia_driver_missing",
        "warning",
        sysroot.path(MODULE),
        f"{len(cards)} NVIDIA cards, no driver",
        "NVIDIA's driver, as old as the images need or newer",
        "install NVIDIA's driver for this distribution and restart the host",
    )


def _not_loaded(sysroot, driver):
    why = "nouveau holds the card" if driver["nouveau"] else "it is not loaded"
    return finding(
        "nvidia_driver_not_loaded",
        "warning",
        sysroot.path(MODULE),
        f"driver {driver['installed']} is installed, {why}",
        "a loaded driver",
        "restart the host; if that does not help: modprobe nvidia, and dmesg for the reason (such as Secure Boot)",
    )


def _mismatch(driver):
    return finding(
        "nvidia_driver_mismatch",
        "warning",
        "nvidia-smi",
        f"module {driver['loaded']} is loaded, the libraries are {driver['userspace'] or 'of another version'}",
        "module and libraries of one version",
        "restart the host, and keep the driver's packages from being upgraded unattended",
        "gpustack/gpustack#1254",
    )


def _nouveau(sysroot):
    return finding(
        "nvidia_nouveau_loaded",
        "warning",
        sysroot.path(NOUVEAU),
        "nouveau is loaded",
        "NVIDIA's driver alone",
        "keep nouveau from loading (modprobe.d: blacklist nouveau), rebuild the initial RAM disk and restart the host",
    )


def _run_file(sysroot):
    return finding(
        "nvidia_run_file",
        "note",
        sysroot.path(RUN_FILE),
        "the driver was installed from its .run file",
        "a driver from packages, or no package of it at all",
        "run nvidia-uninstall before you install driver packages; the two overwrite each other",
    )


def _lost(where, lost, total):
    return finding(
        "nvidia_card_lost",
        "error",
        where,
        f"{len(lost)} of {total} cards are missing: " + ", ".join(lost),
        "every NVIDIA card of the PCI bus",
        "dmesg for the reason (often Xid 79), then power the host off and on; a card that stays away is broken",
    )


def _unhealthy(where, found):
    return finding(
        "nvidia_card_unhealthy",
        "error",
        where,
        found,
        "cards without a fault",
        "reset the card (nvidia-smi --gpu-reset -i <card>) or restart the host; if it comes back, replace the card",
    )


def _degraded(where, found):
    return finding(
        "nvidia_card_degraded",
        "warning",
        where,
        found,
        "cards that need no reset",
        "stop what runs on the card when it suits, and reset it (nvidia-smi --gpu-reset -i <card>) or restart the host",
    )


def _split(where, addresses):
    return finding(
        "nvidia_mig_enabled",
        "note",
        where,
        "MIG is enabled on: " + ", ".join(addresses),
        "whole cards, which is what the accelerator profiles describe",
        "nothing if it is meant; else nvidia-smi -i <card> -mig 0",
    )


def _no_memory(where, addresses):
    return finding(
        "nvidia_memory_unknown",
        "note",
        where,
        "no memory size for: " + ", ".join(addresses),
        "a size; a card that shares the host's memory tells none",
        "give max_model_len and the like yourself: what fits cannot be worked out",
    )


def _fabric_missing(switches, driver):
    return finding(
        "nvidia_fabric_manager_missing",
        "error",
        "nv-fabricmanager",
        f"{len(switches)} NVSwitches, no Fabric Manager",
        f"Fabric Manager {driver['loaded']}; CUDA fails with error 802 without it",
        f"install the package nvidia-fabricmanager in version {driver['loaded']} and start its service",
        "gpustack/gpustack#4154",
    )


def _fabric_version(driver):
    return finding(
        "nvidia_fabric_manager_version",
        "error",
        "nv-fabricmanager",
        f"Fabric Manager {driver['fabric_manager']['version']}, driver {driver['loaded']}",
        "the same version to the last digit",
        f"install the package nvidia-fabricmanager in version {driver['loaded']}",
        "gpustack/gpustack#4154",
    )


def _fabric_stopped(manager):
    state = f", the fabric is: {manager['state']}" if manager["state"] else ""
    return finding(
        "nvidia_fabric_manager_stopped",
        "error",
        "nv-fabricmanager",
        ("Fabric Manager runs" if manager["running"] else "Fabric Manager does not run") + state,
        "a running Fabric Manager and a completed fabric; CUDA fails with error 802 without it",
        "systemctl enable --now nvidia-fabricmanager; then journalctl -u nvidia-fabricmanager -n 50",
        "gpustack/gpustack#4154",
    )
