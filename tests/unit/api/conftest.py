# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from api_playback import Playback, run_module


@pytest.fixture
def server():
    playback = Playback()
    yield playback
    playback.close()


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    """Pauses between attempts are counted, not slept."""
    pauses = []
    monkeypatch.setattr("time.sleep", pauses.append)
    for name in ("GPUSTACK_URL", "GPUSTACK_PASSWORD", "GPUSTACK_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    return pauses


@pytest.fixture
def run(server):
    def call(name, check=False, **params):
        return run_module(name, check, **dict({"url": server.url, "password": "Fixture.1pass"}, **params))

    return call
