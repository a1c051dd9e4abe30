# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ascend drivers and what npu-smi says about the cards."""

from __future__ import annotations

import re

from ansible_collections.inferops.gpustack.plugins.module_utils import _npu_smi
from ansible_collections.inferops.gpustack.plugins.module_utils._host_finding import finding
from ansible_collections.inferops.gpustack.plugins.module_utils._pci import HUAWEI, slot
from ansible_collections.inferops.gpustack.plugins.module_utils._tools import garbled

TOOL = "npu-smi"
ASCEND = "usr/local/Ascend"
INSTALL_INFO = "etc/ascend_install.info"
MIB = 1024 * 1024
# What npu-smi calls the chips of a device, without "Ascend". On an Atlas A3 it says just 910. The names of the first
# 910 (910A, 910B, 910ProA ...) look like those of its successor, which end in a digit: 910B1 to 910B4.
CHIP_NAMES = {
    "19e5:d100": re.compile(r"310$"),
    "19e5:d500": re.compile(r"310P"),
    "19e5:d801": re.compile(r"910(A|Pro.|Premium.)?$"),
    "19e5:d802": re.compile(r"910(B\d.*)?$"),
    "19e5:d803": re.compile(r"910([C_].*)?$"),
}
# hiascend.com, npu-smi reference: OK, Warning (minor), Alarm (major), Critical, UNKNOWN (absent or not started). A word
# that is not here means no good.
HEALTH = {"ok": "ok", "warning": "warning", "": "unknown", "-": "unknown", "na": "unknown"}
WORST_LAST = ("unknown", "ok", "warning", "error")
# hiascend.com, npu-smi reference: OK, NOK, UNKNOWN, NOT SUPPORT. Some products do not print the line.
NOT_TOLD = ("", "-", "na", "not support")


def read_ascend(sysroot, tools, accelerators):
    """(driver facts or None, findings). The cards among the accelerators learn what npu-smi says about them."""
    cards = [card for card in accelerators if card["pci_id"].startswith(HUAWEI + ":")]
    firmware = _installed_version(sysroot, "firmware")
    facts = {
        "driver": _installed_version(sysroot, "driver"),
        "firmware": firmware,
        # Cards have one from the factory, which no package brought.
        "firmware_installed": bool(firmware),
        "tool": "",
        "compatibility": "",
    }
    installed = bool(facts["driver"] or tools.find(TOOL))
    if not (cards or installed):
        return None, []
    if not installed:
        return facts, [_driver_missing(sysroot, cards)]
    chips, boards, findings = _ask(tools, facts)
    if not cards and not chips:
        # What is wrong with a driver that has nothing to drive keeps nobody from anything.
        return facts, []
    if chips:
        findings += _compare(sysroot, tools, cards, chips)
    return facts, findings + _judge_boards(facts, boards)


def _installed_version(sysroot, package):
    """The version in the package's version.info; etc/ascend_install.info says where that lies."""
    install = sysroot.read(INSTALL_INFO) or ""
    moved = re.search(rf"^{package}_install_path_param=(\S+)", install, re.MULTILINE | re.IGNORECASE)
    text = sysroot.read(moved.group(1) if moved else ASCEND, package, "version.info") or ""
    version = re.search(r"^version\s*=\s*(\S+)", text, re.MULTILINE | re.IGNORECASE)
    return version.group(1) if version else ""


def _ask(tools, facts):
    """(chips, fields of each board by NPU, findings)."""
    text, problem = tools.run(TOOL, "info")
    if text is None:
        return [], {}, [problem]
    facts["tool"] = _npu_smi.tool_version(text)
    chips = _npu_smi.chips(text)
    if problem and not chips:
        return [], {}, [_with_cause(problem, text)]
    findings = [problem] if problem else []
    listed = chips
    if not chips:
        shown = repr(" ".join(text.split())[:200])
        findings.append(_with_cause(garbled(tools.find(TOOL), f"no chip in the table of {TOOL} info: {shown}"), text))
        listed = _npu_smi.mapping(tools.run(TOOL, "info", "-m")[0] or "")
    boards = {}
    for npu in sorted({chip["npu"] for chip in listed}):
        text, problem = tools.run(TOOL, "info", "-t", "board", "-i", str(npu))
        if problem:
            # The next board would take as long, or fail as well.
            findings.append(problem)
            break
        boards[npu] = _npu_smi.board(text)
    return chips, boards, findings


def _with_cause(problem, text):
    if "dcmi" not in text.lower():
        return problem
    fix = "reboot, which a new driver or firmware needs before npu-smi works; if it fails then, install the driver anew"
    return dict(problem, fix=fix, source="Ascend/mind-cluster, FAQ on 'dcmi module initialize failed. ret is -8005'")


def _compare(sysroot, tools, cards, chips):
    by_slot = {}
    for chip in chips:
        by_slot.setdefault(slot(chip["address"]), []).append(chip)
    lost = []
    for card in cards:
        its_chips = by_slot.pop(slot(card["address"]), None)
        if its_chips:
            _enrich(card, its_chips)
        else:
            lost.append(card)
    told = [card for card in cards if card not in lost]
    return (
        _health_findings(tools, chips)
        + _name_findings(tools, told)
        + _lost_findings(tools, lost, cards)
        + _unexpected_findings(sysroot, [chip for rest in by_slot.values() for chip in rest])
    )


def _enrich(card, chips):
    card.update(
        chips=len(chips),
        name=chips[0]["name"],
        card=chips[0]["npu"],
        health=max(map(_health, chips), key=WORST_LAST.index),
    )
    sizes = [chip["memory_mb"] for chip in chips if chip["memory_mb"]]
    if sizes:
        # The processors of an Atlas 300I Duo differ by some hundred MiB; a model must fit on each.
        card["memory_bytes"] = min(sizes) * MIB


def _health(chip):
    return HEALTH.get(chip["health"].lower(), "error")


def _health_findings(tools, chips):
    kinds = (("error", "ascend_card_unhealthy"), ("warning", "ascend_card_degraded"))
    unwell = {severity: [chip for chip in chips if _health(chip) == severity] for severity, _id in kinds}
    return [
        finding(
            id,
            severity,
            tools.find(TOOL),
            ", ".join(f"NPU {chip['npu']} at {chip['address']}: {chip['health']}" for chip in unwell[severity]),
            "health OK",
            f"npu-smi info -t health -i {unwell[severity][0]['npu']} for the error code; look it up at the vendor's",
            "hiascend.com, npu-smi info -t health",
        )
        for severity, id in kinds
        if unwell[severity]
    ]


def _name_findings(tools, cards):
    wrong = [card for card in cards if not _is_own_name(card)]
    if not wrong:
        return []
    return [
        finding(
            "ascend_name_differs",
            "warning",
            tools.find(TOOL),
            ", ".join(f"{card['name']} at {card['address']} ({card['pci_id']})" for card in wrong),
            "names that belong to the PCI ids",
            "nothing, the PCI id counts; choose images and models for the chip of that id, whatever it is called",
        )
    ]


def _is_own_name(card):
    pattern = CHIP_NAMES.get(card["pci_id"])
    return not pattern or bool(pattern.match(re.sub(r"^ascend\s*", "", card["name"], flags=re.IGNORECASE)))


def _lost_findings(tools, lost, cards):
    if not lost:
        return []
    return [
        finding(
            "ascend_card_lost",
            "error",
            tools.find(TOOL),
            "not listed: " + ", ".join(card["address"] for card in lost),
            f"all {len(cards)} cards of the PCI bus",
            "dmesg for the reason, then switch the host off and on; a card that stays away needs repair",
        )
    ]


def _unexpected_findings(sysroot, chips):
    if not chips:
        return []
    return [
        finding(
            "ascend_card_unexpected",
            "warning",
            sysroot.path("sys/bus/pci/devices"),
            "nothing at " + ", ".join(f"{chip['address']} (NPU {chip['npu']}, {chip['name']})" for chip in chips),
            "a PCI device for each chip that npu-smi lists",
            "read the directory by hand; a card that is not there is not counted",
        )
    ]


def _judge_boards(facts, boards):
    """The first board that is not OK speaks for the host."""
    for fields in boards.values():
        facts["driver"] = facts["driver"] or fields.get("Software Version", "")
        facts["firmware"] = facts["firmware"] or fields.get("Firmware Version", "")
    answers = {npu: fields.get("Compatibility", "") for npu, fields in boards.items()}
    told = {npu: answer for npu, answer in answers.items() if answer.lower() not in NOT_TOLD}
    npu = next((npu for npu, answer in told.items() if answer.upper() != "OK"), None)
    if npu is None:
        facts["compatibility"] = "ok" if told else ""
        return []
    facts["compatibility"] = told[npu]
    return [_incompatible(npu, boards[npu])]


def _incompatible(npu, fields):
    unknown = fields["Compatibility"].upper() == "UNKNOWN"
    versions = f"driver {fields.get('Software Version') or '?'}, firmware {fields.get('Firmware Version') or '?'}"
    return finding(
        "ascend_compatibility_unknown" if unknown else "ascend_firmware_incompatible",
        "warning" if unknown else "error",
        f"NPU {npu}",
        f"Compatibility {fields['Compatibility']}: {versions}",
        "Compatibility OK",
        "install the driver and the firmware of one release (an upgrade: firmware first), then reboot",
        "hiascend.com, npu-smi info -t board",
    )


def _driver_missing(sysroot, cards):
    return finding(
        "ascend_driver_missing",
        "warning",
        sysroot.path(ASCEND, "driver/version.info"),
        f"{len(cards)} Ascend cards, neither a driver nor npu-smi",
        "the driver and the firmware for the card",
        "install the driver, then the firmware, then reboot",
        "hiascend.com, installation guide of the NPU driver and firmware",
    )
