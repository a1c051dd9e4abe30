"""The filters as a playbook finds and calls them; their refusals in place."""

from __future__ import annotations

import importlib
import os
import pathlib
import subprocess
import sys

import pytest
from ansible.errors import AnsibleFilterError

REPOSITORY = pathlib.Path(__file__).parents[3]
PLAYBOOK = pathlib.Path(__file__).parent / "filters.yml"


def filter_of(name):
    module = importlib.import_module(f"ansible_collections.inferops.gpustack.plugins.filter.{name}")
    return module.FilterModule().filters()[name]


def test_every_filter_from_a_playbook():
    command = [sys.executable, "-m", "ansible", "playbook", "-i", "localhost,", str(PLAYBOOK)]
    environment = dict(os.environ, ANSIBLE_CONFIG=str(REPOSITORY / "ansible.cfg"), ANSIBLE_NOCOLOR="1")
    done = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("everything", [True, [], ""])
def test_pci_profiles_of_all_vendors(everything):
    assert {card["vendor"] for card in filter_of("pci_profiles")(everything)} == {"nvidia", "ascend"}


BROKEN_MODEL = {"name": "m", "family": "x", "deployments": [{"accelerator": "y", "path": "/"}]}


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("accelerator_profile", ["nope"]),
        ("artefact_image", ["nope"]),
        ("image_reference", ["a b"]),
        ("missing_images", [["a b"], []]),
        ("plan", [[BROKEN_MODEL]]),
        ("launch_args", [["x"]]),
        ("launch_args", ["--x"]),
        ("launch_args", [{}, "rocm"]),
        ("launch_env", [{"A": True}]),
        ("launch_env", [["A"]]),
    ],
)
def test_a_filter_names_itself_when_it_refuses(name, arguments):
    with pytest.raises(AnsibleFilterError, match=f"^{name}: "):
        filter_of(name)(*arguments)
