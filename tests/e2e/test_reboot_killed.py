"""The controller dies while a host is away: the next run gives the worker back, and the one after changes nothing."""

from __future__ import annotations

import lab_site
from lab_site import RTX, wait_until
from test_reboot import RECORD, boot


def in_maintenance(api):
    return bool((api.named("workers", RTX)["maintenance"] or {}).get("enabled"))


def is_up(lab):
    return lab.sh(RTX, "docker ps -q -f name=gpustack-worker 2>/dev/null", check=False)


def was_rebooted(lab, before):
    try:
        return boot(lab) != before
    except (AssertionError, OSError):
        return False


def test_a_killed_reboot_is_finished_by_the_next_run(lab, api):
    lab.sh(RTX, RECORD)
    before = boot(lab)
    run = lab_site.Run(
        *("site.yml", "-i", str(lab_site.INVENTORY), "--limit", RTX, "-e", "gpustack_reboot=allow"),
        log="reboot_killed.log",
    )
    assert run.kill_when(lambda: in_maintenance(api) and was_rebooted(lab, before)), run.tail()
    wait_until(lambda: is_up(lab), 120, "the host is back")
    assert in_maintenance(api)
    run = lab_site.site("--limit", RTX, log="reboot_finished.log")
    assert run.code == 0, run.tail()
    assert api.named("workers", RTX)["state"] == "ready"
    assert not in_maintenance(api)
    run = lab_site.site("--limit", RTX, log="reboot_no_op.log")
    assert run.code == 0, run.tail()
    assert run.changed() == 0
