"""A machine that is off: its deployment never lands on the other kind of card, and the rest of the site converges."""

from __future__ import annotations

import re

import lab_site
import pytest
from lab_site import DEPLOYMENTS, H20, HOSTS, NPU, ROUTE, wait_until


def state_of(api, worker):
    return (api.named("workers", worker) or {}).get("state")


def instance_of(api, deployment):
    return next((item for item in api.items("model-instances") if item["model_name"] == deployment), None)


@pytest.fixture(scope="module")
def powered_off(lab, api):
    machine = lab.engine.containers.get(lab.containers[NPU])
    machine.stop(timeout=30)
    wait_until(lambda: state_of(api, NPU) not in (None, "ready"), 240, "the server misses the worker")
    yield
    machine.start()
    wait_until(lambda: state_of(api, NPU) == "ready", 180, "the worker is back")


def test_ascend_deployment_waits_for_its_worker(powered_off, lab, api):
    before = lab.running(H20)
    old = wait_until(lambda: instance_of(api, DEPLOYMENTS[NPU]), 30, "its instance")
    api.call("DELETE", f"/v2/model-instances/{old['id']}")

    def judged():
        instance = instance_of(api, DEPLOYMENTS[NPU])
        judged = instance and instance["id"] != old["id"] and instance["state"] == "pending"
        return judged and instance["state_message"] and instance

    instance = wait_until(judged, 120, "a new instance that the scheduler has judged")
    print(f"\n{instance['state']}: {instance['state_message']}")
    assert instance["worker_name"] is None
    assert lab.running(H20) == before


@pytest.fixture(scope="module")
def converged(powered_off, lab):
    lab.sh(H20, "docker rm -f gpustack-worker")
    return lab_site.site(log="worker_down.log")


def test_the_others_converge_without_it(converged, lab, api):
    assert converged.code != 0
    recap = converged.recap()
    assert {host: counts["unreachable"] for host, counts in recap.items()} == {host: int(host == NPU) for host in HOSTS}
    assert {host: counts["failed"] for host, counts in recap.items()} == dict.fromkeys(HOSTS, 0)
    assert "gpustack-worker" in lab.running(H20)
    assert state_of(api, H20) == "ready"
    said = " ".join(converged.output.split())
    assert f"deployment {DEPLOYMENTS[NPU]}: no worker that fits is ready: {NPU} is " in said
    for name in (DEPLOYMENTS[H20], ROUTE):
        assert f" {name}, answered by {DEPLOYMENTS[H20]}: " in said
    assert f" {DEPLOYMENTS[NPU]}, answered by " not in said


def test_the_summary_names_it_and_the_next_command(converged):
    summary = converged.output.split("SUMMARY ***", 1)[1]
    assert re.search(rf"^{NPU} +unreachable ", summary, re.MULTILINE)
    assert re.search(rf"^{H20} +done ", summary, re.MULTILINE)
    assert f"--limit {NPU}\n" in summary
