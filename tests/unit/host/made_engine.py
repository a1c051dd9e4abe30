"""A made Docker Engine: canned answers on a unix socket, shaped like those of the real API. It is no engine."""

from __future__ import annotations

import json
import socket
import socketserver
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler

ID_SERVER = "a" * 64
ID_WORKER = "b" * 64
ID_OTHER = "c" * 64
ID_MODEL = "d" * 64
DIGEST = "sha256:" + "1" * 64

ANSWERS = {
    "/version": {
        "Platform": {"Name": "Docker Engine - Community"},
        "Version": "28.1.1",
        "ApiVersion": "1.49",
        "Components": [{"Name": "Engine", "Version": "28.1.1"}],
    },
    "/info": {
        "Runtimes": {"runc": {"path": "runc"}, "nvidia": {"path": "nvidia-container-runtime"}},
        "DefaultRuntime": "runc",
        "DockerRootDir": "/var/lib/docker",
        "Driver": "overlay2",
        "DriverStatus": [["Backing Filesystem", "extfs"], ["Supports d_type", "true"]],
        "CgroupDriver": "systemd",
        "CgroupVersion": "2",
        "LiveRestoreEnabled": True,
        "LoggingDriver": "json-file",
        "CDISpecDirs": ["/etc/cdi", "/var/run/cdi"],
        "RegistryConfig": {
            "Mirrors": ["https://mirror.example.com/", "https://robot:s3cr3t@10.0.0.5:5000/docker/"],
            "InsecureRegistryCIDRs": ["127.0.0.0/8"],
            "IndexConfigs": {
                "docker.io": {"Name": "docker.io", "Mirrors": [], "Secure": True, "Official": True},
                "10.0.0.5:5000": {"Name": "10.0.0.5:5000", "Mirrors": [], "Secure": False, "Official": False},
            },
        },
        "OperatingSystem": "Debian GNU/Linux 12 (bookworm)",
        "SecurityOptions": ["name=seccomp,profile=builtin", "name=cgroupns"],
    },
    "/images/json": [
        {
            "RepoTags": ["vllm/vllm-openai:v0.25.0", "10.0.0.5:5000/docker.io/vllm/vllm-openai:v0.25.0"],
            "RepoDigests": [f"vllm/vllm-openai@{DIGEST}"],
        },
        {"RepoTags": ["registry:2"], "RepoDigests": None},
        {"RepoTags": ["<none>:<none>"], "RepoDigests": ["<none>@<none>"]},
    ],
    "/containers/json?all=1": [
        {
            "Id": ID_WORKER,
            "Names": ["/gpustack-worker"],
            "Image": "sha256:" + "2" * 64,
            "State": "running",
            "Ports": [],
        },
        {
            "Id": ID_SERVER,
            "Names": ["/proxy/alias", "/gpustack-server"],
            "Image": "gpustack/gpustack:v2.3.0",
            "State": "exited",
            "Ports": [{"IP": "0.0.0.0", "PrivatePort": 80, "PublicPort": 80, "Type": "tcp"}],
        },
        {
            "Id": ID_OTHER,
            "Names": ["/registry"],
            "Image": "registry:2",
            "State": "running",
            "Labels": None,
            "Ports": [
                {"IP": "127.0.0.1", "PrivatePort": 5000, "PublicPort": 5000, "Type": "tcp"},
                {"PrivatePort": 5001, "Type": "tcp"},
                {"IP": "0.0.0.0", "PrivatePort": 53, "PublicPort": 53, "Type": "udp"},
            ],
        },
        {
            "Id": ID_MODEL,
            "Names": ["/qwen3-0.6b-Xy12Z-run-0"],
            "Image": "gpustack/runner:cuda12.9-vllm0.25.1",
            "State": "running",
            "Labels": {"runtime.gpustack.ai/workload": "qwen3-0.6b-Xy12Z", "runtime.gpustack.ai/component": "run"},
            "Ports": [],
        },
    ],
    f"/containers/{ID_WORKER}/json": {
        "RestartCount": 3,
        "Config": {"Image": "docker.io/gpustack/gpustack:v2.3.0"},
        "State": {"StartedAt": "2026-08-01T10:00:00.123456789Z"},
    },
    f"/containers/{ID_SERVER}/json": {
        "RestartCount": 0,
        "Config": {"Image": "gpustack/gpustack:v2.3.0"},
        "State": {"StartedAt": "2026-08-01T09:00:00.000000000Z"},
    },
}


class UnixServer(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


@contextmanager
def made_engine(path, answers=None, slow=()):
    """Serve the answers; an endpoint in `slow` is accepted and never answered. Yields the list of requests."""
    answers = ANSWERS if answers is None else answers
    requests = []
    released = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            requests.append(self.path)
            if self.path in slow:
                released.wait(20)
                return
            status, document = 200, answers.get(self.path)
            if document is None:
                status, document = 404, {"message": "no such container"}
            body = document if isinstance(document, bytes) else json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def address_string(self):
            return "unix"

        def log_message(self, *_arguments):
            pass

    with UnixServer(str(path), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield requests
        finally:
            released.set()
            server.shutdown()
            thread.join()


@contextmanager
def made_socket(path, backlog=5):
    """A socket that listens and is never served."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(path))
        listener.listen(backlog)
        yield listener


def made_stale_socket(path):
    """What a killed daemon leaves: the file is there, nobody listens."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(path))
