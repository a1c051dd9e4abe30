# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Accelerators and their fabric switches, read from sysfs; lspci is not needed."""

from __future__ import annotations

import re

from ansible_collections.inferops.gpustack.plugins.module_utils._host_finding import finding

DEVICES = "sys/bus/pci/devices"
ADDRESS = re.compile(r"^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]$", re.IGNORECASE)
HEX = re.compile(r"^(?:0x)?([0-9a-f]+)$", re.IGNORECASE)

NVIDIA, HUAWEI = "10de", "19e5"
VENDORS = {NVIDIA: "nvidia", HUAWEI: "ascend"}
# The same classes as GPUStack's own scan: network, display, processor, processing accelerator.
ACCELERATOR_CLASSES = ("02", "03", "0b", "12")
# A card that no table lists is reported only in these classes: NVIDIA also makes network adapters, and Huawei's server
# boards carry network controllers and a management VGA that are no accelerators.
UNLISTED_CLASSES = {NVIDIA: ("03", "0b", "12"), HUAWEI: ("0b", "12")}


def hex_of(text, width):
    match = HEX.match((text or "").strip())
    if not match or len(match.group(1)) > width:
        return None
    return match.group(1).lower().rjust(width, "0")


def slot(address):
    """Bus and device; a further function of a card is the same card."""
    return address.lower().rsplit(".", 1)[0]


def known_devices(devices):
    """{pci_id: device} of the rows handed over by the controller."""
    return {str(device["pci_id"]).lower(): device for device in devices}


def accelerator(pci_id, address, known):
    """A card as the bus and the table know it; the readers of the vendors' tools fill in the rest."""
    row = known.get(pci_id) or {}
    return {
        "vendor": row.get("vendor") or VENDORS.get(pci_id.split(":")[0], ""),
        "profile": row.get("profile") or "",
        "pci_id": pci_id,
        "address": address,
        "memory_bytes": row.get("memory_bytes"),
        "chips": 1,
        "name": "",
        "uuid": "",
        "card": None,
        "health": "unknown",
        "mig": None,
    }


def scan(sysroot, known):
    """(accelerators, switches, findings), ordered by PCI address."""
    accelerators, switches, unreadable, unlisted = [], [], [], []
    slots = set()
    for address in sysroot.listdir(DEVICES):
        if not ADDRESS.match(address):
            unreadable.append(address)
            continue
        # A virtual function shares its card with the physical one, which is counted already.
        if sysroot.lexists(DEVICES, address, "physfn"):
            continue
        vendor, device, pci_class = (
            hex_of(sysroot.read(DEVICES, address, name), width)
            for name, width in (("vendor", 4), ("device", 4), ("class", 6))
        )
        if not vendor or not device or not pci_class:
            unreadable.append(address)
            continue
        if vendor not in VENDORS:
            continue
        pci_id = f"{vendor}:{device}"
        row = known.get(pci_id)
        card = slot(address)
        if row and row.get("kind") == "switch":
            switches.append({"name": row.get("name") or "", "pci_id": pci_id, "address": address})
            continue
        wanted = ACCELERATOR_CLASSES if row else UNLISTED_CLASSES[vendor]
        if pci_class[:2] not in wanted or card in slots:
            continue
        slots.add(card)
        if not row:
            unlisted.append(f"{address} ({pci_id}, class {pci_class[:4]})")
        accelerators.append(accelerator(pci_id, address, known))
    findings = [_unreadable(sysroot, unreadable)] if unreadable else []
    if unlisted:
        findings.append(unlisted_cards(sysroot.path(DEVICES), unlisted))
    return accelerators, switches, findings


def _unreadable(sysroot, addresses):
    return finding(
        "pci_unreadable",
        "warning",
        sysroot.path(DEVICES),
        "no vendor, device and class could be read for: " + ", ".join(addresses),
        "hexadecimal files vendor, device and class below every address",
        "read the named directories by hand; a card there is not counted",
    )


def unlisted_cards(where, cards):
    return finding(
        "accelerator_unlisted",
        "note",
        where,
        "cards that the device table does not list: " + ", ".join(cards),
        "a row with the PCI id of every accelerator",
        "declare gpustack_accelerator for this host, or add the card to the device table",
    )
