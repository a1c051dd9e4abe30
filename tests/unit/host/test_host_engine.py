from __future__ import annotations

import socket
import threading
import time

import pytest
from ansible_collections.inferops.gpustack.plugins.module_utils._docker_engine import canonical_image, read_engine
from ansible_collections.inferops.gpustack.plugins.module_utils._sysroot import Sysroot
from made_engine import ANSWERS, DIGEST, ID_SERVER, ID_WORKER, made_engine, made_socket, made_stale_socket


@pytest.fixture
def path(tmp_path):
    return tmp_path / "engine.sock"


def ask(path, timeout=5, root="/nonexistent"):
    facts, published, findings = read_engine(Sysroot(str(root)), str(path), timeout)
    return facts, published, findings


def only_id(findings):
    assert len(findings) == 1, findings
    return findings[0]["id"], findings[0]["severity"]


def with_answer(endpoint, **changes):
    return dict(ANSWERS, **{endpoint: dict(ANSWERS[endpoint], **changes)})


def test_facts_of_a_whole_engine(path):
    with made_engine(path) as requests:
        facts, _published, findings = ask(path)
    assert findings == []
    assert (facts["present"], facts["answers"], facts["version"]) == (True, True, "28.1.1")
    assert (facts["runtimes"], facts["default_runtime"]) == (["nvidia", "runc"], "runc")
    assert facts["data_root"] == "/var/lib/docker"
    assert facts["insecure_registries"] == ["10.0.0.5:5000", "127.0.0.0/8"]
    assert facts["images"] == [
        "10.0.0.5:5000/docker.io/vllm/vllm-openai:v0.25.0",
        "docker.io/library/registry:2",
        "docker.io/vllm/vllm-openai:v0.25.0",
        f"docker.io/vllm/vllm-openai@{DIGEST}",
    ]
    assert facts["containers"] == [
        {
            "name": "gpustack-server",
            "image": "docker.io/gpustack/gpustack:v2.3.0",
            "running": False,
            "restart_count": 0,
            "started_at": "2026-08-01T09:00:00.000000000Z",
        },
        {
            "name": "gpustack-worker",
            "image": "docker.io/gpustack/gpustack:v2.3.0",
            "running": True,
            "restart_count": 3,
            "started_at": "2026-08-01T10:00:00.123456789Z",
        },
        {
            "name": "registry",
            "image": "docker.io/library/registry:2",
            "running": True,
            "restart_count": None,
            "started_at": None,
        },
    ]
    assert [request for request in requests if request.endswith("/json")][1:] == [
        f"/containers/{ID_WORKER}/json",
        f"/containers/{ID_SERVER}/json",
    ]


def test_absent_engine_is_no_problem(path):
    facts, _published, findings = ask(path)
    assert (facts["present"], facts["answers"], findings) == (False, False, [])


def test_installed_engine_without_a_socket_is_stopped(path, tmp_path):
    (tmp_path / "usr/bin").mkdir(parents=True)
    (tmp_path / "usr/bin/dockerd").touch()
    facts, _published, findings = ask(path, root=tmp_path)
    assert (facts["present"], facts["answers"]) == (True, False)
    assert only_id(findings) == ("engine_stopped", "warning")


def test_stale_socket_is_a_stopped_engine(path):
    made_stale_socket(path)
    facts, _published, findings = ask(path)
    assert (facts["present"], facts["answers"]) == (True, False)
    assert only_id(findings) == ("engine_stopped", "warning")


def test_hanging_engine_costs_the_timeout_once(path):
    with made_socket(path):
        started = time.monotonic()
        facts, _published, findings = ask(path, timeout=1)
        assert 0.9 < time.monotonic() - started < 3
    assert (facts["present"], facts["answers"]) == (True, False)
    assert only_id(findings) == ("engine_hangs", "error")
    assert "/version within 1 s" in findings[0]["found"]


def test_hanging_engine_with_a_full_backlog(path):
    with made_socket(path, backlog=0), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as waiting:
        waiting.connect(str(path))
        assert only_id(ask(path, timeout=1)[2]) == ("engine_hangs", "error")


def test_engine_that_hangs_half_way_keeps_what_it_said(path):
    with made_engine(path, slow=["/images/json"]):
        facts, _published, findings = ask(path, timeout=1)
    assert (facts["answers"], facts["default_runtime"], facts["images"]) == (True, "runc", [])
    assert only_id(findings) == ("engine_incomplete", "warning")
    assert "/images/json" in findings[0]["found"]


def test_body_that_drips_does_not_outlive_the_timeout(path):
    with made_socket(path) as listener:
        started = time.monotonic()

        def drip():
            connection, _address = listener.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
                while time.monotonic() - started < 5:
                    try:
                        connection.sendall(b" ")
                    except OSError:
                        return
                    time.sleep(0.2)

        thread = threading.Thread(target=drip, daemon=True)
        thread.start()
        assert only_id(ask(path, timeout=1)[2]) == ("engine_hangs", "error")
        assert time.monotonic() - started < 3
        thread.join()


def test_path_that_is_no_socket(path):
    path.write_text("")
    assert only_id(ask(path)[2]) == ("engine_not_docker", "error")


@pytest.mark.parametrize("answer", [b"<html>", b"[]"])
def test_server_that_is_no_engine(path, answer):
    with made_engine(path, {"/version": answer}):
        facts, _published, findings = ask(path)
    assert facts["answers"] is False
    assert only_id(findings) == ("engine_not_docker", "error")


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (with_answer("/info", OperatingSystem="Docker Desktop"), "engine_is_docker_desktop"),
        (with_answer("/info", SecurityOptions=["name=seccomp", "name=rootless"]), "engine_is_rootless"),
        (with_answer("/version", Components=[{"Name": "Podman Engine"}]), "engine_is_podman"),
    ],
)
def test_engines_that_gpustack_cannot_use(path, answers, expected):
    with made_engine(path, answers):
        assert only_id(ask(path)[2]) == (expected, "error")


def test_answers_of_another_shape_are_survived(path):
    answers = dict(ANSWERS, **{"/info": {"Runtimes": None}, "/images/json": ["text"], "/containers/json?all=1": {}})
    with made_engine(path, answers):
        facts, _published, findings = ask(path)
    assert facts["runtimes"] == facts["images"] == facts["containers"] == []
    assert [entry["id"] for entry in findings] == ["engine_incomplete", "engine_incomplete"]


def test_container_that_goes_between_list_and_inspection_is_left_out(path):
    answers = {endpoint: answer for endpoint, answer in ANSWERS.items() if ID_WORKER not in endpoint}
    with made_engine(path, answers):
        facts, _published, findings = ask(path)
    assert [container["name"] for container in facts["containers"]] == ["gpustack-server", "registry"]
    assert findings == []


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("nginx", "docker.io/library/nginx:latest"),
        ("docker.io/nginx:1", "docker.io/library/nginx:1"),
        ("gpustack/runtime:pause", "docker.io/gpustack/runtime:pause"),
        ("quay.io/ascend/vllm-ascend:nightly-main", "quay.io/ascend/vllm-ascend:nightly-main"),
        ("localhost/x", "localhost/x:latest"),
        ("10.0.0.5:5000/a/b", "10.0.0.5:5000/a/b:latest"),
        (f"a/b@{DIGEST}", f"docker.io/a/b@{DIGEST}"),
        (f"a/b:v1@{DIGEST}", f"docker.io/a/b:v1@{DIGEST}"),
        (DIGEST, DIGEST),
        ("0123456789ab", "0123456789ab"),
        (None, ""),
    ],
)
def test_image_names_in_full(reference, expected):
    assert canonical_image(reference) == expected
