# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which kind of engine it is and where it came from. GPUStack's workers need a system-wide Docker Engine."""

from __future__ import annotations

from ansible_collections.inferops.gpustack.plugins.module_utils._host_finding import finding

# Debian's own package keeps it in sbin.
DAEMONS = ("usr/bin/dockerd", "usr/sbin/dockerd", "usr/local/bin/dockerd")
SNAP = "snap/bin/docker"
SNAP_DATA = "/var/snap/docker"
DPKG = "var/lib/dpkg/info"
PACKAGES = ("docker-ce", "docker.io")
# rpm keeps a database instead of lists. Docker's own binaries say that they are Docker's, and a unit here came with a
# package: who installs the binaries by hand is told to put it below /etc.
COMMUNITY = "Docker Engine - Community"
PACKAGED_UNIT = "usr/lib/systemd/system/docker.service"
#: Kinds that a GPUStack worker cannot use: the finding, what is expected, the fix and its source.
UNUSABLE = {
    "podman": (
        "engine_is_podman",
        "Docker Engine; GPUStack's worker starts its engines through it",
        "remove podman-docker and install Docker Engine, or have it done by gpustack_docker_remove_conflicting: true",
        "",
    ),
    "desktop": (
        "engine_is_docker_desktop",
        "Docker Engine on Linux; GPUStack workers do not run on Docker Desktop",
        "install Docker Engine inside the Linux system (for Windows: inside the WSL distribution)",
        "gpustack/gpustack#3549",
    ),
    "rootless": (
        "engine_is_rootless",
        "an engine that runs as root; GPUStack workers are privileged containers",
        "install the system-wide Docker Engine, or set engine_socket to its socket",
        "gpustack/gpustack#5263",
    ),
    "snap": (
        "engine_is_snap",
        "Docker Engine from a package; a snap is shut off from the vendors' container runtimes and most directories",
        "snap remove docker (its images and containers go with it), then install Docker Engine",
        "",
    ),
}


def has_daemon(sysroot):
    return any(sysroot.lexists(path) for path in DAEMONS)


def package(sysroot, version=None):
    """The package the engine is from; an engine that answers with its `version` tells more than the files do."""
    listed = next((name for name in PACKAGES if sysroot.lexists(DPKG, name + ".list")), "")
    platform = (version or {}).get("Platform")
    is_community = isinstance(platform, dict) and platform.get("Name") == COMMUNITY
    return listed or ("docker-ce" if is_community and sysroot.lexists(PACKAGED_UNIT) else "")


def judge_files(sysroot, facts):
    if not sysroot.lexists(SNAP) or has_daemon(sysroot):
        return []
    return [_unusable(facts, "snap", sysroot.path(SNAP), "the docker of a snap, and no other dockerd")]


def judge_version(socket_path, facts, version):
    components = version.get("Components")
    rows = [row for row in components if isinstance(row, dict)] if isinstance(components, list) else []
    components = [str(row.get("Name")) for row in rows]
    if not any("podman" in name.lower() for name in components):
        return []
    return [_unusable(facts, "podman", socket_path, ", ".join(components))]


def judge_info(socket_path, facts, info):
    if facts["kind"]:
        return []
    if info.get("OperatingSystem") == "Docker Desktop":
        return [_unusable(facts, "desktop", socket_path, "OperatingSystem: Docker Desktop")]
    if facts["data_root"].startswith(SNAP_DATA):
        return [_unusable(facts, "snap", socket_path, f"DockerRootDir: {facts['data_root']}")]
    if any("name=rootless" in str(option) for option in info.get("SecurityOptions") or []):
        return [_unusable(facts, "rootless", socket_path, "SecurityOptions: name=rootless")]
    facts["kind"] = "docker"
    return []


def _unusable(facts, kind, where, found):
    facts["kind"] = kind
    id, expected, fix, source = UNUSABLE[kind]
    return finding(id, "error", where, found, expected, fix, source)
