# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Launch arguments: how a flag is named, compared and written on the command line."""

from __future__ import annotations

import json


def normalised(flag):
    """`max_model_len`, `--max-model-len` and `max-model-len` are one flag to the engine."""
    return str(flag).lstrip("-").replace("_", "-")


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


class Settings:
    """Ordered name -> (value, origin), where a later writer replaces in place or appends."""

    def __init__(self, identity=str):
        self._identity = identity
        self._entries = {}

    def put(self, name, value, origin):
        """None takes the name out; a name put again keeps its place."""
        key = self._identity(name)
        if value is None:
            self._entries.pop(key, None)
        else:
            self._entries[key] = (name, value, origin)

    def __iter__(self):
        return iter(self._entries.values())
