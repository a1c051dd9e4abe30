"""The action in a real playbook run. No host of these inventories exists, so a connection would fail the run."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import yaml

REPOSITORY = pathlib.Path(__file__).parents[3]
DIGEST = "sha256:" + "0a" * 32
PLAY = [
    {
        "name": "Preflight",
        "hosts": "all",
        "gather_facts": False,
        "tasks": [
            {
                "name": "Judge the inventory",
                "inferops.gpustack.preflight": None,
                "run_once": True,
                "delegate_to": "localhost",
                "register": "judged",
            },
            {
                "name": "Show the kinds",
                "ansible.builtin.debug": {"msg": "kinds={{ judged.findings | map(attribute='id') }}"},
            },
        ],
    }
]


def inventory(**variables):
    names = ("gpustack/gpustack:v2.3.0", "gpustack/runtime:pause", "gpustack/runtime:health")
    common = {
        "gpustack_server_url": "http://192.0.2.10",
        "gpustack_admin_password": "{{ secret_part }}.Aa1",
        "secret_part": "hunter2hunter2",
        "gpustack_worker_address": "{{ ansible_host }}",
        "gpustack_artefacts_lock": {f"docker.io/{name}": DIGEST for name in names},
        **variables,
    }
    workers = {
        f"h20-0{number}": {"ansible_host": f"192.0.2.2{number}", "gpustack_accelerator": "nvidia_h20_3e"}
        for number in (1, 2)
    }
    return {
        "all": {
            "vars": common,
            "children": {
                "gpustack_server": {"hosts": {"server-01": {"ansible_host": "192.0.2.10"}}},
                "gpustack_worker": {"hosts": workers},
            },
        }
    }


def play(directory, content, *arguments, playbook="play.yml"):
    (directory / "hosts.yml").write_text(yaml.safe_dump(content), encoding="utf-8")
    (directory / "play.yml").write_text(yaml.safe_dump(PLAY), encoding="utf-8")
    command = [sys.executable, "-m", "ansible", "playbook", "-i", "hosts.yml", playbook, *arguments]
    environment = dict(
        os.environ,
        ANSIBLE_CONFIG=str(REPOSITORY / "ansible.cfg"),
        ANSIBLE_COLLECTIONS_PATH=str(REPOSITORY / "collections"),
        ANSIBLE_NOCOLOR="1",
    )
    return subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, check=False)


def test_a_sound_inventory_passes(tmp_path):
    done = play(tmp_path, inventory())
    assert done.returncode == 0, done.stdout + done.stderr
    assert "kinds=[]" in done.stdout


def test_every_problem_is_listed_whatever_the_limit(tmp_path):
    content = inventory(
        gpustack_server_ur="x",
        gpustack_cluster_name="{{ hostvars['server-01'].ansible_host }}",
        gpustack_admin_password="{{ 'hunter2hunter2' | from_json }}",
        gpustack_models="{{ not_there }}",
    )
    content["all"]["children"]["gpustack_worker"]["hosts"]["h20-02"]["gpustack_accelerator"] = "h20"
    # The limit leaves out the host with the unknown accelerator.
    done = play(tmp_path, content, "--limit", "h20-01")
    output = done.stdout + done.stderr
    assert done.returncode == 2, output
    for kind in ("variable_unknown", "value_unreadable", "accelerator_unknown"):
        assert f"ERROR {kind}" in output
    assert "do not use hostvars inside this variable" in output
    assert "'not_there' is undefined" in output
    assert "Traceback" not in output
    assert "hunter2" not in output


def test_an_undefined_secret_is_named(tmp_path):
    content = inventory(gpustack_admin_password="{{ 'hunter2hunter2' ~ vault_password_of_admin }}")
    content["all"]["vars"]["gpustack_models"] = [{"name": "{{ 'hunter2' | to_datetime }}"}]
    output = play(tmp_path, content).stdout
    assert "gpustack_models on" in output
    assert "'vault_password_of_admin' is undefined" in output
    assert "hunter2" not in output


def test_a_site_without_hosts_fails(tmp_path):
    done = play(tmp_path, {}, playbook=str(REPOSITORY / "playbooks" / "site.yml"))
    assert done.returncode == 2, done.stdout + done.stderr
    assert "ERROR server_missing" in done.stdout + done.stderr


def test_the_report_is_printed_once(tmp_path):
    content = inventory(gpustack_server_ur="x", gpustack_server_port=8080)
    output = play(tmp_path, content).stdout
    assert "    msg: 3 hosts checked, 1 error, 1 warning. No host was touched.\n" in output
    assert output.count("gpustack_server_ur on server-01, h20-01, h20-02") == 1
    assert "findings:" not in output
    output = play(tmp_path, content, "-v").stdout
    assert "      id: variable_unknown\n" in output


def test_the_files_of_the_inventory_are_read(tmp_path):
    (tmp_path / "group_vars").mkdir()
    (tmp_path / "group_vars" / "all.yml").write_text("first: 1\nsecond: 2\nfirst: 3\n", encoding="utf-8")
    (tmp_path / "more.yml").write_text("gpustack_version: 2.30\n", encoding="utf-8")
    output = play(tmp_path, inventory(), "-e", "@more.yml").stdout
    assert "where     group_vars/all.yml:3\n" in output
    assert "where     gpustack_version in more.yml:1\n" in output


def test_a_value_of_the_command_line_says_so(tmp_path):
    more = ("-e", "gpustack_server_port=8080 gpustack_allow_public_addresses=false", "-e", '{"gpustack_server_ur": 1}')
    output = play(tmp_path, inventory(gpustack_cluster_name=5), *more).stdout
    hosts = "server-01, h20-01, h20-02"
    assert f"where     gpustack_server_port on {hosts}, given with -e\n" in output
    assert "write JSON: -e '{\"gpustack_server_port\": 8080}'; with name=value it is always text\n" in output
    assert "write JSON: -e '{\"gpustack_allow_public_addresses\": false}'" in output
    assert f"where     gpustack_server_ur on {hosts}, given with -e\n" in output
    assert "did you mean gpustack_server_url?" in output
    assert f"where     gpustack_cluster_name on {hosts}\n" in output


def test_a_warning_is_shown_and_passes(tmp_path):
    done = play(tmp_path, inventory(gpustack_server_port=8080))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "server_url_port" in done.stderr
    assert "kinds=['server_url_port']" in done.stdout


def test_a_value_is_read_as_its_own_host_sees_it(tmp_path):
    content = inventory()
    content["all"]["children"]["gpustack_worker"]["hosts"]["h20-02"]["ansible_host"] = "h20-02.example.org"
    output = play(tmp_path, content).stdout
    assert "gpustack_worker_address on h20-02" in output
    assert "gpustack_worker_address on h20-01" not in output


def test_a_vaulted_value_without_its_password_is_a_finding(tmp_path):
    content = inventory()
    del content["all"]["vars"]["gpustack_admin_password"]
    (tmp_path / "group_vars").mkdir()
    vaulted = "$ANSIBLE_VAULT;1.1;AES256\n" + "61" * 40
    text = "gpustack_admin_password: !vault |\n" + "".join(f"  {line}\n" for line in vaulted.splitlines())
    (tmp_path / "group_vars" / "all.yml").write_text(text, encoding="utf-8")
    output = play(tmp_path, content).stdout
    assert "gpustack_admin_password on server-01" in output
    assert "value_unreadable" in output
