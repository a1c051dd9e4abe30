# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The summary of a run as text."""

from __future__ import annotations

import dataclasses
import textwrap

import pytest
from ansible_collections.inferops.gpustack.plugins.plugin_utils import _findings, _summary
from ansible_collections.inferops.gpustack.plugins.plugin_utils._summary import Failure, Row, Run

WARNING = _findings.warning("image_unlocked", "gpustack_version", "a tag", "its digest", "pin it")
ERROR = _findings.error("server_missing", "inventory", "no server", "one host", "add one")
HOST_WARNING = _findings.warning("engine_stopped", "/run/docker.sock", "no socket", "an engine", "start it")

NOTE = _findings.note("hint", "a place", "x", "y", "z")
ACCEPTED = dataclasses.replace(ERROR, severity="note", accepted="the site knows better")


def run(**changes):
    everything = {
        "hosts": ["gs-01", "h20-01", "h20-02"],
        "present": {"gs-01", "h20-01", "h20-02"},
        "touched": {"gs-01", "h20-01", "h20-02"},
        "failures": {},
        "changed": {"gs-01": 2},
    }
    return Run(**{**everything, **changes})


def results(rows):
    return {row.host: row.result for row in rows}


def test_the_table_of_a_mixed_run():
    rows = [
        Row("gs-01", "done", 12),
        Row("h20-02", "unreachable", 0, "Look at the host", "connect to host 192.0.2.1 port 22: timed out"),
        Row("npu-01", "skipped", None, "not in this run"),
    ]
    expected = """\
        HOST    RESULT       CHANGED  WHY
        gs-01   done              12
        h20-02  unreachable        0  Look at the host
                                      connect to host 192.0.2.1 port 22: timed out
        npu-01  skipped               not in this run

        Findings that remain:
          ERROR   server_missing: inventory: no server; expected one host; add one
          WARNING image_unlocked: gpustack_version: a tag; expected its digest; pin it

        When that is mended:
          ansible-playbook site.yml --limit h20-02

        Duration: 1:02:03"""
    command = "ansible-playbook site.yml --limit h20-02"
    text = _summary.text(rows, [WARNING, ERROR, WARNING], "When that is mended:", command, 3722.6, 100)
    assert text == textwrap.dedent(expected)


def test_an_accepted_finding_does_not_remain():
    accepted = dataclasses.replace(WARNING, accepted="our registry keeps its tags")
    assert "image_unlocked" not in _summary.text([], [accepted], "", "", 1, 100)


@pytest.mark.parametrize(
    ("findings", "expected"),
    [
        ([], "no findings"),
        ([WARNING, WARNING], "2 warnings, see above (image_unlocked)"),
        ([ACCEPTED], "1 accepted (server_missing)"),
        (
            [NOTE, WARNING, ACCEPTED],
            "1 warning, see above (image_unlocked); 1 note (hint); 1 accepted (server_missing)",
        ),
    ],
)
def test_preflight_is_one_line_whatever_it_found(findings, expected):
    summary = _findings.summary(findings)
    result = {"msg": f"3 hosts checked, {summary}", "findings": [finding.as_dict() for finding in findings]}
    assert _summary.in_short(result) == f"3 hosts checked, {expected}"


def test_a_finding_of_many_hosts_counts_once_as_in_the_report_of_them():
    twice = [dataclasses.replace(HOST_WARNING, where=f"{host}: a place", found=host) for host in ("h20-01", "h20-02")]
    other = dataclasses.replace(HOST_WARNING, where="h20-02: another place")
    findings = [finding.as_dict() for finding in [*twice, other]]
    result = {"of": "hosts", "msg": "2 hosts looked at, 2 warnings; written: reports/probe.json", "findings": findings}
    assert _summary.in_short(result) == "2 hosts looked at, 2 warnings, see above (engine_stopped)"


def test_the_lines_of_preflight_stand_before_what_remains():
    lines = ["preflight: 3 hosts checked, no findings", "preflight: 3 hosts looked at, no findings"]
    text = _summary.text([], [ERROR], "", "", 1, 100, lines)
    assert text.splitlines()[:5] == [
        *lines,
        "",
        "Findings that remain:",
        "  ERROR   server_missing: inventory: no server; expected one host; add one",
    ]


def test_chinese_host_names_keep_the_columns():
    rows = [Row("服务器-01", "done", 0), Row("gs", "done", 12)]
    expected = """\
        HOST       RESULT  CHANGED
        服务器-01  done          0
        gs         done         12

        Duration: 0:00:04"""
    assert _summary.text(rows, [], "", "", 4, 100) == textwrap.dedent(expected)


def test_a_run_without_trouble_is_short():
    text = _summary.text([Row("gs-01", "done", 0)], [], "", "", 4, 100)
    assert text == "HOST   RESULT  CHANGED\ngs-01  done          0\n\nDuration: 0:00:04"


def test_a_long_message_stays_within_the_width_and_ends_with_dots():
    rows = [Row("h20-02", "failed", 0, "task " * 40, "word " * 200)]
    lines = _summary.text(rows, [], "", "", 1, 80).split("\n\n")[0].splitlines()
    assert len(lines) == 5
    assert max(map(len, lines)) <= 80
    assert lines[1].endswith(" ...")
    assert lines[-1].endswith(" ...")


def test_every_host_has_the_result_it_ended_with():
    rows = run(
        failures={"h20-01": Failure("Pull", "disk full"), "h20-02": Failure("Look", "no route", "unreachable")}
    ).rows()
    assert rows == [
        Row("gs-01", "done", 2),
        Row("h20-01", "failed", 0, "Pull", "disk full"),
        Row("h20-02", "unreachable", 0, "Look", "no route"),
    ]


def test_a_host_outside_the_limit_was_not_in_the_run():
    row = run(present={"gs-01"}, touched={"gs-01"}).rows()[1]
    assert row == Row("h20-01", "skipped", None, "not in this run")


def test_a_host_that_no_task_was_for_is_not_called_done():
    assert run(touched={"gs-01", "h20-01"}).rows()[2] == Row("h20-02", "skipped", None, "no task for this host")


def test_a_host_no_play_is_for_is_not_waiting_to_be_finished():
    row = run(stopped_by="Look", touched={"gs-01"}, idle={"h20-02"}).rows()[2]
    assert row == Row("h20-02", "skipped", None, "no task for this host")


def test_a_host_the_run_went_on_without_was_not_read():
    not_read = {"h20-01": Failure("Look", "no route", "unreachable"), "h20-02": Failure("Look", "no route")}
    done = run(failures={"h20-01": Failure("Pull", "disk full")}, not_read=not_read).rows()
    assert done == [
        Row("gs-01", "done", 2),
        Row("h20-01", "failed", 0, "Pull", "disk full"),
        Row("h20-02", "not read", 0, "Look", "no route"),
    ]
    assert _summary.hosts_again(done) == ["h20-01"]


def test_a_failure_on_behalf_of_all_is_the_sites_and_keeps_every_host_from_finishing():
    failure = Failure("Have the deployments", "no such path", everyone=True)
    rows = run(failures={"gs-01": failure}, stopped_by="Have the deployments").rows()
    assert rows[0] == Row(_summary.SITE, "failed", None, "Have the deployments", "no such path")
    assert rows[1] == Row("gs-01", "not finished", 2, "the run stopped at: Have the deployments")
    assert [row.result for row in rows[2:]] == ["not finished", "not finished"]


def test_when_no_host_was_touched_only_the_site_has_a_row():
    failure = Failure("Judge the inventory", "2 errors", everyone=True)
    rows = run(touched=set(), failures={"gs-01": failure}, stopped_by="Judge the inventory").rows()
    assert results(rows) == {_summary.SITE: "failed"}
    assert run(touched=set()).rows() == []


def test_what_failed_is_repeated_and_no_more():
    failures = {"h20-02": Failure("Look", result="unreachable")}
    assert _summary.hosts_again(run(failures=failures).rows()) == ["h20-02"]
    stopped = run(failures=failures, stopped_by="Look", touched={"h20-01", "h20-02"}, present={"h20-01", "h20-02"})
    assert _summary.hosts_again(stopped.rows()) == []
    assert _summary.hosts_again([Row(_summary.SITE, "failed"), Row("gs-01", "not finished"), Row("a", "done")]) == []
    assert _summary.hosts_again(run().rows()) == []


CENSORED = {"censored": "the output has been hidden", "failed": True}


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ({"msg": "Port 80 is taken.\nFree it."}, "Port 80 is taken."),
        ({"msg": "Task failed: Module failed: no such file"}, "no such file"),
        ({"msg": ["", "second"]}, "second"),
        ({"msg": "non-zero return code", "stderr": "\nno space left\n", "stdout": "x"}, "no space left"),
        ({"msg": "non-zero return code", "stderr": "", "stdout": "told here"}, "told here"),
        ({"msg": "non-zero return code"}, "non-zero return code"),
        (
            {"msg": "MODULE FAILURE", "module_stderr": "Traceback (most recent call last):\n  File x\nOSError: no\n"},
            "OSError: no",
        ),
        ({"msg": "One or more items failed", "results": [{"msg": "a"}, {"failed": True, "msg": "b"}]}, "b"),
        ({"msg": "7 hosts checked", "findings": [ERROR.as_dict(), WARNING.as_dict()]}, "1 error, 1 warning"),
        ({**CENSORED, "msg": "hunter2"}, "(message hidden by no_log)"),
        ({"msg": "One or more items failed", "results": [CENSORED]}, "(message hidden by no_log)"),
        ({}, ""),
    ],
)
def test_the_message_is_the_first_line_that_tells_something(result, expected):
    assert _summary.message(result) == expected


def test_only_what_has_the_shape_of_a_finding_is_one():
    content = [WARNING.as_dict(), {**WARNING.as_dict(), "severity": "loud"}, {"id": "other"}, "text"]
    assert _summary.read_findings(content) == [WARNING]
    assert _summary.read_findings(None) == []


def test_a_finding_that_hosts_share_names_them_once():
    found = _summary.on_hosts({"h20-01": [HOST_WARNING, HOST_WARNING], "npu-01": [HOST_WARNING]})
    assert [finding.where for finding in found] == ["/run/docker.sock on h20-01, npu-01"]


def test_what_was_there_when_the_hosts_were_judged_does_not_remain():
    raised = dataclasses.replace(HOST_WARNING, severity="error", found="another text")
    elsewhere = dataclasses.replace(HOST_WARNING, where="/run/podman.sock")
    later = {"h20-01": [raised, elsewhere], "h20-02": [HOST_WARNING]}
    expected = {"h20-01": [elsewhere], "h20-02": [HOST_WARNING]}
    assert _summary.since({"h20-01": [HOST_WARNING]}, later) == expected
    assert _summary.since({}, later) == later


def test_many_hosts_are_counted():
    (found,) = _summary.on_hosts({f"h20-{number:02}": [HOST_WARNING] for number in range(1, 9)})
    assert found.where == "/run/docker.sock on h20-01, h20-02, h20-03, h20-04, h20-05 and 3 more"
