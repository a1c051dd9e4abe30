# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether a vendor's installer that an inventory names is on the controller, and the file that was meant."""

from __future__ import annotations

import functools
import hashlib
import os

_CHUNK = 1 << 20


def problem(step):
    """step: of ascend_driver_action or ascend_runtime_action. Empty where all is well or only the host can tell."""
    if not step["file"]:
        return ""
    path = os.path.realpath(os.path.expanduser(step["file"]))
    try:
        there = _sha256(path)
    except OSError as error:
        return (
            f"{path} cannot be read on the controller ({error.strerror}). Put it there, or correct file in "
            f"{step['variable']}."
        )
    if there != step["sha256"]:
        return (
            f"{path} has the SHA-256 {there}, and {step['sha256']} is asked for. Get the file anew, or correct sha256 "
            f"in {step['variable']}."
        )
    return ""


# The same file is meant for many hosts.
@functools.lru_cache(maxsize=None)
def _sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for chunk in iter(functools.partial(file.read, _CHUNK), b""):
            digest.update(chunk)
    return digest.hexdigest()
