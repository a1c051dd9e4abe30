# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json

import pytest
from ansible_collections.inferops.gpustack.plugins.module_utils._errors import (
    GpustackError,
    TerminalState,
    Unreachable,
    WaitTimeout,
)
from ansible_collections.inferops.gpustack.plugins.module_utils._wait import StillWaiting, Wait, go_on_after


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

    return Wait(clock=clock, sleep=clock.sleep).until("Waiting", read, judge, timeout), clock


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
        Wait(clock=clock, sleep=clock.sleep).until("Waiting", lambda: "pending", until_ready, 7)
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


class Site:
    """Something that changes while the clock runs, and a caller that runs a waiting module in slices."""

    def __init__(self, state, body=None):
        self.clock = Clock()
        self.state = state
        self.body = body or self.wait
        self.told = []

    def read(self):
        return self.state(self.clock.now - 100)

    def wait(self, wait):
        return wait.until("Waiting", self.read, until_ready, 1800)

    def run(self):
        begun, said, memory = self.clock.now, None, {}
        while True:
            given = {"elapsed": self.clock.now - begun, "said": said, "memory": json.loads(json.dumps(memory))}
            try:
                return self.body(Wait(given, self.clock, self.clock.sleep))
            except StillWaiting as pause:
                waiting = pause.result["waiting"]
                said, memory = waiting["for"], waiting["memory"]
                self.told.append((self.clock.now - begun, said, waiting["spent"], waiting["timeout"]))
                self.results = pause.result
                self.clock.now += 2


def test_short_wait_is_one_slice():
    site = Site(lambda now: "pending" if now < 9 else "ready")
    assert site.run() == "ready"
    assert site.told == []


def test_news_is_told_every_ten_seconds():
    site = Site(lambda now: f"at {now:.0f} %" if now < 600 else "ready")
    assert site.run() == "ready"
    moments = [moment for moment, *_ in site.told]
    gaps = [later - earlier for earlier, later in zip([0, *moments], moments)]
    assert min(gaps) >= 10
    assert max(gaps) < 10.2 + 2
    assert site.told[-1][1] == f"it is at {site.told[-1][0]:.0f} %"


def test_no_news_is_told_every_minute():
    site = Site(lambda now: "pending" if now < 600 else "ready")
    site.run()
    moments = [moment for moment, *_ in site.told]
    gaps = [later - earlier for earlier, later in zip(moments, moments[1:])]
    assert 10 <= moments[0] < 10.2
    assert gaps
    assert all(60 <= gap <= 60 + 15 + 2 for gap in gaps)


def test_slices_share_one_timeout():
    site = Site(lambda now: "pending")
    with pytest.raises(WaitTimeout, match="not after 1800 s"):
        site.run()
    assert 1900 <= site.clock.now <= 1903
    assert [(round(moment), timeout) for moment, *_, timeout in site.told] == [
        (spent, 1800) for _, _, spent, _ in site.told
    ]


def two_waits(since):
    def body(wait):
        wait.until("First", lambda: wait.elapsed(), lambda now: None if now > 50 else "first", 60)
        return wait.until(
            "Second", lambda: wait.elapsed(), lambda now: None if now > 100 else "second", 60, since=since
        )

    return body


def test_each_wait_has_its_own_time():
    site = Site(None, two_waits(None))
    assert site.run() > 100
    spent = [spent for _, said, spent, _ in site.told if said == "second"]
    assert all(seconds < 60 for seconds in spent)


def test_waits_may_share_their_time():
    with pytest.raises(WaitTimeout, match="Second: not after 60 s"):
        Site(None, two_waits(0)).run()


def test_memory_goes_along():
    def body(wait):
        readings = wait.memory.setdefault("readings", [])

        def judge(now):
            readings.append(now)
            return None if now > 100 else f"at {now}"

        wait.until("Waiting", wait.elapsed, judge, 600)
        return readings

    site = Site(None, body)
    readings = site.run()
    assert len(site.told) > 3
    assert readings == sorted(readings)
    assert readings[0] < 1


def test_what_was_done_is_in_every_ending():
    def body(wait):
        wait.done = {"changed": True, "actions": ["label worker"]}
        wait.until("Waiting", lambda: "pending", until_ready, 30)

    site = Site(None, body)
    with pytest.raises(WaitTimeout) as caught:
        site.run()
    assert site.results["actions"] == caught.value.results["actions"] == ["label worker"]


def test_caller_without_slices_waits_to_the_end():
    clock = Clock()
    state = Site(lambda now: "pending" if now < 900 else "ready")
    state.clock = clock
    assert state.wait(Wait(None, clock, clock.sleep)) == "ready"


def test_the_hint_is_that_of_the_last_error():
    error = Unreachable("no answer", hint="Check url.")
    with pytest.raises(WaitTimeout) as caught:
        wait(["pending"] + [error] * 60, until_ready)
    assert caught.value.hint == "Check url."


AWAY = Unreachable("no answer", changed=True)
PHASE_OF = {"phase": {"what": "Waiting", "since": 5, "timeout": 60}, "seen": 3}


def test_an_outage_between_two_slices_is_waited_for():
    with pytest.raises(StillWaiting) as caught:
        go_on_after(AWAY, {"elapsed": 25, "said": "it is pending", "memory": PHASE_OF})
    waiting = {"for": "no answer", "spent": 20, "timeout": 60, "memory": PHASE_OF}
    assert caught.value.result == {"waiting": waiting, "changed": True}


@pytest.mark.parametrize(
    ("error", "given"),
    [
        (AWAY, None),
        (AWAY, {"elapsed": 0, "said": None, "memory": {}}),
        (AWAY, {"elapsed": 65, "said": None, "memory": PHASE_OF}),
        (GpustackError("wrong"), {"elapsed": 25, "said": None, "memory": PHASE_OF}),
    ],
)
def test_what_ends_a_wait_between_two_slices(error, given):
    go_on_after(error, given)


def test_a_module_goes_on_after_an_outage(run):
    given = {"elapsed": 25, "said": "it is pending", "memory": PHASE_OF}
    result = run("model", url="http://127.0.0.1:9", name="qwen", wait=True, wait_slice=given)
    assert result["waiting"]["memory"] == PHASE_OF
    assert "does not answer" in result["waiting"]["for"]
    assert "failed" not in result
