"""A deployment never lands on the other kind of card, even when its own worker is gone."""

from __future__ import annotations

import pytest
from lab_site import DEPLOYMENTS, H20, NPU, wait_until


def instance_of(api, deployment):
    return next((item for item in api.items("model-instances") if item["model_name"] == deployment), None)


@pytest.fixture
def stopped(lab, api):
    lab.sh(NPU, "docker stop gpustack-worker")
    yield
    lab.sh(NPU, "docker start gpustack-worker")
    wait_until(lambda: api.named("workers", NPU)["state"] == "ready", 120, "the worker is back")


def test_ascend_deployment_waits_for_its_worker(stopped, lab, api):
    before = lab.running(H20)
    wait_until(lambda: api.named("workers", NPU)["state"] != "ready", 240, "the server misses the worker")
    old = instance_of(api, DEPLOYMENTS[NPU])
    api.call("DELETE", f"/v2/model-instances/{old['id']}")

    def judged():
        instance = instance_of(api, DEPLOYMENTS[NPU])
        return instance and instance["id"] != old["id"] and instance["state_message"] and instance

    instance = wait_until(judged, 120, "a new instance with a message")
    print(f"\n{instance['state']}: {instance['state_message']}")
    assert instance["state"] == "pending"
    assert instance["worker_name"] is None
    assert lab.running(H20) == before
