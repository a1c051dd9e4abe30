# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ask Docker Engine over its unix socket; neither the docker command nor a Python SDK is needed."""

from __future__ import annotations

import errno
import http.client
import json
import os
import re
import socket
import stat
import time
from urllib.parse import quote

from ansible_collections.inferops.gpustack.plugins.module_utils._host_finding import finding

DAEMONS = ("usr/bin/dockerd", "usr/local/bin/dockerd")
OURS = "gpustack"
DIGEST_ONLY = re.compile(r"^(sha256:)?[0-9a-f]{12,64}$")


class EngineError(Exception):
    """The engine gave no usable answer. kind: silent, refused, denied, not-an-engine, gone or failed."""

    def __init__(self, kind, message):
        super().__init__(message)
        self.kind = kind


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Engine:
    """All requests together end by one deadline: a hanging engine costs the time-out once."""

    def __init__(self, path, timeout):
        self.path = path
        self.timeout = timeout
        self.deadline = time.monotonic() + timeout

    def get(self, endpoint):
        connection = UnixConnection(self.path, self._remaining())
        try:
            connection.request("GET", endpoint, headers={"Host": "docker"})
            # A response that ends with the connection takes the socket over from http.client.
            channel = connection.sock
            response = connection.getresponse()
            body = self._read(channel, response)
        except (socket.timeout, BlockingIOError) as error:  # the latter: connect() to a socket with a full backlog
            raise self._silent(endpoint) from error
        except PermissionError as error:
            raise EngineError("denied", f"no permission to use {self.path}") from error
        except OSError as error:
            kind = "refused" if error.errno in (errno.ECONNREFUSED, errno.ENOENT) else "failed"
            raise EngineError(kind, f"{endpoint}: {error.strerror or error}") from error
        except http.client.HTTPException as error:
            raise EngineError("not-an-engine", f"{endpoint}: the answer is not HTTP ({error!r})") from error
        finally:
            connection.close()
        return self._decoded(endpoint, response.status, body)

    def _remaining(self):
        remaining = self.deadline - time.monotonic()
        if remaining <= 0:
            raise self._silent("the next request")
        return remaining

    def _read(self, channel, response):
        chunks = []
        while not response.isclosed():
            channel.settimeout(self._remaining())
            chunk = response.read1(65536)
            if not chunk:
                break
            chunks.append(chunk)
        return b"".join(chunks)

    def _silent(self, endpoint):
        return EngineError("silent", f"no complete answer to {endpoint} within {self.timeout} s")

    @staticmethod
    def _decoded(endpoint, status, body):
        text = body.decode("utf-8", "replace")
        try:
            document = json.loads(text)
        except ValueError as error:
            raise EngineError(
                "not-an-engine", f"{endpoint}: status {status} with a body that is not JSON: {text[:120]!r}"
            ) from error
        if status != 200:
            message = document.get("message", text[:120]) if isinstance(document, dict) else text[:120]
            raise EngineError("gone" if status == 404 else "failed", f"{endpoint}: status {status}, {message}")
        return document


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
        "version": "",
        "runtimes": [],
        "default_runtime": "",
        "data_root": "",
        "insecure_registries": [],
        "images": [],
        "containers": [],
    }


def read_engine(sysroot, socket_path, timeout):
    """(engine facts, published ports per container, findings)."""
    facts = empty_facts()
    try:
        mode = os.stat(socket_path).st_mode
    except OSError:
        mode = None
    facts["present"] = mode is not None or any(sysroot.lexists(path) for path in DAEMONS)
    if mode is None:
        return facts, [], _absent_findings(facts["present"], socket_path)
    if not stat.S_ISSOCK(mode):
        error = EngineError("not-an-engine", "the path is not a socket")
        return facts, [], [_unanswered(socket_path, error)]
    return _ask(Engine(socket_path, timeout), facts)


def _ask(engine, facts):
    try:
        version = _of_type(engine.get("/version"), dict, "/version")
    except EngineError as error:
        return facts, [], [_unanswered(engine.path, error)]
    facts["answers"] = True
    facts["version"] = str(version.get("Version") or "")
    findings = _kind_findings(engine.path, version)
    published = []
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
    return facts, published, findings


def _of_type(document, kind, endpoint):
    if not isinstance(document, kind):
        raise EngineError("not-an-engine", f"{endpoint}: a JSON {type(document).__name__} instead of a {kind.__name__}")
    return document


def _read_info(engine, facts):
    info = _of_type(engine.get("/info"), dict, "/info")
    facts["runtimes"] = sorted(info.get("Runtimes") or {})
    facts["default_runtime"] = str(info.get("DefaultRuntime") or "")
    facts["data_root"] = str(info.get("DockerRootDir") or "")
    registries = info.get("RegistryConfig") or {}
    insecure = [name for name, index in (registries.get("IndexConfigs") or {}).items() if not index.get("Secure", True)]
    facts["insecure_registries"] = sorted(insecure + (registries.get("InsecureRegistryCIDRs") or []))
    findings = []
    if info.get("OperatingSystem") == "Docker Desktop":
        findings.append(
            finding(
                "engine_is_docker_desktop",
                "error",
                engine.path,
                "OperatingSystem: Docker Desktop",
                "Docker Engine on Linux; GPUStack workers do not run on Docker Desktop",
                "install Docker Engine inside the Linux system (for Windows: inside the WSL distribution)",
                "gpustack/gpustack#3549",
            )
        )
    if any("name=rootless" in str(option) for option in info.get("SecurityOptions") or []):
        findings.append(
            finding(
                "engine_is_rootless",
                "error",
                engine.path,
                "SecurityOptions: name=rootless",
                "an engine that runs as root; GPUStack workers are privileged containers",
                "install the system-wide Docker Engine, or set engine_socket to its socket",
                "gpustack/gpustack#5263",
            )
        )
    return findings, []


def _read_images(engine, facts):
    names = set()
    for image in _of_type(engine.get("/images/json"), list, "/images/json"):
        names.update(name for key in ("RepoTags", "RepoDigests") for name in image.get(key) or [])
    facts["images"] = sorted(canonical_image(name) for name in names if "<none>" not in name)
    return [], []


def _read_containers(engine, facts):
    findings, published, inspecting = [], [], True
    for row in _of_type(engine.get("/containers/json?all=1"), list, "/containers/json"):
        name = _name_of(row)
        container = {
            "name": name,
            "image": canonical_image(row.get("Image")),
            "running": row.get("State") == "running",
            "restart_count": None,
            "started_at": None,
        }
        if name.startswith(OURS) and inspecting:
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


def _inspect(engine, row, container):
    endpoint = f"/containers/{quote(str(row.get('Id') or container['name']), safe='')}/json"
    details = _of_type(engine.get(endpoint), dict, endpoint)
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


def _kind_findings(socket_path, version):
    components = [str((component or {}).get("Name")) for component in version.get("Components") or []]
    if not any("podman" in name.lower() for name in components):
        return []
    return [
        finding(
            "engine_is_podman",
            "error",
            socket_path,
            ", ".join(components),
            "Docker Engine; GPUStack's worker starts its engines through it",
            "remove podman-docker and install Docker Engine",
        )
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
