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


def write(path, text=""):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


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
    assert (facts["kind"], facts["os_packaged"]) == ("docker", "")
    assert (facts["storage_driver"], facts["image_store"]) == ("overlay2", "classic")
    assert facts["containerd_root"] == "/var/lib/containerd"
    assert (facts["cgroup_driver"], facts["cgroup_version"]) == ("systemd", "2")
    assert (facts["live_restore"], facts["logging_driver"]) == (True, "json-file")
    assert facts["cdi_spec_dirs"] == ["/etc/cdi", "/var/run/cdi"]
    assert facts["images"] == [
        "10.0.0.5:5000/docker.io/vllm/vllm-openai:v0.25.0",
        "docker.io/library/registry:2",
        "docker.io/vllm/vllm-openai:v0.25.0",
        f"docker.io/vllm/vllm-openai@{DIGEST}",
    ]
    assert facts["containers"] == [
        {
            "name": "gpustack-server",
            "owner": "ours",
            "image": "docker.io/gpustack/gpustack:v2.3.0",
            "running": False,
            "restart_count": 0,
            "started_at": "2026-08-01T09:00:00.000000000Z",
        },
        {
            "name": "gpustack-worker",
            "owner": "ours",
            "image": "docker.io/gpustack/gpustack:v2.3.0",
            "running": True,
            "restart_count": 3,
            "started_at": "2026-08-01T10:00:00.123456789Z",
        },
        {
            "name": "qwen3-0.6b-Xy12Z-run-0",
            "owner": "gpustack",
            "image": "docker.io/gpustack/runner:cuda12.9-vllm0.25.1",
            "running": True,
            "restart_count": None,
            "started_at": None,
        },
        {
            "name": "registry",
            "owner": "",
            "image": "docker.io/library/registry:2",
            "running": True,
            "restart_count": None,
            "started_at": None,
        },
    ]
    assert requests == [
        "/version",
        "/info",
        "/images/json",
        "/containers/json?all=1",
        f"/containers/{ID_WORKER}/json",
        f"/containers/{ID_SERVER}/json",
    ]


def test_mirrors_lose_their_accounts(path):
    with made_engine(path):
        facts, _published, _findings = ask(path)
    assert facts["registry_mirrors"] == ["https://mirror.example.com/", "https://10.0.0.5:5000/docker/"]
    assert "s3cr3t" not in str(facts)


def test_containerd_keeps_the_images(path, tmp_path):
    write(tmp_path / "etc/containerd/config.toml", "version = 2\nroot = '/data/containerd'\n[grpc]\nroot = '/no'\n")
    status = [["driver-type", "io.containerd.snapshotter.v1"]]
    with made_engine(path, with_answer("/info", Driver="overlayfs", DriverStatus=status)):
        facts, _published, _findings = ask(path, root=tmp_path)
    assert (facts["storage_driver"], facts["image_store"]) == ("overlayfs", "containerd")
    assert facts["containerd_root"] == "/data/containerd"


def test_root_of_another_table_is_not_that_of_containerd(path, tmp_path):
    write(tmp_path / "etc/containerd/config.toml", '#root = "/commented"\n[plugins.x]\n  root = "/no"\n')
    assert ask(path, root=tmp_path)[0]["containerd_root"] == "/var/lib/containerd"


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("var/lib/dpkg/info/docker-ce.list", "docker-ce"),
        ("var/lib/dpkg/info/docker.io.list", "docker.io"),
        ("usr/lib/systemd/system/docker.service", "docker-ce"),
        ("etc/systemd/system/docker.service", ""),
    ],
)
def test_package_of_the_engine(path, tmp_path, file, expected):
    write(tmp_path / file)
    with made_engine(path):
        assert ask(path, root=tmp_path)[0]["os_packaged"] == expected


def test_unit_of_somebody_elses_build_is_not_docker_ce(path, tmp_path):
    write(tmp_path / "usr/lib/systemd/system/docker.service")
    with made_engine(path, with_answer("/version", Platform={"Name": ""})):
        assert ask(path, root=tmp_path)[0]["os_packaged"] == ""


def test_snap_without_a_socket(path, tmp_path):
    write(tmp_path / "snap/bin/docker")
    facts, _published, findings = ask(path, root=tmp_path)
    assert (facts["present"], facts["answers"], facts["kind"]) == (True, False, "snap")
    assert only_id(findings) == ("engine_is_snap", "error")


def test_leftover_snap_beside_docker_engine_is_no_problem(path, tmp_path):
    write(tmp_path / "snap/bin/docker")
    write(tmp_path / "usr/bin/dockerd")
    with made_engine(path):
        facts, _published, findings = ask(path, root=tmp_path)
    assert (facts["kind"], findings) == ("docker", [])


def test_absent_engine_is_no_problem(path):
    facts, _published, findings = ask(path)
    assert (facts["present"], facts["answers"], findings) == (False, False, [])


@pytest.mark.parametrize("daemon", ["usr/bin/dockerd", "usr/sbin/dockerd"])
def test_installed_engine_without_a_socket_is_stopped(path, tmp_path, daemon):
    write(tmp_path / daemon)
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
    ("answers", "kind", "expected"),
    [
        (with_answer("/info", OperatingSystem="Docker Desktop"), "desktop", "engine_is_docker_desktop"),
        (with_answer("/info", SecurityOptions=["name=seccomp", "name=rootless"]), "rootless", "engine_is_rootless"),
        (with_answer("/info", DockerRootDir="/var/snap/docker/common/var-lib-docker"), "snap", "engine_is_snap"),
        (with_answer("/version", Components=[{"Name": "Podman Engine"}]), "podman", "engine_is_podman"),
    ],
)
def test_engines_that_gpustack_cannot_use(path, answers, kind, expected):
    with made_engine(path, answers):
        facts, _published, findings = ask(path)
    assert facts["kind"] == kind
    assert only_id(findings) == (expected, "error")


@pytest.mark.parametrize("components", [1, "Podman Engine", ["Podman Engine"], [None]])
def test_the_shape_of_components_ends_nothing(path, components):
    with made_engine(path, with_answer("/version", Components=components)):
        facts, _published, findings = ask(path)
    assert (facts["kind"], findings) == ("docker", [])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"runtimes": {"nvidia": {"path": "x"}, "lab": {"path": "y"}}}', ["lab", "nvidia"]),
        ('{"debug": true}', []),
        ('{"runtimes": null}', []),
        ('{"runtimes": "nvidia"}', []),
        ("[]", []),
        ("{", []),
        ("", []),
    ],
)
def test_the_runtimes_that_the_file_names(tmp_path, text, expected):
    write(tmp_path / "etc/docker/daemon.json", text)
    facts, _published, _findings = ask(tmp_path / "no.sock", root=tmp_path)
    assert (facts["configured_runtimes"], facts["runtimes"]) == (expected, [])


def test_answers_of_another_shape_are_survived(path):
    answers = dict(ANSWERS, **{"/info": {"Runtimes": None}, "/images/json": ["text"], "/containers/json?all=1": {}})
    with made_engine(path, answers):
        facts, _published, findings = ask(path)
    assert facts["runtimes"] == facts["images"] == facts["containers"] == facts["registry_mirrors"] == []
    assert (facts["image_store"], facts["live_restore"]) == ("", None)
    assert [entry["id"] for entry in findings] == ["engine_incomplete", "engine_incomplete"]


def test_container_that_goes_between_list_and_inspection_is_left_out(path):
    answers = {endpoint: answer for endpoint, answer in ANSWERS.items() if ID_WORKER not in endpoint}
    with made_engine(path, answers):
        facts, _published, findings = ask(path)
    assert [container["name"] for container in facts["containers"]] == [
        "gpustack-server",
        "qwen3-0.6b-Xy12Z-run-0",
        "registry",
    ]
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
