"""`--check --diff` on bare hosts: it exits 0, says what would be done after what, and leaves no trace.

Runs before the first real run; the same check of the finished site is in test_check_mode_again.py.
"""

from __future__ import annotations

import lab_site
import pytest
from host_snapshot import files
from lab_site import HOSTS, SERVER, WORKERS


@pytest.fixture(scope="module")
def before(lab):
    for host in HOSTS:
        assert lab.sh(host, "command -v dockerd", check=False) == "", f"{host} is not bare"
    return {host: files(lab, host) for host in HOSTS}


@pytest.fixture(scope="module")
def check(before):
    return lab_site.site("--check", "--diff", log="check_bare.log")


def test_check_of_bare_hosts_succeeds(check):
    assert check.code == 0, check.tail()
    assert set(check.recap()) == set(HOSTS)
    assert all(counts["changed"] for counts in check.recap().values())


def test_it_says_what_would_be_done_after_what(check):
    said = " ".join(check.output.split())
    for host, container in {SERVER: "gpustack-server", **dict.fromkeys(WORKERS, "gpustack-worker")}.items():
        assert f"The container {container} of {host} would be run after its container engine" in said
    assert "would be done after the server answers" in said
    assert "would be installed: docker.io" in said


def test_nothing_is_different_afterwards(check, before, lab):
    for host in HOSTS:
        after = files(lab, host)
        different = {path for path in before[host].keys() | after if before[host].get(path) != after.get(path)}
        assert different == set(), host
