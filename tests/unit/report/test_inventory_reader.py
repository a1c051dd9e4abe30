# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the reader adds to the variables: facts of the hosts and checkpoints on the controller."""

from __future__ import annotations

from ansible.parsing.dataloader import DataLoader
from ansible_collections.inferops.gpustack.plugins.plugin_utils import _inventory_reader


class HostVars(dict):
    def raw_get(self, host):
        return self[host]


def read(models, limit=None, **more):
    facts = {"gpustack_host": {"drivers": {"nvidia": {"userspace": "580.82.07"}}}}
    hosts = HostVars(
        h20={"gpustack_models": models, "ansible_facts": facts},
        bare={"gpustack_models": models},
    )
    groups = {"all": ["h20", "bare"], "gpustack_worker": ["h20", "bare"]}
    variables = {"groups": groups, "hostvars": hosts, "ansible_play_hosts_all": limit}
    return _inventory_reader.read(DataLoader(), variables, **more)


def test_facts_are_read_when_they_are_asked_for():
    assert read([])["facts"] == {}
    assert read([], with_facts=True)["facts"] == {
        "h20": {"drivers": {"nvidia": {"userspace": "580.82.07"}}},
        "bare": None,
    }


def test_a_host_beyond_the_limit_was_not_asked():
    assert list(read([], with_facts=True, limit=["h20"])["facts"]) == ["h20"]


def test_model_directories_of_the_controller_are_read(tmp_path):
    for name in ("target", "draft"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text('{"model_type": "qwen3"}', encoding="utf-8")
    entries = [
        {"path": str(tmp_path / "target"), "draft_path": str(tmp_path / "draft")},
        {"path": "/nonexistent"},
        {"path": 5},
    ]
    checkpoints = read([{"name": "a", "deployments": entries}])["checkpoints"]
    assert sorted(checkpoints) == [str(tmp_path / "draft"), str(tmp_path / "target")]
    assert [each["config"] for each in checkpoints.values()] == [{"model_type": "qwen3"}] * 2


def test_models_of_any_form_are_read_without_a_traceback():
    for models in (None, "text", {"a": 1}, [1, {"deployments": "x"}, {"deployments": [1, {}]}]):
        assert read(models)["checkpoints"] == {}
