"""What field reports ask for and what inventories/prod becomes, as typed in tests/golden."""

from __future__ import annotations

import pathlib

import pytest
import yaml
from ansible_collections.inferops.gpustack.plugins.plugin_utils import _plan, _preflight, _site, _site_plan
from site_reader import read

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
PROD = REPOSITORY / "inventories" / "prod"


def golden(name):
    return yaml.safe_load((REPOSITORY / "tests" / "golden" / f"{name}.yml").read_text(encoding="utf-8"))


def cases(of):
    return [(name, card, expected) for name in ("report_a", "report_b") for card, expected in golden(name)[of].items()]


def qwen3(card, **more):
    entry = {"accelerator": card, "path": "/srv/models/Qwen3-8B-AWQ", "draft_path": "/srv/models/draft", **more}
    return {"name": "m", "family": "qwen3", "dspark": True, "deployments": [entry]}


@pytest.mark.parametrize(("report", "card", "expected"), cases("runs"))
def test_what_runs_on_these_cards(report, card, expected):
    (planned,) = _plan.plan([qwen3(card)])["deployments"]
    assert planned["parameters"] == expected["parameters"]
    assert planned["env"] == expected["env"]


def site(model, card, cards=4):
    common = {"gpustack_models": [model]}
    worker = {**common, "gpustack_accelerator": card, "gpustack_accelerator_count": cards}
    return {
        "groups": {"gpustack_server": ["server"], "gpustack_worker": ["worker"]},
        "hosts": {"server": common, "worker": worker},
    }


def about_models(inventory):
    return [finding for finding in _preflight.check(inventory) if finding.where.startswith("gpustack_models")]


@pytest.mark.parametrize(("report", "card", "capability"), cases("refused"))
def test_deepseek_v4_is_refused_there_with_advice(report, card, capability):
    entry = {"accelerator": card, "path": "/srv/models/DeepSeek-V4-Flash-0731"}
    model = {"name": "m", "family": "deepseek_v4", "dspark": True, "deployments": [entry]}
    (refusal,) = [finding for finding in about_models(site(model, card)) if finding.severity == "error"]
    assert refusal.id == "family_unsupported_on_accelerator"
    assert capability in refusal.found
    # Where this model runs, what runs here with DSpark, and how an image of one's own lifts it.
    for advice in ("nvidia_h20_3e", "ascend_910b", "qwen3", "draft_path", "gpustack_engine_images"):
        assert advice in refusal.fix


@pytest.mark.parametrize(("report", "card", "capability"), cases("refused"))
def test_an_image_that_declares_the_kernels_lifts_it(report, card, capability):
    entry = {"accelerator": card, "path": "/srv/models/x", "image": "registry.example.com/vllm:1"}
    model = {"name": "m", "family": "deepseek_v4", "dspark": True, "deployments": [entry]}
    inventory = site(model, card)
    declared = {"engine": "vllm", "engine_version": "0.25.0", "platform": "cuda", "compute_capabilities": [8]}
    for values in inventory["hosts"].values():
        values["gpustack_engine_images"] = {"registry.example.com/vllm:1": declared}
    assert "family_unsupported_on_accelerator" not in [finding.id for finding in about_models(inventory)]


def test_two_instances_on_four_a100_find_cards():
    inventory = site(qwen3("nvidia_a100_80", replicas=2), "nvidia_a100_80")
    assert [finding for finding in _preflight.check(inventory) if finding.id.startswith("cards_")] == []


@pytest.fixture(scope="module")
def prod():
    inventory = read(PROD)
    # Of the vault that everybody has to make.
    inventory["unreadable"] = {}
    for values in inventory["hosts"].values():
        values["gpustack_admin_password"] = "Harbour.Crane7"
    whole = _site.Site(inventory)
    return _site_plan.document(whole, _preflight.check(inventory), "inventory")


def test_prod_becomes_these_deployments(prod):
    wanted, reports = golden("prod"), golden("report_c")
    assert len(prod["deployments"]) == len(wanted["deployments"])
    for planned, expected in zip(prod["deployments"], wanted["deployments"]):
        report, instead = reports[expected.pop("like")], expected.pop("instead", {})
        assert {key: planned[key] for key in expected} == expected
        assert planned["parameters"] == [instead.get(each, each) for each in report["parameters"]]
        assert planned["env"] == report["env"]
        assert all(value["layer"] and value["source"] for value in planned["values"])


def test_prod_has_these_routes_images_hosts_and_findings(prod):
    wanted = golden("prod")
    assert prod["routes"] == wanted["routes"]
    assert prod["images"] == wanted["images"]
    assert [host["name"] for host in prod["hosts"]] == wanted["hosts"]
    assert [f"{each['severity']} {each['id']}" for each in prod["findings"]] == wanted["findings"]
