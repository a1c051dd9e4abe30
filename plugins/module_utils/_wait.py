# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waiting: read, judge, sleep; on a monotonic clock, with growing pauses, and with the last object in every error."""

from __future__ import annotations

import random
import time

from ansible_collections.inferops.gpustack.plugins.module_utils._errors import GpustackError, WaitTimeout

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 15.0


def wait_for(what, read, judge, timeout, hint="", clock=None, sleep=None):
    """Call `read()` until `judge(object)` returns None, and return the object.

    `judge` returns why the object is not good yet, and raises TerminalState when waiting cannot help. An error of
    `read` that may pass by itself counts as not good yet. With `timeout` 0 there is exactly one reading.
    """
    clock, sleep = clock or time.monotonic, sleep or time.sleep
    deadline = clock() + timeout
    pause = FIRST_PAUSE
    last = None
    while True:
        try:
            last = read()
            reason = judge(last)
        except GpustackError as error:
            if not error.passing or timeout <= 0:
                raise
            reason = error.message
        if reason is None:
            return last
        left = deadline - clock()
        if left <= 0:
            raise WaitTimeout(f"{what}: not after {timeout} s. {_sentence(reason)}", last, hint)
        sleep(min(left, random.uniform(pause / 2, pause)))
        pause = min(LONGEST_PAUSE, pause * 1.5)


def _sentence(text):
    text = text.strip()
    return text if text.endswith((".", "!")) else text + "."
