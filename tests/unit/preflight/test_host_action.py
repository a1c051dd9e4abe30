"""The judgement of hosts in real playbook runs. No host of these inventories exists; their facts are put there."""

from __future__ import annotations

import json
import os

import made_hosts
import pytest
import yaml
from test_action import REPOSITORY, play

HOSTS = str(REPOSITORY / "playbooks" / "hosts.yml")
# What site.yml does: look, then judge.
LOOKED_AT = [
    {
        "name": "Look at the hosts",
        "hosts": "gpustack_worker",
        "gather_facts": False,
        "tasks": [
            {
                "name": "Put the facts there",
                "ansible.builtin.set_fact": {"gpustack_host": "{{ found }}", "cacheable": True},
                "when": "found is defined",
            }
        ],
    },
]
JUDGED = [{"name": "Judge", "ansible.builtin.import_playbook": HOSTS}]


def report(**options):
    return [
        {
            "name": "Judge",
            "hosts": "all",
            "gather_facts": False,
            "tasks": [
                {
                    "name": "Judge",
                    "inferops.gpustack.preflight": {"of": "hosts", **options},
                    "run_once": True,
                    "delegate_to": "localhost",
                }
            ],
        }
    ]


def run(directory, made, *arguments, judge=JUDGED, **more):
    made_hosts.apart(made)
    workers = {}
    for name, variables in made["hosts"].items():
        facts = made["facts"].get(name)
        workers[name] = {**variables, **({"found": facts} if facts else {})}
    content = {"all": {"children": {"gpustack_worker": {"hosts": workers}}}}
    (directory / "judge.yml").write_text(yaml.safe_dump(LOOKED_AT + judge), encoding="utf-8")
    return play(directory, content, *arguments, playbook="judge.yml", **more)


def clock_off(count):
    return made_hosts.inventory({"facts": {"clock": {"offset_seconds": 300}}}, count=count)


def test_an_error_is_one_block_and_stops_all_hosts(tmp_path):
    done = run(tmp_path, clock_off(6))
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stdout.count("ERROR clock_off") == 1
    assert "where     h20-01, h20-02, h20-03, h20-04 and 2 more: clock\n" in done.stdout
    assert "msg: 6 hosts looked at, 1 error. No host was changed.\n" in done.stdout
    assert "findings:" not in done.stdout


def test_hosts_outside_the_limit_are_not_judged(tmp_path):
    made = clock_off(2)
    made["facts"]["h20-01"]["clock"]["offset_seconds"] = 0
    done = run(tmp_path, made, "--limit", "h20-01", "-v")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 host looked at, no findings" in done.stdout


def test_warnings_are_told_and_pass(tmp_path):
    made = made_hosts.inventory({"facts": {"page_size": 65536}}, count=2)
    made["facts"]["h20-02"] = None
    done = run(tmp_path, made)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "page_size_64k: h20-01: kernel: pages of 64 KiB" in " ".join(done.stderr.split())
    assert "host    system" not in done.stdout


def test_a_second_judgement_tells_errors_alone_and_does_not_say_that_nothing_was_changed(tmp_path):
    (tmp_path / "well").mkdir()
    (tmp_path / "wrong").mkdir()
    odd = made_hosts.inventory({"facts": {"page_size": 65536}}, count=2)
    done = run(tmp_path / "well", odd, judge=report(again=True))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "page_size_64k" not in done.stdout + done.stderr
    done = run(tmp_path / "wrong", clock_off(2), judge=report(again=True))
    assert done.returncode == 2
    assert "msg: 2 hosts looked at, 1 error. Nothing after the reboots was begun.\n" in done.stdout


def test_the_report_is_written_once_for_hosts_that_stay_as_they_are(tmp_path):
    made = made_hosts.inventory(count=2)
    judge = report(overview=True, dest="reports")
    path = tmp_path / "reports" / "probe.json"
    done = run(tmp_path, made, "--check", judge=judge)
    assert f"would be written: {path}" in done.stdout
    assert not path.exists()
    done = run(tmp_path, made, judge=judge)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"written: {path}\n" in done.stdout
    assert "\nh20-02  Ubuntu 24.04.3 LTS  2 x nvidia_h20_3e, 141 GiB" in done.stdout
    assert path.stat().st_mode & 0o777 == 0o644
    before = path.read_bytes()
    assert [host["name"] for host in json.loads(before)["hosts"]] == ["h20-01", "h20-02"]
    for facts in made["facts"].values():
        facts["clock"]["offset_seconds"] = 3.3
    done = run(tmp_path, made, judge=judge)
    assert f"unchanged: {path}\n" in done.stdout
    assert "changed=0" in done.stdout
    assert path.read_bytes() == before
    made["facts"]["h20-02"]["kernel"] = "6.8.0-80-generic"
    path.write_text("not JSON", encoding="utf-8")
    run(tmp_path, made, judge=judge)
    assert b"6.8.0-80-generic" in path.read_bytes()


def test_the_message_of_an_error_is_one_sentence_after_the_other(tmp_path):
    path = tmp_path / "reports" / "probe.json"
    done = run(tmp_path, clock_off(2), judge=report(dest="reports"))
    text = " ".join(done.stdout.split())
    assert f"'2 hosts looked at, 1 error; written: {path}. No host was changed.'" in text
    # Who asks for an overview changes nothing anyway.
    done = run(tmp_path, clock_off(2), judge=report(dest="reports", overview=True))
    assert done.returncode == 2
    text = " ".join(done.stdout.split())
    assert f"'2 hosts looked at, 1 error; unchanged: {path}'" in text


def test_the_summary_counts_what_the_overview_has_shown(tmp_path):
    made = made_hosts.inventory({"facts": {"page_size": 65536}}, count=2)
    done = run(tmp_path, made, judge=report(overview=True), ANSIBLE_CALLBACKS_ENABLED="inferops.gpustack.summary")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING page_size_64k" in done.stdout
    assert "\npreflight: 2 hosts looked at, 1 warning, see above (page_size_64k)\n" in done.stdout
    assert "[WARNING]: page_size_64k" not in done.stdout + done.stderr


def test_a_directory_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "reports").write_text("a file", encoding="utf-8")
    done = run(tmp_path, made_hosts.inventory(), judge=report(dest="reports"))
    assert done.returncode == 2
    assert "cannot write probe.json into reports: File exists; set gpustack_report_dir" in " ".join(done.stdout.split())


@pytest.fixture
def nobody_answers(tmp_path):
    ssh = tmp_path / "ssh"
    ssh.write_text("#!/bin/sh\nexit 255\n", encoding="utf-8")
    ssh.chmod(0o700)
    return {"ANSIBLE_SSH_EXECUTABLE": str(ssh), "ANSIBLE_SSH_RETRIES": "0"}


def test_probe_looks_at_what_it_reaches(tmp_path, nobody_answers):
    root = tmp_path / "root"
    root.mkdir()
    here = {
        "ansible_connection": "local",
        "ansible_become": False,
        "ansible_python_interpreter": "{{ ansible_playbook_python }}",
        "host_probe_sysroot": str(root),
        "gpustack_accelerator": "nvidia_h20_3e",
    }
    workers = {"h20-01": here, "h20-02": {"gpustack_accelerator": "nvidia_h20_3e"}}
    # No password is needed, nor one that can be read.
    content = {
        "all": {
            "vars": {"gpustack_admin_password": "{{ not_there }}"},
            "children": {"gpustack_worker": {"hosts": workers}},
        }
    }
    playbook = str(REPOSITORY / "playbooks" / "probe.yml")
    done = play(tmp_path, content, playbook=playbook, **nobody_answers)
    output = done.stdout + done.stderr
    assert done.returncode == 2, output
    assert "\nh20-02  not read\n" in done.stdout
    assert "ERROR os_unidentified" in done.stdout
    assert "ERROR accelerator_not_found" in done.stdout
    assert "where     h20-01: gpustack_accelerator" in done.stdout
    assert "msg: '1 of 2 hosts looked at, " in done.stdout
    end = " ".join(done.stdout.partition("\nSUMMARY")[2].split())
    assert " h20-01 done 0 h20-02 not read 0 Look at the host " in end
    assert os.listdir(tmp_path / "reports") == ["probe.json"]
    # Nobody is left to be judged.
    done = play(tmp_path, content, "--limit", "h20-02", playbook=playbook, **nobody_answers)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "msg: 'no host could be read; Ansible says why, above; written: " in done.stdout
    assert "\nh20-02  not read\n" in done.stdout
    end = " ".join(done.stdout.partition("\nSUMMARY")[2].split())
    assert " h20-02 not read 0 Look at the host " in end


def test_hosts_that_nobody_looked_at_are_no_failure_of_a_change(tmp_path):
    made = made_hosts.inventory(count=2)
    made["facts"]["h20-02"] = None
    done = run(tmp_path, made, "-v")
    assert "1 of 2 hosts looked at, no findings" in done.stdout
    made["facts"]["h20-01"] = None
    done = run(tmp_path, made, "-v")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 of 2 hosts looked at, no findings" in done.stdout


def test_an_overview_of_no_host_is_empty(tmp_path):
    content = {"all": {"hosts": {"other": {"ansible_connection": "local"}}}}
    (tmp_path / "judge.yml").write_text(yaml.safe_dump(report(overview=True)), encoding="utf-8")
    done = play(tmp_path, content, "-v", playbook="judge.yml")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 hosts looked at, no findings" in done.stdout
