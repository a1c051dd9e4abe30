"""Facts in shapes that no probe gives: they count as unknown, and the judgement goes on."""

from __future__ import annotations

import copy

import made_hosts
import pytest
from ansible_collections.inferops.gpustack.plugins.plugin_utils import _check_host_facts, _facts_shape, _probe_text
from ansible_collections.inferops.gpustack.plugins.plugin_utils._site import Site

CHECKPOINT = {
    "path": "/srv/models/flash",
    "readable": True,
    "config": {"dspark_target_layer_ids": [1, 2], "num_hidden_layers": 4},
    "tensors": 9,
    "weight_bytes": 10**9,
    "draft": {"stages": [0], "tensors": 3, "main_proj": True, "main_norm": True, "markov_head": True},
}
SOUND = made_hosts.inventory({"facts": {"checkpoints": {CHECKPOINT["path"]: CHECKPOINT}}})["facts"]["h20-01"]
WRONG = [None, "x", -1, 1e308, True, [None], ["x"], {"a": None}]


def paths(value, path=()):
    """Every key of the facts; of a list the first entry stands for all."""
    entries = list(value.items()) if isinstance(value, dict) else []
    entries += list(enumerate(value))[:1] if isinstance(value, list) else []
    for key, item in entries:
        yield (*path, key)
        if key != "config":
            yield from paths(item, (*path, key))


def judged(facts):
    site = Site({**made_hosts.inventory(), "facts": {"h20-01": facts}})
    pairs = _check_host_facts.check(site)
    return pairs, _probe_text.text(site, pairs), _probe_text.document(site, pairs)


def test_sound_facts_stay_as_they_are():
    assert _facts_shape.fitting(SOUND) == SOUND


@pytest.mark.parametrize("facts", [[], "x", 1, True])
def test_facts_that_are_no_mapping_are_not_read(facts):
    pairs, text, document = judged(facts)
    assert pairs == []
    assert "h20-01  not read" in text
    assert document["hosts"][0]["read"] is False


@pytest.mark.parametrize("path", list(paths(SOUND)), ids=lambda path: "/".join(map(str, path)))
def test_a_wrong_value_anywhere_ends_nothing(path):
    *parents, last = path
    for wrong in WRONG:
        facts = copy.deepcopy(SOUND)
        holder = facts
        for key in parents:
            holder = holder[key]
        holder[last] = wrong
        assert judged(facts)[2]["hosts"][0]["read"], wrong
    del holder[last]
    assert judged(facts)[2]["hosts"][0]["read"]
