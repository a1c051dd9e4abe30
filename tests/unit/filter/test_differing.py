# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.inferops.gpustack.plugins.filter.differing import differing

FOUND = {
    "id": 4,
    "name": "a",
    "env": {"A": "1"},
    "image_name": None,
    "backend_parameters": ["--x", "--y"],
    "replicas": 0,
    "targets": [{"model": "m", "weight": 1, "state": "active"}, {"model": "n", "weight": 3, "state": "active"}],
}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"env": {"A": "1"}},
        {"image_name": ""},
        {"backend_parameters": ["--x", "--y"]},
        {"replicas": 0},
        {"targets": [{"model": "n", "weight": 3}, {"model": "m", "weight": 1}]},
    ],
)
def test_nothing_to_do(options):
    assert differing([dict(options, name="a")], [FOUND]) == []


@pytest.mark.parametrize(
    "options",
    [
        {"env": {}},
        {"env": {"A": "1", "B": "2"}},
        {"image_name": "engine:1"},
        {"backend_parameters": ["--y", "--x"]},
        {"replicas": 1},
        {"targets": [{"model": "n", "weight": 3}]},
        {"targets": [{"model": "n", "weight": 3}, {"model": "m", "weight": 2}]},
        {"targets": [{"model": "m", "weight": 1}, {"model": "m", "weight": 1}]},
        {"unknown_option": "x"},
    ],
)
def test_something_to_do(options):
    wanted = dict(options, name="a")
    assert differing([wanted], [FOUND]) == [wanted]


def test_keys_with_other_names():
    same, other = {"name": "a", "image": "", "more": 1}, {"name": "a", "image": "engine:1"}
    assert differing([same, other], [FOUND], {"image": "image_name"}) == [other]


def test_a_missing_one():
    assert differing([{"name": "b"}], [FOUND]) == [{"name": "b"}]


def test_a_hidden_secret_cannot_be_compared():
    found = dict(FOUND, env={"HF_TOKEN": "********"})
    for value in ("secret", "********"):
        wanted = {"name": "a", "env": {"HF_TOKEN": value}}
        assert differing([wanted], [found]) == [wanted]


@pytest.mark.parametrize(
    ("wanted", "found"), [("a", []), ([{"name": "a"}], None), ([{"id": 1}], []), ([{"name": []}], [])]
)
def test_bad_input(wanted, found):
    with pytest.raises(AnsibleFilterError, match="differing: "):
        differing(wanted, found)


def test_bad_options():
    with pytest.raises(AnsibleFilterError, match="options is not a dictionary"):
        differing([{"name": "a"}], [FOUND], "image")


def test_no_value_of_the_input_in_a_message():
    with pytest.raises(AnsibleFilterError) as caught:
        differing([{"id": 1, "env": {"HF_TOKEN": "canary"}}], [])
    assert "canary" not in str(caught.value)
