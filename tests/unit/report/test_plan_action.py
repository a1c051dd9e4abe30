# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""playbooks/plan.yml on the example of one machine. Each run of ansible-playbook costs seconds, so there are few."""

from __future__ import annotations

import json
import shutil
import sys

import pytest
from ansible.errors import AnsibleActionFail
from ansible_collections.inferops.gpustack.plugins.action import plan as action
from ansible_collections.inferops.gpustack.plugins.plugin_utils import _findings
from unit.ansible_run import REPOSITORY, playbook

PASSWORD = "Corr3ct.hunter2"
TOKEN = "hf_hunter2"
PATH = "path: /srv/models/DeepSeek-V4-Flash-0731\n"


@pytest.fixture
def site(tmp_path):
    """A directory with the example inventory, filled in, and a deployment that has a secret."""
    variables = tmp_path / "single_node" / "group_vars" / "all"
    shutil.copytree(REPOSITORY / "inventories" / "single_node", tmp_path / "single_node")
    for name, placeholder, value in (
        ("artefacts_lock.yml", "<digest>", "0a" * 32),
        ("vault.yml", "<password>", PASSWORD),
        ("main.yml", PATH, f"{PATH}        env: {{HF_TOKEN: {TOKEN}}}\n        args: {{max-num-seqs: 24}}\n"),
    ):
        text = next(variables.glob(f"{name}*")).read_text(encoding="utf-8")
        assert placeholder in text
        (variables / name).write_text(text.replace(placeholder, value), encoding="utf-8")
    return tmp_path


def plan(site, *arguments, **more):
    plan_yml = REPOSITORY / "playbooks" / "plan.yml"
    done = playbook("-i", "single_node", plan_yml, *arguments, cwd=site, ANSIBLE_SSH_RETRIES="0", **more)
    assert "hunter2" not in done.stdout + done.stderr
    return done


def test_a_plan_is_printed_and_written_once(site):
    reports = site / "reports"
    done = plan(site, "--check", "--diff")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "    --max-num-seqs=24                             inventory: deployment\n" in done.stdout
    assert "instead of --max-num-seqs=48, pair deepseek_v4 x nvidia_h20_3e" in done.stdout
    assert '\n+      "name": "deepseek-v4-flash-nvidia_h20_3e",\n' in done.stdout
    assert f"\nwould be written: {reports}/plan.json, {reports}/report.html\n" in done.stdout
    assert "changed=1 " in done.stdout
    assert not reports.exists()

    done = plan(site, "-vvv")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"\nwritten: {reports}/plan.json, {reports}/report.html\n" in done.stdout
    told = f"1 deployment planned, no findings; written: {reports}/plan.json, {reports}/report.html"
    assert told in " ".join(done.stdout.split())
    texts = {path.name: path.read_text(encoding="utf-8") for path in reports.iterdir()}
    assert sorted(texts) == ["plan.json", "report.html"]
    assert {path.stat().st_mode & 0o777 for path in reports.iterdir()} == {0o644}
    assert "hunter2" not in "".join(texts.values())
    (deployment,) = json.loads(texts["plan.json"])["deployments"]
    assert deployment["env"]["HF_TOKEN"] == "(from the inventory, not shown)"
    assert "<code>HF_TOKEN=(from the inventory, not shown)</code>" in texts["report.html"]

    done = plan(site, "--limit", "gpu-01")
    assert "changed=0 " in done.stdout, done.stdout + done.stderr
    assert f"\nunchanged: {reports}/plan.json, {reports}/report.html\n" in done.stdout
    assert "report: " not in done.stdout
    assert {path.name: path.read_text(encoding="utf-8") for path in reports.iterdir()} == texts


def test_a_plan_with_errors_is_written_and_fails(site):
    more = {"gpustack_server_ur": "x", "gpustack_report_dir": "out/zh", "gpustack_report_language": "zh"}
    done = plan(site, "-e", json.dumps(more))
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stdout.count("ERROR variable_unknown") == 1
    assert "1 deployment planned, 1 error; written: " in " ".join(done.stdout.split())
    assert "\n    plan:" not in done.stdout
    findings = json.loads((site / "out" / "zh" / "plan.json").read_bytes())["findings"]
    assert [each["id"] for each in findings] == ["variable_unknown"]
    assert '<html lang="zh-CN">' in (site / "out" / "zh" / "report.html").read_text(encoding="utf-8")


def test_a_program_gets_one_document_with_the_facts_of_the_hosts_that_answer(site):
    (site / "single_node" / "more.yml").write_text(
        "gpustack_worker:\n  hosts:\n    gpu-02:\n      gpustack_worker_address: 192.168.1.11\n"
        "      ansible_connection: ssh\n      ansible_host: 127.0.0.1\n      ansible_port: 1\n"
        "    gpu-03:\n      gpustack_worker_address: 192.168.1.12\n      ansible_connection: local\n"
        "      ansible_python_interpreter: /nonexistent/python3\n"
        f"    gpu-01:\n      ansible_python_interpreter: {sys.executable}\n",
        encoding="utf-8",
    )
    more = {
        "ansible_become": False,
        "gpustack_plan_from": "facts",
        "gpustack_report_dir": "",
        "gpustack_server_url": "http://192.168.1.10",
    }
    done = plan(site, "-e", json.dumps(more), ANSIBLE_STDOUT_CALLBACK="ansible.posix.json")
    document = json.loads(done.stdout)
    assert document["stats"]["gpu-02"]["ignored"] == 1
    assert document["stats"]["gpu-03"]["rescued"] == 1
    # One entry of the callback's list for each host and task.
    probed = {host: result for task in document["plays"][0]["tasks"] for host, result in task["hosts"].items()}
    assert probed["gpu-02"]["unreachable"]
    assert probed["gpu-01"]["invocation"]["module_args"]["checkpoints"] == ["/srv/models/DeepSeek-V4-Flash-0731"]
    (result,) = document["plays"][-1]["tasks"][0]["hosts"].values()
    assert result["plan"]["plan_from"] == "facts"
    assert [host["name"] for host in result["plan"]["hosts"]] == ["gpu-01", "gpu-02", "gpu-03"]
    not_read = [each["where"] for each in result["plan"]["findings"] if each["id"] == "host_not_read"]
    assert not_read == ["gpu-02", "gpu-03"]
    assert result["report"].startswith("deepseek-v4-flash-nvidia_h20_3e\n")
    assert result["files"] == []
    assert not (site / "reports").exists()


def test_a_directory_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "reports").write_text("a file\n", encoding="utf-8")
    with pytest.raises(
        AnsibleActionFail, match="cannot write the plan into .*/reports/a: File exists; set gpustack_report_dir "
    ):
        action._write(str(tmp_path / "reports" / "a"), {str(tmp_path / "reports" / "a" / "plan.json"): "{}\n"})


WRONG = {"plan_from": "fact", "dest": "", "language": "de"}


def test_a_wrong_value_that_preflight_reports_does_not_prevent_the_plan():
    places = ("gpustack_plan_from on a, b", "gpustack_report_language on a, given with -e")
    findings = [_findings.error("variable_value", where, "x", "y", "z") for where in places]
    assert action._known(WRONG, findings) == {"plan_from": "inventory", "dest": "", "language": "en"}


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (
            {"plan_from": "fact"},
            r"plan_from is 'fact'; write inventory or facts \(gpustack_plan_from in an inventory\)",
        ),
        ({"language": "de"}, r"language is 'de'; write en or zh \(gpustack_report_language in an inventory\)"),
    ],
)
def test_a_wrong_value_that_nobody_reports_is_refused(wrong, told):
    with pytest.raises(AnsibleActionFail, match=told):
        action._known({"plan_from": "facts", "language": "zh", **wrong}, [])
