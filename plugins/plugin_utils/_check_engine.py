# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Arguments and environment that people give the engine of a deployment."""

from __future__ import annotations

import re

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _arguments, _knobs, _model_keys, _schema, _shown
from ansible_collections.inferops.gpustack.plugins.plugin_utils._findings import error
from ansible_collections.inferops.gpustack.plugins.plugin_utils._schema import kind_of
from ansible_collections.inferops.gpustack.plugins.plugin_utils._site import option

# What makes GPUStack split an argument, in words.
_SPLITTING = {r"\s": "white space", '"': "a double quote", "'": "a single quote", r"\\": "a backslash"}
_FLAG = re.compile(r"^(--)?[A-Za-z][A-Za-z0-9_.-]*\Z")
_VARIABLE = re.compile(r"^[A-Za-z_][A-Za-z0-9_]*\Z")


def check(site):
    for where, _model, entry in site.deployments():
        if isinstance(entry.get("args"), dict):
            yield from _args(entry, f"{where}.args")
        if isinstance(entry.get("env"), dict):
            yield from _env(entry["env"], f"{where}.env")


def _args(entry, where):
    seen = {}
    flags, unused = _model_keys.settings(entry) if _is_sound(entry) else ({}, {})
    seen.update((flag, _model_keys.SOURCES[flag].partition(";")[0]) for flag in flags)
    for flag, value in entry["args"].items():
        name = _arguments.identity(flag)
        shown = _shown.name(flag)
        here = f"{where}.{shown}"
        knob = _knobs.finding(flag, "args", here)
        if knob:
            yield knob
        if not _FLAG.match(str(flag)):
            yield error(
                "argument_name_invalid",
                here,
                f"the name {shown!r}",
                "the flag alone: letters, digits and - _ .",
                "write flag: value, for example max-num-seqs: 32",
            )
        if name in seen:
            yield error(
                "argument_twice",
                here,
                f"also set by {seen[name]}",
                "one value for each argument",
                "take one of the two out",
            )
        seen.setdefault(name, shown)
        splitting = _splitting(value) if isinstance(value, str) else []
        if splitting:
            yield error(
                "argument_unsafe",
                here,
                f"text with {' and '.join(splitting)}",
                "text without spaces, quotes or backslashes",
                "take these characters out (rename the file, for example); write JSON as a YAML mapping or list",
                "GPUStack 2.3.0 splits arguments like a shell",
            )


def _is_sound(entry):
    spec = option("gpustack_models.deployments")["options"]
    return all(entry.get(key) is None or _schema.fits(entry[key], spec[key]) for key in _model_keys.KEYS)


def _splitting(value):
    """What stands in the value, which itself may be a secret."""
    if value.startswith(("{", "[")):
        return []
    return [words for character, words in _SPLITTING.items() if re.search(character, value)]


def _env(env, where):
    for variable, value in env.items():
        shown = _shown.name(variable)
        here = f"{where}.{shown}"
        knob = _knobs.finding(variable, "env", here)
        if knob:
            yield knob
        if not _VARIABLE.match(str(variable)):
            yield error(
                "env_name_invalid",
                here,
                f"the name {shown!r}",
                "letters, digits and _, no digit first",
                "write NAME: value, for example HF_HUB_OFFLINE: 1",
            )
        if isinstance(value, (bool, dict, list)):
            yield error(
                "env_value",
                here,
                f"{kind_of(value)}, not text",
                "text or a number",
                'write in quotes the text the engine expects, such as "1" or "true"',
            )
