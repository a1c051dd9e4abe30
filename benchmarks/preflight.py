#!/usr/bin/env python3
"""What does preflight cost on a large site? CPU seconds of 500 hosts with 20 models, without Ansible's own start.

Usage: preflight.py [--hosts N] [--models N] [--keep DIRECTORY]
"""

from __future__ import annotations

import argparse
import hashlib
import ipaddress
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
BUDGET_S = 3.0
ACCELERATORS = ("nvidia_h20_3e", "ascend_910b")
IMAGES = (
    "docker.io/gpustack/gpustack:v2.3.0",
    "docker.io/gpustack/runtime:pause",
    "docker.io/gpustack/runtime:health",
    "docker.io/vllm/vllm-openai:v0.25.0",
    "quay.io/ascend/vllm-ascend:nightly-main",
)
# Starts Ansible and reads the inventory, and nothing else.
EMPTY_PLAY = [{"name": "Nothing", "hosts": "all", "gather_facts": False, "tasks": []}]


def write_inventory(directory, hosts, models):
    """A site as people write one: addresses in hosts.yml, everything else in group_vars."""
    first = ipaddress.ip_address("10.0.1.0")
    workers = {f"worker-{number:03}": {"ansible_host": str(first + number)} for number in range(hosts - 1)}
    names = list(workers)
    halves = zip(ACCELERATORS, (names[::2], names[1::2]))
    _write(
        directory / "hosts.yml",
        {
            "gpustack_server": {"hosts": {"server": {"ansible_host": "10.0.0.10"}}},
            "gpustack_worker": {
                "hosts": workers,
                "children": {accelerator: {"hosts": dict.fromkeys(half)} for accelerator, half in halves},
            },
        },
    )
    group_vars = directory / "group_vars"
    group_vars.mkdir(parents=True)
    _write(
        group_vars / "all.yml",
        {
            "gpustack_server_url": "http://10.0.0.10",
            "gpustack_admin_password": "Harbour.42-lights",
            "gpustack_worker_address": "{{ ansible_host }}",
            "gpustack_artefacts_lock": {name: "sha256:" + hashlib.sha256(name.encode()).hexdigest() for name in IMAGES},
            "gpustack_models": [_model(f"model-{number:02}") for number in range(models)],
        },
    )
    for accelerator in ACCELERATORS:
        _write(group_vars / f"{accelerator}.yml", {"gpustack_accelerator": accelerator})


def _model(name):
    deployments = [{"accelerator": each, "path": f"/srv/models/{name}-{each}"} for each in ACCELERATORS]
    return {"name": name, "family": "deepseek_v4", "dspark": True, "deployments": deployments}


def _write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")


def cpu_seconds(playbook, inventory):
    """CPU of one ansible-playbook and of everything it started."""
    command = [sys.executable, "-m", "ansible", "playbook", str(playbook), "-i", str(inventory)]
    environment = dict(os.environ, ANSIBLE_CONFIG=str(ROOT / "ansible.cfg"), ANSIBLE_NOCOLOR="1")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise RuntimeError(f"{playbook} ended with {done.returncode}:\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(directory, hosts=500, models=20):
    """(CPU of the preflight run, CPU of a run that does nothing), in seconds."""
    inventory = directory / "inventory"
    write_inventory(inventory, hosts, models)
    empty = directory / "empty.yml"
    _write(empty, EMPTY_PLAY)
    return cpu_seconds(ROOT / "playbooks" / "preflight.yml", inventory), cpu_seconds(empty, inventory)


def report(whole, start):
    return f"whole run {whole:.2f} s, start and inventory {start:.2f} s, preflight {whole - start:.2f} s of CPU"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hosts", type=int, default=500)
    parser.add_argument("--models", type=int, default=20)
    parser.add_argument("--keep", type=Path, help="an empty directory for the inventory, to look at it afterwards")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        whole, start = measure(arguments.keep or Path(temporary), arguments.hosts, arguments.models)
    print(f"{arguments.hosts} hosts, {arguments.models} models: {report(whole, start)} (budget {BUDGET_S} s)")
    return int(whole - start > BUDGET_S)


if __name__ == "__main__":
    sys.exit(main())
