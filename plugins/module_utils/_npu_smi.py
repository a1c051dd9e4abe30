# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the texts of npu-smi say. Columns move with the release and the card, so nothing is read by its position."""

from __future__ import annotations

import re

from ansible_collections.inferops.gpustack.plugins.module_utils._pci import ADDRESS

BANNER = re.compile(r"\bnpu-smi\s+(\S+)\s+Version:")
HEAD = re.compile(r"^([0-9]{1,9})\s+(\S.*)$")
USAGE = re.compile(r"(?<![0-9])[0-9]{1,9}\s*/\s*([0-9]{1,9})(?![0-9])")
FIELD = re.compile(r"^([A-Za-z][^:]*):(.*)$")
# NPU, chip, its further numbers (how many differs, and some have none) and its name.
MAPPING = re.compile(r"^([0-9]{1,9})\s+([0-9]{1,9})\s+(?:(?:[0-9]+|-|N/?A)\s+)+(\S.*)$")


def tool_version(text):
    match = BANNER.search(text)
    return match.group(1) if match else ""


def chips(text):
    """The chips in the table of `info`: [{npu, name, health, address, memory_mb}].

    A chip has two rows: what it is called and how it is, then where it is and what it uses. The row with an address is
    the second one, which also tells in which column the first one has the health. Rows of processes have no address.
    """
    found, head = [], []
    for line in text.splitlines():
        if not line.lstrip().startswith("|"):
            continue
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        place = next((number for number, cell in enumerate(cells) if ADDRESS.match(cell)), None)
        if place is None:
            head = cells
            continue
        # Ascend 950 has the number and the name in columns of their own.
        match = HEAD.match(" ".join(head[:place]))
        if not match or place >= len(head):
            continue
        usages = USAGE.findall(" ".join(cells[place + 1 :]))
        # HBM comes last where a chip has it; its DDR then counts 0.
        total = int(usages[-1]) if usages else 0
        found.append(
            {
                "npu": int(match.group(1)),
                "name": match.group(2).strip(),
                "health": head[place],
                "address": cells[place].lower(),
                "memory_mb": total or None,
            }
        )
    return found


def mapping(text):
    """The chips of `info -m`: [{npu, chip, name}]. A row with the NPU -1 is void, and a microcontroller is no chip."""
    rows = (MAPPING.match(line.strip()) for line in text.splitlines())
    return [
        {"npu": int(row.group(1)), "chip": int(row.group(2)), "name": row.group(3)}
        for row in rows
        if row and row.group(3).lower() != "mcu"
    ]


def board(text):
    """The fields of `info -t board -i N`, by name."""
    fields = (FIELD.match(line.strip()) for line in text.splitlines())
    return {field.group(1).strip(): field.group(2).strip() for field in fields if field}
