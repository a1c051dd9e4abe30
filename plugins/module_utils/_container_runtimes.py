# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which runtimes dockerd takes as its default: with another one in daemon.json it does not start."""

from __future__ import annotations

OWN = "runc"
# moby daemon/runtime_unix.go: shims of containerd need no entry.
SHIM = "io.containerd."


def is_known(name, entered):
    """entered: names under `runtimes` in daemon.json, given to dockerd as flags, or told by it."""
    return name == OWN or name.startswith(SHIM) or name in entered


def listed(entered):
    """The known ones for people."""
    return ", ".join(sorted({OWN, *(name for name in entered if not name.startswith(SHIM))}))
