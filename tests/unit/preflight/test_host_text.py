"""What people see of the look at the hosts, and what is the same when one looks twice."""

from __future__ import annotations

import copy

import made_hosts
from ansible_collections.inferops.gpustack.plugins.plugin_utils import _check_host_facts, _probe_text
from ansible_collections.inferops.gpustack.plugins.plugin_utils._site import Site


def shown(made):
    site = Site(made)
    return _probe_text.text(site, _check_host_facts.check(site))


def document(made):
    site = Site(made)
    return _probe_text.document(site, _check_host_facts.check(site))


def test_one_line_for_each_host():
    made = made_hosts.apart(made_hosts.inventory(count=3))
    made["facts"]["h20-02"] = None
    other = made["facts"]["h20-03"]
    other.update(
        os={**other["os"], "id": "debian", "version_id": "12", "major": 12, "pretty": "Debian GNU/Linux 12 (bookworm)"},
        accelerators=[],
        drivers={"nvidia": None, "ascend": None},
        engine={"present": False},
        disks=[],
        clock={"synchronised": None, "offset_seconds": None},
    )
    report = shown(made)
    assert report.splitlines()[:4] == [
        "host    system              cards                       driver                engine         free     "
        "clock        findings",
        "h20-01  Ubuntu 24.04.3 LTS  2 x nvidia_h20_3e, 141 GiB  580.95.05, CUDA 13.0  docker 28.1.1  500 GB   "
        "sync +0.2 s  none",
        "h20-02  not read",
        "h20-03  Debian 12           none                        none                  none           unknown  "
        "unknown      1 err",
    ]
    assert report.splitlines()[4:7] == ["", "ERROR accelerator_not_found", "  where     h20-03: gpustack_accelerator"]
    assert report.endswith("\n\n1 error")


def test_the_columns_are_aligned_and_fit_a_wide_terminal():
    made = made_hosts.apart(made_hosts.inventory(count=500))
    for number, facts in enumerate(made["facts"].values()):
        facts["os"]["pretty"] = "A distribution with quite a long name " * (number % 3)
        facts["accelerators"][0]["profile"] = "a_profile_of_the_site_" * (1 + number % 4)
        facts["engine"]["version"] = "29.3.0-with-a-long-suffix"
        facts["findings"] = [{"id": "engine_is_snap", "severity": "error"}, {"id": "nvidia_xid", "severity": "warning"}]
    lines = shown(made).split("\n\n")[0].splitlines()
    assert len(lines) == 501
    assert max(map(len, lines)) <= 160
    column = lines[0].index("findings")
    assert all(line[column - 2 : column] == "  " and line[column].isdigit() for line in lines[1:])


def test_a_release_of_docker_fits_its_column():
    made = made_hosts.inventory({"facts": {"engine": {"version": "20.10.24"}}})
    assert " docker 20.10.24  " in shown(made)


def test_damaged_facts_are_shown_as_far_as_they_go():
    for facts in ({"os": None, "accelerators": None, "drivers": None, "engine": None}, {"os": {}, "disks": [{}]}):
        made = made_hosts.inventory()
        made["facts"]["h20-01"] = facts
        assert shown(made).splitlines()[1].startswith("h20-01  unknown")


def test_the_document_says_what_was_found_on_each_host():
    made = made_hosts.apart(made_hosts.inventory({"facts": {"clock": {"offset_seconds": 300}}}, count=3))
    made["facts"]["h20-03"] = None
    checkpoint = {"path": "/srv/models/flash", "readable": True, "config": {"layers": [1] * 100}}
    made["facts"]["h20-01"]["checkpoints"] = {"/srv/models/flash": checkpoint}
    told = document(made)
    assert [(host["name"], host["read"]) for host in told["hosts"]] == [
        ("h20-01", True),
        ("h20-02", True),
        ("h20-03", False),
    ]
    assert told["hosts"][0]["facts"]["kernel"] == "6.8.0-79-generic"
    read = {"path": checkpoint["path"], "readable": True}
    assert told["hosts"][0]["facts"]["checkpoints"] == {checkpoint["path"]: read}
    assert told["hosts"][2]["facts"] is None
    assert [finding["where"] for finding in told["findings"]] == ["h20-01: clock", "h20-02: clock"]
    assert told["summary"] == "1 error"


def test_a_second_look_at_unchanged_hosts_is_the_same():
    case = {"facts": {"disks": [{"path": "/var/lib/containerd", "mount": "/", "free_bytes": 60 * 10**9}]}}
    first = made_hosts.inventory(case)
    second = copy.deepcopy(first)
    facts = second["facts"]["h20-01"]
    facts["disks"][0]["free_bytes"] = 59 * 10**9
    facts["clock"]["offset_seconds"] = 1.4
    facts["ports"][0]["pid"] = 9999
    facts["engine"]["containers"][0]["restart_count"] = 3
    assert document(first) != document(second)
    assert _probe_text.stable(document(first)) == _probe_text.stable(document(second))
    for change in (
        {"disks": [{"path": "/var/lib/containerd", "mount": "/", "free_bytes": 10**9}]},
        {"kernel": "6.8.0-80-generic"},
        {"drivers": {"nvidia": {"installed": "590.48.01"}}},
    ):
        third = copy.deepcopy(first)
        third["facts"]["h20-01"].update(change)
        assert _probe_text.stable(document(first)) != _probe_text.stable(document(third)), change
