# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Does a text hold exactly the JSON that was asked for? A small part of JSON Schema, enough for flat answers."""

from __future__ import annotations

import json

TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "null": type(None),
}
KEYWORDS = {"type", "required", "properties", "enum", "items", "additionalProperties", "title", "description"}


def misshapen(schema, where="schema"):
    """What is not written the way a schema is, or None."""
    if not isinstance(schema, dict):
        return f"{where} is {schema!r}, where a dictionary such as {{type: string}} is needed"
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if not isinstance(properties, dict):
        return f"{where}.properties is {properties!r}, where a dictionary is needed"
    if not isinstance(required, list):
        return f"{where}.required is {required!r}, where a list of names is needed"
    parts = {f"{where}.properties.{name}": one for name, one in properties.items()}
    if "items" in schema:
        parts[f"{where}.items"] = schema["items"]
    return next((found for found in (misshapen(one, name) for name, one in parts.items()) if found), None)


def unknown_keywords(schema):
    """Keywords and types that `violations` does not know, so that nobody believes they were checked."""
    found = set(schema) - KEYWORDS
    types = schema.get("type", [])
    found |= {f"type {one}" for one in ([types] if isinstance(types, str) else types) if one not in TYPES}
    for one in schema.get("properties", {}).values():
        found |= unknown_keywords(one)
    if "items" in schema:
        found |= unknown_keywords(schema["items"])
    return found


def pure_json(text):
    """`(value, None)`, or `(None, why)` when the text is anything but one JSON object or list."""
    stripped = text.strip()
    if stripped.startswith("```"):
        return None, "the JSON is inside a code fence"
    try:
        value = json.loads(stripped)
    except ValueError as error:
        return None, f"the answer is no JSON ({error}): {stripped[:120]!r}"
    if not isinstance(value, (dict, list)):
        return None, f"the answer is a bare {type(value).__name__}, not an object: {stripped[:120]!r}"
    return value, None


def violations(value, schema, where="answer"):
    """Every place where the value breaks the schema."""
    found = []
    expected = schema.get("type")
    if expected is not None and not _is_type(value, expected):
        return [f"{where} is {_type_name(value)}, expected {expected}"]
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{where} is {value!r}, expected one of {schema['enum']!r}")
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        found += [f"{where}.{key} is missing" for key in schema.get("required", []) if key not in value]
        if schema.get("additionalProperties") is False:
            found += [f"{where}.{key} is not in the schema" for key in sorted(set(value) - set(properties))]
        for key, one in properties.items():
            if key in value:
                found += violations(value[key], one, f"{where}.{key}")
    if isinstance(value, list) and "items" in schema:
        for index, one in enumerate(value):
            found += violations(one, schema["items"], f"{where}[{index}]")
    return found


def _is_type(value, expected):
    if isinstance(expected, list):
        return any(_is_type(value, one) for one in expected)
    if isinstance(value, bool):
        return expected == "boolean"
    if expected == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, TYPES[expected])


def _type_name(value):
    if isinstance(value, bool):
        return "boolean"
    for name, kind in TYPES.items():
        if isinstance(value, kind):
            return name
    return type(value).__name__
