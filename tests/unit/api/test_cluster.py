# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from api_playback import recorded

ABSENT, CREATED, PRESENT, _DUPLICATE, CHANGED, _AFTER = recorded("cluster")


def test_creates_a_docker_cluster(server, run):
    server.play(ABSENT, CREATED)
    result = run("cluster", name="lab", description="Made by a test")
    assert result["changed"] is True
    assert result["cluster"]["id"] == 1
    assert server.sent() == [("POST", "/v2/clusters", CREATED["body"])]


def test_no_op_costs_one_request(server, run):
    server.play(PRESENT)
    result = run("cluster", name="lab")
    assert result["changed"] is False
    assert result["cluster"] == {
        "id": 1,
        "name": "lab",
        "description": "Made by a test",
        "provider": "Docker",
        "server_url": None,
        "system_default_container_registry": None,
        "worker_config": {},
        "state": "ready",
        "is_default": True,
    }
    assert len(server.requests) == 1


def test_changes_the_description(server, run):
    server.play(PRESENT, CHANGED)
    result = run("cluster", name="lab", description="Changed")
    assert server.sent() == [("PUT", "/v2/clusters/1", CHANGED["body"])]
    assert result["diff"]["before"]["description"] == "Made by a test"
    assert result["diff"]["after"]["description"] == "Changed"


@pytest.mark.parametrize("existing", [ABSENT, PRESENT])
def test_check_mode_sends_nothing(server, run, existing):
    server.play(existing)
    result = run("cluster", check=True, name="lab", description="Changed")
    assert result["changed"] is True
    assert result["diff"]["after"]["description"] == "Changed"
    assert server.sent() == []


def test_check_mode_without_a_server(run):
    result = run("cluster", check=True, url="http://127.0.0.1:9", name="lab", wait_timeout=60)
    assert result["changed"] is True
    assert result["cluster"]["id"] is None
    assert "http://127.0.0.1:9 does not answer" in result["warnings"][0]


def test_without_a_server(run):
    result = run("cluster", url="http://127.0.0.1:9", name="lab")
    assert result["failed"] is True
    assert result["failure"]["reason"] == "Unreachable"
    assert result["failure"]["endpoint"] == "GET /v2/clusters?page=1&perPage=100&name=lab"


def test_needs_credentials(server, run):
    result = run("cluster", password=None, name="lab")
    assert "one of the following is required: password, api_key" in result["msg"]


@pytest.mark.parametrize("empty", [{"api_key": ""}, {"password": ""}, {"api_key": "", "password": ""}])
def test_empty_credentials_are_none(server, run, empty):
    result = run("cluster", name="lab", **{"password": None, **empty})
    assert result["msg"] == (
        "Neither password nor api_key is set. "
        "Set one of them, or the environment variable GPUSTACK_PASSWORD or GPUSTACK_API_KEY."
    )
    assert result["failure"]["reason"] == "Invalid"
    assert server.requests == []


def test_an_empty_key_gives_way_to_a_password(server, run):
    server.play(PRESENT)
    assert run("cluster", name="lab", api_key="")["changed"] is False


def test_credentials_from_the_environment(server, run, monkeypatch):
    monkeypatch.setenv("GPUSTACK_API_KEY", "gpustack_key")
    monkeypatch.setenv("GPUSTACK_URL", server.url)
    server.play(PRESENT)
    assert run("cluster", url=None, password=None, name="lab")["changed"] is False
    assert server.requests[0][3]["Authorization"] == "Bearer gpustack_key"


def test_waits_until_the_server_answers(server, run, no_pauses):
    server.on("GET", "/readyz", "starting", status=503)
    for _ in range(4):
        server.on("GET", "/readyz", "starting", status=503)
    server.play(recorded("probe")[0])
    server.play(ABSENT, CREATED)
    server.on("GET", "/v2/clusters?page=1&perPage=1", {"items": []})
    assert run("cluster", name="lab", wait_timeout=300)["changed"] is True
    assert no_pauses


def test_wait_ends_when_credentials_are_refused(server, run):
    server.play(recorded("probe")[0])
    server.on("GET", "/v2/clusters?page=1&perPage=1", recorded("errors")[0]["answer"], status=401)
    result = run("cluster", name="lab", wait_timeout=300)
    assert result["failure"]["reason"] == "TerminalState"
    assert "Invalid authentication credentials" in result["msg"]
    assert "username and password" in result["msg"]


def test_a_server_that_only_answers_502_says_so_in_failure(server, run):
    server.on("GET", "/readyz", {"detail": "Bad Gateway"}, status=502)
    result = run("cluster", name="lab", wait_timeout=180)
    assert "not after 180 s" in result["msg"]
    assert result["failure"]["status"] == 502
    assert result["failure"]["reason"] == "Timeout"


def test_the_default_cannot_be_given_up(server, run):
    server.play(PRESENT)
    result = run("cluster", name="lab", default=False, description="Changed")
    assert "lab is the default cluster" in result["msg"]
    assert server.sent() == []


def test_a_new_cluster_is_made_the_default(server, run):
    """GPUStack 2.1 does not do that by itself, not even with the first one."""
    server.play(ABSENT, CREATED)
    server.on("POST", "/v2/clusters/1/set-default")
    predicted = run("cluster", check=True, name="lab", default=True)
    done = run("cluster", name="lab", default=True)
    assert predicted["actions"] == done["actions"] == ["create cluster", "make cluster the default"]
    assert server.sent()[-1] == ("POST", "/v2/clusters/1/set-default", None)


def test_a_registry_on_an_older_server(server, run):
    server.play(PRESENT)
    server.on("GET", "/version", {"version": "v2.1.2"})
    result = run("cluster", name="lab", system_default_container_registry="registry.example.com")
    assert result["failure"]["reason"] == "Unsupported"
    assert server.sent() == []


def test_dropped_keys_are_named_once(server, run):
    server.play(PRESENT)
    answer = dict(PRESENT["answer"]["items"][0], worker_config={"debug": True, "worker_port": 1})
    server.on("PUT", "/v2/clusters/1", answer)
    written = {"debug": True, "worker_port": "1", "nix": 1, "log_dir": None}
    result = run("cluster", name="lab", worker_config=written)
    assert "does not know nix of worker_config" in result["msg"]
    assert (result["failure"]["reason"], result["changed"]) == ("Dropped", True)
