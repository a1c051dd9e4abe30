# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plays on made-up hosts: their facts are given, and none of them can be reached unless its connection is local."""

from __future__ import annotations

import copy
import json
import re
import sys

import yaml
from unit.ansible_run import playbook

#: A host on which all is well.
WELL = {
    "os": {"id": "debian", "version_id": "12", "major": 12, "family": "debian", "pretty": "Debian GNU/Linux 12"},
    "machine_id": "0" * 32,
    "wsl": False,
    "clock": {"synchronised": True, "service": "chronyd", "offset_seconds": None},
    "firewall": {"kind": "", "active": False},
    "manifest": {"entries": []},
    "engine": {"answers": True, "kind": "docker", "containers": []},
    "reboot": {"reasons": [], "system": False},
}


def host_facts(differences):
    """ansible_facts.gpustack_host of a host that is well but for `differences`."""
    facts = copy.deepcopy(WELL)
    for name, value in differences.items():
        facts[name] = {**facts[name], **value} if isinstance(value, dict) else value
    return facts


def run_playbook(directory, plays, hosts, groups, variables, *arguments):
    """`hosts`: name to facts. Variables come as an inventory's, where gpustack_* are set."""
    everywhere = {
        "ansible_become": False,
        "ansible_host": "127.0.0.1",
        "ansible_port": 1,
        "ansible_python_interpreter": sys.executable,
        "gpustack_server_url": "http://127.0.0.1:1",
        "gpustack_admin_password": "Not-a-real-1",
        **variables,
    }
    inventory = {
        "all": {"hosts": {name: {"made_facts": facts} for name, facts in hosts.items()}, "vars": everywhere},
        **{group: {"hosts": dict.fromkeys(names)} for group, names in groups.items()},
    }
    given = {
        "name": "What a probe would have found",
        "hosts": "all",
        "gather_facts": False,
        "tasks": [{"ansible.builtin.set_fact": {"gpustack_host": "{{ made_facts }}", "cacheable": True}}],
    }
    (directory / "hosts.yml").write_text(json.dumps(inventory), encoding="utf-8")
    (directory / "play.yml").write_text(yaml.safe_dump([given, *plays]), encoding="utf-8")
    return playbook("-i", directory / "hosts.yml", directory / "play.yml", *arguments, ANSIBLE_SSH_RETRIES="0")


def first_contact(output):
    """Host to the task that could not reach it."""
    found, task = {}, ""
    for line in output.splitlines():
        match = re.match(r"TASK \[(?:inferops\.gpustack\.\w+ : )?(.+?)\] \*", line)
        task = match[1] if match else task
        lost = re.match(r"fatal: \[(.+?)\]: UNREACHABLE!", line)
        if lost:
            found[lost[1]] = task
    return found


def told(output):
    """As it reads, without line breaks and quotes of YAML."""
    return " ".join(output.replace("''", "'").split())
