# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Does a value have the shape its description (data/variables.yml) gives it?"""

from __future__ import annotations

import dataclasses
import math
import re

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _shown
from ansible_collections.inferops.gpustack.plugins.plugin_utils._findings import one_of
from ansible_collections.inferops.gpustack.plugins.plugin_utils._profiles import nearest

_TYPES = {"str": str, "int": int, "float": (int, float), "bool": bool, "dict": dict, "list": list, "any": object}
_WORDS = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "any": "any value",
    "bool": "true or false",
    "dict": "a mapping",
    "list": "a list",
}
# The names of a mapping whose description says nothing of them.
_NAME = {"type": "str"}
_NUMBER = re.compile(r"^\s*\d+(\.\d+)?\s*\Z")
_HOW = {"list": "write a list, with - before each entry", "dict": "write a mapping of key: value"}
_BOOLEAN_WORDS = ("true", "false", "yes", "no", "on", "off")


@dataclasses.dataclass(frozen=True)
class Problem:
    kind: str  # type, boolean_as_string, choice, minimum, maximum, pattern, unknown, missing
    path: str
    found: str
    expected: str
    fix: str
    # What was written, which may be a secret; only where it has the wrong type.
    value: object = dataclasses.field(default=None, repr=False)


def matches(pattern, text):
    """As JSON Schema reads a pattern: $ is the end of the text. Python's also stands before a last line break."""
    return re.search(re.sub(r"\$$", r"\\Z", pattern), text)


def describe(value, secret=False):
    """The value for a message; its kind alone when it is secret."""
    if secret:
        return f"{kind_of(value)} (not shown)"
    if isinstance(value, (dict, list)):
        return kind_of(value)
    shown = _shown.without_account(value) if isinstance(value, str) else value
    return f"{shown!r} ({kind_of(value)})"


def words(kind):
    return _WORDS.get(kind, f"a value of type {kind}")


def kind_of(value):
    if _is_endless(value):
        return "not finite"
    kind = type(value).__name__
    return _WORDS.get(kind, kind)


def problems(value, spec, path=""):
    """Every way in which the value and the description disagree."""
    kind = spec["type"]
    if not _has_type(value, kind) and value not in spec.get("words", ()):
        yield _type_problem(value, spec, path)
        return
    if value in spec.get("words", ()):
        return
    if "choices" in spec and value not in spec["choices"]:
        expected = one_of(spec["choices"])
        yield Problem("choice", path, describe(value), expected, "write " + expected)
    if "minimum" in spec and value < spec["minimum"]:
        expected = f"{spec['minimum']} or more"
        yield Problem("minimum", path, describe(value), expected, f"write {expected}")
    if "maximum" in spec and value > spec["maximum"]:
        expected = f"{spec['maximum']} or less"
        yield Problem("maximum", path, describe(value), expected, f"write {expected}")
    if "pattern" in spec and isinstance(value, str) and not matches(spec["pattern"], value):
        yield Problem("pattern", path, describe(value, spec.get("secret")), spec["form"], f"write {spec['form']}")
    if kind == "dict" and "options" in spec:
        yield from _dict_problems(value, spec["options"], path)
    if kind == "dict" and "entries" in spec:
        # A mapping with names of one's own, all of one shape.
        names = spec.get("keys", _NAME)
        for key, item in value.items():
            shown = _shown.without_account(key) if names.get("whole") else _shown.name(key)
            here = _join(path, shown)
            for problem in problems(key, names, here):
                yield dataclasses.replace(problem, found=f"the name {shown!r}", value=None)
            yield from problems(item, spec["entries"], here)
    if kind == "list":
        for index, item in enumerate(value):
            element = dict(spec, type=spec["elements"], choices=spec.get("choices"))
            element = {key: part for key, part in element.items() if part is not None and key != "elements"}
            yield from problems(item, element, f"{path}[{index}]")


def fits(value, spec):
    return not any(problems(value, spec))


def _dict_problems(value, options, path):
    for key in value:
        if key not in options:
            close = nearest(key, options)
            fix = f"did you mean {close}?" if close else f"take it out; known keys: {', '.join(sorted(options))}"
            shown = _shown.name(key)
            yield Problem("unknown", _join(path, shown), f"unknown key {shown!r}", "a known key", fix)
    for key, spec in options.items():
        # A list that has to be there has to hold something.
        if value.get(key) is None or (spec.get("required") and value[key] == []):
            if spec.get("required"):
                fix = f"add the key {key}. {spec['description']}"
                yield Problem("missing", _join(path, key), "nothing", _expected(spec), fix)
            continue
        yield from problems(value[key], spec, _join(path, key))


def _type_problem(value, spec, path):
    expected = _expected(spec)
    found = describe(value, spec.get("secret"))
    if spec["type"] == "bool" and isinstance(value, str) and value.lower() in _BOOLEAN_WORDS:
        return Problem("boolean_as_string", path, found, expected, "write true or false without quotes")
    fix = _HOW.get(spec["type"], f"write {expected}")
    if spec["type"] == "str" and isinstance(value, (int, float)):
        fix = "put the value in quotes"
    elif spec["type"] in ("int", "float") and isinstance(value, str) and _NUMBER.match(value):
        fix = "write the number without quotes; if it comes from a template, add `| int` to the template"
    return Problem("type", path, found, expected, fix, value)


def _has_type(value, kind):
    # bool is an int to Python, but not to a reader of an inventory.
    if isinstance(value, bool):
        return kind in ("bool", "any")
    return isinstance(value, _TYPES[kind]) and (kind != "float" or not _is_endless(value))


def _is_endless(value):
    """.nan and .inf of YAML, which no bound holds."""
    return isinstance(value, float) and not math.isfinite(value)


def _expected(spec):
    words = [_WORDS[spec["type"]], *spec.get("words", ())]
    return " or ".join(words)


def _join(path, key):
    return f"{path}.{key}" if path else str(key)
