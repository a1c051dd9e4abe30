"""A host that waits for a reboot: told by default, rebooted when the user allows it, and a worker again afterwards."""

from __future__ import annotations

import lab_site
import pytest
from lab_site import RTX

REASON = "The test wants one"
RECORD = f"mkdir -p /run/gpustack/reboot-reasons.d && echo '{REASON}' > /run/gpustack/reboot-reasons.d/test"


def boot(lab):
    return lab.sh(RTX, "stat -c %Y /proc/1")


@pytest.fixture(scope="module")
def waiting(lab):
    lab.sh(RTX, RECORD)
    return boot(lab)


def test_by_default_the_run_stops_and_tells_why(lab, waiting):
    run = lab_site.site("--limit", RTX, "-e", "gpustack_reboot=fail", log="reboot_fail.log")
    assert run.code == 2, run.tail()
    for words in (RTX, REASON, "set gpustack_reboot to allow"):
        assert words in run.output
    assert boot(lab) == waiting
    assert "gpustack-worker" in lab.running(RTX)


@pytest.fixture(scope="module")
def allowed(lab, waiting):
    """The playbook of the station alone: site.yml would wait for the model as well. The inventory allows it."""
    return lab_site.playbook(
        str(lab_site.ROOT / "playbooks" / "reboot.yml"),
        *("-i", str(lab_site.INVENTORY), "--limit", RTX),
        log="reboot_allow.log",
    )


def test_when_it_is_allowed_the_host_is_rebooted_and_a_worker_again(lab, api, allowed, waiting):
    assert allowed.code == 0, allowed.tail()
    assert boot(lab) != waiting
    assert lab.sh(RTX, "ls /run/gpustack/reboot-reasons.d 2>/dev/null", check=False) == ""
    worker = api.named("workers", RTX)
    assert worker["state"] == "ready"
    assert not (worker["maintenance"] or {}).get("enabled")
    assert "gpustack-worker" in lab.running(RTX)


def test_the_worker_was_in_maintenance_meanwhile(allowed):
    assert allowed.output.index("Put the worker into maintenance") < allowed.output.index("host_reboot : Reboot]")
    assert allowed.output.index("host_reboot : Reboot]") < allowed.output.index("End our maintenance")
