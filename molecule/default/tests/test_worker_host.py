from __future__ import annotations

import json

from lab_hosts import over_ssh

testinfra_hosts = over_ssh("h20-01")


def test_container_engine_runs_now_and_after_a_reboot(host):
    service = host.service("docker")
    assert service.is_running
    assert service.is_enabled


def test_foreign_keys_of_daemon_json_stay(host):
    content = json.loads(host.file("/etc/docker/daemon.json").content_string)
    assert content["insecure-registries"] == ["172.29.77.5:5000"]
    assert content["runtimes"]["lab"] == {"path": "/usr/local/sbin/runc-within-bounds"}
    assert content["default-runtime"] == "lab"


def test_the_container_runtime_of_the_cards_is_known_to_docker(host):
    content = json.loads(host.file("/etc/docker/daemon.json").content_string)
    assert content["runtimes"]["nvidia"]["path"] == "nvidia-container-runtime"


def test_images_are_there_by_digest(host):
    digests = host.check_output("docker images --digests --format '{{.Repository}}@{{.Digest}}'").splitlines()
    repositories = {line.split("@")[0] for line in digests if "@sha256:" in line}
    prefix = "172.29.77.5:5000/docker.io/"
    assert {prefix + name for name in ("gpustack/gpustack", "gpustack/runtime", "vllm/vllm-openai")} <= repositories


def test_python_module_for_managing_containers(host):
    assert host.run("/usr/bin/python3 -c 'import requests'").rc == 0
