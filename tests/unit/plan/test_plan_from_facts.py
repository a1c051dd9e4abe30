# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is found with the facts of hosts: who was not read, and whose model directories differ."""

from __future__ import annotations

import pytest
from ansible_collections.inferops.gpustack.plugins.plugin_utils import _check_facts, _site_plan
from ansible_collections.inferops.gpustack.plugins.plugin_utils._site import Site

H20 = "nvidia_h20_3e"
PATH = "/srv/models/flash"
HERE = {
    "path": PATH,
    "readable": True,
    "problem": None,
    "config": {"model_type": "deepseek_v4", "quantization_config": {"quant_method": "fp8"}},
    "tensors": 70000,
    "weight_bytes": 167_000_000_000,
}
GONE = dict(HERE, readable=False, problem=f"{PATH}: No such file or directory", config=None, weight_bytes=None)


def site(*checkpoints):
    """A site with one host for each, which has this in the model directory; None was not read."""
    entry = {"accelerator": H20, "path": PATH}
    models = [{"name": "flash", "family": "deepseek_v4", "deployments": [entry]}]
    names = [f"h20-{number}" for number in range(1, len(checkpoints) + 1)]
    facts = {
        name: found and {"drivers": {"nvidia": {"userspace": "580.82.07"}}, "checkpoints": {PATH: found}}
        for name, found in zip(names, checkpoints)
    }
    hosts = {name: {"gpustack_accelerator": H20, "gpustack_models": models} for name in names}
    return {"groups": {"gpustack_worker": names}, "hosts": hosts, "facts": facts}


def found(kind, *checkpoints):
    return [finding for finding in _check_facts.check(Site(site(*checkpoints))) if finding.id == kind]


def test_each_host_that_was_asked_and_not_read_is_named():
    assert [(each.where, each.severity) for each in found("host_not_read", None, HERE, None)] == [
        ("h20-1", "note"),
        ("h20-3", "note"),
    ]
    made = _site_plan.document(Site(site(None, HERE)), [], "facts")
    assert [host["read"] for host in made["hosts"]] == [False, True]


@pytest.mark.parametrize("checkpoints", [(HERE, HERE), (GONE, GONE), (HERE, None)])
def test_hosts_that_agree_are_no_finding(checkpoints):
    assert found("checkpoint_differs", *checkpoints) == []


@pytest.mark.parametrize("order", [1, -1])
def test_a_host_without_the_checkpoint_is_not_hidden_by_the_others(order):
    checkpoints = (HERE, GONE)[::order]
    (finding,) = found("checkpoint_differs", *checkpoints)
    assert finding.where == "gpustack_models[0] (flash).deployments[0].path"
    with_it, without_it = ("h20-1", "h20-2")[::order]
    assert f"nothing that can be read on {without_it}" in finding.found
    assert (
        "family deepseek_v4, format fp8, 167,000,000,000 bytes of weights, without a DSpark draft on "
        f"{with_it}" in finding.found
    )
    (planned,) = _site_plan.of_site(Site(site(*checkpoints)))
    assert (planned.plan["checkpoint"]["readable"], planned.plan["checkpoint"]["read_on"]) == (True, with_it)


@pytest.mark.parametrize(
    "other",
    [
        {"weight_bytes": 1},
        {"config": {"model_type": "qwen3"}},
        {"quant_description": True},
    ],
)
def test_each_difference_counts(other):
    assert len(found("checkpoint_differs", HERE, dict(HERE, **other))) == 1


def test_the_checkpoint_of_the_controller_is_told_as_that():
    inventory = dict(site(None), checkpoints={PATH: HERE})
    (planned,) = _site_plan.of_site(Site(inventory))
    assert planned.plan["checkpoint"]["read_on"] == "this machine"
