from __future__ import annotations

import json
import os
import stat

import pytest
from ansible_collections.inferops.gpustack.plugins.module_utils import _dockerd
from ansible_collections.inferops.gpustack.plugins.module_utils._sysroot import Sysroot
from ansible_collections.inferops.gpustack.plugins.modules import docker_daemon_config
from made_tree import write


@pytest.fixture(autouse=True)
def dockerd(tmp_path, monkeypatch):
    """No dockerd, until a test makes one that answers with a version and judges a file."""
    directory = tmp_path / "bin"
    directory.mkdir()

    def make(version, verdict="exit 0"):
        program = directory / "dockerd"
        program.write_text(
            f'#!/bin/sh\n[ "$1" = --version ] && echo "Docker version {version}, build 0" && exit 0\n'
            f'echo "$@" >> {tmp_path}/dockerd.calls\n{verdict}\n'
        )
        program.chmod(0o755)

    monkeypatch.setattr(
        docker_daemon_config.UnloggedModule,
        "get_bin_path",
        lambda self, name, **_options: str(directory / name) if (directory / name).exists() else None,
    )
    return make


@pytest.fixture
def path(tmp_path):
    (tmp_path / "docker").mkdir()
    return tmp_path / "docker/daemon.json"


@pytest.fixture
def config(run_module, path):
    def run(**arguments):
        return run_module(docker_daemon_config, path=str(path), **arguments)

    return run


def put(path, document):
    path.write_text(document if isinstance(document, str) else json.dumps(document))


def backups(path):
    return sorted(name for name in os.listdir(path.parent) if name.endswith("~"))


VENDOR = {
    "default-runtime": "ascend",
    "runtimes": {
        "ascend": {"path": "/usr/local/Ascend/Ascend-Docker-Runtime/ascend-docker-runtime", "runtimeArgs": []}
    },
}


def test_merge_keeps_what_other_writers_wrote(path, config):
    put(path, dict(VENDOR, features={"buildkit": True}))
    result = config(settings={"features": {"cdi": True}, "runtimes": {"nvidia": {"path": "nvidia-container-runtime"}}})
    assert result["changed"] is True
    assert json.loads(path.read_text()) == {
        "default-runtime": "ascend",
        "runtimes": dict(VENDOR["runtimes"], nvidia={"path": "nvidia-container-runtime"}),
        "features": {"buildkit": True, "cdi": True},
    }
    assert result["changed_keys"] == ["features", "runtimes"]


def test_registries_are_joined_and_other_lists_replaced(path, config):
    put(path, {"insecure-registries": ["b:1", "a:1"], "exec-opts": ["native.cgroupdriver=systemd"]})
    config(settings={"insecure-registries": ["c:1", "a:1"], "exec-opts": ["native.cgroupdriver=cgroupfs"]})
    assert json.loads(path.read_text()) == {
        "insecure-registries": ["b:1", "a:1", "c:1"],
        "exec-opts": ["native.cgroupdriver=cgroupfs"],
    }


def test_second_run_changes_nothing(path, config):
    settings = {"live-restore": True, "registry-mirrors": ["https://m.example"], "log-opts": {"max-size": "100m"}}
    config(settings=settings)
    before = path.stat()
    result = config(settings=settings)
    assert (result["changed"], result["action"], result["backup_file"]) == (False, "none", "")
    assert (path.stat().st_mtime_ns, path.stat().st_ino) == (before.st_mtime_ns, before.st_ino)
    assert backups(path) == []


def test_layout_alone_is_no_change(path, config):
    put(path, '{"debug":true,\n\n"labels":[]}')
    assert config(settings={"debug": True})["changed"] is False
    assert path.read_text() == '{"debug":true,\n\n"labels":[]}'


@pytest.mark.parametrize("content", [None, "", " \n"])
def test_missing_and_empty_file_are_an_empty_object(path, config, content):
    if content is not None:
        put(path, content)
    result = config(settings={"debug": True})
    assert json.loads(path.read_text()) == {"debug": True}
    assert (result["backup_file"] == "") is (content is None)


def test_new_file_has_mode_0644_whatever_the_umask(path, config):
    before = os.umask(0o077)
    try:
        config(settings={"debug": True})
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_mode_and_owner_stay(path, config):
    put(path, {})
    path.chmod(0o600)
    if os.getuid() == 0:
        os.chown(path, 1234, 4321)
    before = path.stat()
    result = config(settings={"debug": True})
    for name in (str(path), result["backup_file"]):
        after = os.stat(name)
        assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)


def test_backup_holds_the_old_content(path, config):
    put(path, '{"debug": false}')
    result = config(settings={"debug": True})
    assert backups(path) == [os.path.basename(result["backup_file"])]
    assert backups(path)[0].startswith("daemon.json.2")
    with open(result["backup_file"]) as handle:
        assert handle.read() == '{"debug": false}'


def test_two_changes_within_a_second_keep_both_backups(path, config, monkeypatch):
    monkeypatch.setattr(docker_daemon_config.time, "strftime", lambda _format: "20260801T000000")
    put(path, {})
    config(settings={"debug": True})
    config(settings={"debug": False})
    assert backups(path) == ["daemon.json.20260801T000000.1~", "daemon.json.20260801T000000~"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{not json", "it is not JSON"),
        (b"\xff\xfe{\x00", "it is not JSON"),
        ("[]", "it holds a JSON list where an object is expected"),
        ('{"log-opts": "10m"}', "log-opts is a string there and a object in the settings"),
        ('{"registry-mirrors": "https://m"}', "registry-mirrors is a string there and a list in the settings"),
        ('{"debug": 1}', "debug is a number there and a boolean in the settings"),
        ('{"debug": true, "debug": false}', "keep one of them: debug"),
        ('{"mtu": NaN}', "NaN is not a JSON number"),
    ],
)
def test_refusals_leave_the_file_as_it_is(path, config, content, message):
    raw = content if isinstance(content, bytes) else content.encode()
    path.write_bytes(raw)
    settings = {"log-opts": {"max-size": "1m"}, "registry-mirrors": ["https://x"], "debug": True}
    result = config(settings=settings)
    assert result["failed"] is True
    assert message in result["msg"]
    assert str(path) in result["msg"]
    assert path.read_bytes() == raw
    assert os.listdir(path.parent) == ["daemon.json"]


def test_link_is_refused(path, config, tmp_path):
    put(tmp_path / "elsewhere.json", {})
    path.symlink_to(tmp_path / "elsewhere.json")
    result = config(settings={"debug": True})
    assert f"a link to {tmp_path}/elsewhere.json" in result["msg"]
    assert (tmp_path / "elsewhere.json").read_text() == "{}"
    assert path.is_symlink()


def test_owned_keys_are_removed(path, config):
    put(path, dict(VENDOR, debug=True, **{"log-opts": {"max-size": "1m"}}))
    result = config(state_of=["debug", "runtimes/ascend", "log-opts/max-file", "never-there"])
    assert json.loads(path.read_text()) == {"default-runtime": "ascend", "log-opts": {"max-size": "1m"}}
    assert result["changed_keys"] == ["debug", "runtimes"]


def test_key_that_is_owned_and_set_is_replaced(path, config):
    put(path, {"insecure-registries": ["old:1"]})
    config(settings={"insecure-registries": ["new:1"]}, state_of=["insecure-registries"])
    assert json.loads(path.read_text()) == {"insecure-registries": ["new:1"]}


@pytest.mark.parametrize(
    ("settings", "action"),
    [
        ({"live-restore": True, "runtimes": {"x": {"path": "x"}}, "max-concurrent-downloads": 3}, "reload"),
        ({"cluster-store": "consul://x"}, "reload"),
        ({"features": {"buildkit": False}}, "reload"),
        ({"features": {"containerd-snapshotter": False}}, "restart"),
        ({"live-restore": True, "data-root": "/srv/docker"}, "restart"),
        ({"log-opts": {"max-size": "1m"}}, "restart"),
        ({}, "none"),
    ],
)
def test_action(path, config, settings, action):
    put(path, {"debug": True})
    assert config(settings=settings)["action"] == action


def test_check_mode_tells_and_does_not_write(path, config):
    put(path, {"debug": False})
    result = config(check=True, settings={"debug": True, "data-root": "/srv"})
    assert (result["changed"], result["action"], result["backup_file"]) == (True, "restart", "")
    assert path.read_text() == '{"debug": false}'
    assert os.listdir(path.parent) == ["daemon.json"]


def test_check_mode_without_the_directory(tmp_path, run_module):
    path = tmp_path / "none/daemon.json"
    assert run_module(docker_daemon_config, check=True, path=str(path), settings={"debug": True})["changed"] is True
    assert not path.parent.exists()


def test_diff(path, config):
    put(path, '{"debug":false}')
    diff = config(settings={"debug": True})["diff"]
    assert (diff["before"], diff["after"]) == ('{\n    "debug": false\n}\n', '{\n    "debug": true\n}\n')


def test_passwords_in_urls_are_masked(path, config):
    put(path, {"proxies": {"http-proxy": "http://joe:hunter2secret@proxy:3128"}})
    result = config(settings={"proxies": {"https-proxy": "http://ann:s3cr3tvalue@proxy:3128"}})
    assert result["changed"] is True
    assert "hunter2secret" not in json.dumps(result)
    assert "s3cr3tvalue" not in json.dumps(result)
    assert "s3cr3tvalue" in path.read_text()


def test_dockerd_judges_the_new_content_first(path, config, dockerd, tmp_path):
    dockerd("28.1.1", verdict='grep -q \'"debug": true\' "$3"')
    result = config(settings={"debug": True})
    assert (result["changed"], result["findings"]) == (True, [])
    assert (tmp_path / "dockerd.calls").read_text().startswith(f"--validate --config-file {path.parent}/.daemon.json.")


@pytest.mark.parametrize("check", [False, True])
def test_content_that_dockerd_refuses_is_not_written(path, config, dockerd, check):
    dockerd("23.0.0", verdict='echo "unable to configure $3: unknown key nonsense" >&2; exit 1')
    put(path, {})
    result = config(check=check, settings={"nonsense": True})
    assert f"dockerd refuses the new content: unable to configure {path}: unknown key nonsense" in result["msg"]
    assert path.read_text() == "{}"
    assert os.listdir(path.parent) == ["daemon.json"]


def test_old_dockerd_is_not_asked(path, config, dockerd, tmp_path):
    dockerd("20.10.24+dfsg1", verdict="exit 1")
    result = config(settings={"debug": True})
    assert [entry["id"] for entry in result["findings"]] == ["daemon_json_not_validated"]
    assert result["findings"][0]["severity"] == "note"
    assert not (tmp_path / "dockerd.calls").exists()


def test_what_a_killed_run_left_is_cleared_by_the_next(path, config):
    put(path, {"debug": False})
    (path.parent / ".daemon.json.gpustack-abc").write_text('{"debug": tr')
    config(settings={"debug": True})
    assert sorted(name for name in os.listdir(path.parent) if not name.endswith("~")) == ["daemon.json"]


def made_dockerd(root, *arguments, pid=50, namespace="pid:[1]"):
    write(root, f"proc/{pid}/comm", "dockerd\n")
    write(root, f"proc/{pid}/cmdline", "\0".join(("/usr/bin/dockerd", *arguments)) + "\0")
    for owner, target in (("self", "pid:[1]"), (str(pid), namespace)):
        (root / f"proc/{owner}/ns").mkdir(parents=True, exist_ok=True)
        link = root / f"proc/{owner}/ns/pid"
        if not link.is_symlink():
            link.symlink_to(target)
    return root


def test_key_that_dockerd_has_as_a_flag_is_refused(path, config, tmp_path, monkeypatch):
    root = made_dockerd(tmp_path / "host", "-H", "fd://", "--config-file", str(path), "--insecure-registry=a:1")
    monkeypatch.setattr(docker_daemon_config, "Sysroot", lambda: Sysroot(str(root)))
    put(path, {"debug": False})
    result = config(settings={"hosts": ["tcp://127.0.0.1:2375"], "insecure-registries": ["b:1"]})
    assert "hosts (-H), insecure-registries (--insecure-registry=a:1)" in result["msg"]
    assert path.read_text() == '{"debug": false}'
    assert config(settings={"debug": True})["changed"] is True


@pytest.mark.parametrize(
    ("arguments", "namespace", "expected"),
    [
        (["-H", "fd://"], "pid:[1]", ["hosts (-H)"]),
        (["--host=fd://", "--containerd=/run/x.sock"], "pid:[1]", ["hosts (--host=fd://)"]),
        (["-H", "fd://", "--config-file=/srv/daemon.json"], "pid:[1]", []),
        (["-H", "fd://"], "pid:[2]", []),
        ([], "pid:[1]", []),
    ],
)
def test_flags_count_for_their_own_file_and_host(tmp_path, arguments, namespace, expected):
    root = made_dockerd(tmp_path, *arguments, namespace=namespace)
    assert _dockerd.conflicts(Sysroot(str(root)), "/etc/docker/daemon.json", {"hosts", "debug"}) == expected
