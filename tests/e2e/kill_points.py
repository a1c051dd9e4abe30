"""The moments at which a killed run leaves something half done, each as a look at the lab from outside."""

from __future__ import annotations

from lab_site import H20, HOSTS, SERVER


def image_pull_started(lab, _api):
    return any(lab.sh(host, "ls /var/lib/docker/tmp 2>/dev/null | grep GetImageBlob", check=False) for host in HOSTS)


def server_container_created(lab, _api):
    return lab.sh(SERVER, "docker ps -aq --filter name=gpustack-server", check=False)


def cluster_created(_lab, api):
    return api.items("clusters")


def worker_config_written(lab, _api):
    return lab.sh(H20, "ls /etc/gpustack/worker/config.yaml 2>/dev/null", check=False)


def worker_container_created(lab, _api):
    return lab.sh(H20, "docker ps -aq --filter name=gpustack-worker", check=False)


def first_deployment_posted(_lab, api):
    return api.items("models")


KILL_POINTS = {
    function.__name__: function
    for function in (
        image_pull_started,
        server_container_created,
        cluster_created,
        worker_config_written,
        worker_container_created,
        first_deployment_posted,
    )
}
