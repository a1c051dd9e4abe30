# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rig itself: is what the other tests rely on true?"""

from __future__ import annotations

import time

import fault_proxy
import pytest
import requests
import traps
from api import Api

ASK = {"messages": [{"role": "user", "content": "Are you ready?"}]}


def state_of(server, model, *states, seconds=40):
    answer = server.api.wait(
        "/v2/model-instances",
        lambda found: found["items"] and found["items"][0]["state"] in states,
        seconds,
        model_id=model["id"],
    )
    return answer["items"][0]


def chat(server, model, **options):
    return server.api.request("POST", "/v1/chat/completions", json={"model": model["name"], **ASK, **options})


def test_the_server_has_the_version_asked_for(server):
    assert server.api.get("/version")["version"] == f"v{server.version}"


def test_a_worker_has_eight_cards(server, worker):
    devices = server.api.get(f"/v2/workers/{worker.id}")["status"]["gpu_devices"]
    assert [one["index"] for one in devices] == list(range(8))


def test_a_deployment_runs_and_answers(server, worker, deploy):
    model = deploy()
    instance = state_of(server, model, "running", "error")
    assert instance["state"] == "running", instance["state_message"]
    assert chat(server, model).json()["choices"][0]["message"]["content"] == "ready"
    assert chat(server, model, stream=True).text.rstrip().endswith("data: [DONE]")
    assert len(worker.chats) == 2
    assert worker.started(model["name"])[0]["backend_parameters"] == model["backend_parameters"]
    log = server.api.request("GET", f"/v2/model-instances/{instance['id']}/logs", params={"tail": 1}).text
    assert "Application startup complete" in log


def test_a_told_failure(server, worker, deploy, unique):
    name = unique("fails")
    worker.behave(name, fail="CUDA out of memory")
    assert state_of(server, deploy(name), "error")["state_message"] == "CUDA out of memory"


def test_a_failure_of_one_specification(server, worker, deploy, unique):
    name = unique("bad-argument")
    worker.behave(name, fail=lambda spec: "unknown flag" if "--bad" in spec["backend_parameters"] else None)
    assert state_of(server, deploy(name, backend_parameters=["--bad"]), "error")["state_message"] == "unknown flag"


def test_a_restart_after_a_failure(server, worker, deploy, unique):
    name = unique("flaps")
    attempts = iter(["first start failed"])
    worker.behave(name, fail=lambda _spec: next(attempts, None), restarts=1)
    assert state_of(server, deploy(name), "running")["restart_count"] == 1
    assert len(worker.started(name)) == 2


def test_a_deployment_of_a_path_that_is_not_there(server, worker, deploy):
    """The scheduler asks for its config.json and goes no further."""
    model = deploy(path="/srv/models/nowhere")
    answer = server.api.wait(
        "/v2/model-instances",
        lambda found: found["items"] and "config.json" in (found["items"][0]["state_message"] or ""),
        model_id=model["id"],
    )
    assert answer["items"][0]["state"] == "pending"


def test_a_model_file_of_a_path_that_is_not_there(server, worker):
    path = "/srv/models/nowhere"
    file = server.api.post("/v2/model-files", {"source": "local_path", "local_path": path, "worker_id": worker.id})
    try:
        found = server.api.wait(f"/v2/model-files/{file['id']}", lambda file: file["state"] == "error")
        assert found["state_message"] == f"Path does not exist: {path}"
    finally:
        server.api.delete(f"/v2/model-files/{file['id']}")


def test_a_download_that_stands_still(server, worker, deploy, unique):
    name = unique("downloads")
    worker.behave(name, stay_downloading=42)
    # A file of a path that is ready already is not downloaded again.
    model = deploy(name, path=worker.add_path(f"/srv/models/{name}"))
    server.api.wait(
        "/v2/model-instances",
        lambda found: found["items"] and found["items"][0]["download_progress"] == 42,
        model_id=model["id"],
    )
    worker.behave(name)
    assert state_of(server, model, "running")


def test_an_engine_that_answers_500(server, worker, deploy, unique):
    name = unique("sick")
    worker.behave(name, chat_status=500)
    model = deploy(name)
    state_of(server, model, "running")
    assert chat(server, model).status_code >= 500


def test_how_many_were_running(server, worker, deploy):
    model = deploy(replicas=2)
    server.api.wait(f"/v2/models/{model['id']}", lambda found: found["ready_replicas"] == 2)
    server.api.put(f"/v2/models/{model['id']}", {**model, "replicas": 0})
    server.api.wait("/v2/model-instances", lambda found: not found["items"], model_id=model["id"])
    end = time.monotonic() + 10
    while len(worker.running_counts(model["name"])) < 4 and time.monotonic() < end:
        time.sleep(0.05)
    assert worker.running_counts(model["name"]) == [1, 2, 1, 0]


def test_two_workers(server, worker, other_worker, deploy):
    other_worker.add_path("/srv/models/simulated")
    model = deploy(worker_selector={"worker-name": other_worker.name})
    state_of(server, model, "running")
    assert (worker.started(model["name"]), len(other_worker.started(model["name"]))) == ([], 1)


def test_the_proxy_counts(server, proxy):
    through = Api(proxy.url, server.username, server.password)
    assert through.items("/v2/users", search="adm")
    assert [one.query["search"] for one in proxy.sent("GET", "/v2/users")] == ["adm"]
    assert proxy.changes() == []


@pytest.mark.parametrize(
    ("fault", "status", "text"),
    [
        (fault_proxy.status(500), 500, "simulated fault"),
        (fault_proxy.too_many(7), 429, "simulated fault"),
        (fault_proxy.html(), 200, "<html>"),
        (fault_proxy.another_product(), 404, "404 page not found"),
        (fault_proxy.slow(0.2), 200, "v2"),
    ],
)
def test_the_proxy_answers(proxy, fault, status, text):
    proxy.fault("GET", "/version", fault)
    first, second = (requests.get(f"{proxy.url}/version", timeout=10) for _ in range(2))
    assert (first.status_code, text in first.text) == (status, True)
    assert "version" in second.json()


@pytest.mark.parametrize("fault", [fault_proxy.truncated(), fault_proxy.reset(), fault_proxy.reset(True)])
def test_the_proxy_breaks_off(proxy, fault):
    proxy.fault("GET", "/version", fault)
    with pytest.raises(requests.RequestException):
        requests.get(f"{proxy.url}/version", timeout=10)
    assert requests.get(f"{proxy.url}/version", timeout=10).ok


def test_a_module_runs(run, server):
    clusters = run("cluster_info")["clusters"]
    assert "default" in [one["name"] for one in clusters]


def test_a_module_fails(run):
    assert run("cluster_info", password="wrong", ok=False)["failure"]["status"] == 401


def test_a_secret_in_the_output_is_found(run, secrets):
    secrets.add("default")
    with pytest.raises(pytest.fail.Exception, match="A secret is in the output of inferops.gpustack.cluster_info"):
        run("cluster_info")


def test_a_trap_without_a_test_is_a_problem():
    found = list(traps.problems([], {}, ["2.3.0"]))
    assert len(found) == len(traps.NUMBERS)
    assert found[0] == "T1 (JSON body to `/auth/login` is 401 (form only)) has no test"


@pytest.mark.parametrize(
    ("outcome", "versions", "told"),
    [
        ({"this": "passed"}, {}, None),
        ({}, {}, "T1: this is not run"),
        ({"this": "failed"}, {}, "T1: this is failed"),
        ({"this": "skipped"}, {"2.3.0": "It has none."}, None),
        ({"this": "skipped"}, {"2.1.2": "It has none."}, "T1: this is skipped"),
    ],
)
def test_a_trap_whose_test_did_not_pass_is_a_problem(outcome, versions, told):
    class Item:
        nodeid = originalname = "this"
        path = traps.README
        callspec = type("", (), {"params": {"server": "2.3.0"}})

        def iter_markers(self, _name):
            return [pytest.mark.trap(1, not_on=versions).mark]

    found = [one for one in traps.problems([Item()], outcome, ["2.3.0"]) if one.startswith("T1: this")]
    assert found == ([told] if told else [])
