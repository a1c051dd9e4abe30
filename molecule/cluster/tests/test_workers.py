from __future__ import annotations

import json

from lab_hosts import over_ssh

testinfra_hosts = over_ssh("h20-01", "npu-01")
RUNTIMES = {"h20-01": "nvidia", "npu-01": "ascend"}


def config(host):
    text = host.file("/etc/gpustack/worker/config.yaml").content_string
    return json.loads("".join(line for line in text.splitlines() if not line.startswith("#")))


def test_configuration_is_for_root_only(host):
    for path, mode in (("/etc/gpustack/worker", 0o700), ("/etc/gpustack/worker/config.yaml", 0o600)):
        assert (host.file(path).user, host.file(path).mode) == ("root", mode)


def test_address_and_name_are_explicit(host):
    name = host.check_output("hostname")
    assert config(host)["worker_name"] == name
    assert config(host)["worker_ip"] in host.interface("eth0").addresses
    assert config(host)["server_url"] == "http://172.29.77.10"


def test_worker_container_keeps_the_run_contract(host):
    inspected = host.docker("gpustack-worker").inspect()
    environment = dict(line.split("=", 1) for line in inspected["Config"]["Env"])
    assert inspected["HostConfig"]["Runtime"] == RUNTIMES[host.check_output("hostname")]
    assert inspected["HostConfig"]["Privileged"] is True
    assert inspected["HostConfig"]["NetworkMode"] == "host"
    assert inspected["HostConfig"]["RestartPolicy"]["Name"] == "unless-stopped"
    assert environment["GPUSTACK_RUNTIME_DEPLOY_MIRRORED_NAME"] == "gpustack-worker"
    assert "GPUSTACK_TOKEN" not in environment
    assert "/var/run/docker.sock" in [mount["Destination"] for mount in inspected["Mounts"]]


def test_ascend_worker_sees_a_device(host):
    environment = host.docker("gpustack-worker").inspect()["Config"]["Env"]
    expected = host.check_output("hostname") == "npu-01"
    assert ("ASCEND_VISIBLE_DEVICES=0" in environment) is expected


def test_worker_api_answers(host):
    assert host.socket("tcp://0.0.0.0:10150").is_listening
