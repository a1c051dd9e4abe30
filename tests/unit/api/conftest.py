# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import time

import pytest
from ansible_collections.inferops.gpustack.plugins.module_utils import _client, _wait
from api_playback import Playback, run_module


@pytest.fixture
def server():
    playback = Playback()
    yield playback
    playback.close()


class Clock:
    """Pauses pass at once, and are counted."""

    def __init__(self):
        self.now = 0.0
        self.pauses = []

    def monotonic(self):
        return self.now

    def time(self):
        return time.time()

    def sleep(self, seconds):
        self.pauses.append(seconds)
        self.now += seconds


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    clock = Clock()
    for module in (_client, _wait):
        monkeypatch.setattr(module, "time", clock)
    for name in ("GPUSTACK_URL", "GPUSTACK_PASSWORD", "GPUSTACK_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    return clock.pauses


@pytest.fixture
def run(server):
    def call(module, /, check=False, **params):
        return run_module(module, check, **dict({"url": server.url, "password": "Fixture.1pass"}, **params))

    return call
