# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The inventory plugin, asked by ansible-inventory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(sys.executable).with_name("ansible-inventory")


@pytest.fixture
def ask(server, tmp_path):
    """`(inventory, what was printed beside it)`"""

    def run(password=server.password, **options):
        source = tmp_path / "gpustack.yml"
        options = {"plugin": "inferops.gpustack.gpustack", "url": server.url, **options}
        source.write_text(yaml.safe_dump(options))
        result = subprocess.run(
            [PROGRAM, "-i", source, "--list"],
            cwd=ROOT,
            env={**os.environ, "GPUSTACK_PASSWORD": password, "ANSIBLE_LOCALHOST_WARNING": "false"},
            capture_output=True,
            text=True,
        )
        assert server.password not in result.stdout + result.stderr
        return json.loads(result.stdout or "{}", object_hook=plain), " ".join(result.stderr.split())

    return run


def plain(value):
    """A text of the server, which Ansible must not take for a template, is printed as a dictionary."""
    return value.get("__ansible_unsafe", value)


def test_workers(ask, server, make_worker):
    worker = make_worker("inventory-1", labels={"gpustack-accelerator": "nvidia_h20_3e", "rack": "a/7"})
    inventory, complaints = ask()
    assert complaints == ""
    variables = inventory["_meta"]["hostvars"]["inventory-1"]
    record = variables["gpustack_worker"]
    row = server.api.get(f"/v2/workers/{worker.id}")
    assert (variables["ansible_host"], record["ip"], record["id"]) == (row["ip"], row["ip"], worker.id)
    assert (record["state"], record["cluster"], record["labels"]) == ("ready", "default", row["labels"])
    assert sum(one["count"] for one in record["accelerators"]) == len(row["status"]["gpu_devices"])
    groups = {name for name, group in inventory.items() if "inventory-1" in group.get("hosts", [])}
    expected = {"state_ready", "vendor_nvidia", "accelerator_nvidia_h20_3e", "label_rack_a_7"}
    assert expected <= groups
    assert all(name.replace("_", "").isalnum() for name in groups)


def test_cache_outlives_the_server(ask, worker, tmp_path):
    cached = {"cache": True, "cache_plugin": "ansible.builtin.jsonfile", "cache_connection": str(tmp_path / "cache")}
    read, _ = ask(**cached)
    assert worker.name in read["_meta"]["hostvars"]
    # Another server stands for one that is gone: the cache belongs to the file.
    assert ask(url="http://127.0.0.1:9", **cached) == (read, "")


def test_wrong_password(ask):
    inventory, complaints = ask(password="Canary_wrong-1")
    assert inventory == {}
    assert (
        "answered 401 (Unauthorized): Invalid authentication credentials. Check username and password, or api_key."
        in complaints
    )


def test_no_server(ask):
    _, complaints = ask(url="http://127.0.0.1:9")
    assert "http://127.0.0.1:9 does not answer GET /v2/clusters" in complaints
    assert "Check url, that the gpustack-server container runs, and the firewall between." in complaints
