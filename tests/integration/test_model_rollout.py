# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module `model` where instances run: nothing restarts by itself, and what is rolled out is proven on the way."""

from __future__ import annotations

import threading
import time

import pytest
from ansible_collections.inferops.gpustack.plugins.module_utils import _wait
from steps import refused, stays

MODULE = "model"
INSTANCES = "/v2/model-instances"
OLD, NEW = ["--max-model-len=8192"], ["--max-model-len=4096"]
SMALL = "--gpu-memory-utilization=0.2"
NO_REVISIONS = {"2.1.2": "keeps no revisions", "2.2.3": "keeps no revisions"}


@pytest.fixture
def name(unique, api):
    name = unique("rolled")
    yield name
    for one in api.items("/v2/models", search=name):
        if one["name"] == name:
            api.delete(f"/v2/models/{one['id']}")


@pytest.fixture
def options(server, worker, name):
    """Of a deployment with two instances on the simulated worker."""
    return {
        "name": name,
        "cluster": "default",
        "local_path": worker.add_path("/srv/models/simulated"),
        "backend": "vLLM",
        "backend_parameters": [SMALL, *OLD],
        "replicas": 2,
        "worker_selector": {"worker-name": worker.name},
        "enable_model_route": True,
        "wait_timeout": 60,
    }


@pytest.fixture
def running(run, options):
    """The deployment, up."""
    return run(MODULE, **options, wait=True)["model"]


@pytest.fixture
def instances(api):
    return lambda model: api.items(INSTANCES, model_id=model["id"])


@pytest.fixture
def run_in_slices(run, monkeypatch):
    """The results of all slices, when the module is started again and again as its action plugin does it."""
    monkeypatch.setattr(_wait, "SHORTEST_SLICE", 1)
    monkeypatch.setattr(_wait, "LONGEST_SLICE", 1)

    def call(**options):
        begun = time.monotonic()
        said, memory = None, {}
        while True:
            given = {"elapsed": time.monotonic() - begun, "said": said, "memory": memory}
            result = run(MODULE, wait_slice=given, **options)
            yield result
            waiting = result.get("waiting")
            if waiting is None:
                return
            said, memory = waiting["for"], waiting["memory"]
            assert time.monotonic() - begun < 60, said

    return call


def arguments(worker, name):
    return [spec["backend_parameters"][1:] for spec in worker.started(name)]


def of_a_bad_flag(spec):
    return "unknown flag --bad" if "--bad" in spec["backend_parameters"] else None


@pytest.mark.trap(37)
def test_a_change_is_rolled_out_when_it_is_asked_for(run, worker, options, running, instances):
    before = sorted(one["name"] for one in instances(running))
    changed = {**options, "backend_parameters": [SMALL, *NEW]}
    done = run(MODULE, **changed)
    assert done["outdated_instances"] == before
    assert "still runs with the settings it was started with" in done["warnings"][0]
    assert sorted(one["name"] for one in instances(running)) == before
    # Later runs tell it too, as does every other reading. Taken back, it is no change any more.
    assert stays(run, MODULE, **changed)["outdated_instances"] == before
    assert run("model_info", name=options["name"])["models"][0]["outdated_instances"] == before
    assert run(MODULE, **options)["outdated_instances"] == []

    run(MODULE, **changed)
    replacements = [f"replace instance: {name}" for name in before]
    assert sorted(run(MODULE, **changed, restart="on_change", check=True)["actions"]) == replacements
    done = run(MODULE, **changed, restart="on_change")
    assert sorted(done["actions"]) == replacements
    assert (done["changed"], done["outdated_instances"], done["warnings"]) == (True, [], [])
    assert arguments(worker, options["name"]) == [OLD, OLD, NEW, NEW]
    # One at a time, so that one is always there to answer, and each proven by a chat request.
    assert worker.running_counts(options["name"]) == [1, 2, 1, 2, 1, 2]
    assert len(worker.chats) >= 2
    stays(run, MODULE, **changed, restart="on_change")
    assert len(worker.starts) == 4


@pytest.mark.trap(37)
def test_always(run, api, server, worker, options, running, instances):
    done = run(MODULE, **options, restart_on_error=False, restart="on_change")
    # It takes effect at once.
    assert done["actions"] == ["update model: restart_on_error"]
    assert len(worker.starts) == 2
    run(MODULE, **options, restart="always")
    assert len(worker.starts) == 4
    assert worker.running_counts(options["name"])[2:] == [1, 2, 1, 2]
    if server.version in NO_REVISIONS:
        return  # has no restart of its own
    # The server's own restart tears all of them down at once.
    before = {one["id"] for one in instances(running)}
    api.post(f"/v2/models/{running['id']}/restart")
    api.wait(INSTANCES, lambda found: not before & {one["id"] for one in found["items"]}, model_id=running["id"])


def test_a_bad_change_stops_at_the_first_instance(run, worker, options, running, instances):
    worker.behave(options["name"], fail=of_a_bad_flag)
    bad = {**options, "backend_parameters": [SMALL, "--bad"], "restart_on_error": False, "restart": "on_change"}
    result = run(MODULE, **bad, ok=False)
    assert "is error: unknown flag --bad" in result["msg"]
    assert (result["changed"], result["failure"]["reason"]) == (True, "TerminalState")
    states = sorted(one["state"] for one in instances(running))
    assert states == ["error", "running"]
    # Corrected, the next run goes on.
    good = {**options, "backend_parameters": [SMALL, *NEW], "restart_on_error": False, "restart": "on_change"}
    run(MODULE, **good)
    assert sorted(one["state"] for one in instances(running)) == ["running", "running"]
    assert arguments(worker, options["name"])[-2:] == [NEW, NEW]


@pytest.mark.trap(39, not_on=NO_REVISIONS)
def test_rollback(run, api, worker, options, running, instances):
    worker.behave(options["name"], fail=of_a_bad_flag)
    steady = {**options, "restart_on_error": False, "restart": "on_change", "rollback": True}
    run(MODULE, **steady)
    result = run(MODULE, **{**steady, "backend_parameters": [SMALL, "--bad"]}, ok=False)
    assert result["failure"]["reason"] == "RolledBack"
    assert "its earlier settings are back" in result["msg"]
    assert result["changed"] is True
    api.wait(
        INSTANCES,
        lambda found: [one["state"] for one in found["items"]] == ["running", "running"],
        model_id=running["id"],
    )
    assert arguments(worker, options["name"])[-1] == OLD
    stays(run, MODULE, **steady)


def test_rollback_where_the_server_has_no_revisions(request, run, server, options):
    if server.version not in NO_REVISIONS:
        pytest.skip(f"GPUStack {server.version} keeps revisions")
    request.getfixturevalue("running")
    message = (
        "rollback is set, and this server keeps no revisions of a deployment. It needs GPUStack 2.3 or newer. "
        "Leave rollback out."
    )
    changed = {**options, "backend_parameters": [SMALL, *NEW], "restart": "on_change", "rollback": True}
    refused(run, MODULE, message, reason="Unsupported", **changed)


def test_ramp(run, worker, options):
    done = run(MODULE, **options, ramp=True)
    assert done["actions"] == ["create model", "update model: replicas"]
    assert len(worker.started(options["name"])) >= 1
    assert worker.chats != []
    assert run(MODULE, **options, wait=True)["model"]["ready_replicas"] == 2
    stays(run, MODULE, **options, ramp=True)


@pytest.mark.parametrize(
    "how",
    [
        {"ramp": True, "replicas": 3},
        {"restart": "always"},
        {"restart": "always", "ramp": True},
    ],
    ids=lambda how: "-".join(how),
)
def test_a_new_deployment_in_slices(run_in_slices, api, worker, options, instances, how):
    """What an earlier slice has started is neither a reason to start over, nor older than the task."""
    worker.behave(options["name"], slow=3)
    slices = []
    for result in run_in_slices(**{**options, **how}, wait=True):
        slices.append(result)
        if len(slices) == 1:
            name = options["name"]
            api.wait(INSTANCES, lambda found: "starting" in [one["state"] for one in found["items"]], search=name)
    assert len(slices) > 2
    actions = [action for one in slices for action in one["actions"]]
    assert actions == ["create model"] + (["update model: replicas"] if "ramp" in how else [])
    replicas = how.get("replicas", 2)
    made = slices[-1]["model"]
    assert made["ready_replicas"] == replicas
    assert sorted(start.name for start in worker.starts) == sorted(one["name"] for one in instances(made))
    assert worker.running_counts(options["name"]) == list(range(1, replicas + 1))


def test_ramp_stops_at_a_first_instance_that_fails(run, api, worker, options):
    worker.behave(options["name"], fail="CUDA out of memory")
    result = run(MODULE, **options, restart_on_error=False, ramp=True, ok=False)
    assert "is error: CUDA out of memory" in result["msg"]
    assert (result["changed"], result["actions"]) == (True, ["create model"])
    assert len(worker.starts) == 1


@pytest.mark.parametrize("how", [{"ramp": True}, {"wait": True}, {"restart": "on_change"}])
def test_what_failed_is_replaced_after_a_correction(run, api, worker, options, instances, how):
    bad = {**options, "backend_parameters": [SMALL, "--bad"], "restart_on_error": False}
    worker.behave(options["name"], fail=of_a_bad_flag)
    run(MODULE, ok=False, **{**bad, "ramp": True})
    (failed,) = api.items(INSTANCES, search=options["name"])
    corrected = {**bad, **how, "backend_parameters": [SMALL, *NEW], "replicas": how.get("ramp", 0) + 1}
    done = run(MODULE, **corrected)
    assert f"replace instance: {failed['name']}" in done["actions"]
    assert "running" in [one["state"] for one in instances(done["model"])]
    stays(run, MODULE, **corrected)


def test_a_run_that_ended_before_the_last_instance_ran(run, api, worker, options, running, instances):
    changed = {**options, "backend_parameters": [SMALL, *NEW]}
    run(MODULE, **changed)
    worker.behave(options["name"], slow=2)
    # As a roll-out that was killed leaves it.
    for one in instances(running):
        api.delete(f"{INSTANCES}/{one['id']}")
    stays(run, MODULE, **changed, restart="on_change")
    assert [one["state"] for one in instances(running)] == ["running", "running"]


def test_nothing_to_wait_for(run, options, running):
    assert run(MODULE, **{**options, "replicas": 0}, wait=True)["model"]["replicas"] == 0


def test_ramp_without_a_worker(run, options):
    nowhere = {**options, "worker_selector": {"worker-name": "nowhere"}}
    done = run(MODULE, **nowhere, ramp=True)
    assert done["model"]["replicas"] == 2
    assert "No ready worker fits" in done["warnings"][0]


def test_an_answer_that_does_not_come(run, api, server, worker, options, running, instances):
    changed = {**options, "backend_parameters": [SMALL, *NEW], "restart": "on_change", "wait_timeout": 10}
    if server.version != "2.1.2":
        # A key that may not ask models. Waiting would not help.
        key = api.post("/v2/api-keys", {"name": options["name"], "scope": ["management"]})
        result = run(MODULE, **changed, api_key=key["value"], ok=False)
        api.delete(f"/v2/api-keys/{key['id']}")
        assert result["failure"]["status"] == 403
        assert result["failure"]["hint"].startswith("Proving an instance takes a chat request.")
    worker.behave(options["name"], chat_status=500)
    changed["wait_timeout"] = 3
    result = run(MODULE, **changed, ok=False)
    assert result["failure"]["reason"] == "Timeout"
    assert "Waiting for an answer of deployment" in result["msg"]
    keys = {"name", "state", "state_message", "worker_name", "restart_count"}
    seen = [one for one in result["last"] if "log" not in one]
    assert sorted(one["name"] for one in seen) == sorted(one["name"] for one in instances(running))
    assert all(set(one) == keys for one in seen)


def test_wait_tells_what_it_waits_for(run, worker, options):
    worker.behave(options["name"], stay_downloading=42)
    path = worker.add_path(f"/srv/models/{options['name']}")
    result = run(MODULE, **{**options, "local_path": path, "wait_timeout": 4}, wait=True, ok=False)
    worker.behave(options["name"])
    assert result["failure"]["reason"] == "Timeout"
    assert "downloading" in result["msg"]


def test_a_deployment_that_is_deleted_meanwhile(run, api, worker, options):
    worker.behave(options["name"], stay_downloading=42)
    path = worker.add_path(f"/srv/models/{options['name']}")
    model = run(MODULE, **{**options, "local_path": path})["model"]
    # By another client, while the module waits.
    deletion = threading.Timer(3, api.delete, [f"/v2/models/{model['id']}"])
    deletion.start()
    result = run(MODULE, **{**options, "local_path": path}, wait=True, ok=False)
    deletion.join()
    worker.behave(options["name"])
    assert result["failure"]["reason"] == "TerminalState"
    assert "was deleted by somebody else meanwhile" in result["msg"]
