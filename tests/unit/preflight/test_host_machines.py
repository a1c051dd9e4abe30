"""The made machines that the probe is tested with, judged: what people are told of each."""

from __future__ import annotations

import made_hosts
import pytest
import yaml
from ansible_collections.inferops.gpustack.plugins.plugin_utils import _check_host_facts, _kinds
from ansible_collections.inferops.gpustack.plugins.plugin_utils._site import Site

GOLDEN = made_hosts.CORPUS.parent / "golden" / "machines"
MACHINES = sorted(path.stem for path in GOLDEN.glob("*.yml"))
# (machine, what its host declares, cards) to the kinds of the judgement, those of the probe not counted.
JUDGED = [
    ("h20_3e_8", "nvidia_h20_3e", 8, []),
    ("h20_8", "nvidia_h20", 8, []),
    ("h20_8", "nvidia_h20_3e", 8, ["accelerator_differs"]),
    ("a100_sxm_8", "nvidia_a100_80", 8, ["driver_below_minimum"]),
    ("rtx_4090", "nvidia_rtx_4090", 1, []),
    ("rtx_4090_and_3080", "nvidia_rtx_4090", 1, ["accelerators_mixed"]),
    ("no_driver", "nvidia_l40s", 2, ["driver_missing"]),
    ("no_accelerator", "nvidia_h20", 8, ["accelerator_not_found"]),
    ("wsl2", "nvidia_rtx_4090", 1, []),
    ("ascend_910b_8", "ascend_910b", 8, []),
    ("ascend_910c_16", "ascend_910c", 16, []),
    ("ascend_910c_16", "ascend_910b", 8, ["accelerator_differs"]),
    ("ascend_310p_duo", "ascend_310p", 8, []),
    ("ascend_910a_called_910b", "ascend_910b", 4, ["accelerator_differs"]),
    ("ascend_ids_with_gaps", "ascend_310p", 8, ["accelerator_count_fewer"]),
]


def golden(machine):
    return yaml.safe_load((GOLDEN / f"{machine}.yml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("machine", "accelerator", "cards", "kinds"), JUDGED)
def test_a_machine_is_judged_beside_what_it_declares(machine, accelerator, cards, kinds):
    made = made_hosts.inventory()
    made["hosts"]["h20-01"].update(
        gpustack_accelerator=accelerator, gpustack_accelerator_count=cards, gpustack_models=[]
    )
    made["facts"]["h20-01"].update(golden(machine), findings=[])
    assert [finding.id for unused, finding in _check_host_facts.check(Site(made))] == kinds


@pytest.mark.parametrize("machine", MACHINES)
def test_what_the_probe_finds_on_a_machine_is_a_known_kind(machine):
    assert set(golden(machine)["findings"]) <= _kinds.kinds().keys()
