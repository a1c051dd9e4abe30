# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.inferops.gpustack.plugins.module_utils._errors import (
    GpustackError,
    TerminalState,
    Unreachable,
    WaitTimeout,
)
from ansible_collections.inferops.gpustack.plugins.module_utils._wait import wait_for


class Clock:
    def __init__(self):
        self.now = 100.0
        self.pauses = []

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.pauses.append(seconds)
        self.now += seconds


def wait(readings, judge, timeout=60):
    clock = Clock()
    readings = iter(readings)

    def read():
        one = next(readings)
        if isinstance(one, Exception):
            raise one
        return one

    return wait_for("Waiting", read, judge, timeout, clock=clock, sleep=clock.sleep), clock


def until_ready(state):
    return None if state == "ready" else f"it is {state}"


def test_ready_at_once():
    found, clock = wait(["ready"], until_ready)
    assert found == "ready"
    assert clock.pauses == []


def test_pauses_grow_and_stay_bounded():
    _, clock = wait(["pending"] * 12 + ["ready"], until_ready, timeout=3600)
    assert 0.5 <= clock.pauses[0] <= 1.0
    assert all(7.5 <= pause <= 15.0 for pause in clock.pauses[-3:])


def test_timeout_carries_the_last_object_and_its_reason():
    with pytest.raises(WaitTimeout) as caught:
        wait(["pending"] * 99, until_ready, timeout=5)
    assert caught.value.last == "pending"
    assert caught.value.message == "Waiting: not after 5 s. it is pending."


def test_no_time_is_one_reading():
    with pytest.raises(WaitTimeout):
        wait(["pending"], until_ready, timeout=0)


def test_last_pause_ends_at_the_deadline():
    clock = Clock()
    with pytest.raises(WaitTimeout):
        wait_for("Waiting", lambda: "pending", until_ready, 7, clock=clock, sleep=clock.sleep)
    assert sum(clock.pauses) == pytest.approx(7)


def test_terminal_state_ends_at_once():
    def judge(state):
        raise TerminalState("it is broken")

    with pytest.raises(TerminalState):
        wait(["error"], judge)


def test_passing_error_is_not_the_end():
    found, _ = wait([Unreachable("no route"), "ready"], until_ready)
    assert found == "ready"


def test_lasting_error_is_the_end():
    with pytest.raises(GpustackError, match="wrong password"):
        wait([GpustackError("wrong password"), "ready"], until_ready)


def test_passing_error_at_the_deadline_is_the_reason():
    with pytest.raises(WaitTimeout, match="no route"):
        wait([Unreachable("no route")] * 99, until_ready, timeout=5)
