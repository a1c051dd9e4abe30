# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from types import SimpleNamespace

import pytest
from ansible_collections.inferops.gpustack.plugins.module_utils import _resource
from ansible_collections.inferops.gpustack.plugins.module_utils._errors import GpustackError
from ansible_collections.inferops.gpustack.plugins.module_utils._resource import Field, Resource

THING = Resource(
    kind="thing",
    path="/v2/things",
    fields=(
        Field("name"),
        Field("note", default_none=True),
        Field("size", type="int", api_name="sizeInApi"),
        Field("tags", type="list", compare=lambda one, other: sorted(one) == sorted(other or [])),
        Field("origin", create_only=True),
        Field("pin", secret=True),
        Field("state", server_owned=True),
        Field("kind", server_fills=True),
    ),
    echo=("kept",),
)
CURRENT = {
    "id": 7,
    "name": "a",
    "note": None,
    "sizeInApi": 1,
    "tags": ["x", "y"],
    "origin": "here",
    "pin": "1234",
    "state": "ready",
    "kind": "chosen",
    "kept": True,
    "updated_at": "now",
}


def test_argument_spec():
    spec = _resource.argument_spec(THING)
    assert spec["size"] == {"type": "int"}
    assert spec["pin"] == {"type": "str", "no_log": True}
    assert "state" not in spec


def test_unset_is_not_managed():
    wanted = _resource.desired(THING, {"name": "a", "note": None, "size": None, "tags": None, "pin": None})
    assert wanted == {"name": "a"}
    assert _resource.differences(THING, wanted, CURRENT) == {}


@pytest.mark.parametrize("empty", ["", [], {}])
@pytest.mark.parametrize("stored", [None, "", [], {}])
def test_empty_equals_null(empty, stored):
    assert _resource.differences(THING, {"note": empty}, dict(CURRENT, note=stored)) == {}


def test_empty_clears():
    current = dict(CURRENT, note="old")
    assert _resource.differences(THING, {"note": ""}, current) == {"note": ("old", "")}
    assert _resource.update_payload(THING, {"note": ""}, current)["note"] is None


@pytest.mark.parametrize("empty", ["", [], {}])
def test_empty_lets_the_server_choose(empty):
    """What it chose is neither a difference nor taken back by a change of something else."""
    wanted = {"kind": empty, "size": 2}
    assert _resource.differences(THING, wanted, CURRENT) == {"size": (1, 2)}
    assert _resource.update_payload(THING, wanted, CURRENT)["kind"] == "chosen"
    diff = _resource.diff_of(THING, wanted, CURRENT)
    assert diff["before"]["kind"] == diff["after"]["kind"] == "chosen"
    assert _resource.create_payload(THING, {"name": "a", "kind": empty})["kind"] == empty


@pytest.mark.parametrize("value", [0, False])
def test_zero_and_false_are_values(value):
    assert _resource.desired(THING, {"size": value}) == {"size": value}
    assert _resource.differences(THING, {"size": value}, CURRENT) == {"size": (1, value)}


def test_own_comparison():
    assert _resource.differences(THING, {"tags": ["y", "x"]}, CURRENT) == {}


def test_create_only_is_not_compared():
    assert _resource.differences(THING, {"origin": "elsewhere"}, CURRENT) == {}
    assert "origin" not in _resource.update_payload(THING, {"origin": "elsewhere", "size": 2}, CURRENT)
    assert _resource.create_payload(THING, {"name": "a", "origin": "here"}) == {"name": "a", "origin": "here"}


def test_update_is_laid_over_the_current_object():
    assert _resource.update_payload(THING, {"size": 2}, CURRENT) == {
        "name": "a",
        "note": None,
        "sizeInApi": 2,
        "tags": ["x", "y"],
        "pin": "1234",
        "kind": "chosen",
        "kept": True,
    }


def test_diff_hides_secrets_and_shows_that_they_change():
    text = str(_resource.diff_of(THING, {"name": "a", "pin": "5678"}, CURRENT))
    assert "1234" not in text
    assert "5678" not in text
    diff = _resource.diff_of(THING, {"name": "a", "pin": "5678"}, CURRENT)
    assert diff["before"]["pin"] != diff["after"]["pin"]
    same = _resource.diff_of(THING, {"name": "a", "pin": "1234"}, CURRENT)
    assert same["before"]["pin"] == same["after"]["pin"]


class Recorder:
    def __init__(self):
        self.calls = []

    def __getattr__(self, verb):
        def call(path, body=None):
            self.calls.append((verb, path, body))
            return dict(body or {}, id=7)

        return call


def listing(*things):
    return SimpleNamespace(list_all=lambda path, **filters: list(things))


def test_two_of_one_name_are_not_guessed_between():
    a, other = {"id": 7, "name": "a"}, {"id": 8, "name": "ab"}
    assert _resource.find(listing(other, a), THING, "a") == a
    assert _resource.find(listing(other), THING, "a") is None
    with pytest.raises(GpustackError) as caught:
        _resource.find(listing(other, a, {"id": 9, "name": "a"}), THING, "a")
    assert caught.value.reason == "Ambiguous"
    assert caught.value.message == "There are 2 of thing a, in different organizations: id 7, 9."


def sync(wanted, current, check=False):
    client = Recorder()
    return _resource.sync(client, THING, wanted, current, check), client.calls


def test_sync_creates():
    result, calls = sync({"name": "a", "size": 2}, None)
    assert calls == [("post", "/v2/things", {"name": "a", "sizeInApi": 2})]
    assert (result["changed"], result["actions"], result["object"]["id"]) == (True, ["create thing"], 7)


def test_sync_leaves_alone():
    result, calls = sync({"name": "a", "size": 1}, CURRENT)
    assert calls == []
    assert result == {"changed": False, "diff": {}, "actions": [], "object": CURRENT}


def test_sync_updates():
    result, calls = sync({"name": "a", "size": 2}, CURRENT)
    assert [(verb, path) for verb, path, _ in calls] == [("put", "/v2/things/7")]
    assert result["actions"] == ["update thing: size"]
    assert result["diff"]["before"]["size"] == 1
    assert result["diff"]["after"]["size"] == 2


def test_sync_deletes():
    result, calls = sync(None, CURRENT)
    assert calls == [("delete", "/v2/things/7", None)]
    assert (result["changed"], result["object"]) == (True, None)


def test_sync_of_absent_and_gone():
    result, calls = sync(None, None)
    assert (result["changed"], calls) == (False, [])


@pytest.mark.parametrize(("wanted", "current"), [({"name": "a"}, None), ({"size": 2}, CURRENT), (None, CURRENT)])
def test_sync_in_check_mode_sends_nothing(wanted, current):
    result, calls = sync(wanted, current, check=True)
    assert result["changed"] is True
    assert calls == []


def test_create_only_fields_are_in_the_diff_of_a_creation_only():
    wanted = {"name": "a", "size": 2, "origin": "here"}
    assert _resource.diff_of(THING, wanted, None)["after"] == wanted
    diff = _resource.diff_of(THING, wanted, CURRENT)
    assert "origin" not in diff["before"]
    assert "origin" not in diff["after"]
    assert _resource.diff_of(THING, None, CURRENT)["after"] == {}
