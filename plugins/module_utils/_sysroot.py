# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read files below a root that may be the real one or a recorded tree."""

from __future__ import annotations

import os

# Everything read this way is a small text file of the kernel or of /etc; a larger one is not what it claims to be.
MAX_BYTES = 16 * 1024 * 1024


class Sysroot:
    def __init__(self, root="/"):
        self.root = root or "/"

    @property
    def is_real(self):
        """Whether this is the running machine, so that system calls may speak for it."""
        return os.path.realpath(self.root) == "/"

    def path(self, *parts):
        return os.path.join(self.root, *[part.lstrip("/") for part in parts])

    def read(self, *parts):
        """The text of a file, or None when it cannot be read. Bytes that are not UTF-8 are replaced."""
        try:
            with open(self.path(*parts), "rb") as handle:
                return handle.read(MAX_BYTES).decode("utf-8", "replace")
        except OSError:
            return None

    def listdir(self, *parts):
        try:
            return sorted(os.listdir(self.path(*parts)))
        except OSError:
            return []

    def readlink(self, *parts):
        try:
            return os.readlink(self.path(*parts))
        except OSError:
            return None

    def lexists(self, *parts):
        return os.path.lexists(self.path(*parts))
