"""Every kind that the judgement of hosts knows is found on the host made for it, and told in words that help."""

from __future__ import annotations

import ast
import pathlib
import re

import made_hosts
import pytest
from ansible_collections.inferops.gpustack.plugins.plugin_utils import _check_host_facts, _data, _findings, _kinds

PLUGINS = pathlib.Path(__file__).resolve().parents[3] / "plugins"
CASES = sorted(path.stem for path in made_hosts.CORPUS.glob("*.yml") if path.stem != "sound")
FINDING = re.compile(r"(ERROR|WARNING|NOTE) (\w+)")
OF_HOSTS = {name for name, kind in _kinds.kinds().items() if kind.get("of_hosts")}
# Found by plan.yml; tests/unit/plan/test_plan_from_facts.py tests these.
OF_THE_PLAN = {"checkpoint_differs", "host_not_read"}


def judged(case):
    made = _check_host_facts.check(made_hosts.site(case, count=case.get("hosts", 1)))
    return _check_host_facts.merged(made)


def test_the_sound_host_has_no_finding():
    assert judged(made_hosts.load("sound")) == []


@pytest.mark.parametrize("name", CASES)
def test_the_mistake_is_found_and_told(name):
    case = made_hosts.load(name)
    matches = [FINDING.fullmatch(line) for line in case["expect"]]
    texts = [line for line, match in zip(case["expect"], matches) if not match]
    findings = judged(case)
    report = _findings.table(findings)
    assert {each.id: each.severity.upper() for each in findings} == {
        match.group(2): match.group(1) for match in matches if match
    }, report
    assert [each.id for each in findings] == [name], report
    assert texts
    for text in texts:
        assert text in " ".join(report.split()), report


def words(directory):
    return {
        node.value
        for path in sorted((PLUGINS / directory).glob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def test_every_kind_is_found_by_the_judgement_and_has_a_case_or_by_the_probe():
    by_the_probe = OF_HOSTS & words("module_utils")
    assert set(CASES) == OF_HOSTS - by_the_probe - OF_THE_PLAN


def test_what_the_probe_finds_is_known_with_its_severity():
    """As far as its source says both in one place."""
    called = {
        (node.args[0].value, node.args[1].value, path.name)
        for path in sorted((PLUGINS / "module_utils").glob("*.py"))
        if path.name != "_placement.py"  # about instances, for verify
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and getattr(node.func, "id", "") == "finding"
        and all(isinstance(argument, ast.Constant) for argument in node.args[:2])
    }
    assert len(called) > 15
    catalogue = {(kind, entry["severity"]) for kind, entry in _data.load("findings.yml").items() if kind in OF_HOSTS}
    assert {each for each in called if each[:2] not in catalogue} == set()
