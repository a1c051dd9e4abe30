# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Arguments and environment that people give the engines, in deployments and in profiles of their own."""

from __future__ import annotations

import json
import re

from ansible_collections.inferops.gpustack.plugins.plugin_utils import (
    _arguments,
    _knobs,
    _model_keys,
    _plan,
    _schema,
    _shown,
)
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
            yield from _arguments_of(entry["args"], f"{where}.args", _set_by_keys(entry))
        if isinstance(entry.get("env"), dict):
            yield from _env(entry["env"], f"{where}.env")
    for where, layer in site.profiles.own_layers():
        yield from _arguments_of(layer.get("arguments"), f"gpustack_profiles.{where}.arguments", {})
        yield from _env(layer.get("env"), f"gpustack_profiles.{where}.env")


def _set_by_keys(entry):
    """Flag to the key of the deployment that stands for it."""
    flags, unused = _model_keys.settings(entry) if _is_sound(entry) else ({}, {})
    return {flag: _model_keys.SOURCES[flag].partition(";")[0] for flag in flags}


def _arguments_of(arguments, where, seen):
    for flag, value in arguments.items():
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
        if name in _plan.PARALLEL and value is not None and not _is_size(value):
            yield error(
                "key_value",
                here,
                _schema.describe(value, secret=not isinstance(value, (int, float))),
                "a whole number of 1 or more",
                "write the number of cards, for example 8",
            )
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


def _is_size(value):
    found = _arguments.number(value)
    return isinstance(found, int) and found >= 1


def _is_sound(entry):
    spec = option("gpustack_models.deployments")["options"]
    return all(entry.get(key) is None or _schema.fits(entry[key], spec[key]) for key in _model_keys.KEYS)


def _is_json(text):
    """A whole mapping or list: GPUStack keeps that together, and splits what only begins like one."""
    try:
        return isinstance(json.loads(text), (dict, list))
    except (ValueError, RecursionError):
        return False


def _splitting(value):
    """What stands in the value, which itself may be a secret."""
    if _is_json(value):
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
