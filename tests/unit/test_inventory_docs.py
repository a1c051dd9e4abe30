# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/inventory.md is what its generator makes of the data now."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parents[2] / "tools" / "inventory_docs.py"


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("inventory_docs", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_page_is_up_to_date(tool):
    assert tool.main(["--check"]) == 0, "run tools/inventory_docs.py and commit docs/inventory.md"


def test_check_notices_a_difference_and_writes_nothing(tool, tmp_path):
    page = tmp_path / "inventory.md"
    assert tool.main(["--check"], page) == 1
    assert not page.exists()
    tool.main([], page)
    assert tool.main(["--check"], page) == 0
    edited = page.read_text().replace("`gpustack_version`", "`gpustack_release`")
    page.write_text(edited)
    assert tool.main(["--check"], page) == 1
    assert page.read_text() == edited


@pytest.mark.parametrize(
    "line",
    [
        "| `gpustack_cluster_name` | str | site | `default` | Name of the GPUStack cluster the workers join. |",
        "| `dspark` | bool | `false` | Speculative decoding with the model's DSpark draft. |",
        "| `sampling` | str: `greedy`, `probabilistic` |  | How the draft samples. |",
        "| `accelerator` | str | required | Accelerator profile. |",
        "| `nvidia_h20_3e` | NVIDIA H20-3e | `10de:232c` |",
        "## `gpustack_models[].deployments[]`",
    ],
)
def test_the_page_says(tool, line):
    assert line in tool.render().splitlines()


def test_secrets_and_variables_without_default_are_marked(tool):
    row = next(line for line in tool.render().splitlines() if line.startswith("| `gpustack_admin_password` |"))
    assert "none: set it" in row
    assert row.endswith("*Secret.* |")
