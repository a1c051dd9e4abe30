# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waiting: read, judge, sleep; on a monotonic clock, with growing pauses, and with the last object in every error.

A module cannot print while it runs. So the action plugin of the modules that wait asks for slices: a module that has
waited for one ends with `waiting`, the action prints a line and starts the module again. Called in any other way, a
module waits to the end.
"""

from __future__ import annotations

import random
import time

from ansible_collections.inferops.gpustack.plugins.module_utils._errors import GpustackError, WaitTimeout

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 15.0

#: A slice ends when there is something new to tell, and now and then to tell that there is not.
SHORTEST_SLICE = 10
LONGEST_SLICE = 60

#: To be added to a module's options. Documented in the fragment `inferops.gpustack.waits`.
OPTION = {"wait_slice": {"type": "dict"}}

PHASE = "phase"


class StillWaiting(Exception):
    """The end of a slice. No GpustackError, because nothing is wrong."""

    def __init__(self, waiting, done):
        super().__init__(waiting["for"])
        self.result = dict(done, waiting=waiting)


def go_on_after(error, given):
    """End a slice in which the server was away before the wait could be taken up again: with StillWaiting, or not."""
    phase = ((given or {}).get("memory") or {}).get(PHASE)
    spent = phase and given["elapsed"] - phase["since"]
    if not phase or not error.passing or spent >= phase["timeout"]:
        return
    time.sleep(SHORTEST_SLICE)
    waiting = {"for": error.message, "spent": round(spent), "timeout": phase["timeout"], "memory": given["memory"]}
    raise StillWaiting(waiting, error.results)


class Wait:
    """The waiting of one task, over all its slices.

    `memory` is carried from slice to slice, so whatever a judge remembers between two readings belongs there. It
    travels as JSON: keys are texts. `done` is what the module has changed so far (`changed`, `actions`, `diff`), for
    the case that it ends here.
    """

    def __init__(self, given=None, clock=None, sleep=None):
        self._clock, self._sleep = clock or time.monotonic, sleep or time.sleep
        self._begun = self._clock()
        self._sliced = given is not None
        given = given or {}
        self._before = given.get("elapsed") or 0
        self._said = given.get("said")
        self.memory = given.get("memory") or {}
        self.done = {}

    @classmethod
    def of(cls, module):
        return cls(module.params["wait_slice"])

    def elapsed(self):
        """Seconds since the task began, earlier slices included."""
        return self._before + self._in_slice()

    def until(self, what, read, judge, timeout, hint="", since=None):
        """Call `read()` until `judge(object)` returns None, and return the object.

        `judge` returns why the object is not good yet, and raises TerminalState when waiting cannot help. An error of
        `read` that may pass by itself counts as not good yet. With `timeout` 0 there is exactly one reading.
        The time counts from here; `since=0` counts it from the task's beginning.
        """
        try:
            return self._until(what, read, judge, timeout, hint, self._since(what, since))
        except GpustackError as error:
            error.results = dict(self.done, **error.results)
            raise

    def _until(self, what, read, judge, timeout, hint, since):
        pause = FIRST_PAUSE
        last = None
        advice = hint
        while True:
            try:
                last = read()
                reason, advice = judge(last), hint
            except GpustackError as error:
                if not error.passing or timeout <= 0:
                    raise
                reason, advice = error.message, error.hint
            if reason is None:
                self._forget(what)
                return last
            spent = self.elapsed() - since
            if spent >= timeout:
                raise WaitTimeout(f"{what}: not after {timeout} s. {_sentence(reason)}", last, advice)
            if self._sliced and self._in_slice() >= (SHORTEST_SLICE if reason != self._said else LONGEST_SLICE):
                self.memory[PHASE] = {"what": what, "since": since, "timeout": timeout}
                waiting = {"for": reason, "spent": round(spent), "timeout": timeout, "memory": self.memory}
                raise StillWaiting(waiting, self.done)
            self._sleep(min(timeout - spent, random.uniform(pause / 2, pause), self._until_news()))
            pause = min(LONGEST_PAUSE, pause * 1.5)

    def _in_slice(self):
        return self._clock() - self._begun

    def _until_news(self):
        """The longest pause that does not miss the moment from which news may be told."""
        left = SHORTEST_SLICE - self._in_slice()
        return max(left, 0.1) if self._sliced and left > 0 else LONGEST_PAUSE

    def _since(self, what, since):
        phase = self.memory.get(PHASE) or {}
        if phase.get("what") == what:
            return phase["since"]
        return self.elapsed() if since is None else since

    def _forget(self, what):
        if (self.memory.get(PHASE) or {}).get("what") == what:
            del self.memory[PHASE]


def _sentence(text):
    text = text.strip()
    return text if text.endswith((".", "!")) else text + "."
