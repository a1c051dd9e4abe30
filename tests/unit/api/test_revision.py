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


FILLED_UP = ("gpu_selector", "extended_kv_cache", "speculative_config")


@pytest.mark.parametrize("field", ["run_command", "env", "backend_parameters", "worker_selector", *FILLED_UP])
def test_empty_is_empty(field):
    spelled = [dict(OLD, **{field: empty}) for empty in (None, {}, [], "")]
    assert not any(_revision.differs(one, other) for one in spelled for other in spelled)


@pytest.mark.parametrize("field", FILLED_UP)
def test_keys_without_a_value_are_none(field):
    filled_up = dict(OLD, **{field: {"gpu_ids": None, "gpus_per_replica": None}})
    assert not _revision.differs(OLD, filled_up)
    assert not _revision.differs(filled_up, dict(OLD, **{field: {}}))
    written = dict(OLD, **{field: {"gpu_ids": ["a:cuda:0"], "gpus_per_replica": None}})
    assert not _revision.differs(written, dict(OLD, **{field: {"gpu_ids": ["a:cuda:0"]}}))
    assert _revision.differs(written, filled_up)


@pytest.mark.parametrize("field", ["env", "worker_selector"])
def test_an_empty_value_of_a_variable_is_one(field):
    """An engine may look only whether there is such a variable."""
    assert _revision.differs(dict(OLD, **{field: None}), dict(OLD, **{field: {"A": ""}}))
    assert _revision.digest(dict(OLD, **{field: None})) != _revision.digest(dict(OLD, **{field: {"A": ""}}))


def test_another_spelling_of_empty_leaves_no_record():
    before = dict(OLD, env={}, backend_parameters=[], gpu_selector=None)
    assert changed(before, [instance(1)], env=None, backend_parameters=None, replicas=3)["meta"] == {}
