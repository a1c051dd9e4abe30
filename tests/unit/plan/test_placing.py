"""Which instances find cards."""

from __future__ import annotations

import time

import pytest
from ansible_collections.inferops.gpustack.plugins.plugin_utils._placing import Wanted, left_over


def missing(wanted, hosts):
    return [(each.name, count) for each, count in left_over(wanted, hosts)]


@pytest.mark.parametrize(
    ("wanted", "hosts", "expected"),
    [
        ([Wanted("a", 8, 0.9, 1)], {"h": 8}, []),
        ([Wanted("a", 8, 0.9, 2)], {"h": 8}, [("a", 1)]),
        # Two claims of more than half a card cannot share it, smaller ones can.
        ([Wanted("a", 8, 0.9, 1), Wanted("b", 1, 0.2, 1)], {"h": 8}, [("b", 1)]),
        ([Wanted("a", 4, 0.5, 4)], {"h": 8}, []),
        ([Wanted("a", 1, 0.3, 1), Wanted("b", 1, 0.6, 1), Wanted("c", 1, 0.1, 1)], {"h": 1}, []),
        # Six free cards on two hosts are no place for an instance of four.
        ([Wanted("a", 4, 0.9, 1)], {"h": 3, "i": 3}, [("a", 1)]),
        ([Wanted("small", 2, 0.9, 2), Wanted("large", 8, 0.9, 1)], {"h": 8, "i": 4}, []),
        ([Wanted("a", 1, 0.9, 0)], {"h": 1}, []),
    ],
)
def test_what_finds_no_place(wanted, hosts, expected):
    assert missing(wanted, hosts) == expected


def test_an_instance_takes_the_host_that_others_need_least():
    wanted = [Wanted("small", 4, 0.9, 1), Wanted("large", 8, 0.9, 1)]
    assert missing(wanted, {"eight": 8, "four": 4}) == []


def test_huge_numbers_take_no_time():
    wanted = [Wanted(str(number), 8, 0.9, 10000) for number in range(20)]
    begin = time.process_time()
    assert sum(count for name, count in missing(wanted, {str(host): 8 for host in range(500)})) == 199500
    assert time.process_time() - begin < 0.5
