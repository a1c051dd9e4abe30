# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The summary at the end of real runs. Every host is this machine but one, whose SSH port is closed."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

import pytest
import yaml

REPOSITORY = pathlib.Path(__file__).parents[3]
NAME = "inferops.gpustack.summary"
CLOSED = {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": 1}
HOSTS = {
    "all": {
        "vars": {"ansible_connection": "local", "ansible_python_interpreter": sys.executable},
        "children": {
            "gpustack_server": {"hosts": {"gs-01": {}}},
            "gpustack_worker": {"hosts": {"h20-01": {}, "h20-02": CLOSED, "npu-01": {}}},
        },
    }
}
ALL_THERE = "all:!h20-02"


def play(*tasks, hosts="gpustack_server:gpustack_worker", name="Play"):
    return {"name": name, "hosts": hosts, "gather_facts": False, "tasks": list(tasks)}


# One task of a role of ours, which changes nothing.
OURS = {
    "name": "Hosts",
    "hosts": "gpustack_server:gpustack_worker",
    "gather_facts": False,
    "roles": ["inferops.gpustack.host_probe"],
}
CHANGE = {"name": "Change", "ansible.builtin.debug": {}, "changed_when": True}


def fail(host="npu-01", **keywords):
    return {
        "name": "Break",
        "ansible.builtin.fail": {"msg": "the {{ 'hunter2' }} is\nbroken"},
        "when": f"inventory_hostname == '{host}'",
        **keywords,
    }


PREFLIGHT = REPOSITORY / "playbooks" / "preflight.yml"


def run(directory, *plays, arguments=(), playbook="play.yml", inventory=HOSTS, **environment):
    (directory / "hosts.yml").write_text(yaml.safe_dump(inventory), encoding="utf-8")
    (directory / "play.yml").write_text(yaml.safe_dump(list(plays)), encoding="utf-8")
    command = [sys.executable, "-m", "ansible", "playbook", "-i", "hosts.yml", str(playbook), *arguments]
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_")}
    return subprocess.run(
        command,
        cwd=directory,
        env={
            **inherited,
            "ANSIBLE_CALLBACKS_ENABLED": NAME,
            "ANSIBLE_COLLECTIONS_PATH": str(REPOSITORY / "collections"),
            "ANSIBLE_NOCOLOR": "1",
            "COLUMNS": "100",
            **environment,
        },
        capture_output=True,
        text=True,
        check=False,
    )


def summary(done):
    assert done.stdout.count("\nSUMMARY") == 1, done.stdout + done.stderr
    return done.stdout.partition("\nSUMMARY")[2]


def rows(done):
    """`{host: rest of its row}`"""
    table = summary(done).split("\n\n")[0].splitlines()[2:]
    return {line.split()[0]: " ".join(line.split()[1:]) for line in table if not line.startswith(" ")}


def remains(done):
    return summary(done).partition("Findings that remain:\n")[2].split("\n\n")[0].splitlines()


def test_one_host_out_of_reach_does_not_keep_the_others(tmp_path):
    done = run(tmp_path, OURS, play(CHANGE, hosts="gpustack_worker"))
    assert done.returncode == 4
    assert rows(done) == {
        "gs-01": "done 0",
        "h20-01": "done 1",
        "h20-02": "unreachable 0 Look at the host",
        "npu-01": "done 1",
    }
    assert "Connection refused" in summary(done)
    assert "\n  ansible-playbook play.yml -i hosts.yml --limit h20-02\n" in summary(done)


def test_a_failed_host_beside_the_limit_and_a_hidden_result(tmp_path):
    secret = fail(no_log=True)
    arguments = ("--limit", "gs-01,npu-01", "-e", "password=hunter2")
    done = run(tmp_path, OURS, play(secret, CHANGE), arguments=arguments)
    assert done.returncode == 2
    assert rows(done) == {
        "gs-01": "done 1",
        "h20-01": "skipped not in this run",
        "h20-02": "skipped not in this run",
        "npu-01": "failed 0 Break",
    }
    assert "hidden by no_log" in summary(done)
    assert "hunter2" not in summary(done)
    assert "(with -e as before):\n  ansible-playbook play.yml -i hosts.yml --limit npu-01\n" in summary(done)


def test_a_task_that_failed_for_all_stops_all(tmp_path):
    once = fail("gs-01", run_once=True)
    done = run(tmp_path, OURS, play(CHANGE, once), arguments=("--limit", ALL_THERE))
    assert done.returncode == 2
    assert rows(done) == {
        "(site)": "failed Break",
        "gs-01": "not finished 1 the run stopped at: Break",
        "h20-01": "not finished 1 the run stopped at: Break",
        "h20-02": "skipped not in this run",
        "npu-01": "not finished 1 the run stopped at: Break",
    }
    assert f"\n  ansible-playbook play.yml -i hosts.yml --limit '{ALL_THERE}'\n" in summary(done)


def test_a_play_that_nobody_survives_stops_the_others(tmp_path):
    server = play(fail("gs-01"), hosts="gpustack_server", name="Server")
    done = run(tmp_path, OURS, server, play(CHANGE), arguments=("--limit", "gs-01,h20-01"))
    assert rows(done) == {
        "gs-01": "failed 0 Break",
        "h20-01": "not finished 0 the run stopped at: Break",
        "h20-02": "skipped not in this run",
        "npu-01": "skipped not in this run",
    }
    assert "--limit gs-01,h20-01\n" in summary(done)


def test_ignored_and_rescued_failures_are_none(tmp_path):
    tasks = (fail(ignore_errors=True), {"block": [fail()], "rescue": [CHANGE]})
    done = run(tmp_path, OURS, play(*tasks), arguments=("--limit", "npu-01"))
    assert done.returncode == 0
    assert rows(done)["npu-01"] == "done 1"
    assert "ansible-playbook" not in summary(done)


def test_a_check_proposes_the_run(tmp_path):
    done = run(tmp_path, OURS, arguments=("--check", "--limit", "gs-01"))
    assert "(check mode, nothing was changed)" in done.stdout
    assert "To do it:\n  ansible-playbook play.yml -i hosts.yml --limit gs-01\n" in summary(done)


FINDING = {"id": "made-up", "severity": "warning", "where": "a place", "found": "x", "expected": "y", "fix": "z"}


def look(*findings):
    """A set_fact of this name stands in for a look at the host."""
    return {
        "name": "See",
        "ansible.builtin.set_fact": {"cacheable": True, "gpustack_host": {"findings": list(findings)}},
    }


def test_findings_of_hosts_and_of_tasks_are_shown_once(tmp_path):
    # What a host shows last is what remains.
    facts = [look({**FINDING, "id": "mended"}), look(FINDING)]
    told = json.dumps({"changed": False, "findings": [{**FINDING, "severity": "error", "id": "told"}]})
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "tell.py").write_text(
        f"#!/usr/bin/python\n# WANT_JSON\nprint({told!r})\n", encoding="utf-8"
    )
    done = run(tmp_path, OURS, play(*facts, {"name": "Tell", "tell": {}}), arguments=("--limit", "gs-01,npu-01"))
    assert remains(done) == [
        "  ERROR   told: a place: x; expected y; z",
        "  WARNING made-up: a place on gs-01, npu-01: x; expected y; z",
    ]


def lab():
    """A sound inventory; nobody connects to its hosts."""
    inventory = yaml.safe_load((REPOSITORY / "inventories" / "lab" / "hosts.yml").read_text(encoding="utf-8"))
    moving = ("docker.io/gpustack/runtime:pause", "docker.io/gpustack/runtime:health")
    moving += ("quay.io/ascend/vllm-ascend:nightly-main",)
    inventory["all"]["vars"] |= {
        "gpustack_admin_password": "River.2.ocean",
        "gpustack_artefacts_lock": dict.fromkeys(moving, "sha256:" + "ab" * 32),
    }
    return inventory


def judge(of, **options):
    task = {"name": f"Judge the {of}", "inferops.gpustack.preflight": {"of": of, **options}}
    return {**task, "run_once": True, "delegate_to": "localhost"}


# The lab accepts it.
ACCEPTED = {**FINDING, "id": "disk_tight"}
NEW = {**FINDING, "id": "new"}


def test_a_judgement_of_the_hosts_settles_what_was_seen_before_it(tmp_path):
    tasks = [judge("inventory"), look(FINDING, ACCEPTED), judge("hosts"), look(FINDING, ACCEPTED, NEW)]
    done = run(tmp_path, play(*tasks), inventory=lab(), arguments=("--limit", "gs-01"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert remains(done) == ["  WARNING new: a place on gs-01: x; expected y; z"]
    of_inventory, of_hosts = (line for line in summary(done).splitlines() if line.startswith("preflight: "))
    assert of_inventory.startswith("preflight: 4 hosts checked, ")
    assert of_hosts == "preflight: 1 host looked at, 1 warning, see above (made-up); 1 accepted (disk_tight)"


def test_a_second_judgement_of_the_hosts_settles_nothing(tmp_path):
    tasks = [look(FINDING), judge("hosts"), look(FINDING, NEW), judge("hosts", again=True)]
    done = run(tmp_path, play(*tasks), inventory=lab(), arguments=("--limit", "gs-01"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert remains(done) == ["  WARNING new: a place on gs-01: x; expected y; z"]
    (told,) = (line for line in summary(done).splitlines() if line.startswith("preflight: "))
    assert told == "preflight: 1 host looked at, 1 warning, see above (made-up)"


def test_a_judgement_of_the_hosts_that_fails_has_told_what_it_judged(tmp_path):
    tasks = [look(FINDING, {**NEW, "severity": "error"}), judge("hosts")]
    done = run(tmp_path, play(*tasks), inventory=lab(), arguments=("--limit", "gs-01"))
    assert done.returncode == 2
    assert "ERROR new" in done.stdout
    assert "1 host looked at, 1 error, 1 warning. No host was changed." in summary(done)
    assert "Findings that remain" not in summary(done)


@pytest.mark.parametrize(
    ("overview", "later", "expected"),
    [
        (True, [], "done 0"),
        (False, [], "not finished 0 the run stopped at: Judge the hosts"),
        (True, [play(CHANGE)], "not finished 0 the run stopped at: Judge the hosts"),
    ],
    ids=["overview", "judgement", "overview before a play"],
)
def test_a_failing_overview_stops_only_what_comes_after_it(tmp_path, overview, later, expected):
    tasks = [look({**FINDING, "severity": "error"}), judge("hosts", overview=overview)]
    done = run(tmp_path, play(*tasks), *later, inventory=lab(), arguments=("--limit", "gs-01,npu-01"))
    assert done.returncode == 2
    found = rows(done)
    assert found["(site)"] == "failed Judge the hosts"
    assert (found["gs-01"], found["npu-01"]) == (expected, expected)


def test_a_host_the_play_goes_on_without_was_not_read(tmp_path):
    done = run(tmp_path, {**OURS, "ignore_unreachable": True}, play(look(), hosts="gs-01"))
    assert done.returncode == 0
    assert rows(done) == {
        "gs-01": "done 0",
        "h20-01": "done 0",
        "h20-02": "not read 0 Look at the host",
        "npu-01": "done 0",
    }
    assert "Connection refused" in summary(done)
    assert "ansible-playbook" not in summary(done)


def test_a_host_that_was_read_in_the_end_is_done(tmp_path):
    done = run(tmp_path, {**OURS, "ignore_unreachable": True}, play(look(), hosts="h20-02"))
    assert rows(done)["h20-02"] == "done 0"


def test_a_judgement_of_the_inventory_settles_nothing_of_the_hosts(tmp_path):
    done = run(tmp_path, play(look(FINDING), judge("inventory")), inventory=lab(), arguments=("--limit", "gs-01"))
    assert remains(done) == ["  WARNING made-up: a place on gs-01: x; expected y; z"]


def test_other_peoples_playbooks_get_no_summary(tmp_path):
    done = run(tmp_path, play(CHANGE), arguments=("--limit", "gs-01"))
    assert done.returncode == 0
    assert "SUMMARY" not in done.stdout


def test_another_playbook_after_ours_gets_no_summary(tmp_path):
    other = tmp_path / "other.yml"
    other.write_text(yaml.safe_dump([play(CHANGE, name="Foreign")]), encoding="utf-8")
    done = run(tmp_path, OURS, arguments=("other.yml", "--limit", "gs-01"))
    assert done.returncode == 0
    assert "PLAY [Foreign]" in summary(done)


def test_a_host_with_nothing_but_checked_arguments_is_not_done(tmp_path):
    roles = [{"role": "inferops.gpustack.host_probe", "tags": ["probe"]}]
    arguments = ("--tags", "other", "--limit", "gs-01,h20-01")
    done = run(
        tmp_path, {**OURS, "roles": roles}, play({**CHANGE, "tags": ["other"]}, hosts="gs-01"), arguments=arguments
    )
    assert "Validating arguments" in done.stdout
    assert rows(done)["gs-01"] == "done 1"
    assert rows(done)["h20-01"] == "skipped no task for this host"


def test_preflight_always_has_its_line(tmp_path):
    done = run(tmp_path, playbook=PREFLIGHT, inventory=lab())
    assert done.returncode == 0, done.stdout + done.stderr
    assert summary(done).splitlines()[1].startswith("preflight: 4 hosts checked, "), done.stdout


@pytest.mark.parametrize(
    ("arguments", "environment"),
    [(("--tags", "models"), {}), ((), {"ANSIBLE_STRATEGY": "free"})],
    ids=["tags", "strategy"],
)
def test_preflight_runs_once_and_never_not(tmp_path, arguments, environment):
    done = run(tmp_path, playbook=REPOSITORY / "site.yml", arguments=arguments, **environment)
    assert done.returncode == 2
    assert done.stdout.count("\nfatal: ") == 1
    assert list(rows(done)) == ["(site)"]


def test_a_machine_readable_output_stays_one(tmp_path):
    done = run(tmp_path, OURS, arguments=("--limit", "gs-01"), ANSIBLE_STDOUT_CALLBACK="ansible.posix.json")
    assert json.loads(done.stdout)["stats"]["gs-01"]["failures"] == 0


@pytest.mark.parametrize(
    ("playbook", "enabled"),
    [(REPOSITORY / "site.yml", NAME), ("inferops.gpustack.site", "ansible.posix.profile_tasks")],
    ids=["path", "name"],
)
def test_our_playbooks_bring_it_along_once(tmp_path, playbook, enabled):
    done = run(tmp_path, playbook=playbook, inventory={}, ANSIBLE_CALLBACKS_ENABLED=enabled)
    assert done.returncode == 2
    assert list(rows(done)) == ["(site)"]
    assert f"\n  ansible-playbook {playbook} -i hosts.yml\n" in summary(done)
