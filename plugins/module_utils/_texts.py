# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Dictionaries of texts. YAML turns `yes` and `1.10` into something else, and the API takes texts only."""

from __future__ import annotations

from ansible_collections.inferops.gpustack.plugins.module_utils._errors import GpustackError


def texts(option, values):
    """`values` with whole numbers as texts. Anything whose spelling is lost already is refused."""
    found = {}
    for key, value in values.items():
        if isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        if not isinstance(value, str):
            raise GpustackError(
                f"{option}.{key} is {value!r}, which YAML read as {type(value).__name__}; a text is needed.",
                reason="Invalid",
                hint="Put the value in quotes.",
            )
        found[str(key)] = value
    return found
