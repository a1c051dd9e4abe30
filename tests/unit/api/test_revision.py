# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which instances count as started before the last change."""

from __future__ import annotations

import pytest
from ansible_collections.inferops.gpustack.plugins.module_utils import _revision

OLD = {"id": 7, "image_name": "engine:1", "env": {"A": "1"}, "backend_parameters": ["--x"], "replicas": 2, "meta": {}}


def instance(number, state="running", restarts=0):
    return {"id": number, "model_id": 7, "name": f"i{number}", "state": state, "restart_count": restarts}


def changed(model, instances, **fields):
    after = dict(model, **fields)
    return dict(after, meta=_revision.meta_with(model, _revision.new_record(model, after, instances)))


def names(model, instances):
    return [one["name"] for one in _revision.outdated(model, instances)]


def test_the_instances_that_ran_at_the_change():
    before = [instance(1), instance(2, "starting"), instance(3, "pending")]
    assert names(changed(OLD, before, image_name="engine:2"), before) == ["i1", "i2"]


def test_new_and_restarted_instances_are_not():
    model = changed(OLD, [instance(1), instance(2)], image_name="engine:2")
    assert names(model, [instance(1, restarts=1), instance(2), instance(9)]) == ["i2"]


@pytest.mark.parametrize("fields", [{"replicas": 5}, {"description": "x"}, {"categories": ["llm"]}])
def test_some_changes_need_no_new_instance(fields):
    assert changed(OLD, [instance(1)], **fields)["meta"] == {}


def test_a_change_taken_back_needs_none_either():
    model = changed(OLD, [instance(1)], image_name="engine:2")
    assert names(changed(model, [instance(1)], image_name="engine:1"), [instance(1)]) == []


def test_one_that_came_in_between_is_not_forgotten():
    """It has the second specification, so going back to the first makes it outdated."""
    model = changed(OLD, [instance(1)], image_name="engine:2")
    both = [instance(1), instance(2)]
    model = changed(model, both, image_name="engine:1")
    assert names(model, both) == ["i1", "i2"]


def test_a_changed_secret_counts():
    old = dict(OLD, env={"HF_TOKEN": "one"})
    assert names(changed(old, [instance(1)], env={"HF_TOKEN": "two"}), [instance(1)]) == ["i1"]


def test_the_digest_holds_no_secret():
    assert _revision.digest(dict(OLD, env={"HF_TOKEN": "one"})) == _revision.digest(dict(OLD, env={"HF_TOKEN": "two"}))


def test_the_digest_sees_no_difference_between_ways_to_say_nothing():
    spelled = dict(OLD, run_command="", gpu_selector={"gpu_ids": None, "gpus_per_replica": None}, worker_selector={})
    assert _revision.digest(spelled) == _revision.digest(OLD)


def test_other_keys_of_meta_stay():
    model = dict(OLD, meta={"n_params": 3})
    with_record = changed(model, [instance(1)], image_name="engine:2")
    assert with_record["meta"]["n_params"] == 3
    assert _revision.meta_with(with_record, None) == {"n_params": 3}


def test_every_instance_can_be_made_outdated():
    both = [instance(1), instance(2, restarts=3)]
    model = dict(OLD, meta=_revision.meta_with(OLD, _revision.record_all(OLD, both)))
    assert names(model, both) == ["i1", "i2"]
