"""`--check --diff` on a site that stands: no change is announced and none is made."""

from __future__ import annotations

import lab_site
import pytest
import yaml
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


def test_a_check_before_new_images_come_announces_them(check, lab, tmp_path):
    """As before an upgrade: the engines run, and the images the site asks for are not on the hosts yet."""
    # No registry serves it; a check must not want to know.
    digest = "sha256:" + "0a" * 32
    later = tmp_path / "later.yml"
    later.write_text(yaml.safe_dump({"all": {"vars": {"gpustack_artefacts_lock": dict.fromkeys(lab.lock(), digest)}}}))
    before = {host: lab.running(host) for host in HOSTS}
    run = lab_site.site("-i", str(later), "--check", log="check_later.log")
    assert run.code == 0, run.tail()
    assert all(counts["changed"] for counts in run.recap().values())
    assert {host: lab.running(host) for host in HOSTS} == before
