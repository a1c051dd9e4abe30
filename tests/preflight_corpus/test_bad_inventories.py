"""Every mistake of tests/bad_inventories is found by a real run, told in words that help, and gone once it is fixed.

tests/bad_inventories/README.md says how a case is made.
"""

from __future__ import annotations

import concurrent.futures
import dataclasses
import difflib
import os
import pathlib
import re
import shlex
import subprocess
import sys

import pytest
from ansible_collections.inferops.gpustack.plugins.plugin_utils import _data

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
CORPUS = REPOSITORY / "tests" / "bad_inventories"
CASES = sorted(path.parent.name for path in CORPUS.glob("*/expect.txt"))
MERGED = CORPUS / "merged"
FINDING = re.compile(r"(ERROR|WARNING|NOTE) ([a-z_]+)")
# What a run that passes shows of a finding.
PASSED_FINDING = re.compile(r"\[WARNING\]: ([a-z_]+): ")
# Not a matter of the inventory, so no inventory has it; test_kinds.py tests these.
OF_THE_CONTROLLER = {"ansible_core_untested", "python_untested"}
# Found in the logs of engines that run; tests/unit/filter/test_engine_log_findings.py tests these.
OF_VERIFY = {"dspark_draft_empty", "engine_context_differs", "engine_variable_unknown", "kv_capacity_differs"}
# Found on the hosts. tests/bad_hosts has their cases; tests/unit/plan/test_plan_from_facts.py tests those of plan.yml.
OF_HOSTS = {kind for kind, entry in _data.load("findings.yml").items() if entry.get("of_hosts")}
# What the plan only notes is no mistake: most of these inventories have deployments of unequal length behind one route.
NOTED = {rule["id"] for rule in _data.load("rules.yml") if rule["severity"] == "note"}
# The setting any_unparsed_is_failed of ansible.cfg stops the run before; test_action.py has it without that setting.
OF_OTHER_CONFIGURATIONS = {"inventory_unparsed"}
# Not in the merged inventory, because of what is there.
EXCLUDED = {
    "accept_many_unused": "accept_unused: few are warnings, many are one error",
    "server_missing": "server_several: there are two",
    "worker_group_misnamed": "needs a group gpustack_worker without hosts",
    "admin_password_missing": "admin_password_weak: a site has one password",
    "admin_password_placeholder": "admin_password_weak: a site has one password",
    "deployment_without_host": "accelerator_missing: that worker may be the host",
    "cards_short": "accelerator_missing: that worker may have the cards",
    "server_url_port": "tls_url_mismatch: an http URL beside a certificate has no right port",
    "tls_incomplete": "tls_port_taken: ports and URL are judged when certificate and key are there",
}
PASSWORD = re.compile(r"harbour\W", re.IGNORECASE)


@dataclasses.dataclass(frozen=True)
class Run:
    code: int
    output: str

    @property
    def text(self):
        """The output without its line breaks and columns."""
        return " ".join(self.output.split())

    @property
    def kinds(self):
        """The id of every finding and its severity."""
        passed = dict.fromkeys(PASSED_FINDING.findall(self.output), "WARNING")
        found = {**passed, **kinds_of(self.output.splitlines())}
        return {kind: severity for kind, severity in found.items() if kind not in NOTED}


def kinds_of(lines):
    matches = [match for match in (FINDING.fullmatch(line.strip()) for line in lines) if match]
    return {match.group(2): match.group(1) for match in matches}


def play(inventory, playbook="playbooks/preflight.yml", **environment):
    words = inventory / "extra_args.txt"
    arguments = shlex.split(words.read_text(encoding="utf-8")) if words.exists() else []
    command = [sys.executable, "-m", "ansible", "playbook", playbook, "-i", str(inventory), *arguments]
    configuration = {"ANSIBLE_CONFIG": str(REPOSITORY / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1"}
    environment = {**os.environ, **configuration, **environment}
    done = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False)
    return Run(done.returncode, done.stdout + done.stderr)


def files(inventory):
    paths = [path for path in inventory.rglob("*") if path.is_file()]
    return {str(path.relative_to(inventory)): path.read_text(encoding="utf-8") for path in sorted(paths)}


def expected(case):
    """The findings and the texts of expect.txt."""
    lines = (CORPUS / case / "expect.txt").read_text(encoding="utf-8").splitlines()
    return kinds_of(lines), [line for line in lines if not FINDING.fullmatch(line)]


@pytest.fixture(scope="module")
def run(request):
    """Runs an inventory. Those of the selected tests run ahead, two at a time, and equal ones once."""
    items = [item for item in request.session.items if "run" in item.fixturenames and item.module is request.module]
    cases = dict.fromkeys(item.callspec.params["case"] for item in items)
    runs = {}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:

        def start(inventory):
            content = tuple(files(inventory).items())
            if content not in runs:
                runs[content] = pool.submit(play, inventory)
            return runs[content]

        for case in cases:
            start(CORPUS / case / "bad")
            start(CORPUS / case / "fixed")
        yield lambda inventory: start(inventory).result()
        pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize("case", CASES)
def test_the_mistake_is_one_line_or_one_file(case):
    bad, fixed = files(CORPUS / case / "bad"), files(CORPUS / case / "fixed")
    names = [name for name in {*bad, *fixed} if bad.get(name) != fixed.get(name)]
    assert len(names) == 1
    if names[0] in bad and names[0] in fixed:
        before, after = bad[names[0]].splitlines(), fixed[names[0]].splitlines()
        changes = [part for part in difflib.SequenceMatcher(None, before, after).get_opcodes() if part[0] != "equal"]
        assert len(changes) == 1
        unused, start, end, other_start, other_end = changes[0]
        assert max(end - start, other_end - other_start) == 1


@pytest.mark.parametrize("case", CASES)
def test_the_mistake_is_found_and_told(case, run):
    kinds, texts = expected(case)
    assert kinds
    assert texts
    done = run(CORPUS / case / "bad")
    assert done.kinds == kinds, done.output
    assert done.code == (2 if "ERROR" in kinds.values() else 0), done.output
    for text in texts:
        assert text in done.text, done.output
    if done.code == 0:
        # The summary only names what was told before.
        assert done.text.count(texts[0]) == 1
        assert re.search(rf"preflight: \d+ hosts? checked, {len(kinds)} warning, see above", done.text)
    assert "Traceback" not in done.text
    # Ansible's own warning of a key that stands twice quotes the lines before it.
    assert "duplicate mapping key" not in done.text
    assert not PASSWORD.search(done.text), done.output


@pytest.mark.parametrize("case", CASES)
def test_the_fixed_inventory_passes(case, run):
    done = run(CORPUS / case / "fixed")
    assert done.code == 0, done.output
    assert done.kinds == {}, done.output


def kinds_with_a_case():
    return {kind for case in CASES for kind in expected(case)[0]}


def test_every_kind_has_a_case():
    # Those of rules.yml have theirs in tests/bad_plans.
    others = OF_THE_CONTROLLER | OF_VERIFY | OF_HOSTS | OF_OTHER_CONFIGURATIONS
    assert kinds_with_a_case() == set(_data.load("findings.yml")) - others


@pytest.fixture
def trap(tmp_path):
    """An ssh that leaves a file behind, and the environment that makes Ansible use it."""
    trace, ssh = tmp_path / "connected", tmp_path / "ssh"
    ssh.write_text(f"#!/bin/sh\ntouch '{trace}'\nexit 255\n", encoding="utf-8")
    ssh.chmod(0o700)
    return trace, {"ANSIBLE_SSH_EXECUTABLE": str(ssh), "ANSIBLE_SSH_RETRIES": "0"}


def test_all_mistakes_at_once_are_one_report_and_nothing_is_connected_to(trap):
    trace, environment = trap
    done = play(MERGED, playbook="site.yml", **environment)
    assert done.code == 2, done.output
    assert set(done.kinds) == kinds_with_a_case() - set(EXCLUDED), done.output
    assert not trace.exists()
    assert done.output.count("TASK [") == 1
    assert set(re.findall(r"unreachable=(\d+)", done.output)) == {"0"}
    assert "Traceback" not in done.text
    assert not PASSWORD.search(done.text), done.output


def test_the_trap_notices_a_connection(trap, tmp_path):
    trace, environment = trap
    connect = tmp_path / "connect.yml"
    connect.write_text("[{hosts: all, gather_facts: true}]", encoding="utf-8")
    play(CORPUS / CASES[0] / "fixed", playbook=str(connect), **environment)
    assert trace.exists()
