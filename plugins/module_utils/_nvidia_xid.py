# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults that the NVIDIA driver wrote to the kernel's log since the host started."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat

from ansible_collections.inferops.gpustack.plugins.module_utils._pci import slot

KERNEL_LOG = "dev/kmsg"
# `<priority>,<sequence>,<microseconds>,<flags>;<text>`, one record for each read.
XID = re.compile(
    r"^([0-9]{1,9}),[0-9]+,[0-9]+,[^;\n]*;NVRM: Xid \(PCI:([0-9a-f:.]+)\): ([0-9]{1,9})(?![0-9])",
    re.IGNORECASE | re.MULTILINE,
)
RECORD_BYTES = 8192
MAX_BYTES = 16 * 1024 * 1024
# NVIDIA's Xid catalogue: those whose immediate action is a reset of the card, a restart of the machine or a look at its
# plugs. The others are about the program that used the card, or need no action.
HARDWARE = frozenset((46, 48, 54, 62, 64, 74, 79, 95, 109, 110, 119, 120, 136, 140, 143, 155, 156, 158))
SOURCE = "NVIDIA, Analyzing Xid Errors with the Xid Catalog"


def read_xids(sysroot):
    """[{address, xid}], each once. The address has no function: `0000:18:00`."""
    found = []
    for priority, address, xid in XID.findall(_kernel_log(sysroot.path(KERNEL_LOG))):
        # Every user may write to the log; the upper bits of the priority tell the kernel's own lines.
        if int(priority) >> 3 == 0:
            found.append((address.lower(), int(xid)))
    return [{"address": address, "xid": xid} for address, xid in sorted(set(found))]


def is_of(xid, address):
    return xid["address"] == slot(address)


def _kernel_log(path):
    """What the log holds now, without waiting for more."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return ""
    try:
        device = stat.S_ISCHR(os.fstat(descriptor).st_mode)
        return b"".join(_records(descriptor, RECORD_BYTES if device else MAX_BYTES)).decode("utf-8", "replace")
    finally:
        with contextlib.suppress(OSError):
            os.close(descriptor)


def _records(descriptor, size):
    left = MAX_BYTES
    while left > 0:
        try:
            record = os.read(descriptor, size)
        except OSError as error:
            if error.errno == errno.EPIPE:  # overwritten while reading; the next read goes on behind the gap
                left -= size
                continue
            return
        if not record:
            return
        left -= len(record)
        yield record
