# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Docker Engine tells about itself, its images and its containers."""

from __future__ import annotations

import json
import os
import re
import stat
from urllib.parse import quote

from ansible_collections.inferops.gpustack.plugins.module_utils import _docker_kind
from ansible_collections.inferops.gpustack.plugins.module_utils._docker_http import Engine, EngineError, of_type
from ansible_collections.inferops.gpustack.plugins.module_utils._host_finding import finding

CONTAINERD_CONFIG = "etc/containerd/config.toml"
DAEMON_CONFIG = "etc/docker/daemon.json"
CONTAINERD_ROOT = "/var/lib/containerd"
CONTAINERD_STORE = "io.containerd.snapshotter.v1"
# Containers that this collection runs; their names may carry more, such as a number.
OURS = ("gpustack-server", "gpustack-worker")
INSPECTED = "gpustack"
# gpustack-runtime, deployer/docker.py: on every container that GPUStack starts.
GPUSTACK_LABEL = "runtime.gpustack.ai/workload"
ACCOUNT = re.compile(r"(?<=://)[^/]*@")
DIGEST_ONLY = re.compile(r"^(sha256:)?[0-9a-f]{12,64}$")


def canonical_image(reference):
    """`<registry host>/<repository>:<tag>`, as Docker reads a short name; an image id stays what it is."""
    if not reference or DIGEST_ONLY.match(reference):
        return reference or ""
    name, at, digest = reference.partition("@")
    host, slash, rest = name.partition("/")
    if not slash or not ("." in host or ":" in host or host == "localhost"):
        host, rest = "docker.io", name
    if host == "docker.io" and "/" not in rest:
        rest = "library/" + rest
    if not at and ":" not in rest.rsplit("/", 1)[-1]:
        rest += ":latest"
    return f"{host}/{rest}{at}{digest}"


def empty_facts():
    return {
        "present": False,
        "answers": False,
        "kind": "",
        "version": "",
        "os_packaged": "",
        "runtimes": [],
        "configured_runtimes": [],
        "default_runtime": "",
        "data_root": "",
        "storage_driver": "",
        "image_store": "",
        "containerd_root": CONTAINERD_ROOT,
        "cgroup_driver": "",
        "cgroup_version": "",
        "live_restore": None,
        "logging_driver": "",
        "registry_mirrors": [],
        "insecure_registries": [],
        "cdi_spec_dirs": [],
        "images": [],
        "containers": [],
    }


def read_engine(sysroot, socket_path, timeout):
    """(engine facts, published ports per container, findings)."""
    facts = empty_facts()
    facts["containerd_root"] = _containerd_root(sysroot)
    facts["configured_runtimes"] = _configured_runtimes(sysroot)
    facts["os_packaged"] = _docker_kind.package(sysroot)
    installed = _docker_kind.has_daemon(sysroot)
    findings = _docker_kind.judge_files(sysroot, facts)
    try:
        mode = os.stat(socket_path).st_mode
    except OSError:
        mode = None
    facts["present"] = installed or mode is not None or facts["kind"] == "snap"
    if mode is None:
        return facts, [], findings + _absent_findings(installed, socket_path)
    if not stat.S_ISSOCK(mode):
        error = EngineError("not-an-engine", "the path is not a socket")
        return facts, [], [*findings, _unanswered(socket_path, error)]
    published, more_findings = _ask(sysroot, Engine(socket_path, timeout), facts)
    return facts, published, findings + more_findings


def _containerd_root(sysroot):
    """What stands in the file before its first table, else the default. Python reads TOML from 3.11 on only."""
    top = re.split(r"^\s*\[", sysroot.read(CONTAINERD_CONFIG) or "", maxsplit=1, flags=re.MULTILINE)[0]
    match = re.search(r"""^\s*root\s*=\s*(["'])(.+?)\1""", top, re.MULTILINE)
    return match.group(2) if match else CONTAINERD_ROOT


def _configured_runtimes(sysroot):
    """What daemon.json names, taken up or not. A file that cannot be read names nothing."""
    try:
        return sorted(json.loads(sysroot.read(DAEMON_CONFIG) or "{}")["runtimes"].keys())
    except (ValueError, KeyError, TypeError, AttributeError):
        return []


def _ask(sysroot, engine, facts):
    """(published ports, findings)."""
    try:
        version = of_type(engine.get("/version"), dict, "/version")
    except EngineError as error:
        return [], [_unanswered(engine.path, error)]
    facts["answers"] = True
    facts["version"] = str(version.get("Version") or "")
    facts["os_packaged"] = facts["os_packaged"] or _docker_kind.package(sysroot, version)
    published, findings = [], _docker_kind.judge_version(engine.path, facts, version)
    for step in (_read_info, _read_images, _read_containers):
        try:
            more_findings, more_published = step(engine, facts)
            findings += more_findings
            published += more_published
        except EngineError as error:
            findings.append(_incomplete(engine.path, error))
            if error.kind == "silent":
                break
        except (AttributeError, KeyError, TypeError) as error:
            findings.append(_incomplete(engine.path, f"an answer of an unexpected shape: {error!r}"))
    return published, findings


def _read_info(engine, facts):
    info = of_type(engine.get("/info"), dict, "/info")
    registries = info.get("RegistryConfig") or {}
    insecure = [name for name, index in (registries.get("IndexConfigs") or {}).items() if not index.get("Secure", True)]
    live_restore = info.get("LiveRestoreEnabled")
    facts.update(
        runtimes=sorted(info.get("Runtimes") or {}),
        default_runtime=_text(info, "DefaultRuntime"),
        data_root=_text(info, "DockerRootDir"),
        storage_driver=_text(info, "Driver"),
        image_store=_image_store(info),
        cgroup_driver=_text(info, "CgroupDriver"),
        cgroup_version=_text(info, "CgroupVersion"),
        live_restore=live_restore if isinstance(live_restore, bool) else None,
        logging_driver=_text(info, "LoggingDriver"),
        registry_mirrors=[ACCOUNT.sub("", str(url)) for url in registries.get("Mirrors") or []],
        insecure_registries=sorted(insecure + (registries.get("InsecureRegistryCIDRs") or [])),
        cdi_spec_dirs=[str(path) for path in info.get("CDISpecDirs") or []],
    )
    return _docker_kind.judge_info(engine.path, facts, info), []


def _text(info, key):
    return str(info.get(key) or "")


def _image_store(info):
    if not info.get("Driver"):
        return ""
    status = [list(pair) for pair in info.get("DriverStatus") or []]
    return "containerd" if ["driver-type", CONTAINERD_STORE] in status else "classic"


def _read_images(engine, facts):
    names = set()
    for image in of_type(engine.get("/images/json"), list, "/images/json"):
        names.update(name for key in ("RepoTags", "RepoDigests") for name in image.get(key) or [])
    facts["images"] = sorted(canonical_image(name) for name in names if "<none>" not in name)
    return [], []


def _read_containers(engine, facts):
    findings, published, inspecting = [], [], True
    for row in of_type(engine.get("/containers/json?all=1"), list, "/containers/json"):
        name = _name_of(row)
        container = {
            "name": name,
            "owner": _owner(name, row),
            "image": canonical_image(row.get("Image")),
            "running": row.get("State") == "running",
            "restart_count": None,
            "started_at": None,
        }
        if name.startswith(INSPECTED) and inspecting:
            try:
                _inspect(engine, row, container)
            except EngineError as error:
                if error.kind == "gone":
                    continue
                findings.append(_incomplete(engine.path, error))
                inspecting = error.kind != "silent"
        facts["containers"].append(container)
        published.append({"id": str(row.get("Id") or ""), "name": name, "published": _published(row)})
    facts["containers"].sort(key=lambda container: container["name"])
    return findings, published


def _owner(name, row):
    if GPUSTACK_LABEL in (row.get("Labels") or {}):
        return "gpustack"
    return "ours" if name.startswith(OURS) else ""


def _inspect(engine, row, container):
    endpoint = f"/containers/{quote(str(row.get('Id') or container['name']), safe='')}/json"
    details = of_type(engine.get(endpoint), dict, endpoint)
    # The list shows an id once the tag has moved on; the reference the container was made with is kept here only.
    container["image"] = canonical_image((details.get("Config") or {}).get("Image") or row.get("Image"))
    container["restart_count"] = details.get("RestartCount")
    container["started_at"] = (details.get("State") or {}).get("StartedAt")


def _name_of(row):
    names = [str(name).lstrip("/") for name in row.get("Names") or []]
    # A legacy link shows as "other/alias" beside the container's own name.
    return next((name for name in names if "/" not in name), str(row.get("Id") or "")[:12])


def _published(row):
    return [
        (port.get("IP") or "0.0.0.0", port["PublicPort"])
        for port in row.get("Ports") or []
        if port.get("PublicPort") and port.get("Type", "tcp") == "tcp"
    ]


def _absent_findings(installed, socket_path):
    if not installed:
        return []
    return [
        finding(
            "engine_stopped",
            "warning",
            socket_path,
            "dockerd is installed, the socket does not exist",
            "a running Docker Engine",
            "systemctl start docker; if it does not stay up: journalctl -u docker -n 50",
        )
    ]


UNANSWERED = {
    "refused": ("engine_stopped", "warning", "systemctl start docker; then journalctl -u docker -n 50"),
    "denied": ("engine_denied", "error", "run the play with become: true"),
    "silent": ("engine_hangs", "error", "journalctl -u docker -n 50 for the reason, then systemctl restart docker"),
    "not-an-engine": ("engine_not_docker", "error", "set engine_socket to Docker's socket"),
}


def _unanswered(socket_path, error):
    name, severity, fix = UNANSWERED.get(error.kind, ("engine_fails", "error", "journalctl -u docker -n 50"))
    return finding(name, severity, socket_path, error, "an answer of Docker Engine to GET /version", fix)


def _incomplete(socket_path, error):
    return finding(
        "engine_incomplete",
        "warning",
        socket_path,
        error,
        "complete answers of Docker Engine",
        "journalctl -u docker -n 50; the facts about the engine are partial",
    )
