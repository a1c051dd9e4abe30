# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a release of GPUStack can do. Asked only where an older one would do something else without a word."""

from __future__ import annotations

import re

from ansible_collections.inferops.gpustack.plugins.module_utils._errors import GpustackError


def need(client, wanted, what):
    """Raise unless the server is of this release, `(major, minor)`, or later. One without a release is a newer one."""
    version = _version(client)
    if _is_older(version, wanted):
        raise GpustackError(
            f"{what}: {client.url} is GPUStack {version}, which does not have it.",
            reason="Unsupported",
            hint=f"Upgrade to GPUStack {'.'.join(str(one) for one in wanted)} or later, or leave it unset.",
        )


def is_older(client, release):
    return _is_older(_version(client), release)


def _version(client):
    return str((client.get("/version") or {}).get("version"))


def _is_older(version, release):
    found = re.match(r"v?([1-9]\d*)\.(\d+)", version)
    return bool(found) and tuple(int(one) for one in found.groups()) < release
