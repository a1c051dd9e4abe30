"""The driver under a serving worker is too old for the site's image: one run brings a newer one, and it serves again.

Before it, somebody's hands put 570 onto the host that site.yml gave 580, and the site accepted that.
"""

from __future__ import annotations

import json

import lab_site
import pytest
import yaml
from lab_site import H20, HOSTS, ROUTE, wait_until

OLD, NEW = "570.172.08", "580.95.05"
FABRIC, PIN = "nvidia-fabricmanager", "/etc/apt/preferences.d/by-hand"
LABEL = "inferops.gpustack.driver"


def driver(lab):
    return lab.sh(H20, "cat /sys/module/nvidia/version", check=False)


def others(lab, api):
    """All that an upgrade on one host is no reason to touch."""
    kept = ("clusters", "models", "model-routes", "model-route-targets")
    exported, counted = api.export(), {"updated_at", "ready_replicas", "ready_targets", "state"}
    return {
        "containers": {host: lab.running(host) for host in HOSTS if host != H20},
        "api": {
            resource: [{key: value for key, value in item.items() if key not in counted} for item in exported[resource]]
            for resource in kept
        },
        "workers": {item["name"]: (item["id"], item["labels"]) for item in exported["workers"]},
    }


def serves(api):
    worker, model = api.named("workers", H20), api.named("models", lab_site.DEPLOYMENTS[H20])
    return worker["state"] == "ready" and model["ready_replicas"] == 1


def old_accepted():
    accepted = yaml.safe_load((lab_site.INVENTORY / "hosts.yml").read_text())["all"]["vars"]["gpustack_accept"]
    accepted.append({"id": "driver_too_old", "reason": "The simulated engine asks for no driver."})
    return json.dumps({"gpustack_driver": "check", "gpustack_accept": accepted})


@pytest.fixture(scope="module")
def old(lab, api):
    """570 at work under the worker and its deployment."""
    other = "dpkg-query -W -f '${Package} ${Version}\\n' | awk '$2 ~ /^5[78]0/ {print $1}'"
    lab.sh(H20, f"apt-mark unhold $({other}) && apt-get -qy purge $({other})")
    pin = f"Package: *nvidia* libcuda*\nPin: version {OLD}-1\nPin-Priority: 1001\n"
    lab.sh(
        H20, f"printf '{pin}' > {PIN} && apt-get -q update && apt-get -qy install nvidia-open-570 {FABRIC}; rm {PIN}"
    )
    lab.sh(H20, f"systemctl enable {FABRIC} nvidia-persistenced")
    restarts = lab.restarts(H20)
    lab.sh(H20, "systemctl reboot", check=False)
    wait_until(lambda: lab.restarts(H20) > restarts and driver(lab) == OLD, 60, "the host runs the old driver")
    run = lab_site.site("--limit", H20, "-e", old_accepted(), log="driver_old.log")
    assert run.code == 0, run.tail()
    return others(lab, api), lab.inspect(H20, "gpustack-worker"), lab.restarts(H20)


@pytest.fixture(scope="module")
def upgraded(lab, old):
    return lab_site.site(log="driver_upgrade.log")


def test_the_new_driver_is_at_work_after_one_reboot(lab, old, upgraded):
    assert upgraded.code == 0, upgraded.tail()
    assert f"driver {OLD} is older than 580.65.06, which is needed" in upgraded.output
    _others, _worker, restarts = old
    assert (driver(lab), lab.restarts(H20)) == (NEW, restarts + 1)
    assert lab.sh(H20, "systemctl is-active nvidia-persistenced nvidia-fabricmanager").split() == ["active"] * 2


def test_the_worker_was_made_anew_and_serves(lab, api, old, upgraded):
    _others, worker, _restarts = old
    assert worker["Config"]["Labels"][LABEL] == OLD
    now = lab.inspect(H20, "gpustack-worker")
    assert now["Id"] != worker["Id"]
    assert now["Config"]["Labels"][LABEL] == NEW
    assert serves(api)
    assert api.chat(ROUTE, "Are you there?")["choices"]


def test_nothing_else_was_touched(lab, api, old, upgraded):
    before, _worker, _restarts = old
    assert others(lab, api) == before


def test_there_is_nothing_left_to_change(upgraded):
    run = lab_site.site("--check", "--limit", H20, log="driver_upgrade_check.log")
    assert (run.code, run.changed()) == (0, 0), run.tail()
