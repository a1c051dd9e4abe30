from __future__ import annotations

import json
import os
import stat

import pytest
from ansible_collections.inferops.gpustack.plugins.module_utils import (
    _docker_unit,
    _dockerd,
    _trusted_path,
)
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


MARK = ".daemon.json.gpustack-pending"


def mark(path):
    return path.parent / MARK


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
    config(taken_up=True)
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
        os.chown(path, 0, 4321)
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
        (
            "{not json",
            "it is not JSON (Expecting property name enclosed in double quotes), line 1, column 2: {not json",
        ),
        ('{\n  "debug": true\n  "labels": []\n}', """(Expecting ',' delimiter), line 3, column 3: "labels": []"""),
        ('{"a": "' + "x" * 200 + '" "b"}', 'line 1, column 210: {"a": "' + "x" * 90 + "..."),
        (b'{"debug": true,\n "a": "\xff"}', "it is not UTF-8 text: byte 0xff at line 2, column 8"),
        (b"\xff\xfe{\x00", "it is not UTF-8 text: byte 0xff at line 1, column 1"),
        ("[" * 100000, "it is nested too deeply"),
        ("[1]", "it holds a list where an object is expected: [1]"),
        ('{"debug": true}\n{"labels": []}', 'a second JSON document begins at line 2, column 1: {"labels": []}'),
        ('{"debug": true},', 'text follows the JSON document at line 1, column 16: {"debug": true},'),
        ('{"log-opts": "10m"}', 'log-opts is a string there, "10m", and an object in the settings'),
        ('{"log-opts": {"max-size": 5}}', "log-opts.max-size is a number there, 5, and a string in the settings"),
        ('{"registry-mirrors": "https://m"}', "registry-mirrors is a string there"),
        ('{"debug": 1}', "debug is a number there, 1, and a boolean in the settings"),
        ('{"debug": true, "debug": false}', "the key debug is there 2 times in one object"),
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


def test_all_problems_are_told_at_once(path, config):
    put(path, '{"debug": 1, "labels": [], "labels": [], "mtu": Infinity}\n{}')
    path.chmod(0o666)
    path.parent.chmod(0o777)
    message = config(settings={"debug": True})["msg"]
    assert message.splitlines() == [
        f"{path} was left as it is, for 5 reasons:",
        f"- {path.parent} has mode 0777, its group and everybody can write there: chmod go-w {path.parent}",
        f"- {path} has mode 0666, its group and everybody can write there: chmod go-w {path}",
        "- Infinity is not a JSON number: correct it",
        "- the key labels is there 2 times in one object, and only the last would count: keep one",
        "- a second JSON document begins at line 2, column 1: {}; make it one object",
    ]


def test_all_wrong_types_are_told_at_once(path, config):
    put(path, '{"debug": 1, "labels": "a"}')
    message = config(settings={"debug": True, "labels": ["b"]})["msg"]
    assert "debug is a number there" in message
    assert 'labels is a string there, "a", and a list' in message


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ('{"proxies": {"http-proxy": "http://joe:hunter2secret@proxy:3128" "x"}}', "line 1, column"),
        ('{"proxies": {"http-proxy": "joe:hunter2secret@proxy:3128" "x"}}', "line 1, column"),
        ('{"log-opts": {"splunk-token": "hunter2secret"} "debug": true}', "line 1, column"),
        ('[{"splunk-token": "hunter2secret"}]', "it holds a list"),
        ('{"debug": {"splunk-token": "hunter2 hush"}}', "debug is an object there"),
    ],
)
def test_a_secret_in_the_offending_line_is_masked(path, config, content, problem):
    put(path, content)
    message = config(settings={"debug": True})["msg"]
    assert problem in message
    assert "hunter2" not in message
    assert "hush" not in message


@pytest.mark.parametrize("other", [1234, 99999])
@pytest.mark.skipif(os.getuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize("of", ["file", "directory"])
def test_what_another_user_owns_is_refused(path, config, of, other):
    put(path, {})
    owned = path if of == "file" else path.parent
    os.chown(owned, other, 0)
    message = config(settings={"debug": True})["msg"]
    assert f"{owned} belongs to {other}, who could replace what the engine reads, and not to root" in message
    assert f"chown root {owned}" in message
    assert path.read_text() == "{}"


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives files away")
def test_a_user_who_is_not_root_is_judged_as_himself(tmp_path, monkeypatch):
    for name, owner in (("mine", 1234), ("others", 1235)):
        write(tmp_path, f"{name}/daemon.json", "{}")
        os.chown(tmp_path / name, owner, owner)
        os.chown(tmp_path / name / "daemon.json", owner, owner)
    monkeypatch.setattr(_trusted_path.os, "geteuid", lambda: 1234)
    assert _trusted_path.problems(str(tmp_path / "mine/daemon.json")) == []
    problems = _trusted_path.problems(str(tmp_path / "others/daemon.json"))
    assert [problem.rpartition(": ")[2] for problem in problems] == [
        f"chown 1234 {tmp_path}/others",
        f"chown 1234 {tmp_path}/others/daemon.json",
    ]


def test_a_directory_that_is_a_link_is_refused(path, run_module, tmp_path):
    put(path, {})
    (tmp_path / "link").symlink_to(path.parent)
    linked = str(tmp_path / "link/daemon.json")
    message = run_module(docker_daemon_config, path=linked, settings={"debug": True})["msg"]
    assert f"{tmp_path}/link is a link to {path.parent}" in message
    assert f"give path: {path}" in message
    assert path.read_text() == "{}"


def test_a_directory_in_the_place_of_the_file_is_refused(path, config):
    path.mkdir()
    assert "is a directory where a file belongs" in config(settings={"debug": True})["msg"]


def test_link_is_refused(path, config, tmp_path):
    put(tmp_path / "elsewhere.json", {})
    path.symlink_to(tmp_path / "elsewhere.json")
    result = config(settings={"debug": True})
    assert f"a link to {tmp_path}/elsewhere.json" in result["msg"]
    assert (tmp_path / "elsewhere.json").read_text() == "{}"
    assert path.is_symlink()


def test_owned_keys_are_removed(path, config):
    put(path, dict(VENDOR, debug=True, **{"default-runtime": "runc", "log-opts": {"max-size": "1m"}}))
    result = config(state_of=["debug", "runtimes/ascend", "log-opts/max-file", "never-there"])
    assert json.loads(path.read_text()) == {"default-runtime": "runc", "log-opts": {"max-size": "1m"}}
    assert result["changed_keys"] == ["debug", "runtimes"]


def test_key_that_is_owned_and_set_is_replaced(path, config):
    put(path, {"insecure-registries": ["old:1"]})
    config(settings={"insecure-registries": ["new:1"]}, state_of=["insecure-registries"])
    assert json.loads(path.read_text()) == {"insecure-registries": ["new:1"]}


@pytest.mark.parametrize(
    ("settings", "action"),
    [
        ({"live-restore": True, "runtimes": {"x": {"path": "x"}}, "max-concurrent-downloads": 3}, "reload"),
        ({"network-diagnostic-port": 9000}, "reload"),
        ({"default-ulimits": {"nofile": {"Name": "nofile", "Soft": 1, "Hard": 1}}}, "restart"),
        ({"proxies": {"http-proxy": "http://p:1"}}, "restart"),
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


@pytest.mark.parametrize(
    ("content", "gone", "action"),
    [
        # moby: dockerd asks whether the key is set, and keeps what it has when it is not.
        ({"insecure-registries": ["a:1"]}, "insecure-registries", "restart"),
        ({"runtimes": {"x": {"path": "x"}}}, "runtimes/x", "restart"),
        ({"runtimes": {"x": {"path": "x"}, "y": {"path": "y"}}}, "runtimes/x", "reload"),
        ({"max-concurrent-downloads": 5}, "max-concurrent-downloads", "reload"),
        ({"features": {"buildkit": True}}, "features", "reload"),
        ({"features": {"cdi": True}}, "features", "restart"),
    ],
)
def test_action_when_a_key_goes(path, config, content, gone, action):
    put(path, content)
    assert config(state_of=[gone])["action"] == action


LOGS = {"log-driver": "json-file", "log-opts": {"max-size": "100m"}}


@pytest.mark.parametrize(
    ("content", "settings", "expected"),
    [
        ({}, {}, LOGS),
        ({"log-driver": "journald"}, {}, {"log-driver": "journald"}),
        ({"log-opts": {"max-size": "5m"}}, {}, {"log-driver": "json-file", "log-opts": {"max-size": "5m"}}),
        ({}, {"log-driver": "local"}, {"log-driver": "local"}),
        ({"log-driver": None}, {}, LOGS),
    ],
)
def test_defaults_give_way(path, config, content, settings, expected):
    put(path, content)
    config(settings=settings, defaults=LOGS)
    assert json.loads(path.read_text()) == expected
    assert config(settings=settings, defaults=LOGS)["changed"] is False


def test_a_change_is_pending_until_it_is_taken_up(path, config):
    first = config(settings={"debug": True})
    assert (first["action"], first["pending"]) == ("reload", "none")
    assert (mark(path).read_text(), stat.S_IMODE(mark(path).stat().st_mode)) == ("reload\ndebug\n", 0o644)
    again = config(settings={"debug": True})
    assert (again["changed"], again["action"], again["pending"]) == (False, "reload", "reload")
    assert config(check=True, taken_up=True)["changed"] is True
    assert mark(path).exists()
    assert config(taken_up=True)["changed"] is True
    assert not mark(path).exists()
    assert config(taken_up=True)["changed"] is False
    assert config(settings={"debug": True})["action"] == "none"
    assert json.loads(path.read_text()) == {"debug": True}


def test_restart_stays_restart(path, config):
    config(settings={"data-root": "/srv"})
    assert config(settings={"debug": True})["action"] == "restart"
    assert mark(path).read_text() == "restart\ndata-root\ndebug\n"
    again = config(settings={"debug": True})
    assert (again["action"], again["changed_keys"], again["pending_keys"]) == ("restart", [], ["data-root", "debug"])


def test_the_mark_is_there_before_the_file_changes(path, config, monkeypatch):
    """Killed in between, the file is the old one and the mark asks for a restart that does no harm."""
    put(path, {})
    replace = os.replace

    def killed(source, target):
        if target == str(path):
            raise KeyboardInterrupt
        replace(source, target)

    monkeypatch.setattr(os, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        config(settings={"data-root": "/srv"})
    assert (path.read_text(), mark(path).read_text()) == ("{}", "restart\ndata-root\n")
    monkeypatch.undo()
    assert config(settings={})["action"] == "restart"


def test_a_mark_that_says_nothing_asks_for_a_restart(path, config):
    put(path, {})
    mark(path).write_text("")
    assert config(settings={})["action"] == "restart"


def test_a_refused_content_leaves_no_mark(path, config, dockerd):
    dockerd("28.1.1", verdict="exit 1")
    config(settings={"debug": True})
    assert not mark(path).exists()


def test_check_mode_leaves_no_mark(path, config):
    put(path, {})
    config(check=True, settings={"debug": True})
    assert not mark(path).exists()


@pytest.mark.parametrize(("seconds", "pending"), [(60, "none"), (-60, "restart")])
def test_a_dockerd_that_started_since_has_taken_it_up(path, config, tmp_path, monkeypatch, seconds, pending):
    """Somebody restarted it by hand: asking for another restart would be an idle one."""
    put(path, {})
    mark(path).write_text("restart\n")
    booted = int(path.stat().st_ctime) - 1000
    root = made_dockerd(tmp_path / "host")
    started = (1000 + seconds) * os.sysconf("SC_CLK_TCK")
    write(root, "proc/stat", f"cpu 1 2\nbtime {booted}\n")
    write(root, "proc/50/stat", "50 (docker d) S " + "0 " * 18 + f"{started} 0\n")
    monkeypatch.setattr(docker_daemon_config, "Sysroot", lambda: Sysroot(str(root)))
    assert config(check=True, settings={})["pending"] == pending
    assert mark(path).exists()
    result = config(settings={})
    assert (result["changed"], result["pending"], result["action"]) == (False, pending, pending)
    assert mark(path).exists() is (pending == "restart")


def test_taken_up_goes_alone(config):
    assert "goes without settings" in config(taken_up=True, settings={"debug": True})["msg"]


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


def test_validation_can_be_left_out(config, dockerd, tmp_path):
    dockerd("28.1.1", verdict="exit 1")
    assert config(settings={"debug": True}, validate=False)["changed"] is True
    assert not (tmp_path / "dockerd.calls").exists()


def test_proxies_are_refused_where_dockerd_does_not_know_them(path, config, dockerd):
    put(path, {})
    dockerd("20.10.24+dfsg1")
    message = config(settings={"proxies": {"http-proxy": "http://p:3128"}})["msg"]
    assert "proxies would keep Docker 20 from starting: it knows that key from 23 on" in message
    assert path.read_text() == "{}"


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
    assert sorted(name for name in os.listdir(path.parent) if not name.endswith("~")) == [MARK, "daemon.json"]


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
    assert "hosts (-H of process 50), insecure-registries (--insecure-registry=a:1 of process 50)" in result["msg"]
    assert path.read_text() == '{"debug": false}'
    assert config(settings={"debug": True})["changed"] is True


def test_key_that_is_in_the_file_already_counts_when_the_file_changes(path, config, tmp_path, monkeypatch):
    root = made_dockerd(tmp_path / "host", "-H", "fd://", "--config-file", str(path))
    monkeypatch.setattr(docker_daemon_config, "Sysroot", lambda: Sysroot(str(root)))
    put(path, {"hosts": ["tcp://127.0.0.1:2375"]})
    assert config(settings={})["changed"] is False
    assert "hosts (-H of process 50)" in config(settings={"debug": True})["msg"]


@pytest.mark.parametrize(
    ("arguments", "namespace", "expected"),
    [
        (["-H", "fd://"], "pid:[1]", ["hosts (-H of process 50)"]),
        (["--host=fd://", "--containerd=/run/x.sock"], "pid:[1]", ["hosts (--host=fd:// of process 50)"]),
        (["-H", "fd://", "--config-file=/srv/daemon.json"], "pid:[1]", []),
        (["-H", "fd://"], "pid:[2]", []),
        (["--add-runtime", "x=y"], "pid:[1]", []),
        (["--http-proxy=http://p:1"], "pid:[1]", ["http-proxy (--http-proxy=http://p:1 of process 50)"]),
        ([], "pid:[1]", []),
    ],
)
def test_flags_count_for_their_own_file_and_host(tmp_path, arguments, namespace, expected):
    root = made_dockerd(tmp_path, *arguments, namespace=namespace)
    document = {"hosts": [], "debug": True, "runtimes": {}, "proxies": {"http-proxy": "http://p:2"}}
    assert _dockerd.conflicts(Sysroot(str(root)), "/etc/docker/daemon.json", document) == expected


DOCKER_CE = """[Unit]
After=docker.socket

[Service]
ExecStart=/usr/bin/dockerd -H fd:// --containerd=/run/containerd/containerd.sock
ExecReload=/bin/kill -s HUP $MAINPID
"""
DEBIAN = """[Service]
EnvironmentFile=-/etc/default/docker
ExecStart=/usr/sbin/dockerd -H fd:// --containerd=/run/containerd/containerd.sock $DOCKER_OPTS
"""
SOCKET = "--containerd=/run/containerd/containerd.sock"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, None),
        ({"usr/lib/systemd/system/docker.service": DOCKER_CE}, ["-H", "fd://", SOCKET]),
        # docker-ce's unit does not read it.
        (
            {"lib/systemd/system/docker.service": DOCKER_CE, "etc/default/docker": 'DOCKER_OPTS="--debug"\n'},
            ["-H", "fd://", SOCKET],
        ),
        # Debian's does.
        (
            {
                "lib/systemd/system/docker.service": DEBIAN,
                "etc/default/docker": '# X="--no"\nDOCKER_OPTS="--dns 8.8.8.8 --mtu=1400"\n',
            },
            ["-H", "fd://", SOCKET, "--dns", "8.8.8.8", "--mtu=1400"],
        ),
        ({"lib/systemd/system/docker.service": DEBIAN}, ["-H", "fd://", SOCKET]),
        (
            {
                "lib/systemd/system/docker.service": DOCKER_CE,
                "etc/systemd/system/docker.service": "[Service]\nExecStart=-/opt/dockerd --group ${GROUP}s\n",
                "etc/systemd/system/docker.service.d/a.conf": "[Service]\nEnvironment=GROUP=user 'X=1 2'\n",
            },
            ["--group", "users"],
        ),
        (
            {
                "usr/lib/systemd/system/docker.service": DOCKER_CE,
                "usr/lib/systemd/system/docker.service.d/10-a.conf": "[Service]\nExecStart=/usr/bin/dockerd --hidden\n",
                "etc/systemd/system/docker.service.d/10-a.conf": "[Service]\nExecStart=\n",
                "run/systemd/system/docker.service.d/20-b.conf": "[Service]\nExecStart=/bin/dockerd \\\n  --debug\n",
                "etc/systemd/system/docker.service.d/30-c.txt": "[Service]\nExecStart=/usr/bin/dockerd --no\n",
            },
            ["--debug"],
        ),
        ({"etc/systemd/system/docker.service": "[Service]\nExecStart=/usr/bin/podman system service\n"}, None),
    ],
)
def test_the_unit_tells_the_flags(tmp_path, files, expected):
    for name, text in files.items():
        write(tmp_path, name, text)
    assert _docker_unit.arguments(Sysroot(str(tmp_path))) == expected


def test_where_no_dockerd_runs_its_unit_counts(tmp_path):
    write(tmp_path, "lib/systemd/system/docker.service", DOCKER_CE)
    document = {"hosts": ["tcp://127.0.0.1:2375"]}
    clashes = _dockerd.conflicts(Sysroot(str(tmp_path)), "/etc/docker/daemon.json", document)
    assert clashes == ["hosts (-H of docker.service)"]


def test_live_restore_is_refused_in_a_swarm(path, config, tmp_path, monkeypatch):
    write(tmp_path, "host/srv/docker/swarm/docker-state.json", "{}")
    monkeypatch.setattr(docker_daemon_config, "Sysroot", lambda: Sysroot(str(tmp_path / "host")))
    put(path, {"data-root": "/srv/docker"})
    assert "member of a swarm and does not start with live-restore" in config(settings={"live-restore": True})["msg"]
    assert config(settings={"live-restore": False})["changed"] is True
    assert config(settings={"data-root": "/srv/other", "live-restore": True})["changed"] is True


PROXY = {"proxies": {"http-proxy": "http://user:s3cret@proxy.example.com:3128"}}


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def test_a_file_with_a_password_is_for_its_owner_only(path, config, dockerd):
    dockerd("28.5.2")
    put(path, {"debug": True})
    path.chmod(0o644)
    result = config(settings=PROXY)
    assert result["changed"]
    assert mode(path) == 0o600
    assert mode(result["backup_file"]) == 0o644
    result = config(settings={"debug": False})
    assert (mode(path), mode(result["backup_file"])) == (0o600, 0o600)


def test_an_open_file_with_a_password_is_closed(path, config):
    put(path, PROXY)
    path.chmod(0o644)
    result = config(check=True, settings=PROXY)
    assert (result["changed"], result["action"], mode(path)) == (True, "none", 0o644)
    result = config(settings=PROXY)
    assert (result["changed"], result["action"], mode(path)) == (True, "none", 0o600)
    assert not config(settings=PROXY)["changed"]


def test_a_file_without_a_password_keeps_its_mode(path, config):
    put(path, {"debug": True})
    path.chmod(0o644)
    assert not config(settings={"debug": True})["changed"]
    assert mode(path) == 0o644


@pytest.mark.parametrize(
    ("settings", "secret"),
    [
        ({"proxies": {"http-proxy": "http://user:p@S3cretTwo@proxy:3128"}}, "S3cretTwo"),
        ({"proxies": {"http-proxy": "user:S3cretThree@proxy:3128"}}, "S3cretThree"),
        ({"registry-mirrors": ["https://S3cretFive@mirror.example.com"]}, "S3cretFive"),
        ({"log-opts": {"splunk-token": "S3cretTok"}}, "S3cretTok"),
    ],
)
def test_other_ways_to_write_a_password(path, config, settings, secret):
    result = config(settings=settings)
    assert mode(path) == 0o600
    assert secret in path.read_text()
    assert secret not in json.dumps(result)
    assert result["changed_keys"] == list(settings)


def test_a_key_file_is_no_secret(path, config):
    result = config(settings={"tlskey": "/etc/docker/server-key.pem"})
    assert "/etc/docker/server-key.pem" in result["diff"]["after"]
    assert mode(path) == 0o644


@pytest.mark.parametrize(
    "content",
    [
        '{"shutdown-timeout": 1e999}',
        f'{{"shutdown-timeout": {"9" * 5000}}}',
        '{"bridge": "\\ud800"}',
        '{"x": ' + '{"x": ' * 900 + "1" + "}" * 901,
    ],
    ids=["infinite", "of thousands of digits", "half a character", "deep"],
)
def test_what_cannot_be_written_back_is_refused(path, config, content):
    put(path, content)
    result = config(settings={"debug": True})
    assert result["failed"]
    assert "was left as it is" in result["msg"]
    assert path.read_text() == content


@pytest.mark.parametrize(
    ("arguments", "path", "expected"),
    [
        (["-H", "fd://"], _dockerd.DEFAULT_CONFIG, []),
        (["--config-file", "/srv/docker.json"], _dockerd.DEFAULT_CONFIG, ["/srv/docker.json"]),
        (["--config-file=/srv/docker.json"], "/srv/docker.json", []),
        (["-H", "fd://"], "/srv/other.json", []),
    ],
)
def test_the_file_that_dockerd_reads_instead(tmp_path, arguments, path, expected):
    root = made_dockerd(tmp_path / "host", *arguments)
    assert _dockerd.read_instead(Sysroot(str(root)), path) == expected


def test_without_dockerd_nothing_is_read_instead(tmp_path):
    assert _dockerd.read_instead(Sysroot(str(tmp_path)), _dockerd.DEFAULT_CONFIG) == []


@pytest.mark.parametrize(
    ("settings", "refused"),
    [
        ({"default-runtime": "nvida"}, True),
        ({"default-runtime": "nvida", "runtimes": {"nvida": {"path": "x"}}}, False),
        ({"default-runtime": "ascend"}, False),
        ({"default-runtime": "runc"}, False),
        ({"default-runtime": "io.containerd.runsc.v1"}, False),
        # Given to dockerd as flags.
        ({"default-runtime": "kata"}, False),
        ({"default-runtime": "crun"}, False),
        # Of another type is for dockerd --validate.
        ({"default-runtime": None}, False),
    ],
)
def test_a_default_runtime_that_dockerd_would_not_know(path, config, tmp_path, monkeypatch, settings, refused):
    root = made_dockerd(tmp_path, "--add-runtime", "kata=/usr/bin/kata", "--add-runtime=crun=/usr/bin/crun")
    monkeypatch.setattr(docker_daemon_config, "Sysroot", lambda: Sysroot(str(root)))
    put(path, {"runtimes": VENDOR["runtimes"]})
    result = config(settings=settings)
    if refused:
        assert "not start with default-runtime nvida: it would know ascend, crun, kata, runc;" in result["msg"]
        assert "gpustack_docker_default_runtime" in result["msg"]
        assert json.loads(path.read_text()) == {"runtimes": VENDOR["runtimes"]}
    else:
        assert result["changed"] is True


def test_a_runtime_that_is_the_default_is_not_taken_away(path, config):
    put(path, VENDOR)
    assert "would not start with default-runtime ascend: it would know " in config(state_of=["runtimes/ascend"])["msg"]
    assert config(state_of=["runtimes/ascend", "default-runtime"])["changed"] is True
