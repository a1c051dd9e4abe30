# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who is rebooted, when, and what becomes of its worker. Nothing here reboots: check mode, or no reason left."""

from __future__ import annotations

import json
import pathlib
import re

import pytest
import yaml
from unit.ansible_run import REPOSITORY
from unit.api.api_playback import Playback, recorded
from unit.roles.role_runner import host_facts, run_playbook

WHY = {"reboot": {"reasons": ["NVIDIA driver 570.26 is loaded, 580.95.05 is installed"]}}
ALLOW = {"gpustack_reboot": "allow"}
ROLE = REPOSITORY / "roles" / "host_reboot"


def ours(worker):
    return {"kind": "maintenance", "name": worker, "by": "host_reboot"}


def site(tmp_path, facts, variables, *arguments):
    """The plays of reboot.yml on s1 (the server), w1, w2 and w3, and one play more. `facts`: what differs, by host."""
    hosts = {name: host_facts(facts.get(name, {})) for name in ("s1", "w1", "w2", "w3")}
    groups = {"gpustack_server": ["s1"], "gpustack_worker": ["w1", "w2", "w3"]}
    plays = [
        {"import_playbook": str(REPOSITORY / "playbooks" / "reboot.yml")},
        {"name": "Afterwards", "hosts": "all", "gather_facts": False, "tasks": [{"ansible.builtin.debug": None}]},
    ]
    return run_playbook(tmp_path, plays, hosts, groups, variables, *arguments)


def batches(output):
    """The hosts rebooted together, a line each. Ansible names those of one batch in the order they answered."""
    found = re.findall(r"^included: .*/host_reboot/tasks/reboot\.yml for (.+)$", output, re.MULTILINE)
    return [", ".join(sorted(hosts.split(", "))) for hosts in found]


def test_nothing_to_do_looks_at_no_host_and_says_nothing(tmp_path):
    done = site(tmp_path, {}, {})
    assert done.returncode == 0, done.stdout
    assert "PLAY [Afterwards]" in done.stdout
    assert "[WARNING]" not in done.stdout + done.stderr
    assert "changed=1" not in done.stdout
    assert "PLAY [Reboots]" in done.stdout
    assert "no hosts matched" in done.stdout


def test_by_default_one_message_names_all_hosts_and_reasons_and_the_run_ends(tmp_path):
    more = {"reboot": {"reasons": ["nouveau is loaded", "the kernel's command line changed"]}}
    done = site(tmp_path, {"w1": WHY, "w3": more}, {})
    assert done.returncode != 0
    assert done.stdout.count("fatal:") == 1
    assert "w1, w3 need a reboot, and none was rebooted." in done.stdout
    assert "w1: NVIDIA driver 570.26 is loaded, 580.95.05 is installed\n" in done.stdout
    assert "w3: nouveau is loaded; the kernel's command line changed\n" in done.stdout
    assert "Either set gpustack_reboot to allow" in done.stdout
    assert "Or reboot them yourself" in done.stdout
    assert "PLAY [Reboots]" not in done.stdout


def test_never_says_so_and_goes_on(tmp_path):
    done = site(tmp_path, {"w1": WHY, "w2": WHY}, {"gpustack_reboot": "never"})
    assert done.returncode == 0, done.stdout
    assert "w1, w2 need a reboot and go on without, because gpustack_reboot is never." in done.stdout
    assert batches(done.stdout) == []
    assert "PLAY [Afterwards]" in done.stdout
    assert "changed=1" not in done.stdout


def test_hosts_of_the_limit_are_rebooted_one_at_a_time_the_server_last(tmp_path):
    everyone = dict.fromkeys(("s1", "w1", "w2", "w3"), WHY)
    done = site(tmp_path, everyone, ALLOW, "--check", "--limit", "s1,w1,w3")
    assert done.returncode == 0, done.stdout
    assert batches(done.stdout) == ["w1", "w3", "s1"]


def test_a_host_that_is_lost_stops_the_batches_after_it_and_the_run(tmp_path):
    # Its worker runs, so the first thing is a question from it to the server; it cannot be reached for that.
    lost = dict(WHY, engine={"containers": [{"name": "gpustack-worker", "running": True}]})
    done = site(tmp_path, {"w1": lost, "w2": WHY, "w3": WHY}, dict(ALLOW, gpustack_reboot_batch=2), "--check")
    assert done.returncode != 0
    assert "fatal: [w1]: UNREACHABLE!" in done.stdout
    assert batches(done.stdout) == ["w1, w2"]
    assert re.search(r"w3 and what comes after it is not rebooted, because\s+w1 did not come through", done.stdout)
    assert "PLAY [Afterwards]" not in done.stdout


def test_the_machine_ansible_runs_on_and_wsl_stop_the_run_though_another_host_could_be_rebooted(tmp_path):
    own = pathlib.Path("/etc/machine-id")
    machine_id = own.read_text(encoding="utf-8").strip() if own.exists() else ""
    # Without an id of its own a machine is not recognised, and the connection has to tell.
    w1 = dict(WHY, machine_id=machine_id) if machine_id else dict(WHY, connection="ansible.builtin.local")
    facts = {"s1": WHY, "w1": w1, "w2": dict(WHY, wsl=True), "w3": dict(WHY, connection="local")}
    connection = "{{ made_facts.connection | default('ssh') }}"
    done = site(tmp_path, facts, dict(ALLOW, ansible_connection=connection))
    assert done.returncode != 0
    assert "w1, w2, w3: never rebooted from here" in done.stdout
    assert "sudo systemctl reboot" in done.stdout
    assert "PLAY [Reboots]" not in done.stdout


def test_a_host_that_is_never_rebooted_from_here_is_not_told_to_allow_it(tmp_path):
    done = site(tmp_path, {"w2": {"wsl": True, **WHY}}, {})
    assert "w2: never rebooted from here" in done.stdout
    assert "set gpustack_reboot to allow" not in done.stdout


@pytest.mark.parametrize(
    ("variables", "facts", "rebooted"),
    [(ALLOW, WHY, ["w1"]), ({}, WHY, []), ({"gpustack_reboot": "never"}, WHY, []), (ALLOW, {"wsl": True, **WHY}, [])],
)
def test_the_role_alone_keeps_to_what_the_user_chose(tmp_path, variables, facts, rebooted):
    play = {"hosts": "all", "gather_facts": False, "roles": ["inferops.gpustack.host_reboot"]}
    hosts = {"w1": host_facts(facts)}
    done = run_playbook(tmp_path, [play], hosts, {"gpustack_worker": ["w1"]}, variables, "--check")
    assert batches(done.stdout) == rebooted, done.stdout


def test_a_reason_is_recorded_once(tmp_path):
    # No connection: the host that has the reason already is not asked for one.
    record = {
        "ansible.builtin.include_role": {"name": "inferops.gpustack.host_reboot", "tasks_from": "record"},
        "vars": {"host_reboot_reason_id": "driver", "host_reboot_reason": WHY["reboot"]["reasons"][0]},
    }
    hosts = {"known": host_facts(WHY), "new": host_facts({})}
    done = run_playbook(tmp_path, [{"hosts": "all", "gather_facts": False, "tasks": [record]}], hosts, {}, {})
    assert re.search(r"Have the directory of reasons\] .*\n(.*\n)*?fatal: \[new\]: UNREACHABLE!", done.stdout)
    assert re.search(r"^known .* unreachable=0 ", done.stdout, re.MULTILINE)


def test_a_reason_that_is_left_ends_the_run():
    tasks = yaml.safe_load((ROLE / "tasks" / "reboot.yml").read_text(encoding="utf-8"))
    names = [next(key for key in task if "." in key) for task in tasks]
    assert names[-3:] == ["ansible.builtin.reboot", "ansible.builtin.include_role", "ansible.builtin.assert"]
    assert tasks[-1]["ansible.builtin.assert"]["that"] == "__host_reboot_reasons | length == 0"


class Cluster:
    """Workers on a server, which keeps what is written to it. `maintenance`: its reason by worker, None for none."""

    def __init__(self, maintenance):
        self.api = Playback()
        answer = recorded("worker")[2]["answer"]
        port = int(self.api.url.rpartition(":")[2])
        self.workers = {}
        for number, (name, reason) in enumerate(maintenance.items(), 1):
            self.workers[name] = item = dict(answer["items"][0], id=number, name=name)
            item.update(ip="127.0.0.1", advertise_address="127.0.0.1", port=port)
            self._write(item, {"maintenance": {"enabled": reason is not None, "message": reason}})
            self.api.on("PUT", f"/v2/workers/{number}", lambda body, item=item: self._write(item, body))
        self.api.on("GET", "/v2/workers", lambda body: dict(answer, items=list(self.workers.values())))
        self.api.on("GET", "/healthz", {})

    def _write(self, item, values):
        item.update(values)
        item["state"] = "maintenance" if item["maintenance"]["enabled"] else "ready"
        return item

    @property
    def maintenance(self):
        found = {name: item["maintenance"] for name, item in self.workers.items()}
        return {name: one["message"] if one["enabled"] else None for name, one in found.items()}


@pytest.fixture
def cluster():
    made = []

    def make(**maintenance):
        made.append(Cluster(maintenance))
        return made[-1]

    yield make
    for one in made:
        one.api.close()


def tasks_of_the_role(tmp_path, cluster, facts, tasks_from, **variables):
    """Runs on this machine, with a manifest for each host. Returns what these hold afterwards, too."""
    for name, differences in facts.items():
        entries = differences.get("manifest", {}).get("entries", [])
        (tmp_path / f"{name}.json").write_text(json.dumps({"version": 1, "entries": entries}), encoding="utf-8")
    play = {
        "hosts": "all",
        "gather_facts": False,
        "module_defaults": {"inferops.gpustack.manifest": {"path": f"{tmp_path}/{{{{ inventory_hostname }}}}.json"}},
        "tasks": [
            {
                "ansible.builtin.include_role": {"name": "inferops.gpustack.host_reboot", "tasks_from": tasks_from},
                "vars": {"host_reboot_ready_timeout": 5},
            }
        ],
    }
    variables = {"ansible_connection": "local", "gpustack_server_url": cluster.api.url, **variables}
    hosts = {name: host_facts(differences) for name, differences in facts.items()}
    done = run_playbook(tmp_path, [play], hosts, {"gpustack_worker": list(facts)}, variables)
    return done, {name: json.loads((tmp_path / f"{name}.json").read_text())["entries"] for name in facts}


def test_a_worker_is_put_into_maintenance_unless_somebody_else_did(tmp_path, cluster):
    site = cluster(w1=None, w2="Disk swap")
    done, entries = tasks_of_the_role(tmp_path, site, {"w1": {}, "w2": {}}, "maintenance")
    assert done.returncode == 0, done.stdout
    assert site.maintenance == {"w1": "Reboot by Ansible", "w2": "Disk swap"}
    assert entries == {"w1": [ours("w1")], "w2": []}


def test_without_a_server_there_is_no_maintenance_but_a_server_that_refuses_is_there(tmp_path, cluster):
    site = cluster(w1=None)
    site.api.answers.clear()
    site.api.on("GET", "/v2/workers", {"detail": "Unauthorized"}, status=401)
    url = f"{{{{ {{'w1': '{site.api.url}'}}[inventory_hostname] | default('http://127.0.0.1:1') }}}}"
    done, entries = tasks_of_the_role(tmp_path, site, {"w1": {}, "w2": {}}, "maintenance", gpustack_server_url=url)
    assert "w2 is rebooted without maintenance" in done.stdout
    assert "w1 is rebooted without maintenance" not in done.stdout
    assert re.search(r"^w1 .* failed=1 ", done.stdout, re.MULTILINE)
    assert re.search(r"^w2 .* failed=0 .* rescued=1 ", done.stdout, re.MULTILINE)
    assert entries == {"w1": [], "w2": []}


def test_an_interrupted_run_s_maintenance_is_ended_by_the_next_run_unless_somebody_took_it_over(tmp_path, cluster):
    site = cluster(w1="Reboot by Ansible", w2="Disk swap")
    facts = {name: {"manifest": {"entries": [ours(name)]}} for name in ("w1", "w2")}
    done, entries = tasks_of_the_role(tmp_path, site, facts, "main")
    assert done.returncode == 0, done.stdout
    assert batches(done.stdout) == []
    assert site.maintenance == {"w1": None, "w2": "Disk swap"}
    assert entries == {"w1": [], "w2": []}


@pytest.mark.parametrize("reasons", [{}, WHY])
def test_what_an_interrupted_run_left_is_found_whatever_gpustack_reboot_says(tmp_path, reasons):
    done = site(tmp_path, {"w1": {"manifest": {"entries": [ours("w1")]}, **reasons}}, {"gpustack_reboot": "never"})
    assert "inferops.gpustack.host_reboot : Wait until the worker answers" in done.stdout
    assert batches(done.stdout) == []
