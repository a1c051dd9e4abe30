# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import copy
import socket
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace

import pytest
from ansible_collections.inferops.gpustack.plugins.module_utils import _drain
from api_playback import recorded

ABSENT, STARTING, READY, LABELLED, WITH_LABEL = recorded("worker")
LABEL = {"gpustack-accelerator": "nvidia_h20_3e"}


def with_state(call, state, message=None):
    call = copy.deepcopy(call)
    call["answer"]["items"][0].update(state=state, state_message=message)
    return call


def test_labels_are_merged(server, run):
    server.play(READY, LABELLED)
    result = run("worker", name="h20-01", labels=LABEL, state="ready", accelerators=2)
    worker_id = READY["answer"]["items"][0]["id"]
    assert server.sent() == [("POST", "/v2/workers/labels", {"worker_ids": [worker_id], "labels": LABEL})]
    assert result["changed"] is True
    assert result["worker"]["labels"] == {"os": "linux", "arch": "amd64", "worker-name": "h20-01", **LABEL}
    assert result["diff"]["before"]["labels"] == {"os": "linux", "arch": "amd64", "worker-name": "h20-01"}


def test_no_op_costs_one_request(server, run):
    server.play(WITH_LABEL)
    result = run("worker", name="h20-01", labels=LABEL, state="ready", accelerators=2, wait_timeout=60)
    assert result["changed"] is False
    assert result["worker"]["accelerators"] == [
        {"vendor": "nvidia", "name": "NVIDIA H20-3e", "memory_bytes": 151397597184, "count": 2}
    ]
    assert len(server.requests) == 1


def test_waits_for_it_to_register_and_to_be_ready(server, run):
    server.play(ABSENT, ABSENT, STARTING, STARTING, READY)
    result = run("worker", name="h20-01", state="ready", accelerators=2, wait_timeout=300)
    assert result["changed"] is False
    assert result["worker"]["state"] == "ready"
    assert len(server.requests) == 5


def test_present_does_not_wait_for_ready(server, run):
    server.play(STARTING)
    assert run("worker", name="h20-01")["worker"]["state"] == "not_ready"


def test_missing_worker(server, run):
    server.play(ABSENT)
    result = run("worker", name="h20-01", wait_timeout=30)
    assert "The server knows no worker named 'h20-01'" in result["msg"]
    assert "docker logs gpustack-worker" in result["msg"]
    assert result["failure"]["reason"] == "Timeout"


def test_unready_worker_tells_why(server, run):
    server.play(STARTING)
    result = run("worker", name="h20-01", state="ready", wait_timeout=30)
    assert "is not_ready: Heartbeat lost" in result["msg"]
    assert result["last"]["state"] == "not_ready"


def test_accelerators_that_are_missing(server, run):
    server.play(READY)
    result = run("worker", name="h20-01", state="ready", accelerators=8, wait_timeout=30)
    assert "reports 2 accelerators (2 x NVIDIA H20-3e), expected 8" in result["msg"]


def test_zero_accelerators_is_an_expectation(server, run):
    server.play(READY)
    assert run("worker", name="h20-01", accelerators=0)["failed"] is True


def test_maintenance_ends_the_wait(server, run):
    call = with_state(READY, "maintenance", "disk swap")
    call["answer"]["items"][0]["maintenance"] = {"enabled": True, "message": "disk swap"}
    server.play(call)
    result = run("worker", name="h20-01", state="ready", wait_timeout=3000)
    assert result["failure"]["reason"] == "TerminalState"
    assert "maintenance: disk swap" in result["msg"]
    assert len(server.requests) == 1


def test_name_must_be_equal(server, run):
    other = copy.deepcopy(READY)
    other["answer"]["items"][0]["name"] = "h20-010"
    server.play(other)
    assert "no worker named" in run("worker", name="h20-01")["msg"]


def test_check_mode_labels_nothing(server, run):
    server.play(READY)
    result = run("worker", check=True, name="h20-01", labels=LABEL, wait_timeout=300)
    assert result["changed"] is True
    assert result["diff"]["after"]["labels"]["gpustack-accelerator"] == "nvidia_h20_3e"
    assert server.sent() == []


@pytest.mark.parametrize(
    ("options", "changed"),
    [({"state": "ready"}, False), ({"labels": LABEL}, True), ({"maintenance": {"enabled": True}}, True)],
)
def test_check_mode_of_a_missing_worker(server, run, options, changed):
    """Waiting for it is no change."""
    server.play(ABSENT)
    result = run("worker", check=True, name="h20-01", wait_timeout=300, **options)
    assert (result["changed"], result["actions"]) == (changed, ["wait for worker"] if changed else [])
    assert result["worker"] == {}
    assert "no worker named" in result["warnings"][0]
    assert len(server.requests) == 1


@pytest.mark.parametrize("value", [True, 1.5, None, ["a"]])
def test_label_values_are_texts(server, run, value):
    server.play(READY)
    result = run("worker", name="h20-01", labels={"a": value})
    assert "labels.a is" in result["msg"]
    assert server.sent() == []


def test_whole_numbers_become_texts(server, run):
    server.play(READY, LABELLED)
    run("worker", name="h20-01", labels={"rack": 7})
    assert server.sent()[0][2]["labels"] == {"rack": "7"}


class Healthy(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/healthz" else 404)
        self.end_headers()

    def log_message(self, *_arguments):
        """Quiet."""


@pytest.fixture
def worker_api():
    api = HTTPServer(("127.0.0.1", 0), Healthy)
    threading.Thread(target=api.serve_forever, daemon=True).start()
    yield api.server_port
    api.shutdown()


def at(port, **fields):
    call = copy.deepcopy(WITH_LABEL)
    call["answer"]["items"][0].update(ip="127.0.0.1", advertise_address="127.0.0.1", port=port, **fields)
    return call


def closed_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_reachable_asks_the_worker_itself(server, run, worker_api):
    server.play(at(worker_api))
    assert run("worker", name="h20-01", state="ready", reachable=True)["worker"]["name"] == "h20-01"


def test_ready_worker_whose_api_is_silent(server, run):
    port = closed_port()
    server.play(at(port))
    result = run("worker", name="h20-01", state="ready", reachable=True)
    assert f"The API of worker h20-01 at http://127.0.0.1:{port}/healthz does not answer" in result["msg"]


def test_an_ipv6_address_stands_in_brackets(server, run):
    call = at(closed_port())
    call["answer"]["items"][0].update(ip="::1", advertise_address=None)
    server.play(call)
    result = run("worker", name="h20-01", state="ready", reachable=True)
    assert "at http://[::1]:" in result["msg"]


def test_worker_in_tunnel_mode_is_not_asked(server, run):
    server.play(at(closed_port(), proxy_mode="tunnel"))
    assert run("worker", name="h20-01", state="ready", reachable=True)["worker"]["name"] == "h20-01"


def worker_as(**fields):
    call = copy.deepcopy(READY)
    call["answer"]["items"][0].update(**fields)
    return call


@pytest.mark.parametrize("status", [404, 405])
def test_a_server_that_cannot_merge_labels_gets_all_of_the_worker(server, run, status):
    """GPUStack before 2.3."""
    maintenance = {"enabled": True, "message": "disk swap"}
    server.play(worker_as(maintenance=maintenance))
    server.on("POST", "/v2/workers/labels", {"detail": "Method Not Allowed"}, status=status)
    worker_id = READY["answer"]["items"][0]["id"]
    server.on("PUT", f"/v2/workers/{worker_id}", lambda body: dict(READY["answer"]["items"][0], **body))
    run("worker", name="h20-01", labels=LABEL)
    labels = {"os": "linux", "arch": "amd64", "worker-name": "h20-01", **LABEL}
    body = {"name": "h20-01", "labels": labels, "maintenance": maintenance}
    assert server.sent("PUT") == [("PUT", f"/v2/workers/{worker_id}", body)]


def test_another_error_of_the_labels_is_an_error(server, run):
    server.play(READY)
    server.on("POST", "/v2/workers/labels", {"code": 403, "reason": "Forbidden", "message": "no"}, status=403)
    assert run("worker", name="h20-01", labels=LABEL)["failure"]["status"] == 403
    assert server.sent("PUT") == []


MINE = {"id": 1, "name": "a", "cluster_id": 1, "state": "ready", "labels": {"pool": "x"}}
MODEL = {"id": 5, "name": "m", "cluster_id": 1, "worker_selector": {"pool": "x"}, "gpu_selector": None}


@pytest.mark.parametrize(
    "other, model, stuck",
    [
        ({}, {}, False),
        ({"id": 1}, {}, True),
        ({"cluster_id": 2}, {}, True),
        ({"state": "not_ready"}, {}, True),
        ({"labels": {}}, {}, True),
        ({"labels": {}}, {"worker_selector": {}}, False),
        ({}, {"gpu_selector": {"gpu_ids": ["a:cuda:0"]}}, True),
        ({}, {"gpu_selector": {"gpu_ids": ["a:cuda:0", "b:cuda:0"]}}, False),
        ({"name": "b:1"}, {"gpu_selector": {"gpu_ids": ["b:1:cuda:0"]}}, False),
    ],
)
def test_who_can_take_a_deployment(other, model, stuck):
    lists = {"/v2/workers": [MINE, {**MINE, "id": 2, "name": "b", **other}], "/v2/models": [{**MODEL, **model}]}
    client = SimpleNamespace(list_all=lists.get)
    found = _drain.with_nowhere_to_go(client, MINE, [{"model_id": 5}])
    assert [one["name"] for one in found] == (["m"] if stuck else [])


def test_an_instance_over_several_workers_is_on_each():
    spread = {"name": "s", "worker_id": 2, "distributed_servers": {"subordinate_workers": [{"worker_id": 1}]}}
    instances = [spread, {"name": "b", "worker_id": 2}, {"name": "a", "worker_id": 1}, {"name": "p", "worker_id": None}]
    client = SimpleNamespace(list_all=lambda path: instances)
    assert [one["name"] for one in _drain.instances_on(client, MINE)] == ["a", "s"]


def started(state, worker_id, **fields):
    return {"name": state, "state": state, "worker_id": worker_id, "worker_name": "b", **fields}


def test_what_is_still_starting_elsewhere():
    """Only that keeps the next instance of the same deployment where it is."""
    mine = started("starting", 1)
    over_both = started("downloading", 2, distributed_servers={"subordinate_workers": [{"worker_id": 1}]})
    assert _drain.unsettled(MINE, [mine, over_both, started("running", 2), started("error", 2)]) is None
    waiting = _drain.unsettled(MINE, [mine, started("starting", 2), started("pending", None, worker_name=None)])
    assert "starting" in waiting
    assert "pending" in waiting
