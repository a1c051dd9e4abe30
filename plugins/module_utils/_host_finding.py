# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One finding, in the shape that the controller's reports use."""

from __future__ import annotations

SEVERITIES = ("error", "warning", "note")


def finding(id, severity, where, found, expected, fix, source=""):
    if severity not in SEVERITIES:
        raise ValueError(f"severity is one of {SEVERITIES}, not {severity!r}")
    return {
        "id": id,
        "severity": severity,
        "where": where,
        "found": str(found),
        "expected": expected,
        "fix": fix,
        "source": source,
    }
