# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NVIDIA cards and their driver: what /sys, the module and the tools say, put together."""

from __future__ import annotations

import os
import re

from ansible_collections.inferops.gpustack.plugins.module_utils import _nvidia_findings as findings_of
from ansible_collections.inferops.gpustack.plugins.module_utils import _nvidia_smi, _nvidia_xid, _pci, _tools

MODULE_VERSION = "sys/module/nvidia/version"
DRIVER_BANNER = "proc/driver/nvidia/version"
# The kernel cuts the names of processes at 15 characters.
FABRIC_PROCESS = "nv-fabricmanager"[:15]
LIBRARY_VERSION = re.compile(r"NVML library version:\s*([0-9]{1,9}(?:\.[0-9]{1,9})+)\b")
FABRIC_VERSION = re.compile(r"Fabric Manager version is\s*:\s*([0-9]{1,9}(?:\.[0-9]{1,9})+)\b")
MODULE_FIELD = {"version": re.compile(r"^[0-9]{1,9}(\.[0-9]{1,9})+$"), "license": re.compile(r"^[\w/ ]+$")}
FLAVOURS = {"Dual MIT/GPL": "open", "NVIDIA": "proprietary"}


def read_nvidia(sysroot, tools, accelerators, switches, known, names):
    """(driver facts or None, findings). Completes the NVIDIA cards of `accelerators`; adds them where the PCI tree has
    none, as under WSL. known: {pci_id: row of the device table}; names: of all processes."""
    cards = [card for card in accelerators if card["pci_id"].startswith(_pci.NVIDIA + ":")]
    tool = tools.find("nvidia-smi")
    if not cards and not tool and not sysroot.lexists(findings_of.MODULE):
        return None, []
    findings = []
    driver = _driver(sysroot, tools, findings)
    log, problem = _ask(tools, driver) if tool else (None, None)
    gpus = log["gpus"] if log else []
    if log:
        driver.update(userspace=log["driver"], cuda=log["cuda"], persistence=_all_persist(gpus))
    if gpus and not cards:
        cards = [_pci.accelerator(gpu["pci_id"], gpu["address"], known) for gpu in gpus]
        accelerators.extend(cards)
        findings += _unlisted(tools, cards, known)
    seen = {gpu["address"]: gpu for gpu in gpus}
    driver["xids"] = _nvidia_xid.read_xids(sysroot)
    for card in cards:
        _complete(card, seen.get(card["address"]), driver["xids"])
    driver["fabric_manager"] = _fabric_manager(tools, switches, names, gpus, findings)

    findings += findings_of.driver(sysroot, cards, driver, log, problem)
    findings += findings_of.cards(sysroot, tools, _expected(sysroot, cards), seen, log)
    findings += findings_of.xids(sysroot, driver["xids"])
    findings += findings_of.fabric(driver, switches)
    return driver, findings


def _driver(sysroot, tools, findings):
    banner = sysroot.read(DRIVER_BANNER) or ""
    flavour = ("open" if "Open Kernel Module" in banner else "proprietary") if "NVRM version" in banner else ""
    installed = _module_field(tools, "version", findings)
    return {
        "loaded": (sysroot.read(MODULE_VERSION) or "").strip(),
        "installed": installed,
        "userspace": "",
        "flavour": flavour or (FLAVOURS.get(_module_field(tools, "license", findings), "") if installed else ""),
        "cuda": "",
        "persistence": None,
        "nouveau": sysroot.lexists(findings_of.NOUVEAU),
        "run_file": sysroot.lexists(findings_of.RUN_FILE),
    }


def _module_field(tools, field, findings):
    """modinfo fails where the module is not installed, which is an answer."""
    text, problem = tools.run("modinfo", "-F", field, "nvidia")
    if problem:
        if problem["id"] == "vendor_tool_hangs":
            findings.append(problem)
        return ""
    value = text.strip()
    return value if MODULE_FIELD[field].match(value) else ""


def _ask(tools, driver):
    """(the report or None, what is wrong)."""
    text, problem = tools.run("nvidia-smi", "-q", "-x")
    library = LIBRARY_VERSION.search(text or "")
    if library:
        driver["userspace"] = library.group(1)
    log = _nvidia_smi.parse(text or "")
    if log and problem:
        # It reported all the same: warnings about the state of a card end the tool with a status, too.
        return log, dict(problem, severity="warning", found=_nvidia_smi.remarks(text) or problem["found"])
    if not log and not problem:
        problem = _tools.garbled(tools.find("nvidia-smi"), f"nvidia-smi -q -x: {' '.join(text.split())[:200]!r}")
    return log, problem


def _all_persist(gpus):
    modes = [gpu["persistence"] for gpu in gpus]
    if False in modes:
        return False
    return True if True in modes else None


def _unlisted(tools, cards, known):
    unlisted = [f"{card['address']} ({card['pci_id']})" for card in cards if card["pci_id"] not in known]
    return [_pci.unlisted_cards(tools.find("nvidia-smi"), unlisted)] if unlisted else []


def _complete(card, gpu, xids):
    if gpu is None:
        return
    card.update({key: gpu[key] for key in ("name", "uuid", "card", "mig")})
    card["memory_bytes"] = gpu["memory_bytes"] or card["memory_bytes"]
    faulty = any(xid["xid"] in _nvidia_xid.HARDWARE and _nvidia_xid.is_of(xid, card["address"]) for xid in xids)
    card["health"] = "error" if gpu["faults"] else "warning" if gpu["warnings"] or faulty else "ok"


def _expected(sysroot, cards):
    """The cards that the driver should see: one given to a virtual machine belongs to another driver."""
    links = {card["address"]: sysroot.readlink(_pci.DEVICES, card["address"], "driver") for card in cards}
    return [card for card in cards if os.path.basename(links[card["address"]] or "nvidia") == "nvidia"]


def _fabric_manager(tools, switches, names, gpus, findings):
    states = [gpu["fabric"] for gpu in gpus if gpu["fabric"]]
    facts = {"needed": bool(switches or states), "version": "", "running": FABRIC_PROCESS in names, "state": ""}
    # One card that has not joined is what matters.
    facts["state"] = next((state for state in states if state != "completed"), states[0] if states else "")
    if facts["needed"] and tools.find("nv-fabricmanager"):
        text, problem = tools.run("nv-fabricmanager", "--version")
        version = FABRIC_VERSION.search(text or "")
        facts["version"] = version.group(1) if version else ""
        if not version:
            found = f"nv-fabricmanager --version: {' '.join((text or '').split())[:200]!r}"
            findings.append(problem or _tools.garbled(tools.find("nv-fabricmanager"), found))
    return facts
