"""What is wrong with hosts is told of all of them in one report, before anything is changed.

Runs on the lab's bare hosts and leaves them as they were. Two runs: as many faults at once as go together.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import lab_site
import pytest
import yaml
from host_snapshot import files
from lab_site import ADDRESSES, H20, HOSTS, NPU, RTX, SERVER, SOLO, planted

ANSWERS = "/usr/share/made-tools"
SAME = "0123456789abcdef0123456789abcdef"
#: A Python whose clock is ten minutes ahead: the hosts of the lab share the controller's clock.
AHEAD = """#!/bin/sh
PYTHONPATH=/opt/ahead exec /usr/bin/python3 "$@"
"""
AHEAD_SITE = "import time; now = time.time; time.time = lambda: now() + 600"


def inventory(tmp_path, hosts, variables=None):
    path = tmp_path / "faults.yml"
    workers = {SOLO: None} if SOLO in hosts else {}
    groups = {"all": {"hosts": hosts, "vars": variables or {}}, "gpustack_worker": {"hosts": workers}}
    path.write_text(yaml.safe_dump(groups))
    return str(path)


def replaced(host, path, old, new):
    """Shell commands that change a text in a file and put it back, or fail when the text is not there."""
    kept = f"/tmp/kept-{path.replace('/', '-')}"
    return (
        host,
        f"grep -q '{old}' '{path}' && cp -p '{path}' '{kept}' && sed -i 's/{old}/{new}/' '{path}'",
        f"cp -p '{kept}' '{path}'",
    )


def listening(host, port):
    return (
        host,
        f"setsid python3 -m http.server {port} > /dev/null 2>&1 & echo $! > /tmp/listening",
        "kill $(cat /tmp/listening)",
    )


@pytest.fixture(scope="module")
def before(lab):
    return {host: files(lab, host) for host in HOSTS}


@pytest.fixture(scope="module")
def site_run(lab, before, tmp_path_factory):
    """site.yml on hosts with a fault each, and on some several."""
    lab.sh(SERVER, f"mkdir /opt/ahead && echo '{AHEAD_SITE}' > /opt/ahead/sitecustomize.py")
    lab.sh(SERVER, f"printf '%s' '{AHEAD}' > /opt/ahead/python3 && chmod 755 /opt/ahead/python3")
    faults = [
        listening(SERVER, 80),
        replaced(SOLO, f"{ANSWERS}/modinfo/-F_version_nvidia.out", r"580\.95\.05", "580.105.08"),
        replaced(SOLO, f"{ANSWERS}/nv-fabricmanager/--version.out", r"580\.95\.05", "580.95.04"),
        replaced(RTX, f"{ANSWERS}/nvidia-smi/-q_-x.out", r"580\.95\.05", "570.124.06"),
        replaced(RTX, f"{ANSWERS}/modinfo/-F_version_nvidia.out", r"580\.95\.05", "570.124.06"),
        (RTX, "mount -t tmpfs -o size=1g none /var/lib/docker", "umount /var/lib/docker"),
        *(
            (host, f"cp -p /etc/machine-id /tmp/id; echo {SAME} > /etc/machine-id", "cat /tmp/id > /etc/machine-id")
            for host in (RTX, NPU)
        ),
    ]
    models = yaml.safe_load((lab_site.INVENTORY / "hosts.yml").read_text())["all"]["vars"]["gpustack_models"]
    wrong = inventory(
        tmp_path_factory.mktemp("site"),
        {
            SERVER: {"ansible_python_interpreter": "/opt/ahead/python3"},
            # Cards that it does not have, and no model for those that it has.
            RTX: {"gpustack_accelerator": "nvidia_h20_3e"},
            SOLO: {"ansible_host": ADDRESSES[SOLO], "gpustack_accelerator": "nvidia_h20_3e"},
        },
        {"gpustack_models": models[:1], "gpustack_accept": [], "gpustack_driver": "check", "gpustack_reboot": "fail"},
    )
    with planted(lab, faults):
        run = lab_site.site("-i", wrong, log="host_faults.log")
    lab.sh(SERVER, "rm -r /opt/ahead")
    return run


def block(run, kind):
    """The report's lines about a kind of finding, as one line."""
    text = re.search(rf"^(?:ERROR|WARNING|NOTE) {kind}\n((?:  .*\n)+)", run.output, re.MULTILINE)
    assert text, f"no {kind} in:\n{run.tail(80)}"
    return " ".join(text[1].split())


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("accelerator_differs", [RTX, "1 x nvidia_rtx_4090", "write gpustack_accelerator: nvidia_rtx_4090"]),
        ("driver_missing", [H20, "no driver", "580.65.06", "set gpustack_driver: present"]),
        ("reboot_needed", [SOLO, "580.95.05 is loaded, 580.105.08 is installed"]),
        ("nvidia_fabric_manager_version", [SOLO, "580.95.04", "580.95.05"]),
        ("driver_too_old", [RTX, "570.124.06", "580.65.06", "vllm/vllm-openai:v0.25.0", "branch 580"]),
        ("disk_too_small", [RTX, "/var/lib/docker", "1 GB free", "41 GB"]),
        ("machine_id_duplicate", [RTX, NPU, SAME, "systemd-machine-id-setup"]),
        ("port_taken", [SERVER, "port 80", "python3 (pid", "gpustack_server_port"]),
        ("clock_off", [SERVER, " s ahead of this machine", "chrony"]),
    ],
)
def test_the_fault_is_told(site_run, kind, words):
    found = block(site_run, kind)
    assert [word for word in words if word not in found] == [], found


def test_nothing_was_changed(site_run, before, lab):
    assert site_run.code == 2, site_run.tail()
    assert "No host was changed" in site_run.output
    assert site_run.changed() == 0
    for host in HOSTS:
        after = files(lab, host)
        differing = {path for path in before[host].keys() | after.keys() if after.get(path) != before[host].get(path)}
        planted_here = ("/etc/machine-id", "/opt", ANSWERS)
        assert {path for path in differing if not path.startswith(planted_here)} == set()


@pytest.fixture(scope="module")
def probe_run(lab, tmp_path_factory):
    """probe.yml with engines of the wrong kind, a tool that hangs, and a host with large pages."""
    script = (Path(__file__).parent / "simulated_docker.py").read_text()

    def engine(host, version, **info):
        put = f"cat > /tmp/simulated_docker.py <<'END'\n{script}\nEND"
        start = f"python3 /tmp/simulated_docker.py {version} '{json.dumps(info)}' > /dev/null 2>&1"
        return (host, f"{put}\n{start}", "pkill -f [s]imulated_docker.py; rm /var/run/docker.sock")

    faults = [
        engine(SERVER, "28.1.1", OperatingSystem="Docker Desktop"),
        engine(H20, "28.1.1", SecurityOptions=["name=rootless"]),
        engine(NPU, "29.1.0", Runtimes={"ascend": {}}),
        (
            RTX,
            f"echo 60 > {ANSWERS}/nvidia-smi/-q_-x.sleep",
            f"rm {ANSWERS}/nvidia-smi/-q_-x.sleep",
        ),
        (
            H20,
            "mkdir -p /opt/tree/proc/self && cd /opt/tree && ln -s /etc /sys /usr . && ln -s /proc/sys /proc/net proc/"
            " && echo 'KernelPageSize:       64 kB' > proc/self/smaps",
            "rm -r /opt/tree",
        ),
    ]
    directory = tmp_path_factory.mktemp("probe")
    odd = inventory(directory, {H20: {"host_probe_sysroot": "/opt/tree"}, RTX: {"host_probe_timeout": 4}})
    with planted(lab, faults):
        run = lab_site.playbook(
            str(lab_site.ROOT / "playbooks" / "probe.yml"),
            *("-i", str(lab_site.INVENTORY), "-i", odd, "-e", f"gpustack_report_dir={directory}"),
            log="probe_faults.log",
        )
    return run, directory


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("engine_is_docker_desktop", [SERVER, "Docker Desktop", "gpustack/gpustack#3549"]),
        ("engine_is_rootless", [H20, "rootless"]),
        ("engine_version_unsupported", [NPU, "29.1.0", "docker-ce=5:28.*"]),
        ("vendor_tool_hangs", [RTX, "nvidia-smi"]),
        ("page_size_64k", [H20, "64 KiB"]),
    ],
)
def test_the_probe_tells_it(probe_run, kind, words):
    run, _directory = probe_run
    found = block(run, kind)
    assert [word for word in words if word not in found] == [], found


def test_the_probe_says_one_line_for_each_host_and_writes_json(probe_run):
    run, directory = probe_run
    assert run.code == 2, run.tail()
    assert run.changed() in (0, 1)
    for host in HOSTS:
        assert len(re.findall(rf"^{host} +\S", run.output, re.MULTILINE)) >= 1
    document = json.loads((directory / "probe.json").read_text())
    assert {host["name"] for host in document["hosts"]} == set(HOSTS)
