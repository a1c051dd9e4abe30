"""The check for a machine with a card: it accepts what fits and tells what does not."""

from __future__ import annotations

import copy
import json

import device_check
import jsonschema
import pytest
from made_machine import MACHINES, REPOSITORY, probe

SCHEMA = json.loads((REPOSITORY / "docs/host-facts.schema.json").read_text())
TABLE = "{index}, GPU-00000000-0000-0000-0000-0000000000{bus}, NVIDIA L40S, 46068, 575.57.08, [N/A]\n"
LISTED = "GPU {index}: NVIDIA L40S (UUID: GPU-00000000-0000-0000-0000-0000000000{bus})\n"
BUSES = ("01", "25", "81", "a5")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    directory = tmp_path_factory.mktemp("l40s")
    MACHINES["l40s_4"](directory)
    return probe(directory)


@pytest.fixture
def nvidia_smi(monkeypatch):
    def answer(table, listed):
        texts = {"-L": listed}
        monkeypatch.setattr(device_check, "tool", lambda *arguments: texts.get(arguments[0], table))

    return answer


def unlike(facts):
    return device_check.unlike_schema(facts, SCHEMA, SCHEMA["$defs"], "facts")


def test_real_facts_fit(made):
    assert unlike(made) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda facts: facts.pop("clock"), "facts.clock is missing"),
        (lambda facts: facts["clock"].update(more=1), "facts.clock.more is not in the schema"),
        (lambda facts: facts.update(page_size=True), "facts.page_size: bool instead of integer or null"),
        (lambda facts: facts["accelerators"][1].update(health="fine"), "facts.accelerators[1].health: 'fine' is none"),
        (lambda facts: facts["drivers"]["nvidia"].update(cuda="13"), "facts.drivers.nvidia.cuda: '13' does not match"),
        (lambda facts: facts["checkpoints"].update({"/m": {}}), "facts.checkpoints./m.path is missing"),
    ],
)
def test_what_does_not_fit_is_told_as_the_validator_tells_it(made, change, said):
    facts = copy.deepcopy(made)
    change(facts)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(facts, SCHEMA)
    assert any(problem.startswith(said) for problem in unlike(facts)), unlike(facts)


def test_facts_that_agree_with_nvidia_smi(made, nvidia_smi):
    rows = list(enumerate(BUSES))
    nvidia_smi(
        "".join(TABLE.format(index=index, bus=bus) for index, bus in rows),
        "".join(LISTED.format(index=index, bus=bus) for index, bus in rows),
    )
    assert device_check.unlike_tool(made) == []


def test_facts_that_differ_from_nvidia_smi(made, nvidia_smi):
    nvidia_smi(TABLE.format(index=0, bus="ff").replace("46068", "1"), LISTED.format(index=0, bus="01"))
    problems = device_check.unlike_tool(made)
    assert problems[0] == "4 cards in the facts, 1 in nvidia-smi -L"
    assert [problem.split(" is ")[0] for problem in problems[1:]] == ["card 0: uuid", "card 0: memory_bytes"]


def test_a_silent_nvidia_smi_is_no_agreement(made, nvidia_smi):
    nvidia_smi(None, None)
    assert device_check.unlike_tool(made) == [
        "4 cards in the facts, 0 in nvidia-smi -L",
        "nvidia-smi --query-gpu gave no table",
    ]
