#!/usr/bin/env python3
"""Writes a simulated /sys/bus/pci/devices for one lab host.

Usage: simulate_pci.py CARDS DIRECTORY, with CARDS one of: none, h20_3e, rtx_4090, 910b.
Ids: PCI ID database and the vendors' driver sources (NVIDIA 10de:232c, class 0302, and 10de:2684, class 0300; Huawei
19e5:d802, class 1200).
"""

import sys
from pathlib import Path

HOST_BRIDGE = {"vendor": "0x8086", "device": "0x09a2", "class": "0x060000"}
# How many a host has, and what each is.
CARDS = {
    "none": (0, {}),
    "h20_3e": (8, {"vendor": "0x10de", "device": "0x232c", "class": "0x030200"}),
    "rtx_4090": (1, {"vendor": "0x10de", "device": "0x2684", "class": "0x030000"}),
    "910b": (8, {"vendor": "0x19e5", "device": "0xd802", "class": "0x120000"}),
}


def write(directory, attributes):
    directory.mkdir(parents=True, exist_ok=True)
    for name, value in attributes.items():
        (directory / name).write_text(value + "\n")


def main(cards, root):
    count, card = CARDS[cards]
    for position in range(count):
        write(Path(root) / f"0000:{0x18 + 0x10 * position:02x}:00.0", card)
    # Last, because its presence says that the tree is whole.
    write(Path(root) / "0000:00:00.0", HOST_BRIDGE)


main(*sys.argv[1:])
