"""Nothing that may be secret is in the document of a plan, and nothing in it is lost that is none."""

from __future__ import annotations

import copy
import json

import pytest
from ansible_collections.inferops.gpustack.plugins.plugin_utils import (
    _plan_text,
    _preflight,
    _report,
    _site,
    _site_plan,
)

SECRET = "S3cr3t.value"
DEPLOYMENT = {"accelerator": "nvidia_h20_3e", "path": "/srv/models/x"}


def site(entry=None, **variables):
    entry = {**DEPLOYMENT, **(entry or {})}
    model = {"name": "m", "family": "deepseek_v4", "dspark": True, "deployments": [entry]}
    common = {"gpustack_models": [model], **variables}
    return {
        "groups": {"gpustack_server": ["server"], "gpustack_worker": ["worker"]},
        "hosts": {"server": common, "worker": {**common, "gpustack_accelerator": "nvidia_h20_3e"}},
    }


def everything(inventory):
    """All that people and files get to see of a plan."""
    findings = _preflight.check(inventory)
    document = _site_plan.document(_site.Site(copy.deepcopy(inventory)), findings, "inventory")
    return json.dumps(document) + _plan_text.text(document, findings) + _report.page({"plan": document}, "en")


@pytest.mark.parametrize(
    "inventory",
    [
        site({"env": {"HF_TOKEN": SECRET}}),
        site({"env": {f"HF_TOKEN={SECRET}": "x"}}),
        site({"args": {"hf-token": SECRET}}),
        site({"args": {"hf-token": f"ab,{SECRET}"}}),
        site({"args": {"api-keys": [SECRET]}}),
        site({"args": {f"hf-token={SECRET}": True}}),
        site({"args": {"kv-transfer-config": json.dumps({"kv_password": SECRET})}}),
        site({"args": {"kv-transfer-config": {"deep": [{"password": SECRET}]}}}),
        site({"args": {"kv-transfer-config": {"urls": [f"redis://user:{SECRET}@host"]}}}),
        site({"args": {"download-dir": f"https://user:{SECRET}@host/x"}}),
        site({"path": f"s3://key:{SECRET}@host/x"}),
        site(gpustack_profiles={"families": {"deepseek_v4": {"env": {"HF_TOKEN": SECRET}}}}),
        site(gpustack_profiles={"families": {"deepseek_v4": {"arguments": {"hf-token": SECRET}}}}),
        site(
            {"env": {"HF_TOKEN": "x"}, "args": {"hf-token": None}},
            gpustack_profiles={
                "families": {"deepseek_v4": {"env": {"HF_TOKEN": SECRET}, "arguments": {"hf-token": SECRET}}}
            },
        ),
        site(gpustack_registry_rewrites={"docker.io": f"user:{SECRET}@registry.example.com/x"}),
        site(gpustack_artefacts_lock={"docker.io/vllm/vllm-openai:v0.25.0": f"https://user:{SECRET}@host"}),
    ],
)
def test_a_secret_is_shown_nowhere(inventory):
    assert SECRET not in everything(inventory)


def test_what_is_no_secret_is_shown():
    entry = {
        "args": {"max-num-batched-tokens": 4096, "override-generation-config": {"max_new_tokens": 12}, "seed": 1},
        "image": "registry.example.com/vllm@sha256:"
        + "8b3c5e0f6d1a49b7a2e8f4c3d6907b1e5a4f2c8d9e0b7a6135c4d2f1e8b9a0c7",
    }
    shown = everything(site(entry))
    for text in ("--max-num-batched-tokens=4096", "max_new_tokens", "registry.example.com/vllm@sha256:8b3c5e"):
        assert text in shown


def test_the_plan_itself_holds_what_the_engine_needs():
    (planned,) = _site_plan.of_site(_site.Site(site({"env": {"HF_TOKEN": SECRET}, "args": {"hf-token": SECRET}})))
    assert planned.plan["env"]["HF_TOKEN"] == SECRET
    assert f"--hf-token={SECRET}" in planned.plan["parameters"]
