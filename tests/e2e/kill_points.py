"""The moments at which a killed run leaves something half done, each as a look at the lab from outside."""

from __future__ import annotations

from lab_site import H20, HOSTS, SERVER


def image_pull_started(lab, _api):
    return any(any(lab.root(host).glob("var/lib/docker/tmp/GetImageBlob*")) for host in HOSTS)


def server_container_created(lab, _api):
    return any(lab.root(SERVER).glob("var/lib/docker/containers/*"))


def cluster_created(_lab, api):
    return api.items("clusters")


def worker_config_written(lab, _api):
    return (lab.root(H20) / "etc/gpustack/worker/config.yaml").exists()


def worker_container_created(lab, _api):
    return any(lab.root(H20).glob("var/lib/docker/containers/*"))


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
