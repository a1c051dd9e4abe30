"""The long form of the kill test: after each single kill the next run converges, and the one after changes nothing.

Before a moment only what has to be made anew for it is taken away.
"""

from __future__ import annotations

import lab_site
import pytest
from kill_points import KILL_POINTS, ON_HOST
from lab_site import H20, HOSTS, SERVER

REMOVE_ALL = "docker ps -aq | xargs -r docker rm -fv; docker volume ls -q | xargs -r docker volume rm"


def everything(lab, _api):
    for playbook in ("lab/reset.yml", "lab/create.yml"):
        run = lab_site.playbook(playbook, log="kill_each_reset.log")
        assert run.code == 0, run.tail()


def server_container(lab, _api):
    lab.sh(SERVER, "docker rm -f gpustack-server")


def cluster(lab, _api):
    for host in HOSTS:
        lab.sh(host, REMOVE_ALL)


def worker_config(lab, _api):
    lab.sh(H20, "docker ps -aq | xargs -r docker rm -f; rm -rf /etc/gpustack/worker")


def worker_container(lab, _api):
    lab.sh(H20, "docker ps -aq | xargs -r docker rm -f")


def deployments(_lab, api):
    for model in api.items("models"):
        api.call("DELETE", f"/v2/models/{model['id']}")


TAKEN_AWAY = {
    **dict.fromkeys(ON_HOST, everything),
    "image_pull_started": everything,
    "server_container_created": server_container,
    "cluster_created": cluster,
    "worker_config_written": worker_config,
    "worker_container_created": worker_container,
    "first_deployment_posted": deployments,
}


@pytest.mark.parametrize("moment", KILL_POINTS)
def test_next_run_converges_and_the_one_after_changes_nothing(lab, api, moment):
    TAKEN_AWAY[moment](lab, api)
    assert not KILL_POINTS[moment](lab, api), "already true before the run"
    run = lab_site.Run("site.yml", "-i", str(lab_site.INVENTORY), log=f"kill_each_{moment}.log")
    assert run.kill_when(lambda: KILL_POINTS[moment](lab, api)), run.tail()
    if moment in ON_HOST:
        lab.sh(H20, f"pkill -KILL -x '{ON_HOST[moment]}'", check=False)
    run = lab_site.site(log=f"kill_each_{moment}_next.log")
    assert run.code == 0, run.tail()
    instances = {item["model_name"]: (item["worker_name"], item["state"]) for item in api.items("model-instances")}
    assert instances == {name: (host, "running") for host, name in lab_site.DEPLOYMENTS.items()}
    run = lab_site.site(log=f"kill_each_{moment}_no_op.log")
    assert run.code == 0, run.tail()
    assert run.changed() == 0
