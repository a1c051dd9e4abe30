"""The moments at which a killed run leaves something half done, each as a look at the lab from outside."""

from __future__ import annotations

from lab_site import H20, HOSTS, SERVER

#: On a host the change under way has a mark; see docs/decisions/0015-hosts.md.
PENDING = "etc/docker/.daemon.json.gpustack-pending"


def package_unpacked(lab, _api):
    return any(lab.root(H20).glob("usr/*bin/dockerd.dpkg-new"))


def daemon_json_written(lab, _api):
    return (lab.root(H20) / PENDING).exists()


def engine_restarting(lab, _api):
    return daemon_json_written(lab, _api) and not (lab.root(H20) / "run/docker.pid").exists()


def driver_installed(lab, _api):
    """Its packages are there, and neither held nor complete with Fabric Manager and services."""
    return any(lab.root(H20).glob("var/lib/dpkg/info/nvidia-open*.list"))


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


#: What a moment is about dies with the run there: a killed controller alone lets a module on a host go on.
ON_HOST = {
    "package_unpacked": "apt-get|dpkg|python3",
    "daemon_json_written": "python3",
    "engine_restarting": "python3",
    "driver_installed": "apt-get|dpkg|python3",
}
#: The first moment after the reboot that the new driver needs.
FIRST_AFTER_REBOOT = "image_pull_started"

KILL_POINTS = {
    function.__name__: function
    for function in (
        package_unpacked,
        daemon_json_written,
        engine_restarting,
        driver_installed,
        image_pull_started,
        server_container_created,
        cluster_created,
        worker_config_written,
        worker_container_created,
        first_deployment_posted,
    )
}
