# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Space on the disks that hold images and models."""

from __future__ import annotations

import os


def read_disks(paths):
    """One entry for each path. What does not exist yet will lie on the disk of its nearest parent."""
    return [_disk(path) for path in dict.fromkeys(paths)]


def _disk(path):
    existing, space = _nearest(os.path.realpath(path))
    while not os.path.ismount(existing):
        existing = os.path.dirname(existing)
    return {
        "path": path,
        "total_bytes": space.f_blocks * space.f_frsize,
        "free_bytes": space.f_bavail * space.f_frsize,
        "mount": existing,
    }


def _nearest(path):
    while True:
        try:
            return path, os.statvfs(path)
        except OSError:
            if path == "/":
                raise
            path = os.path.dirname(path)
