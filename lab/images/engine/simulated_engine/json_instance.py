"""A valid instance of a JSON Schema: the same for the same seed, different for different seeds."""

from __future__ import annotations

import random
import uuid
from datetime import date, timedelta

_WORDS = (
    "amber",
    "birch",
    "cedar",
    "delta",
    "ember",
    "fjord",
    "grove",
    "harbour",
    "island",
    "juniper",
    "kelp",
    "lagoon",
    "maple",
    "north",
    "ocean",
    "pine",
    "quartz",
    "river",
    "stone",
    "tundra",
    "umber",
    "valley",
    "willow",
    "zephyr",
)
_UNSUPPORTED = (
    "pattern",
    "not",
    "if",
    "patternProperties",
    "propertyNames",
    "contains",
    "maxProperties",
    "dependentRequired",
    "dependentSchemas",
    "unevaluatedItems",
    "unevaluatedProperties",
    "$dynamicRef",
)
_MERGEABLE = {"properties", "required", "title", "description", "default", "examples", "$defs", "definitions"}
_OPTIONAL_DEPTH = 6
_MAXIMUM_DEPTH = 40


class SchemaError(ValueError):
    """The schema is wrong, or uses something that the simulated engine cannot satisfy."""


def make_instance(schema, seed: str):
    return _Maker(schema, random.Random(seed)).make(schema, 0)


class _Maker:
    def __init__(self, root, choose: random.Random):
        self.root = root
        self.choose = choose

    def make(self, schema, depth):
        if schema is True or schema == {}:
            return self._text({})
        if not isinstance(schema, dict):
            raise SchemaError(f"no value satisfies the schema {schema!r}")
        if depth > _MAXIMUM_DEPTH:
            raise SchemaError("the schema has no finite instance")
        schema = self._resolved(schema, 0)
        for keyword in _UNSUPPORTED:
            if keyword in schema:
                raise SchemaError(f"the simulated engine does not support the keyword {keyword!r}")
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self._from_enum(schema["enum"])
        kind = _kind(schema)
        makers = {
            "object": self._object,
            "array": self._array,
            "string": lambda given, _: self._text(given),
            "integer": lambda given, _: self._integer(given),
            "number": lambda given, _: self._number(given),
            "boolean": lambda *_: self.choose.random() < 0.5,
            "null": lambda *_: None,
        }
        if kind not in makers:
            raise SchemaError(f"unknown type {kind!r}")
        return makers[kind](schema, depth)

    def _resolved(self, schema, hops):
        """Fold $ref, allOf and the first branch of anyOf and oneOf into one schema."""
        if hops > _MAXIMUM_DEPTH:
            raise SchemaError("$ref leads back to itself")
        parts = []
        if "$ref" in schema:
            parts.append(self._target(schema["$ref"]))
        parts += schema.get("allOf", [])
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                if not schema[keyword]:
                    raise SchemaError(f"{keyword} is empty")
                parts.append(schema[keyword][0])
        if not parts:
            return schema
        merged = {key: value for key, value in schema.items() if key not in ("$ref", "allOf", "anyOf", "oneOf")}
        for part in parts:
            if part is True:
                continue
            if not isinstance(part, dict):
                raise SchemaError(f"no value satisfies the schema {part!r}")
            merged = _merged(merged, self._resolved(part, hops + 1))
        return merged

    def _target(self, reference):
        if not isinstance(reference, str) or not reference.startswith("#"):
            raise SchemaError(f"only local references are supported, not {reference!r}")
        target = self.root
        for step in reference[1:].split("/")[1:]:
            step = step.replace("~1", "/").replace("~0", "~")
            try:
                target = target[int(step)] if isinstance(target, list) else target[step]
            except (KeyError, ValueError, IndexError, TypeError):
                raise SchemaError(f"{reference!r} points to nothing") from None
        return target

    def _from_enum(self, values):
        if not isinstance(values, list) or not values:
            raise SchemaError("enum must be a list with at least one value")
        return self.choose.choice(values)

    def _object(self, schema, depth):
        properties = schema.get("properties", {})
        required = schema.get("required", [])
        additional = schema.get("additionalProperties", True)
        wanted = [
            name
            for name, given in properties.items()
            if name in required or (depth < _OPTIONAL_DEPTH and given is not False)
        ]
        made = {name: self.make(properties[name], depth + 1) for name in wanted}
        for name in required:
            if name not in made:
                made[name] = self._extra(name, additional, depth)
        for number in range(schema.get("minProperties", 0)):
            if len(made) >= schema["minProperties"]:
                break
            made[f"key_{number}"] = self._extra(f"key_{number}", additional, depth)
        return made

    def _extra(self, name, additional, depth):
        if additional is False:
            raise SchemaError(f"{name!r} is required and additionalProperties forbids it")
        return self.make(additional, depth + 1)

    def _array(self, schema, depth):
        prefix = schema.get("prefixItems", [])
        lowest = schema.get("minItems", 0)
        highest = schema.get("maxItems", max(lowest, len(prefix)) + 2)
        if lowest > highest:
            raise SchemaError(f"minItems {lowest} is above maxItems {highest}")
        items = schema.get("items", True)
        if items is False:
            highest = min(highest, len(prefix))
        floor = max(lowest, min(max(1, len(prefix)), highest)) if depth < _OPTIONAL_DEPTH else lowest
        count = self.choose.randint(floor, min(highest, floor + 2))
        made = []
        for index in range(count):
            wanted = prefix[index] if index < len(prefix) else items
            made.append(self._fresh(wanted, depth, made) if schema.get("uniqueItems") else self.make(wanted, depth + 1))
        return made

    def _fresh(self, schema, depth, taken):
        for _ in range(200):
            value = self.make(schema, depth + 1)
            if value not in taken:
                return value
        raise SchemaError("uniqueItems asks for more different items than were found")

    def _text(self, schema):
        made = self._formatted(schema.get("format"))
        lowest = schema.get("minLength", 0)
        highest = schema.get("maxLength", max(lowest, len(made)))
        if lowest > highest:
            raise SchemaError(f"minLength {lowest} is above maxLength {highest}")
        while len(made) < lowest:
            made += " " + self.choose.choice(_WORDS)
        return made[:highest]

    def _formatted(self, name):
        day = date(2024, 1, 1) + timedelta(days=self.choose.randrange(3000))
        word = self.choose.choice(_WORDS)
        known = {
            "date": day.isoformat(),
            "time": "12:34:56Z",
            "date-time": f"{day.isoformat()}T12:34:56Z",
            "email": f"{word}@example.org",
            "uri": f"https://example.org/{word}",
            "uuid": str(uuid.UUID(int=self.choose.getrandbits(128), version=4)),
            "ipv4": f"192.0.2.{self.choose.randint(1, 254)}",
        }
        return known.get(name) or f"{word} {self.choose.choice(_WORDS)}"

    def _integer(self, schema):
        step = schema.get("multipleOf", 1)
        if not isinstance(step, int) or step < 1:
            raise SchemaError(f"multipleOf {step!r} is not supported")
        low, high = _bounds(schema, 1)
        first, last = -(-low // step), high // step
        if first > last:
            raise SchemaError("no integer lies within the bounds")
        return int(self.choose.randint(int(first), int(last)) * step)

    def _number(self, schema):
        if "multipleOf" in schema:
            return self._integer(schema)
        low, high = _bounds(schema, 0)
        exclusive = "exclusiveMinimum" in schema or "exclusiveMaximum" in schema
        if low > high or (low == high and exclusive):
            raise SchemaError("no number lies within the bounds")
        value = low + (high - low) * (0.25 + self.choose.random() / 2)
        rounded = round(value, 2)
        return rounded if low < rounded < high else value


def _bounds(schema, exclusive_step):
    """Inclusive bounds; an exclusive one moves by one for integers, and is not hit anyway for numbers."""
    low, high = schema.get("minimum"), schema.get("maximum")
    if "exclusiveMinimum" in schema:
        low = max(schema["exclusiveMinimum"] + exclusive_step, low if low is not None else float("-inf"))
    if "exclusiveMaximum" in schema:
        high = min(schema["exclusiveMaximum"] - exclusive_step, high if high is not None else float("inf"))
    if low is None:
        low = 0 if high is None or high >= 0 else high - 100
    if high is None:
        high = low + 100
    return low, high


def _kind(schema):
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((name for name in kind if name != "null"), "null")
    if kind is not None:
        return kind
    for hints, name in (
        (("properties", "required", "additionalProperties"), "object"),
        (("items", "prefixItems", "minItems"), "array"),
        (("minimum", "maximum", "multipleOf"), "number"),
    ):
        if any(hint in schema for hint in hints):
            return name
    return "string"


def _merged(first, second):
    for keyword in first.keys() & second.keys() - _MERGEABLE:
        if first[keyword] != second[keyword]:
            raise SchemaError(f"the simulated engine cannot combine two values of {keyword!r}")
    result = {**first, **second}
    if "properties" in first and "properties" in second:
        result["properties"] = {**first["properties"], **second["properties"]}
    if "required" in first and "required" in second:
        result["required"] = list(dict.fromkeys(first["required"] + second["required"]))
    return result
