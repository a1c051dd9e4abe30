"""The made machines of tests/fixtures/machines, and the probe run on one of them."""

from __future__ import annotations

from pathlib import Path

import yaml
from ansible_collections.inferops.gpustack.plugins.filter.pci_profiles import pci_profiles
from ansible_collections.inferops.gpustack.plugins.module_utils._host import gather
from fixtures.machines import make

REPOSITORY = Path(__file__).parents[3]
MACHINES = make.MACHINES
nvidia = make.nvidia
Tree = nvidia.Tree
SWITCHES = yaml.safe_load((REPOSITORY / "roles/host_probe/vars/main.yml").read_text())["__host_probe_switches"]


def probe(directory, **options):
    """What host_facts gathers with the device table that the role hands over."""
    defaults = {
        "sysroot": str(directory),
        "devices": pci_profiles([]) + SWITCHES,
        "engine_socket": str(directory / "no.sock"),
        "manifest": str(directory / "no-manifest.json"),
        "checkpoints": [],
        "paths": [],
        "controller_time": None,
        "timeout": 30,
    }
    return gather({**defaults, **options})


def ids(facts):
    return [finding["id"] for finding in facts["findings"]]
