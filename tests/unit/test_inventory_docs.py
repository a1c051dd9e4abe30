# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pages in docs/ that are made of data are what their generator makes of it now."""

from __future__ import annotations

import json

import inventory_docs
import pytest
from ansible_collections.inferops.gpustack.plugins.plugin_utils import _data, _kinds, _schema
from jsonschema import Draft202012Validator
from pages import findings, inventory, schema, support

# Value of gpustack_models with one deployment, which a case changes.
DEPLOYMENT = {"accelerator": "nvidia_h20_3e", "path": "/srv/models/a"}
MODEL = {"name": "a", "family": "deepseek_v4", "deployments": [DEPLOYMENT]}


@pytest.fixture(scope="module")
def validator():
    made = json.loads(schema.render())
    Draft202012Validator.check_schema(made)
    return Draft202012Validator(made)


def model(**changes):
    return {"gpustack_models": [{**MODEL, **changes}]}


def deployment(**changes):
    return model(deployments=[{**DEPLOYMENT, **changes}])


def test_pages_are_up_to_date():
    assert inventory_docs.main(["--check"]) == 0, "run tools/inventory_docs.py and commit docs/"


@pytest.mark.parametrize("name", ["findings.md", "inventory.md", "inventory.schema.json", "support.md"])
def test_check_notices_a_difference_and_writes_nothing(name, tmp_path, capsys):
    assert inventory_docs.main(["--check"], tmp_path) == 1
    assert list(tmp_path.iterdir()) == []
    assert inventory_docs.main([], tmp_path) == 0
    assert inventory_docs.main(["--check"], tmp_path) == 0
    page = tmp_path / name
    edited = page.read_text(encoding="utf-8") + "\n"
    page.write_text(edited, encoding="utf-8")
    capsys.readouterr()
    assert inventory_docs.main(["--check"], tmp_path) == 1
    assert name in capsys.readouterr().err
    assert page.read_text(encoding="utf-8") == edited


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
def test_the_page_of_variables_says(line):
    assert line in inventory.render().splitlines()


def test_secrets_and_variables_without_default_are_marked():
    (row,) = [line for line in inventory.render().splitlines() if line.startswith("| `gpustack_admin_password` |")]
    assert "none: set it" in row
    assert row.endswith("*Secret.* |")


def test_the_page_of_findings_has_every_kind():
    kinds = _kinds.kinds()
    rows = [line.split("|") for line in findings.render().splitlines() if line.startswith("| `")]
    told = {row[1].strip(" `"): (row[2].strip(), row[4].strip() == "yes") for row in rows}
    assert told == {name: (kind["severity"], kind["acceptable"]) for name, kind in kinds.items()}


def test_the_page_of_support_calls_no_simulated_card_tested_on_a_host():
    page = support.render()
    assert "| Hosts with Debian 12 | tested on a host |" in page
    assert "| `deepseek_v4` | `nvidia_rtx_4090` | not supported |" in page
    rows = [line for line in page.splitlines() if any(f"`{name}`" in line for name in _data.names("accelerators"))]
    assert len(rows) >= 2 * len(_data.names("accelerators"))
    assert [line for line in rows if "tested on a host" in line] == []


def test_the_page_of_support_has_every_supported_release():
    for release in _data.load("variables.yml")["gpustack_version"]["supported"]:
        assert f"| GPUStack {release} | tested on a host |" in support.render()


@pytest.mark.parametrize(
    "values",
    [
        {},
        None,
        {"gpustack_server_port": 8080, "http_port": "anything", "ansible_user": "root"},
        {"gpustack_server_port": "{{ port }}", "gpustack_models": "{{ models }}", "gpustack_version": "{{ release }}"},
        {"gpustack_server_port": None},
        {"gpustack_server_start_timeout": 60},
        {"verify_anything": {"of": "another project"}},
        model(dspark="{{ site_dspark }}", dspark_options={"tokens": 5, "sampling": "greedy"}),
        model(route={"weights": {"nvidia_h20_3e": 3}}),
        model(deployments=["{{ one }}"]),
        deployment(replicas="per_worker", max_model_len="auto", accelerator="{{ card }}"),
        deployment(args={"max-num-seqs": None, "anything": [1]}, env={"A": "1"}, replicas=0),
    ],
)
def test_the_schema_allows(validator, values):
    assert [error.message for error in validator.iter_errors(values)] == []


@pytest.mark.parametrize(
    "values",
    [
        {"gpustack_version": "v2.3.0"},
        {"gpustack_version": 2.3},
        {"gpustack_server_port": "8080"},
        {"gpustack_server_port": True},
        {"gpustack_server_port": 0},
        {"gpustack_server_port": 65536},
        {"gpustack_allow_public_addresses": "yes"},
        {"gpustack_insecure_registries": "10.0.0.5:5000"},
        {"gpustack_insecure_registries": ["http://10.0.0.5:5000"]},
        {"gpustack_artefacts_lock": []},
        {"gpustack_models": {}},
        model(dspark="true"),
        model(dspark_options={"tokens": 0}),
        model(dspark_options={"sampling": "random"}),
        model(dspark_tokens=7),
        model(deployments=[]),
        model(name=None),
        deployment(replicas="all"),
        deployment(replicas=-1),
        deployment(max_model_len="128k"),
        deployment(path=None),
        deployment(paths="/srv"),
    ],
)
def test_the_schema_refuses_what_preflight_refuses(validator, values):
    ((name, value),) = values.items()
    assert list(_schema.problems(value, _data.load("variables.yml")[name]))
    assert list(validator.iter_errors(values))


@pytest.mark.parametrize(
    "values",
    [
        {"gpustack_server_prot": 80},
        {"gpustack_accelerator": "nvidia_h21"},
        {"gpustack_accept": [{"id": "no_such_kind", "reason": "none"}]},
        {"gpustack_accept": [{"id": "server_missing", "reason": "cannot be accepted"}]},
        {"gpustack_server_start_timeout": "soon"},
        model(family="deepseek"),
        model(route={"weights": {"h20": 1}}),
        model(route={"weights": {"nvidia_h20_3e": -1}}),
        model(route={"weights": {"nvidia_h20_3e": 10001}}),
        deployment(accelerator="h20"),
        ["gpustack_version"],
    ],
)
def test_the_schema_refuses_other_names(validator, values):
    assert list(validator.iter_errors(values))
