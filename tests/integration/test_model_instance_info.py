# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import fault_proxy
import pytest

MODULE = "model_instance_info"
PATH = "/v2/model-instances"


@pytest.fixture
def instance(server, deploy):
    """Makes a deployment and gives its only instance, once that has a state."""

    def make(state, **fields):
        model = deploy(**fields)
        found = server.api.wait(
            PATH, lambda answer: [one["state"] for one in answer["items"]] == [state], model_id=model["id"]
        )
        return found["items"][0]

    return make


def test_running(run, instance, worker):
    made = instance("running")
    result = run(MODULE, name=made["name"])
    (found,) = result["instances"]
    assert result["changed"] is False
    assert (found["id"], found["model_name"], found["state"]) == (made["id"], made["model_name"], "running")
    assert (found["worker_name"], found["worker_ip"]) == (worker.name, made["worker_ip"])
    assert (found["ports"], found["gpu_indexes"]) == (made["ports"], made["gpu_indexes"])
    assert (found["log"], found["log_problem"]) == ([], None)


def test_log(run, instance):
    made = instance("running")
    whole = run(MODULE, name=made["name"], log_lines=1000)["instances"][0]
    assert whole["log_problem"] is None
    assert len(whole["log"]) > 1
    (last,) = run(MODULE, name=made["name"], log_lines=1)["instances"]
    assert last["log"] == whole["log"][-1:]


@pytest.mark.parametrize(
    ("fault", "problem"),
    [
        (fault_proxy.slow(3), "did not answer within 1 s."),
        (fault_proxy.reset(), "does not answer"),
        (fault_proxy.truncated(), "stopped in the middle of its answer"),
        (fault_proxy.status(502), "answered 502"),
    ],
    ids=["slow", "reset", "truncated", "502"],
)
def test_a_log_that_does_not_come(run, instance, proxy, fault, problem):
    made = instance("running")
    proxy.fault("GET", f"{PATH}/{made['id']}/logs", fault, count=None)
    (found,) = run(MODULE, url=proxy.url, timeout=1, name=made["name"], log_lines=5)["instances"]
    assert (found["state"], found["log"]) == ("running", [])
    assert problem in found["log_problem"]


def test_failed(run, instance, worker):
    worker.behave("breaks", fail="CUDA out of memory")
    made = instance("error", name="breaks", restart_on_error=False)
    (found,) = run(MODULE, state="error", log_lines=5)["instances"]
    assert found["name"] == made["name"]
    assert "CUDA out of memory" in found["state_message"]
    assert "CUDA out of memory" in "\n".join(found["log"])


def test_pending(run, instance):
    made = instance("pending", worker_selector={"rack": "nowhere"})
    (found,) = run(MODULE, model=made["model_name"], log_lines=5)["instances"]
    assert (found["worker_name"], found["log"]) == (None, [])
    assert found["log_problem"] == "The instance has no worker yet."


def test_filters(run, instance, worker):
    made = instance("running")
    for options in ({"name": made["name"]}, {"model": made["model_name"]}, {"worker": worker.name}, {}):
        assert [one["id"] for one in run(MODULE, **options)["instances"]] == [made["id"]]
    for options in ({"name": "x"}, {"model": "x"}, {"worker": "x"}, {"state": "no-such-state"}):
        assert run(MODULE, **options)["instances"] == []


def test_no_server_in_check_mode(run):
    result = run(MODULE, check=True, url="http://127.0.0.1:9")
    assert (result["changed"], result["instances"], len(result["warnings"])) == (False, [], 1)
