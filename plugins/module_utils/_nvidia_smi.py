# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What `nvidia-smi -q -x` says. A value that is not of the expected form counts as unknown.

Sources of the tags: outputs of drivers 418 to 590 (influxdata/telegraf 58ff61d, plugins/inputs/nvidia_smi/testdata).
"""

from __future__ import annotations

import re
from xml.etree import ElementTree

BEGIN, END = "<nvidia_smi_log>", "</nvidia_smi_log>"
PROLOG = re.compile(r"<(?:\?xml|!DOCTYPE)[^<>]*>")
MIB = re.compile(r"^([0-9]{1,9}) MiB$")
COUNT = re.compile(r"^[0-9]{1,18}$")
VERSION = re.compile(r"^[0-9]{1,9}(\.[0-9]{1,9})+$")
UUID = re.compile(r"^GPU-[0-9a-fA-F-]+$")
DEVICE_ID = re.compile(r"^([0-9a-fA-F]{4})([0-9a-fA-F]{4})$")  # device, then vendor
BUS_ID = re.compile(r"^([0-9a-f]{4,8}):([0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f])$", re.IGNORECASE)
SWITCH = {"Enabled": True, "Disabled": False}
# A card that cannot do something says N/A there.
NOT_AVAILABLE = ("N/A", "[N/A]", "[Not Supported]", "Not Supported")
FABRIC_STATES = ("Completed", "In Progress", "Not Started")
UNKNOWN_NAMES = NOT_AVAILABLE + ("", "[Unknown Error]", "Unknown Error", "[GPU is lost]", "GPU is lost")

# Each: the tag, and what it means when the card says Yes.
BROKEN = {
    "remapped_rows/remapped_row_failure": "a memory row could not be remapped",
    "ecc_errors/unrepairable_memory": "memory that cannot be repaired",
    "gpu_reset_status/reset_required": "a reset is required",
}
WAITING = {
    "remapped_rows/remapped_row_pending": "a memory row is remapped at the next reset",
    "retired_pages/pending_retirement": "a memory page is retired at the next reset",
    "retired_pages/pending_blacklist": "a memory page is retired at the next reset",
    "ecc_errors/channel_repair_pending": "a memory channel is repaired at the next reset",
    "ecc_errors/tpc_repair_pending": "a processor is repaired at the next reset",
    "ecc_errors/aggregate/sram_threshold_exceeded": "many uncorrectable errors of the on-chip memory",
    "gpu_reset_status/drain_and_reset_recommended": "a reset is recommended when its work is done",
}
UNCORRECTED = (
    "dram_uncorrectable",
    "sram_uncorrectable",
    "sram_uncorrectable_parity",
    "sram_uncorrectable_secded",
    "double_bit/total",
)
# `gpu_recovery_action` of newer drivers, in the order of how much it takes.
RECOVERY_LATER = ("Drain P2P", "Drain and Reset")
NO_RECOVERY = ("", "None") + NOT_AVAILABLE


def parse(text):
    """{driver, cuda, gpus} or None when the text is not the report. Remarks may stand before and after it."""
    report = _parted(text)[1]
    try:
        log = ElementTree.fromstring(report)
    except ElementTree.ParseError:
        return None
    return {
        "driver": _matching(VERSION, _text(log, "driver_version")),
        "cuda": _matching(VERSION, _text(log, "cuda_version")),
        "gpus": [_gpu(index, element) for index, element in enumerate(log.findall("gpu"))],
    }


def remarks(text):
    """What the tool says besides its report, such as that a card's inventory data are damaged."""
    before, _report, after = _parted(text)
    return " ".join((PROLOG.sub("", before) + after).split())[:300]


def _parted(text):
    """(what stands before the report, the report or "", what stands after it)."""
    begin, end = text.find(BEGIN), text.rfind(END) + len(END)
    return (text[:begin], text[begin:end], text[end:]) if 0 <= begin < end else (text, "", "")


def address(text):
    """The address as /sys writes it: the tool pads the domain to 8 digits."""
    match = BUS_ID.match(text)
    return f"{int(match.group(1), 16):04x}:{match.group(2).lower()}" if match else ""


def _gpu(index, element):
    device = DEVICE_ID.match(re.sub("^0x", "", _text(element, "pci/pci_device_id")))
    name = _text(element, "product_name")
    faults, warnings = _health(element)
    return {
        "card": index,
        "address": address(element.get("id") or "") or address(_text(element, "pci/pci_bus_id")),
        "pci_id": f"{device.group(2)}:{device.group(1)}".lower() if device else "",
        "name": "" if name in UNKNOWN_NAMES else name,
        "uuid": _matching(UUID, _text(element, "uuid")),
        "memory_bytes": _memory(element),
        "mig": _switch(_text(element, "mig_mode/current_mig")),
        "persistence": SWITCH.get(_text(element, "persistence_mode")),
        "fabric": _fabric(element),
        "faults": faults,
        "warnings": warnings,
    }


def _text(element, path):
    return (element.findtext(path) or "").strip()


def _matching(pattern, text):
    return text if pattern.match(text) else ""


def _switch(text):
    return False if text in NOT_AVAILABLE else SWITCH.get(text)


def _memory(element):
    match = MIB.match(_text(element, "fb_memory_usage/total"))
    # Zero is what a card says whose memory is the host's.
    return int(match.group(1)) * 1024 * 1024 or None if match else None


def _fabric(element):
    """'' where there is no fabric to join, 'completed' when the card has joined it, else how far it is."""
    state, status = _text(element, "fabric/state"), _text(element, "fabric/status")
    if state not in FABRIC_STATES:
        return ""
    if state == "Completed" and status not in ("", "Success") + NOT_AVAILABLE:
        return status.lower()
    return state.lower()


def _health(element):
    """(what makes the card useless until somebody acts, what will need a reset)."""
    faults = [meaning for path, meaning in BROKEN.items() if _text(element, path) == "Yes"]
    warnings = list(dict.fromkeys(meaning for path, meaning in WAITING.items() if _text(element, path) == "Yes"))
    counts = (_text(element, f"ecc_errors/volatile/{path}") for path in UNCORRECTED)
    uncorrected = sum(int(count) for count in counts if COUNT.match(count))
    if uncorrected:
        warnings.append(f"{uncorrected} uncorrectable memory errors since the driver was loaded")
    recovery = _text(element, "gpu_recovery_action")
    if recovery not in NO_RECOVERY:
        (warnings if recovery in RECOVERY_LATER else faults).append(f"the driver asks for: {recovery}")
    if "GPU is lost" in (_text(element, "uuid"), _text(element, "product_name").strip("[]")):
        faults.append("the card has fallen off the bus")
    return faults, warnings
