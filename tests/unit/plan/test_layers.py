"""Settings laid over one another: who wins, who is remembered, and that grouping does not matter."""

from __future__ import annotations

from ansible_collections.inferops.gpustack.plugins.plugin_utils._arguments import identity
from ansible_collections.inferops.gpustack.plugins.plugin_utils._layers import Settings
from hypothesis import given
from hypothesis import strategies as st

FLAGS = st.sampled_from(["a", "b", "c", "no-a", "no-c"])
VALUES = st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=3))
LAYERS = st.dictionaries(FLAGS, VALUES, max_size=5)


def layer(name, values):
    return Settings.of(name, values, key=identity)


def effective(settings):
    return [(written.name, written.value, written.layer) for written, replaced in settings.items()]


@given(LAYERS, LAYERS, LAYERS)
def test_layers_merge_associatively(low, middle, high):
    one, two, three = layer("1", low), layer("2", middle), layer("3", high)
    assert one.under(two).under(three) == one.under(two.under(three))
    assert effective(one.under(two).under(three)) == effective(one.under(two.under(three)))


@given(LAYERS)
def test_an_empty_layer_changes_nothing(values):
    settings, empty = layer("1", values), layer("2", {})
    assert settings.under(empty) == settings == empty.under(settings)


def test_the_last_one_wins_keeps_the_place_and_remembers():
    merged = layer("low", {"x": 1, "y": 2}).under(layer("high", {"y": 3, "x": 1, "z": 4}))
    assert effective(merged) == [("x", 1, "high"), ("y", 3, "high"), ("z", 4, "high")]
    assert [[earlier.value for earlier in replaced] for written, replaced in merged.items()] == [[1], [2], []]


def test_none_takes_out_and_a_higher_layer_can_put_it_back():
    without = layer("low", {"x": 1}).under(layer("middle", {"x": None}))
    assert effective(without) == []
    assert [chain[-1].layer for chain in without.removed()] == ["middle"]
    assert effective(without.under(layer("high", {"x": 2}))) == [("x", 2, "high")]


def test_a_given_order_comes_first_and_the_rest_follows_as_written():
    settings = layer("1", {"zeta": 1, "b": 2, "no-a": True, "alpha": 3})
    names = [written.name for written, replaced in settings.items(order=["a", "missing", "b"])]
    assert names == ["no-a", "b", "zeta", "alpha"]


def test_sources_stay_with_their_values():
    settings = Settings.of("1", {"x": 1}, {"x": "page 3"})
    ((written, replaced),) = settings.items()
    assert written.as_dict() == {"name": "x", "value": 1, "layer": "1", "source": "page 3"}
