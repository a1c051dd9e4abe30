"""The driver of a serving worker is too old for the site's image: one run brings a newer one, and the worker serves again.

Before it, somebody's hands put 570 onto the host that site.yml gave 580.
"""

from __future__ import annotations

import lab_site
import pytest
from lab_site import H20, HOSTS, ROUTE, wait_until

OLD, NEW = "570.172.08", "580.95.05"
LABEL = "inferops.gpustack.driver"


def driver(lab):
    return lab.sh(H20, "cat /sys/module/nvidia/version", check=False)


def others(lab, api):
    """All that an upgrade on one host is no reason to touch."""
    kept = ("clusters", "models", "model-routes", "model-route-targets")
    exported = api.export()
    return {
        "containers": {host: lab.running(host) for host in HOSTS if host != H20},
        "api": {resource: exported[resource] for resource in kept},
        "workers": {item["name"]: (item["id"], item["labels"]) for item in exported["workers"]},
    }


def serves(api):
    worker, model = api.named("workers", H20), api.named("models", lab_site.DEPLOYMENTS[H20])
    return worker["state"] == "ready" and model["ready_replicas"] == 1


@pytest.fixture(scope="module")
def old(lab, api):
    """570 at work under the worker and its deployment."""
    other = f"dpkg-query -W -f '${{Package}} ${{Version}}\\n' | awk '$2 ~ /^{NEW}/ {{print $1}}'"
    lab.sh(H20, f"apt-mark unhold $({other}) && apt-get -qy purge $({other})")
    lab.sh(H20, f"apt-get -q update && apt-get -qy install nvidia-open-570 nvidia-fabricmanager={OLD}-1")
    lab.sh(H20, "systemctl enable nvidia-fabricmanager nvidia-persistenced")
    restarts = lab.restarts(H20)
    lab.sh(H20, "systemctl reboot", check=False)
    wait_until(lambda: lab.restarts(H20) > restarts and driver(lab) == OLD, 60, "the host runs the old driver")
    wait_until(lambda: serves(api), 240, "the worker serves on the old driver")
    return others(lab, api), lab.inspect(H20, "gpustack-worker"), lab.restarts(H20)


@pytest.fixture(scope="module")
def upgraded(lab, old):
    return lab_site.site(log="driver_upgrade.log")


def test_a_check_tells_what_is_to_come(lab, api, old):
    run = lab_site.site("--check", "--diff", "--limit", H20, log="driver_upgrade_check.log")
    assert run.code == 0, run.tail()
    assert f"driver {OLD} is older than 580.65.06, which is needed" in run.output
    assert "nvidia-open-580" in run.output
    assert driver(lab) == OLD
    assert serves(api)


def test_the_new_driver_is_at_work_after_one_reboot(lab, old, upgraded):
    assert upgraded.code == 0, upgraded.tail()
    _others, _worker, restarts = old
    assert (driver(lab), lab.restarts(H20)) == (NEW, restarts + 1)
    assert lab.sh(H20, "systemctl is-active nvidia-persistenced nvidia-fabricmanager").split() == ["active"] * 2


def test_the_worker_was_made_anew_and_serves(lab, api, old, upgraded):
    _others, worker, _restarts = old
    now = lab.inspect(H20, "gpustack-worker")
    assert now["Id"] != worker["Id"]
    assert now["Config"]["Labels"][LABEL] == NEW
    assert serves(api)
    assert api.chat(ROUTE, "Are you there?")["choices"]


def test_nothing_else_was_touched(lab, api, old, upgraded):
    before, _worker, _restarts = old
    assert others(lab, api) == before


def test_the_next_run_changes_nothing(upgraded):
    run = lab_site.site(log="driver_upgrade_again.log")
    assert (run.code, run.changed()) == (0, 0), run.tail()
