"""The container engine of a host that works: its configuration changes under running containers, or is refused."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import lab_site
import pytest
from lab_site import H20, NPU, ROOT, RTX, SERVER

PATH = "/etc/docker/daemon.json"
MARK = "/etc/docker/.daemon.json.gpustack-pending"


def engine_role(log, **variables):
    return lab_site.playbook(
        str(Path(__file__).parent / "engine.yml"),
        *("-i", str(lab_site.INVENTORY), "--limit", RTX, "--diff", "-e", json.dumps(variables)),
        log=f"engine_{log}.log",
    )


def module(host=RTX, **arguments):
    """One call of the module on the host: its result, whether it failed or not."""
    ansible = Path(os.environ["VIRTUAL_ENV"]) / "bin" / "ansible"
    done = subprocess.run(
        [ansible, host, "-i", lab_site.INVENTORY, "-m", "inferops.gpustack.docker_daemon_config"]
        + ["-a", json.dumps(arguments)],
        cwd=ROOT,
        env=dict(os.environ, ANSIBLE_LOAD_CALLBACK_PLUGINS="1", ANSIBLE_STDOUT_CALLBACK="ansible.posix.json"),
        capture_output=True,
        text=True,
        check=False,
    )
    return json.loads(done.stdout)["plays"][0]["tasks"][0]["hosts"][host]


@pytest.fixture
def kept(lab):
    """daemon.json as it was, afterwards."""
    lab.sh(RTX, f"cp -p {PATH} /root/daemon.json.kept")
    yield
    lab.sh(RTX, f"rm -rf {PATH}; mv /root/daemon.json.kept {PATH}; chmod 755 /etc/docker")


def daemon(lab):
    return lab.sh(RTX, "cat /run/docker.pid")


def settings(lab):
    return json.loads(lab.sh(RTX, f"cat {PATH}"))


BROKEN = {
    "not JSON": (f"printf '%s' '{{\"debug\": true,}}' > {PATH}", ["it is not JSON", "line 1"]),
    "two documents": (f"printf '%s' '{{}}{{}}' > {PATH}", ["document"]),
    "a list": (f"echo '[]' > {PATH}", ["list", "object"]),
    "another type": (f'echo \'{{"debug": "yes"}}\' > {PATH}', ["debug is a string there", "a boolean in the settings"]),
    "a key twice": (f'echo \'{{"mtu": 1, "mtu": 2}}\' > {PATH}', ["the key mtu is there 2 times"]),
    "a link": (f"mv {PATH} /root/elsewhere.json; ln -s /root/elsewhere.json {PATH}", ["is a link to /root/elsewhere"]),
    "of another owner": (f"chown nobody {PATH}", ["belongs to nobody", f"chown root {PATH}"]),
    "open to everybody": (f"chmod 666 {PATH}", ["mode 0666", f"chmod go-w {PATH}"]),
    "in an open directory": ("chmod 777 /etc/docker", ["/etc/docker has mode 0777"]),
    "several at once": (f"echo '[]' > {PATH}; chmod 666 {PATH}", ["mode 0666", "list"]),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_is_not_ours_to_repair_is_shown_and_left_alone(lab, kept, case):
    plant, words = BROKEN[case]
    lab.sh(RTX, plant)
    look = f"stat --printf '%N %a %U %Y %s' {PATH}; cat {PATH}"
    before = lab.sh(RTX, look)
    result = module(settings={"debug": True})
    assert result.get("failed"), result
    assert [word for word in words if word not in result["msg"]] == [], result["msg"]
    assert lab.sh(RTX, look) == before
    assert lab.sh(RTX, f"ls {MARK}", check=False).startswith("ls: cannot access")


def test_a_key_that_the_service_has_as_a_flag_is_refused(lab, kept):
    result = module(settings={"hosts": ["unix:///var/run/docker.sock"]})
    assert result["failed"]
    assert "hosts (-H" in result["msg"]
    assert "systemctl cat docker" in result["msg"]


def test_a_value_that_dockerd_refuses_is_not_written(lab, kept):
    before = settings(lab)
    result = module(settings={"max-concurrent-downloads": -5})
    assert result["failed"]
    assert "dockerd refuses the new content" in result["msg"]
    assert settings(lab) == before


def test_a_key_that_an_old_docker_does_not_know_is_refused(lab):
    """The server's host has the distribution's engine."""
    result = module(SERVER, settings={"proxies": {"http-proxy": "http://proxy.example.com:3128"}})
    assert result["failed"]
    assert "proxies would keep Docker 20 from starting" in result["msg"]


@pytest.fixture(scope="module")
def containers(lab):
    """What runs meanwhile; afterwards the engine is configured as it was before."""
    running = lab.running(RTX)
    assert len(running) >= 2, running
    before = lab.sh(RTX, f"cat {PATH}")
    yield running
    lab.sh(RTX, f"cat > {PATH} <<'END'\n{before}\nEND\nsystemctl restart docker")


def test_settings_are_merged_with_those_of_others(lab, containers):
    found = settings(lab)
    assert found["default-runtime"] == "lab"
    assert set(found["runtimes"]) == {"lab", "nvidia"}
    assert found["live-restore"] is True
    assert found["log-opts"] == {"max-size": "100m", "max-file": "3"}


def test_a_change_that_can_be_reloaded_keeps_the_daemon(lab, containers):
    before = daemon(lab)
    run = engine_role("reload", gpustack_docker_settings={"max-concurrent-downloads": 4})
    assert run.code == 0, run.tail()
    assert '"max-concurrent-downloads": 4' in run.output
    assert daemon(lab) == before
    assert lab.running(RTX) == containers


def test_a_change_that_needs_a_restart_keeps_the_containers(lab, containers):
    before = daemon(lab)
    wanted = {
        "max-concurrent-downloads": 4,
        "log-opts": {"max-size": "50m", "max-file": "3"},
        "log-driver": "json-file",
    }
    run = engine_role("restart", gpustack_docker_settings=wanted)
    assert run.code == 0, run.tail()
    assert daemon(lab) != before
    assert lab.running(RTX) == containers


def test_a_restart_that_would_stop_containers_is_refused(lab, containers):
    before = daemon(lab)
    run = engine_role("refused", gpustack_docker_settings={"live-restore": False, "default-shm-size": "128M"})
    assert run.code == 2, run.tail()
    assert "gpustack_docker_restart: allow" in run.output
    assert "gpustack-worker" in run.output
    assert daemon(lab) == before
    assert lab.running(RTX) == containers


def test_the_next_run_makes_it_good(lab, containers):
    """As if somebody had taken the wish back: what was written and not taken up is overwritten, and taken up."""
    found = settings(lab)
    del found["default-shm-size"]
    lab.sh(RTX, f"cat > {PATH} <<'END'\n{json.dumps(found)}\nEND")
    run = engine_role("good")
    assert run.code == 0, run.tail()
    assert settings(lab)["live-restore"] is True
    assert lab.sh(RTX, f"ls {MARK}", check=False).startswith("ls: cannot access")
    assert lab.running(RTX) == containers


def test_then_nothing_is_left_to_do(lab, containers):
    before = daemon(lab)
    run = engine_role("no_op")
    assert run.code == 0, run.tail()
    assert run.changed() == 0
    assert daemon(lab) == before
    assert lab.running(RTX) == containers


def test_ascend_hosts_get_the_release_their_runtime_is_made_for(lab):
    versions = {host: lab.sh(host, "dpkg-query -W -f '${Version}' docker-ce") for host in (H20, NPU)}
    assert versions == {H20: "5:29.3.0~lab", NPU: "5:28.5.2~lab"}
