from __future__ import annotations

import uuid

import pytest
from simulated_engine.json_instance import SchemaError, make_instance

SEEDS = [f"prompt {number}" for number in range(12)]


@pytest.mark.parametrize("seed", SEEDS)
def test_an_order_is_valid_down_to_its_leaves(seed):
    schema = {
        "type": "object",
        "properties": {
            "customer": {"$ref": "#/$defs/customer"},
            "items": {
                "type": "array",
                "minItems": 2,
                "maxItems": 3,
                "items": {
                    "type": "object",
                    "properties": {
                        "sku": {"type": "string", "minLength": 8, "maxLength": 8},
                        "count": {"type": "integer", "minimum": 1, "maximum": 5},
                        "price": {"type": "number", "exclusiveMinimum": 0, "maximum": 10},
                    },
                    "required": ["sku", "count", "price"],
                },
            },
            "state": {"enum": ["new", "paid"]},
            "version": {"const": 3},
            "note": {"anyOf": [{"type": "null"}, {"type": "string"}]},
            "urgent": {"type": "boolean"},
        },
        "required": ["customer", "items", "state", "version"],
        "additionalProperties": False,
        "$defs": {"customer": {"type": "object", "properties": {"id": {"type": "string", "format": "uuid"}}}},
    }
    order = make_instance(schema, seed)
    assert set(order) == {"customer", "items", "state", "version", "note", "urgent"}
    assert uuid.UUID(order["customer"]["id"])
    assert 2 <= len(order["items"]) <= 3
    for item in order["items"]:
        assert len(item["sku"]) == 8
        assert isinstance(item["count"], int)
        assert 1 <= item["count"] <= 5
        assert 0 < item["price"] <= 10
    assert order["state"] in ("new", "paid")
    assert order["version"] == 3
    assert order["note"] is None
    assert order["urgent"] in (True, False)


def test_the_same_seed_gives_the_same_and_others_differ():
    schema = {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}}
    assert make_instance(schema, "a") == make_instance(schema, "a")
    assert len({str(make_instance(schema, seed)) for seed in SEEDS}) > 6


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("schema", "holds"),
    [
        ({"type": "integer", "minimum": -3, "exclusiveMaximum": 0}, lambda value: value in (-3, -2, -1)),
        ({"type": "integer", "multipleOf": 7, "minimum": 10, "maximum": 22}, lambda value: value in (14, 21)),
        ({"type": "number", "minimum": 0.5, "maximum": 0.50001}, lambda value: 0.5 <= value <= 0.50001),
        ({"type": "number", "maximum": -5}, lambda value: value <= -5),
        ({"type": "string", "maxLength": 2}, lambda value: len(value) <= 2),
        ({"type": "string", "minLength": 60}, lambda value: len(value) >= 60),
        ({"type": ["null", "integer"]}, lambda value: isinstance(value, int)),
        ({"type": "array", "maxItems": 0}, lambda value: value == []),
        ({"type": "array", "prefixItems": [{"const": 1}, {"const": 2}], "items": False}, lambda value: value == [1, 2]),
        (
            {"type": "array", "items": {"enum": [1, 2, 3]}, "minItems": 3, "maxItems": 3, "uniqueItems": True},
            lambda value: sorted(value) == [1, 2, 3],
        ),
        ({"type": "object", "required": ["x"], "additionalProperties": {"const": 9}}, lambda value: value == {"x": 9}),
        (
            {"allOf": [{"type": "object", "properties": {"a": {"const": 1}}}, {"properties": {"b": {"const": 2}}}]},
            lambda value: value == {"a": 1, "b": 2},
        ),
    ],
)
def test_bounds_hold(schema, holds, seed):
    assert holds(make_instance(schema, seed))


def test_a_recursive_schema_ends():
    schema = {
        "$ref": "#/$defs/node",
        "$defs": {
            "node": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#"}}},
                "required": ["name"],
            }
        },
    }
    assert "name" in make_instance(schema, "tree")


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "string", "pattern": "^a+$"}, "pattern"),
        ({"$ref": "#/$defs/absent"}, "points to nothing"),
        ({"$ref": "https://example.org/schema"}, "local references"),
        ({"$ref": "#"}, "leads back to itself"),
        ({"enum": []}, "enum"),
        ({"type": "float"}, "unknown type"),
        ({"type": "integer", "minimum": 5, "maximum": 4}, "no integer"),
        ({"type": "number", "exclusiveMinimum": 1, "maximum": 1}, "no number"),
        ({"type": "array", "items": {"const": 1}, "minItems": 2, "uniqueItems": True}, "uniqueItems"),
        ({"type": "object", "required": ["x"], "additionalProperties": False}, "forbids"),
        ({"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]}, "no finite instance"),
        (False, "no value"),
    ],
)
def test_what_cannot_be_satisfied_is_refused(schema, words):
    with pytest.raises(SchemaError, match=words):
        make_instance(schema, "seed")
