"""Every rule about the plan fires on the case made for it, says what helps, and is silent once the case is fixed.

tests/bad_plans/README.md says how a case is made.
"""

from __future__ import annotations

import difflib
import re

import pytest
import yaml
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.vars.hostvars import HostVars
from ansible.vars.manager import VariableManager
from ansible_collections.inferops.gpustack.plugins.plugin_utils import (
    _data,
    _findings,
    _inventory_reader,
    _kinds,
    _preflight,
    _profiles,
    _rules,
)
from unit.ansible_run import REPOSITORY, playbook

CASES = sorted(path.parent for path in (REPOSITORY / "tests" / "bad_plans").glob("*/expect.txt"))
RULES = {rule["id"]: rule for rule in _data.load("rules.yml")}
FINDING = re.compile(r"(ERROR|WARNING|NOTE) ([a-z_]+)")
PROFILES = _profiles.Profiles()


def read(folder):
    """An inventory as preflight gets it, with what facts.yml says of its hosts and checkpoints."""
    loader = DataLoader()
    manager = InventoryManager(loader, sources=[str(folder / "hosts.yml")])
    variables = VariableManager(loader, manager)
    hostvars = HostVars(manager, variables, loader)
    inventory = _inventory_reader.read(loader, {**variables.get_vars(), "hostvars": hostvars})
    facts = folder / "facts.yml"
    return {**inventory, **(yaml.safe_load(facts.read_text(encoding="utf-8")) if facts.exists() else {})}


def files(folder):
    return {path.name: path.read_text(encoding="utf-8").splitlines() for path in folder.iterdir()}


def expected(case):
    """({kind: severity}, texts) of expect.txt."""
    lines = (case / "expect.txt").read_text(encoding="utf-8").splitlines()
    matches = [FINDING.fullmatch(line) for line in lines]
    kinds = {match.group(2): match.group(1) for match in matches if match}
    return kinds, [line for line, match in zip(lines, matches) if not match]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_mistake_is_one_line(case):
    bad, fixed = files(case / "bad"), files(case / "fixed")
    assert bad.keys() == fixed.keys()
    (changed,) = (name for name in bad if bad[name] != fixed[name])
    changes = difflib.SequenceMatcher(None, bad[changed], fixed[changed]).get_opcodes()
    ((unused, start, end, other_start, other_end),) = (part for part in changes if part[0] != "equal")
    assert max(end - start, other_end - other_start) == 1


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_mistake_is_found_and_told(case):
    kinds, texts = expected(case)
    assert kinds
    assert texts
    findings = _preflight.check(read(case / "bad"))
    report = _findings.table(findings)
    assert {finding.id: finding.severity.upper() for finding in findings} == kinds, report
    told = " ".join(report.split())
    for text in texts:
        assert text in told, report


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_fixed_inventory_has_no_finding(case):
    findings = _preflight.check(read(case / "fixed"))
    assert not findings, _findings.table(findings)


def test_every_rule_has_a_case():
    assert {kind for case in CASES for kind in expected(case)[0]} == set(RULES)


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_a_rule_is_complete(rule):
    texts = ("title", "title_zh", "when", "found", "expected", "fix", "source")
    assert all(isinstance(rule[key], str) and rule[key].strip() for key in texts)
    assert re.search("[\u4e00-\u9fff]", rule["title_zh"])
    assert rule["severity"] in _findings.SEVERITIES
    assert isinstance(rule["acceptable"], bool)
    assert rule.get("of", "deployment") in ("deployment", "route")
    assert set(rule) <= {*texts, "id", "of", "of_hosts", "at", "severity", "acceptable"}


def test_every_kind_has_one_name():
    assert not RULES.keys() & _data.load("findings.yml").keys()
    assert len(RULES) == len(_data.load("rules.yml"))
    assert _kinds.kinds().keys() == RULES.keys() | _data.load("findings.yml").keys()


def site(model, accelerator):
    """The smallest site that can be planned."""
    common = {"gpustack_models": [model]}
    return {
        "groups": {"gpustack_server": ["server"], "gpustack_worker": ["worker"]},
        "hosts": {"server": common, "worker": {**common, "gpustack_accelerator": accelerator}},
    }


@pytest.mark.parametrize(
    ("family", "accelerator"),
    [(family, accelerator) for family in PROFILES.families() for accelerator in PROFILES.served_by(family)],
)
def test_no_rule_speaks_of_a_sound_profile(family, accelerator):
    """Other than of the two things no profile can decide: the length, and DSpark on a card whose engine is too old."""
    profile = PROFILES.family(family)
    entry = {"accelerator": accelerator, "path": "/srv/models/m"}
    if profile["layouts"] == ["draft"]:
        entry["draft_path"] = "/srv/models/d"
    old = {"dspark_engine_too_old"} if accelerator == "ascend_310p" else set()
    for dspark in {False, profile["speculative"]}:
        model = {"name": "m", "family": family, "dspark": dspark, "deployments": [entry]}
        found = {finding.id for finding in _preflight.check(site(model, accelerator))} & RULES.keys()
        assert found - {"max_model_len_missing"} == (old if dspark else set())


def test_a_declared_image_with_the_kernel_and_a_pair_of_the_site_lift_the_refusal():
    image = "registry.example.com/vllm-sm80:0.25.0"
    entry = {"accelerator": "nvidia_a100_80", "path": "/srv/models/m", "image": image}
    inventory = site({"name": "m", "family": "deepseek_v4", "dspark": True, "deployments": [entry]}, "nvidia_a100_80")
    pair = {"arguments": {"max-model-len": 32768, "tensor-parallel-size": 4, "max-num-seqs": 16}}
    declared = {"engine": "vllm", "engine_version": "0.25.0", "platform": "cuda", "compute_capabilities": [8]}
    steps = [
        ({}, {"family_unsupported_on_accelerator", "image_undeclared"}),
        ({"gpustack_engine_images": {image: declared}}, {"pair_missing"}),
        ({"gpustack_profiles": {"pairs": {"deepseek_v4__nvidia_a100_80": pair}}}, set()),
    ]
    for more, left in steps:
        for values in inventory["hosts"].values():
            values.update(more)
        assert {finding.id for finding in _preflight.check(inventory)} & RULES.keys() == left


@pytest.mark.parametrize(
    ("model", "entry", "accelerator", "kinds"),
    [
        # The release to write is told once, and where DSpark cannot be on the engine's release is not the matter.
        ({"family": "deepseek_v41"}, {"engine_version": "0.24.0"}, "nvidia_h200", {"parser_too_new"}),
        ({"family": "generic"}, {"engine_version": "0.24.0"}, "nvidia_h200", {"dspark_unsupported_family"}),
    ],
)
def test_one_cause_is_told_with_one_fix(model, entry, accelerator, kinds):
    entry = {"accelerator": accelerator, "path": "/srv/models/m", "max_model_len": 8192, **entry}
    inventory = site({"name": "m", "dspark": True, **model, "deployments": [entry]}, accelerator)
    assert {finding.id for finding in _preflight.check(inventory)} & RULES.keys() == kinds


@pytest.mark.parametrize("name", ["vllm/vllm-openai", "registry.example.com/ai/vllm"])
def test_a_digest_alone_is_not_called_latest(name):
    image = f"{name}@sha256:{'8b3c5e0f' * 8}"
    entry = {"accelerator": "nvidia_h20", "path": "/srv/models/m", "image": image}
    inventory = site({"name": "m", "family": "deepseek_v4", "deployments": [entry]}, "nvidia_h20")
    (finding,) = (
        each for each in _preflight.check(inventory) if each.id.startswith("image_") and "unlocked" not in each.id
    )
    assert finding.found.startswith(image)
    assert f"{image}: {{engine: vllm" in finding.fix


def test_a_checkpoint_whose_weights_cannot_be_listed_is_not_called_one_without_a_draft():
    inventory = read(REPOSITORY / "tests" / "bad_plans" / "dspark_checkpoint_without_draft" / "bad")
    inventory["checkpoints"]["/srv/models/flash"].update(tensors=None, weight_bytes=None, shards=None)
    assert _preflight.check(inventory) == []


@pytest.mark.parametrize(
    ("version", "comparison", "holds"),
    [
        ("0.25.0", "<0.25", False),
        ("0.25.1", "==0.25", True),
        ("0.25.1rc1", "<0.25.1", False),
        ("0.24.0rc1", "<0.24", False),
        ("0.26.0", ">=0.25, <0.27", True),
        ("0.27.0", ">=0.25, <0.27", False),
        ("0.9.2", "<0.10", True),
        ("535.154.05", "<580.65.06", True),
        ("580.65.06", "<580.65.06", False),
        (None, "<9", False),
        ("nightly", "<9", False),
        (f"580.{'9' * 5000}", "<9", False),
    ],
)
def test_a_release_is_compared_as_far_as_the_comparison_goes(version, comparison, holds):
    assert _rules.is_release(version, comparison) is holds


def test_a_rule_that_asks_for_a_fact_nobody_has_is_an_error(monkeypatch):
    rule = {**RULES["path_is_draft"], "when": "nonsense"}
    monkeypatch.setattr(_rules, "_rules", lambda subject: [_rules._Rule(rule)])
    with pytest.raises(_rules.RuleError, match="rule path_is_draft: 'nonsense' is undefined"):
        list(_rules.findings("deployment", {}, "here"))


def test_the_plan_of_a_bad_site_ends_with_2_and_tells_why():
    case = REPOSITORY / "tests" / "bad_plans" / "dspark_engine_too_old"
    done = playbook("playbooks/plan.yml", "-i", case / "bad" / "hosts.yml")
    told = " ".join(done.stdout.split())
    assert done.returncode == 2, done.stdout + done.stderr
    for text in expected(case)[1]:
        assert text in told, done.stdout
