# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Launch arguments: how a flag is named, compared, written on the command line and read back."""

from __future__ import annotations

import json
import math
import re

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _shown

_HUMAN = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*([kKmMgG]?)\s*$")
# As vLLM reads them: a small letter counts in tens, a capital in twos.
_UNITS = {"": 1, "k": 10**3, "K": 2**10, "m": 10**6, "M": 2**20, "g": 10**9, "G": 2**30}
# No size, count or share is larger, and Python's decimal numbers end before its whole ones.
_MOST = 10**18


# vLLM 0.25.0, engine/arg_utils.py.
_SHORT = {
    "tp": "tensor-parallel-size",
    "pp": "pipeline-parallel-size",
    "dp": "data-parallel-size",
    "ep": "enable-expert-parallel",
    "sc": "speculative-config",
    "cc": "compilation-config",
    "q": "quantization",
}


class ArgumentError(ValueError):
    """Something that is no launch argument, with what was found and what to write instead."""


def normalised(flag):
    """`tensor_parallel_size`, `--tensor-parallel-size`, `-tp` and `tp` are one flag to the engine."""
    name = str(flag).lstrip("-").replace("_", "-")
    return _SHORT.get(name, name)


def identity(flag):
    """What a flag sets: `no-x` and `x` set the same thing."""
    name = normalised(flag)
    return name[3:] if name.startswith("no-") else name


def render(flag, value):
    """One element of GPUStack's backend parameters.

    GPUStack splits an element like a shell does unless the value follows `=`, which also keeps JSON whole.
    """
    if value is True:
        return f"--{flag}"
    if value is False:
        return f"--{flag[3:]}" if flag.startswith("no-") else f"--no-{flag}"
    if isinstance(value, (dict, list)):
        value = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return f"--{flag}={value}"


def parse(element):
    """(flag, value) of one element; `parse(render(flag, value))` gives what was rendered.

    JSON, whole numbers and decimal numbers become what they say; everything else stays text.
    """
    if not isinstance(element, str) or not element.startswith("--") or len(element) < 3:
        shown = _shown.name(element) if isinstance(element, str) else type(element).__name__
        raise ArgumentError(f"{shown!r} is no launch argument; write --flag or --flag=value")
    flag, equals, text = element[2:].partition("=")
    name = normalised(flag)
    if not equals:
        return (name[3:], False) if name.startswith("no-") else (name, True)
    return name, _read(text)


def _read(text):
    try:
        value = json.loads(text)
    except ValueError:
        return text
    # `true`, `null` and "quoted" are words of the engine here; 1e3 and 007 would not come back as they were.
    if isinstance(value, (dict, list)):
        return value if render("x", value) == f"--x={text}" else text
    if isinstance(value, (int, float)) and not isinstance(value, bool) and str(value) == text:
        return value
    return text


def number(value):
    """The number an engine reads in a value (`128k` is 128000, `1K` is 1024), or None. Huge ones are cut to _MOST."""
    if isinstance(value, bool) or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, (int, float)):
        return max(-_MOST, min(_MOST, value))
    match = _HUMAN.match(value) if isinstance(value, str) else None
    if not match:
        return None
    digits, unit = match.groups()
    # Python refuses to read thousands of digits.
    amount = float(digits) if "." in digits else int(digits[:30])
    product = amount * _UNITS[unit]
    return min(_MOST, int(product) if unit else product)
