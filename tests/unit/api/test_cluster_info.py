# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import copy

import pytest
from api_playback import recorded

STATE = recorded("state")


@pytest.fixture
def playing(server):
    server.play(*STATE, recorded("probe")[1])
    return server


def test_whole_state(playing, run):
    result = run("cluster_info")
    assert result["changed"] is False
    assert result["version"] == "v2.3.0"
    assert [one["name"] for one in result["clusters"]] == ["lab"]
    worker = result["workers"][0]
    assert (worker["name"], worker["ip"]) == ("h20-01", "127.0.0.1")
    assert worker["accelerators"] == [
        {"vendor": "nvidia", "name": "NVIDIA H20-3e", "memory_bytes": 151397597184, "count": 2}
    ]
    model = result["models"][0]
    assert model["name"] == "qwen-h20"
    assert model["backend_parameters"] == ["--max-model-len=8192"]
    assert model["instances"][0]["state"] == "error"
    assert model["instances"][0]["state_message"] == "exited with code 1"
    assert model["instances"][0]["worker_name"] == "h20-01"
    assert result["routes"][0]["name"] == "qwen"
    assert result["routes"][0]["targets"] == [
        {"model": "qwen-h20", "weight": 1, "fallback_status_codes": [], "state": "unavailable"}
    ]


def test_only_reads(playing, run):
    run("cluster_info")
    assert playing.sent() == []
    assert len(playing.requests) == 7


def test_shows_no_secrets(server, run):
    calls = copy.deepcopy(STATE)
    for call in calls:
        if call["path"].startswith("/v2/models?"):
            call["answer"]["items"][0]["env"] = {"HF_TOKEN": "hf_canary", "A": "1", "PROXY": "http://u:canary@p:1"}
        if call["path"].startswith("/v2/clusters"):
            call["answer"]["items"][0]["worker_config"] = {"huggingface_token": "hf_canary"}
    server.play(*calls, recorded("probe")[1])
    result = run("cluster_info")
    assert "canary" not in str(result)
    assert result["models"][0]["env"] == {"HF_TOKEN": "********", "A": "1", "PROXY": "********"}


def test_check_mode_without_a_server(run):
    result = run("cluster_info", check=True, url="http://127.0.0.1:9")
    assert (result["changed"], result["models"], result["version"]) == (False, [], None)
    assert result["warnings"]
