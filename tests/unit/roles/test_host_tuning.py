# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is tuned on which host. Every host's connection is refused, so a host where nothing is done cannot fail."""

from __future__ import annotations

import re

import pytest
import yaml
from unit.ansible_run import REPOSITORY
from unit.roles.role_runner import host_facts, run_playbook

ROLE = REPOSITORY / "roles" / "host_tuning"
WORKER_PORTS = ["10150", "10151", "40000-40063", "41000-41999"]
UNKEPT = {"clock": {"synchronised": False, "service": ""}}
UNKNOWN = {"id": "arch", "family": "unknown", "pretty": "Arch Linux"}
UFW = {"kind": "ufw", "active": True}
OPEN = {
    "kind": "file",
    "name": "/etc/ufw/applications.d/gpustack",
    "by": "host_tuning",
    "note": f"ports: {', '.join(WORKER_PORTS)}",
}
SOURCES = {
    "kind": "file",
    "name": "/etc/chrony/sources.d/gpustack.sources",
    "by": "host_tuning",
    "note": "servers: 10.0.0.1",
}


def tune(tmp_path, facts, variables, *arguments, tasks=()):
    hosts = {name: host_facts(differences) for name, differences in facts.items()}
    play = {"hosts": "all", "gather_facts": False, "roles": ["inferops.gpustack.host_tuning"], "tasks": list(tasks)}
    return run_playbook(tmp_path, [play], hosts, {"gpustack_worker": list(facts)}, variables, *arguments)


def first_contact(output):
    """Host to the task that could not reach it."""
    found, task = {}, ""
    for line in output.splitlines():
        match = re.match(r"TASK \[(?:inferops\.gpustack\.host_tuning : )?(.+?)\] \*", line)
        task = match[1] if match else task
        lost = re.match(r"fatal: \[(.+?)\]: UNREACHABLE!", line)
        if lost:
            found[lost[1]] = task
    return found


def test_hosts_are_touched_only_where_a_fact_says_so(tmp_path):
    facts = {
        "well": {},
        "kept_by_the_hypervisor": {"clock": {"synchronised": True, "service": ""}},
        "kept_but_not_yet_right": {"clock": {"synchronised": False, "service": "systemd-timesyncd"}},
        "firewall_asleep": {"firewall": {"kind": "firewalld", "active": False}},
        "unkept": UNKEPT,
        "unknown_to_the_kernel": {"clock": {"synchronised": None, "service": ""}},
        "firewalld": {"firewall": {"kind": "firewalld", "active": True}},
        "ufw": {"firewall": UFW},
        "ufw_open": {"firewall": UFW, "manifest": {"entries": [OPEN]}},
        "ufw_killed": {"firewall": UFW, "manifest": {"entries": [{**OPEN, "note": "ports: 10150"}]}},
        "unkept_and_unknown": {**UNKEPT, "os": UNKNOWN},
    }
    done = tune(tmp_path, facts, {})
    assert first_contact(done.stdout) == {
        "unkept": "Record the package in the host's manifest",
        "unknown_to_the_kernel": "Record the package in the host's manifest",
        "firewalld": "Record the service in the host's manifest",
        "ufw": "Record the profile in the host's manifest",
        # One look at the rule, and nothing else.
        "ufw_open": "Open the ports of the application",
        "ufw_killed": "Record the profile in the host's manifest",
    }
    assert re.search(r"Nothing keeps the clock of unkept_and_unknown, which runs Arch\s+Linux", done.stdout)


def test_time_servers_are_for_chrony(tmp_path):
    facts = {
        "chrony": {},
        "taken_up": {"manifest": {"entries": [SOURCES]}},
        "killed": {"manifest": {"entries": [{name: SOURCES[name] for name in ("kind", "name", "by")}]}},
        "other": {"manifest": {"entries": [{**SOURCES, "note": "servers: 10.0.0.2"}]}},
        "timesyncd": {"clock": {"synchronised": True, "service": "systemd-timesyncd"}},
    }
    done = tune(tmp_path, facts, {"gpustack_ntp_servers": ["10.0.0.1"]})
    record = "Record the file in the host's manifest"
    assert first_contact(done.stdout) == {
        "chrony": record,
        "killed": "Write the time servers",
        "other": "Write the time servers",
    }
    assert re.search(r"timesyncd\s+\(Debian GNU/Linux 12\)\s+is\s+kept\s+by\s+systemd-timesyncd", done.stdout)


def test_a_check_on_a_bare_host_says_what_would_be_installed(tmp_path):
    variables = {"ansible_connection": "local", "gpustack_ntp_servers": ["10.0.0.1"]}
    done = tune(tmp_path, {"bare": UNKEPT}, variables, "--check")
    assert done.returncode == 0, done.stdout
    assert "On bare would be installed and started: chrony." in done.stdout


def test_leave_leaves_the_firewall(tmp_path):
    done = tune(tmp_path, {"ufw": {"firewall": UFW}}, {"gpustack_firewall": "leave"})
    assert done.returncode == 0, done.stdout
    assert first_contact(done.stdout) == {}


def test_files_name_exactly_the_ports_of_the_host_s_part(tmp_path):
    # The templates are written on this machine, with what the role makes of the inventory.
    write = {
        "ansible.builtin.copy": {
            "content": "{{ lookup('ansible.builtin.template', 'ROLE/templates/' ~ item) }}".replace("ROLE", str(ROLE)),
            "dest": f"{tmp_path}/{{{{ inventory_hostname }}}}-{{{{ item }}}}",
        },
        "vars": {"host_tuning_ntp_servers": ["ntp1.example", "10.0.0.1"]},
        "loop": ["firewalld.xml.j2", "ufw.j2", "gpustack.sources.j2"],
        "delegate_to": "localhost",
    }
    hosts = {"gs": host_facts({}), "both": host_facts({}), "w": host_facts({})}
    groups = {"gpustack_server": ["gs", "both"], "gpustack_worker": ["both", "w"]}
    variables = {
        "gpustack_server_port": 8080,
        "gpustack_tls_certificate": "/etc/ssl/gs.pem",
        "gpustack_worker_config": {"disable_worker_metrics": True, "service_port_range": "50000-50010"},
    }
    play = {
        "hosts": "all",
        "gather_facts": False,
        "tasks": [{"ansible.builtin.include_role": {"name": "inferops.gpustack.host_tuning", "public": True}}, write],
    }
    done = run_playbook(tmp_path, [play], hosts, groups, variables)
    assert done.returncode == 0, done.stdout + done.stderr

    def firewalld(host):
        text = (tmp_path / f"{host}-firewalld.xml.j2").read_text(encoding="utf-8")
        return re.findall(r'<port protocol="tcp" port="(.+?)"/>', text)

    assert firewalld("gs") == ["8080", "443"]
    assert firewalld("w") == ["10150", "50000-50010", "41000-41999"]
    assert firewalld("both") == ["8080", "443", "10150", "50000-50010", "41000-41999"]
    ufw = (tmp_path / "both-ufw.j2").read_text(encoding="utf-8")
    assert "\n[gpustack]\n" in ufw
    assert ufw.endswith("\nports=8080,443,10150,50000:50010,41000:41999/tcp\n")
    sources = (tmp_path / "w-gpustack.sources.j2").read_text(encoding="utf-8")
    assert sources.splitlines()[1:] == ["server ntp1.example iburst", "server 10.0.0.1 iburst"]


def tasks(path):
    for item in yaml.safe_load(path.read_text(encoding="utf-8")):
        yield item
        yield from item.get("block", [])


@pytest.mark.parametrize("name", ["ntp_servers", "firewalld", "ufw"])
def test_what_was_taken_up_is_recorded_last(name):
    # A run that died before would be repeated; one that recorded first would be believed.
    last = list(tasks(ROLE / "tasks" / f"{name}.yml"))[-1]
    assert "combine({'note':" in last["inferops.gpustack.manifest"]["entries"]


def test_no_firewall_is_switched_on_or_off():
    found = [task for path in sorted((ROLE / "tasks").glob("*.yml")) for task in tasks(path)]
    ufw = [task["community.general.ufw"] for task in found if "community.general.ufw" in task]
    assert ufw and all(set(options) == {"rule", "name"} for options in ufw)
    services = {
        task["ansible.builtin.systemd_service"]["name"]: task["ansible.builtin.systemd_service"]
        for task in found
        if "ansible.builtin.systemd_service" in task
    }
    assert services["firewalld.service"] == {"name": "firewalld.service", "state": "reloaded"}
    assert not [name for name in services if "ufw" in name]


def test_the_filter_tells_a_worker_s_ports():
    from ansible.errors import AnsibleFilterError
    from ansible_collections.inferops.gpustack.plugins.filter.worker_ports import worker_ports

    assert worker_ports({}) == WORKER_PORTS
    assert worker_ports({"worker_port": 1150, "disable_worker_metrics": True}) == ["1150", *WORKER_PORTS[2:]]
    assert worker_ports({"worker_port": "soon"}) == WORKER_PORTS[1:]
    with pytest.raises(AnsibleFilterError, match="not a mapping") as error:
        worker_ports("Very-secret-1")
    assert "Very-secret-1" not in str(error.value)
