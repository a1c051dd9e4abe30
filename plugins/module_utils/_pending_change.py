# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A mark beside daemon.json: dockerd has not taken up what is in the file, this is how it will, and these keys changed.

It is written before the file is replaced and taken away when dockerd has been told, so a run that is killed anywhere in
between leaves word for the next one.
"""

from __future__ import annotations

import contextlib
import os

from ansible_collections.inferops.gpustack.plugins.module_utils import _atomic_file, _dockerd

MODE = 0o644
KINDS = ("reload", "restart")
# The kernel tells when it booted in whole seconds.
SECONDS_OF_DOUBT = 2


def mark_of(path):
    return os.path.join(os.path.dirname(path), _atomic_file.leftover_prefix(path) + "pending")


def outstanding(sysroot, path):
    """(reload, restart or none; the keys). A dockerd that started after the change has read it, whoever started it."""
    try:
        with open(mark_of(path), encoding="utf-8", errors="replace") as handle:
            kind, *keys = handle.read().split("\n")
    except FileNotFoundError:
        return "none", []
    started = _dockerd.last_start(sysroot)
    if started is not None and started > _changed_at(path) + SECONDS_OF_DOUBT:
        return "none", []
    return kind if kind in KINDS else "restart", [key for key in keys if key]


def _changed_at(path):
    times = [os.stat(mark_of(path)).st_mtime]
    with contextlib.suppress(FileNotFoundError):
        # Not the time of the content: the file is complete before it gets its name.
        times.append(os.stat(path).st_ctime)
    return max(times)


def leave(path, kind, keys):
    """Call it with the directory locked."""
    with _atomic_file.candidate(path, "\n".join([kind, *keys]) + "\n", MODE) as name:
        _atomic_file.commit(name, mark_of(path))


def take_away(path):
    with contextlib.suppress(FileNotFoundError):
        os.unlink(mark_of(path))
