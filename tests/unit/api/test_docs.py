# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the modules document is what they take."""

from __future__ import annotations

import importlib
import pathlib

import pytest
import yaml
from ansible_collections.inferops.gpustack.plugins.module_utils import _args
from api_playback import MODULES

NAMES = [
    "api_key",
    "api_key_info",
    "chat_probe",
    "cluster",
    "cluster_info",
    "engine_log_info",
    "gpu_device_info",
    "inference_backend",
    "inference_backend_info",
    "model",
    "model_evaluation_info",
    "model_file",
    "model_file_info",
    "model_info",
    "model_instance_info",
    "model_route",
    "model_route_info",
    "registration_token",
    "server_info",
    "user",
    "user_info",
    "worker",
    "worker_info",
]
FRAGMENTS = "ansible_collections.inferops.gpustack.plugins.doc_fragments."
ROOT = pathlib.Path(__file__).parents[3]


class Enough(Exception):
    pass


class AnsibleYaml(yaml.SafeLoader):
    """YAML with Ansible's tag for texts that are no templates."""


AnsibleYaml.add_constructor("!unsafe", yaml.SafeLoader.construct_yaml_str)


def documented(options):
    keys = ("type", "required", "default", "choices", "elements")
    found = {}
    for name, option in options.items():
        found[name] = {key: option[key] for key in keys if option.get(key) not in (None, False)}
        if "suboptions" in option or "options" in option:
            found[name]["options"] = documented(option.get("suboptions") or option["options"])
    return found


def pages_of(module):
    """Its own documentation, and the fragments of that."""
    own = yaml.safe_load(module.DOCUMENTATION)
    pages = [own]
    for fragment in own["extends_documentation_fragment"]:
        file, _, part = fragment.partition("inferops.gpustack.")[2].partition(".")
        text = getattr(importlib.import_module(FRAGMENTS + file).ModuleDocFragment, (part or "documentation").upper())
        pages.append(yaml.safe_load(text))
    return pages


def options_of(module):
    return {name: option for page in pages_of(module) for name, option in (page.get("options") or {}).items()}


def support_of(module):
    """What it says of each attribute: whether, and with which restriction, it supports it."""
    found = [page.get("attributes") or {} for page in pages_of(module)]
    return {name: page[name]["support"] for page in found for name in page if "support" in page[name]}


@pytest.mark.parametrize("name", NAMES)
def test_documentation_equals_argument_spec(name, monkeypatch):
    module = importlib.import_module(MODULES + name)
    taken = {}

    def record(argument_spec, **limits):
        taken.update(argument_spec)
        assert limits["supports_check_mode"] is True
        raise Enough

    monkeypatch.setattr(_args, "UnloggedModule", record)
    with pytest.raises(Enough):
        module.main()
    assert documented(taken) == documented(options_of(module))


@pytest.mark.parametrize("name", NAMES)
def test_documentation_is_complete(name):
    module = importlib.import_module(MODULES + name)
    documentation = yaml.safe_load(module.DOCUMENTATION)
    assert documentation["module"] == name
    assert documentation["version_added"] == "0.1.0"
    support = support_of(module)
    assert support["check_mode"] == "full"
    assert support["diff_mode"] in ("full", "none")
    for task in yaml.load(module.EXAMPLES, AnsibleYaml):
        for action, options in task.items():
            if action.startswith("inferops.gpustack."):
                assert set(options) <= set(options_of(importlib.import_module(MODULES + action.rpartition(".")[2])))
    assert all(one["returned"] for one in yaml.safe_load(module.RETURN).values())


def test_action_group_holds_every_module():
    runtime = yaml.safe_load((ROOT / "meta" / "runtime.yml").read_text())
    assert set(NAMES) <= set(runtime["action_groups"]["gpustack"])
