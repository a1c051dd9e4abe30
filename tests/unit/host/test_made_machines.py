"""Every made machine: what the probe says of it is what its golden file says, and fits the published schema."""

from __future__ import annotations

import json

import jsonschema
import pytest
import yaml
from made_machine import MACHINES, REPOSITORY, ids, probe

GOLDEN = REPOSITORY / "tests/golden/machines"
SCHEMA = json.loads((REPOSITORY / "docs/host-facts.schema.json").read_text())
# A tool that hangs costs the whole time limit; the others must not be hurried by a busy machine.
SECONDS = {"hung_tool": 4}


def facts_of(name, directory):
    MACHINES[name](directory)
    return probe(directory, timeout=SECONDS.get(name, 30))


def compare(expected, found, where):
    """Mappings may hold more than expected, lists may not."""
    if isinstance(expected, dict) and isinstance(found, dict):
        for key, value in expected.items():
            assert key in found, f"{where}.{key}"
            compare(value, found[key], f"{where}.{key}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), f"{where}: {found}"
        for index, value in enumerate(expected):
            compare(value, found[index], f"{where}[{index}]")
    else:
        assert (where, found) == (where, expected)


def test_every_machine_has_its_golden_file():
    assert {path.stem for path in GOLDEN.glob("*.yml")} == set(MACHINES)
    assert len(MACHINES) >= 24


@pytest.mark.parametrize("name", sorted(MACHINES))
def test_made_machine(name, tmp_path):
    found = facts_of(name, tmp_path)
    jsonschema.validate(found, SCHEMA)
    expected = yaml.safe_load((GOLDEN / f"{name}.yml").read_text())
    assert ids(found) == expected.pop("findings")
    compare(expected, found, name)


def test_a_golden_file_that_is_wrong_is_noticed(tmp_path):
    found = facts_of("no_accelerator", tmp_path)
    for wrong in ({"drivers": {"nvidia": {"loaded": ""}}}, {"page_size": 65536}, {"no_such_fact": None}):
        with pytest.raises(AssertionError):
            compare(wrong, found, "host")
