"""The two command lines of report C, order included."""

from __future__ import annotations

import pathlib

import pytest
import yaml
from ansible_collections.inferops.gpustack.plugins.plugin_utils._plan import plan as launch_plan

GOLDEN = pathlib.Path(__file__).parents[2] / "golden" / "report_c.yml"
MODEL = {
    "name": "deepseek-v4-flash",
    "family": "deepseek_v4",
    "dspark": True,
    "deployments": [
        {"accelerator": "nvidia_h20_3e", "path": "/srv/models/DeepSeek-V4-Flash-0731"},
        {"accelerator": "ascend_910b", "path": "/srv/models/DeepSeek-V4-Flash-0731-w8a8", "max_model_len": 500000},
    ],
}


@pytest.mark.parametrize(("index", "key"), [(0, "h20"), (1, "ascend")])
def test_launch_command_is_the_one_of_the_report(index, key):
    golden = yaml.safe_load(GOLDEN.read_text(encoding="utf-8"))[key]
    deployment = launch_plan([MODEL])["deployments"][index]
    assert deployment["parameters"] == golden["parameters"]
    assert list(deployment["env"].items()) == list(golden["env"].items())


def test_production_length_of_the_910b_is_the_default():
    entry = {"accelerator": "ascend_910b", "path": "/srv/models/x"}
    plan = launch_plan([dict(MODEL, deployments=[entry])])
    assert plan["deployments"][0]["parameters"][0] == "--max-model-len=128000"
