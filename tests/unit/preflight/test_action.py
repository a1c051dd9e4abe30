"""The action in a real playbook run. No host of these inventories exists, so a connection would fail the run."""

from __future__ import annotations

import pytest
import yaml
from unit import ansible_run
from unit.ansible_run import REPOSITORY

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


def play(directory, content, *arguments, playbook="play.yml", **more):
    (directory / "hosts.yml").write_text(yaml.safe_dump(content), encoding="utf-8")
    (directory / "play.yml").write_text(yaml.safe_dump(PLAY), encoding="utf-8")
    return ansible_run.playbook("-i", "hosts.yml", playbook, *arguments, cwd=directory, **more)


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
    assert "cannot be resolved: a variable in it is undefined (details not shown" in " ".join(output.split())
    assert "Traceback" not in output
    assert "hunter2" not in output


def test_an_undefined_secret_is_named(tmp_path):
    content = inventory(gpustack_admin_password="{{ 'hunter2hunter2' ~ vault_password_of_admin }}")
    content["all"]["vars"]["gpustack_models"] = [{"name": "{{ 'hunter2' | to_datetime }}"}]
    output = play(tmp_path, content).stdout
    assert "gpustack_models on" in output
    assert "'vault_password_of_admin' is undefined" in output
    assert "hunter2" not in output


@pytest.mark.parametrize("password", ["A1!{%HUNTER2%}", "A1!{{1|HUNTER2}}", "A1!{{HUNTER2}}", "A1!{{HUNTER2 x}}"])
def test_a_password_with_braces_is_told_without_any_part_of_it(tmp_path, password):
    done = play(tmp_path, inventory(gpustack_admin_password=password))
    output = done.stdout + done.stderr
    assert done.returncode == 2, output
    assert "ERROR value_unreadable" in output
    assert "write !unsafe before the value" in " ".join(output.split())
    assert "HUNTER2" not in output


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
    assert "cannot be decrypted" in output
    assert "give --ask-vault-pass or --vault-password-file, or another password" in output


def test_names_that_are_no_text_are_nobodys(tmp_path):
    (tmp_path / "group_vars").mkdir()
    (tmp_path / "group_vars" / "all.yml").write_text("123: a\ntrue: b\n", encoding="utf-8")
    output = play(tmp_path, inventory()).stdout
    assert "kinds=[]" in output


def test_values_without_end_are_findings(tmp_path):
    (tmp_path / "group_vars").mkdir()
    text = (
        "gpustack_registry_rewrites: &rewrites\n  docker.io: *rewrites\n"
        f"gpustack_models: {'[' * 400}{']' * 400}\n"
        'gpustack_wait_timeout: "{{ 10 ** 5000 }}"\n'
        'verify_timeout: "{{ of_the_role }}"\n'
    )
    (tmp_path / "group_vars" / "all.yml").write_text(text, encoding="utf-8")
    done = play(tmp_path, inventory())
    assert done.returncode == 2
    assert done.stdout.count("ERROR value_unreadable") == 3
    for name in ("gpustack_registry_rewrites", "gpustack_models", "gpustack_wait_timeout"):
        assert f"where     {name} on server-01" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


def test_a_file_with_a_mistake_stops_the_run(tmp_path):
    (tmp_path / "more.yml").write_text("all:\n  hosts:\n    h1: {gpustack_admin_password: hunter2\n", encoding="utf-8")
    more = ("-i", "more.yml")
    done = play(tmp_path, inventory(), *more)
    assert done.returncode != 0
    assert "Completely failed to parse inventory source" in done.stderr
    # Where the configuration is another one, Ansible only warns.
    done = play(tmp_path, inventory(), *more, ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED="false")
    assert done.returncode == 2
    assert "ERROR inventory_unparsed" in done.stdout
    assert "where     more.yml:4" in done.stdout


def test_a_wrong_path_is_told(tmp_path):
    empty, site = {"all": {"hosts": {}}}, str(REPOSITORY / "playbooks" / "site.yml")
    assert "Completely failed to parse inventory source" in play(tmp_path, empty, "-i", "lost", playbook=site).stderr
    done = play(tmp_path, empty, "-i", "lost", playbook=site, ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED="false")
    assert done.returncode == 2
    assert "no host was read from" in done.stdout
    assert "image_unlocked" not in done.stdout
