"""The running lab as the end-to-end tests see it: hosts through Docker, the API through HTTP, site.yml as a process.

Shares no code with the collection: what is tested is not used to test.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
import signal
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

import docker
import yaml

ROOT = Path(__file__).resolve().parents[2]
INVENTORY = ROOT / "inventories" / "lab"
OUTPUT = ROOT / "tests" / "output"
SERVER, H20, NPU, RTX = "gs-01", "h20-01", "npu-01", "rtx-01"
WORKERS = (H20, NPU, RTX)
HOSTS = (SERVER, *WORKERS)
#: No part of the site: cards with a driver, and cards of both vendors without.
SOLO, BARE, BARE_NPU = "solo-01", "bare-01", "bare-02"
ADDRESSES = {
    SERVER: "172.29.77.10",
    H20: "172.29.77.11",
    NPU: "172.29.77.12",
    RTX: "172.29.77.13",
    SOLO: "172.29.77.14",
    BARE: "172.29.77.15",
    BARE_NPU: "172.29.77.16",
}
URL = f"http://{ADDRESSES[SERVER]}"
ROUTE = "deepseek-v4-flash"
DEPLOYMENTS = {H20: f"{ROUTE}-nvidia_h20_3e", NPU: f"{ROUTE}-ascend_910b", RTX: "qwen3-8b-nvidia_rtx_4090"}
RECAP = re.compile(r"^(\S+)\s+: ok=(\d+)\s+changed=(\d+)\s+unreachable=(\d+)\s+failed=(\d+)", re.MULTILINE)


def playbook(*arguments, log, cwd=ROOT, timeout=900):
    """Run ansible-playbook to its end; its output goes to tests/output/<log>."""
    run = Run(*arguments, log=log, cwd=cwd)
    try:
        run.process.wait(timeout)
    except BaseException:
        # It has a process group of its own and would work on against the next suite.
        os.killpg(run.process.pid, signal.SIGKILL)
        run.process.wait()
        raise
    return run


def site(*arguments, log, **options):
    return playbook("site.yml", "-i", str(INVENTORY), *arguments, log=log, **options)


class Run:
    """ansible-playbook in a process group of its own, so that it can be killed as a whole."""

    def __init__(self, *arguments, log, cwd=ROOT):
        OUTPUT.mkdir(exist_ok=True)
        self.path = OUTPUT / log
        command = [str(Path(os.environ["VIRTUAL_ENV"]) / "bin" / "ansible-playbook"), *arguments]
        environment = dict(os.environ, ANSIBLE_CALLBACKS_ENABLED="ansible.posix.profile_tasks")
        with open(self.path, "w") as log_file:
            self.process = subprocess.Popen(
                command, cwd=cwd, env=environment, stdout=log_file, stderr=subprocess.STDOUT, start_new_session=True
            )

    @property
    def output(self):
        return self.path.read_text()

    @property
    def code(self):
        return self.process.returncode

    def recap(self):
        """`{host: {ok, changed, unreachable, failed}}`"""
        names = ("ok", "changed", "unreachable", "failed")
        return {found[0]: dict(zip(names, map(int, found[1:]))) for found in RECAP.findall(self.output)}

    def changed(self):
        return sum(counts["changed"] for counts in self.recap().values())

    def tail(self, lines=40):
        return "\n".join(self.output.splitlines()[-lines:])

    def kill_when(self, condition, seconds=600):
        """SIGKILL the whole process group as soon as the condition holds; False when the run ended before."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if condition():
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
                return True
            if self.process.poll() is not None:
                return False
            time.sleep(0.02)
        os.killpg(self.process.pid, signal.SIGKILL)
        raise AssertionError(f"condition not met within {seconds} s:\n{self.tail()}")


class Lab:
    def __init__(self):
        self.engine = docker.from_env()
        prefix = f"gpustack-{os.environ.get('LAB') or 'lab'}"
        self.containers = {host: f"{prefix}-{host}" for host in ADDRESSES}

    def sh(self, host, command, check=True):
        """Run a shell command on a host, through Docker and not over SSH."""
        result = self.engine.containers.get(self.containers[host]).exec_run(["sh", "-c", command])
        text = result.output.decode(errors="replace").strip()
        assert not check or result.exit_code == 0, f"{host}: {command}: {text}"
        return text

    def root(self, host):
        """The host's file system, read from outside: quicker than any command."""
        return Path("/proc", str(self.engine.containers.get(self.containers[host]).attrs["State"]["Pid"]), "root")

    def restarts(self, host):
        """How often it was rebooted."""
        return self.engine.containers.get(self.containers[host]).attrs["RestartCount"]

    def inspect(self, host, container):
        return json.loads(self.sh(host, f"docker inspect {container}"))[0]

    def running(self, host):
        """`{container name: StartedAt}` of every container of the host's own engine."""
        text = self.sh(host, "docker ps -aq | xargs -r docker inspect -f '{{.Name}} {{.State.StartedAt}}'")
        return dict(line.lstrip("/").split() for line in text.splitlines())

    def engine_container(self, host):
        """The name of the container in which the host's deployment runs."""
        found = [name for name in self.running(host) if name.startswith(DEPLOYMENTS[host]) and "-run-" in name]
        assert len(found) == 1, f"{host}: {found}"
        return found[0]

    def engine_command(self, host):
        """The argument vector of the host's engine, as the kernel has it."""
        pid = self.inspect(host, self.engine_container(host))["State"]["Pid"]
        return self.sh(host, f"cat /proc/{pid}/cmdline").rstrip("\0").split("\0")

    def manifest(self, host):
        return json.loads(self.sh(host, "cat /etc/gpustack/manifest.json"))["entries"]

    def variables(self):
        return yaml.safe_load((INVENTORY / "lab.yml").read_text())["all"]["vars"]

    def lock(self):
        text = (INVENTORY / "artefacts.lock.yml").read_text()
        return yaml.safe_load(text)["all"]["vars"]["gpustack_artefacts_lock"]

    @property
    def password(self):
        return self.variables()["gpustack_admin_password"]


class Api:
    """GPUStack's API, just enough to look."""

    def __init__(self, password):
        self.authorization = "Basic " + base64.b64encode(f"admin:{password}".encode()).decode()

    def call(self, method, path, body=None, timeout=60):
        request = urllib.request.Request(
            URL + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": self.authorization, "Content-Type": "application/json"},
        )
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=timeout) as answer:
            return json.load(answer)

    def items(self, resource):
        try:
            return self.call("GET", f"/v2/{resource}?page=-1", timeout=5)["items"]
        except (OSError, ValueError):
            return []

    def named(self, resource, name):
        return next((item for item in self.items(resource) if item["name"] == name), None)

    def chat(self, model, content, timeout=60, **options):
        body = {"model": model, "messages": [{"role": "user", "content": content}], **options}
        return self.call("POST", "/v1/chat/completions", body, timeout)

    def export(self):
        """Every resource we manage, without what the server counts by itself."""
        heartbeat = {"heartbeat_time", "status", "updated_at"}
        resources = ("clusters", "workers", "models", "model-routes", "model-route-targets", "model-instances")
        return {
            resource: [
                {key: value for key, value in item.items() if resource != "workers" or key not in heartbeat}
                for item in sorted(self.call("GET", f"/v2/{resource}?page=-1")["items"], key=lambda item: item["id"])
            ]
            for resource in resources
        }


@contextlib.contextmanager
def planted(lab, faults):
    """Shell commands that make a host wrong, and those that put it right again afterwards: (host, plant, restore)."""
    with contextlib.ExitStack() as restored:
        for host, plant, restore in faults:
            restored.callback(lab.sh, host, restore)
            lab.sh(host, plant)
        yield


def wait_until(condition, seconds, what):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(1)
    raise AssertionError(f"not within {seconds} s: {what}")
