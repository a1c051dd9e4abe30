"""`--check --diff` on a site that stands: no change is announced and none is made."""

from __future__ import annotations

import lab_site
import pytest
from host_snapshot import files
from lab_site import HOSTS


def snapshot(lab, api):
    return {
        "files": {host: files(lab, host) for host in HOSTS},
        "containers": {host: lab.running(host) for host in HOSTS},
        "api": api.export(),
    }


@pytest.fixture(scope="module")
def before(lab, api):
    return snapshot(lab, api)


@pytest.fixture(scope="module")
def check(before):
    return lab_site.site("--check", "--diff", log="check_again.log")


def test_check_announces_no_change(check):
    assert check.code == 0, check.tail()
    assert check.changed() == 0, [line for line in check.output.splitlines() if line.startswith("changed")]


def test_nothing_is_different_afterwards(check, before, lab, api):
    after = snapshot(lab, api)
    assert after["containers"] == before["containers"]
    assert after["api"] == before["api"]
    for host in HOSTS:
        assert after["files"][host].items() ^ before["files"][host].items() == set(), host
