from __future__ import annotations

from lab_hosts import over_ssh

testinfra_hosts = over_ssh("gs-01")


def test_only_the_public_port_is_published(host):
    assert host.socket("tcp://0.0.0.0:80").is_listening
    assert host.check_output("docker port gpustack-server") == "80/tcp -> 0.0.0.0:80"
    assert not host.socket("tcp://0.0.0.0:5432").is_listening


def test_configuration_is_for_root_only(host):
    for path, mode in (("/etc/gpustack/server", 0o700), ("/etc/gpustack/server/config.yaml", 0o600)):
        assert (host.file(path).user, host.file(path).mode) == ("root", mode)


def test_server_container(host):
    container = host.docker("gpustack-server")
    assert container.is_running
    inspected = container.inspect()
    assert inspected["HostConfig"]["NetworkMode"] == "bridge"
    assert inspected["HostConfig"]["RestartPolicy"]["Name"] == "always"
    assert "--disable-worker" in inspected["Config"]["Cmd"]


def test_data_lives_in_a_volume(host):
    mounts = host.docker("gpustack-server").inspect()["Mounts"]
    assert ("gpustack-server-data", "/var/lib/gpustack") in [(m.get("Name"), m["Destination"]) for m in mounts]
