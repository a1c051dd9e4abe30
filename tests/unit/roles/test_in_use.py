# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who holds the cards is asked and told before their driver is changed. A file stands for a card here."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from unit.roles.role_runner import host_facts, run_playbook, told

REFUSAL = "the driver is not changed under them. Stop them"


def look(tmp_path, *arguments, **variables):
    include = {
        "ansible.builtin.include_role": {"name": "inferops.gpustack.host_probe", "tasks_from": "in_use"},
        "vars": {
            "host_probe_devices": f"{tmp_path}/card*",
            "host_probe_devices_refusal": REFUSAL,
            **variables,
        },
    }
    plays = [{"hosts": "all", "gather_facts": False, "tasks": [include]}]
    hosts = {"h": host_facts({})}
    return run_playbook(tmp_path, plays, hosts, {}, {"ansible_connection": "local"}, *arguments)


@pytest.fixture
def holder(tmp_path):
    """A process that has a card open."""
    (tmp_path / "card0").touch()
    with (tmp_path / "card0").open() as card:
        process = subprocess.Popen(
            [sys.executable, "-c", "import time; print('up', flush=True); time.sleep(300)"],
            stdin=card,
            stdout=subprocess.PIPE,
        )
    process.stdout.readline()
    yield process
    process.kill()
    process.wait()


@pytest.mark.parametrize("arguments", [(), ("--check",)])
def test_a_process_is_told_by_number_and_name(tmp_path, holder, arguments):
    done = look(tmp_path, *arguments)
    assert done.returncode != 0
    name = Path(f"/proc/{holder.pid}/comm").read_text(encoding="utf-8").strip()
    assert f"h: the processes {holder.pid} {name} hold {tmp_path}/card*, and {REFUSAL}. Nothing was changed." in told(
        done.stdout
    )


def test_a_program_that_does_not_count_is_left_out(tmp_path, holder):
    name = Path(f"/proc/{holder.pid}/comm").read_text(encoding="utf-8").strip()
    assert look(tmp_path, host_probe_devices_spared=["another", name]).returncode == 0


def test_a_container_that_does_not_count_is_left_out(tmp_path, holder):
    # Nobody asks an engine here. Every line of a cgroup file has a colon, as it would have the container's id.
    for answer, code in (({"container": {"Id": ":"}}, 0), ({"container": None}, 2), ({"skipped": True}, 2)):
        done = look(tmp_path, "-e", json.dumps({"__host_probe_spared": answer}))
        assert done.returncode == code, done.stdout


def test_cards_that_nobody_holds_are_asked_for_once(tmp_path):
    (tmp_path / "card0").touch()
    done = look(tmp_path, host_probe_devices_container="gpustack-worker")
    assert done.returncode == 0, done.stdout
    assert "ok=3" in done.stdout and "skipped=3" in done.stdout
