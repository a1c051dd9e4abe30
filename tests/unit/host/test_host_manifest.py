from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import time

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.inferops.gpustack.plugins.filter.unrecorded import unrecorded
from ansible_collections.inferops.gpustack.plugins.module_utils import _atomic_file
from ansible_collections.inferops.gpustack.plugins.modules import manifest

DIRECTORY = {"kind": "directory", "name": "/etc/gpustack", "by": "server"}
CONTAINER = {"kind": "container", "name": "gpustack-server", "by": "server"}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "gpustack/manifest.json"


@pytest.fixture
def record(run_module, path):
    def run(*entries, **arguments):
        return run_module(manifest, path=str(path), entries=list(entries), **arguments)

    return run


def test_first_entries_make_file_and_directory(path, record):
    before = os.umask(0o077)
    try:
        result = record(DIRECTORY, CONTAINER)
    finally:
        os.umask(before)
    assert result["changed"] is True
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o755
    assert path.read_text() == (
        "{\n"
        '  "version": 1,\n'
        '  "entries": [\n'
        '    {"kind": "container", "name": "gpustack-server", "by": "server"},\n'
        '    {"kind": "directory", "name": "/etc/gpustack", "by": "server"}\n'
        "  ]\n"
        "}\n"
    )


def test_second_run_changes_nothing(path, record):
    record(DIRECTORY)
    before = path.stat()
    assert record(DIRECTORY)["changed"] is False
    assert path.stat().st_ino == before.st_ino


def test_entries_are_merged_by_kind_and_name(record):
    record(DIRECTORY, CONTAINER)
    result = record(dict(CONTAINER, note="bridge network"), {"kind": "image", "name": "a:1", "by": "artefacts"})
    assert result["entries"] == [
        dict(CONTAINER, note="bridge network"),
        DIRECTORY,
        {"kind": "image", "name": "a:1", "by": "artefacts"},
    ]


def test_two_roles_do_not_take_an_entry_from_each_other(record):
    record(dict(DIRECTORY, note="first"))
    result = record(dict(DIRECTORY, by="worker", note="second"))
    assert result["changed"] is False
    assert result["entries"] == [dict(DIRECTORY, note="first")]


def test_note_stays_when_it_is_left_out(record):
    record(dict(DIRECTORY, note="kept"))
    assert record(DIRECTORY)["changed"] is False


def test_entries_are_forgotten_by_kind_and_name(record):
    record(DIRECTORY, CONTAINER)
    result = record({"kind": "container", "name": "gpustack-server"}, {"kind": "file", "name": "/x"}, state="absent")
    assert (result["changed"], result["entries"]) == (True, [DIRECTORY])
    assert record({"kind": "container", "name": "gpustack-server"}, state="absent")["changed"] is False


def test_forgetting_without_a_manifest_makes_none(path, record):
    assert record({"kind": "file", "name": "/x"}, state="absent")["changed"] is False
    assert not path.parent.exists()


def test_the_last_entry_leaves_an_empty_list(path, record):
    record(DIRECTORY)
    record(DIRECTORY, state="absent")
    assert path.read_text() == '{\n  "version": 1,\n  "entries": []\n}\n'


def test_check_mode_writes_nothing(path, record):
    result = record(DIRECTORY, check=True)
    assert (result["changed"], result["entries"]) == (True, [DIRECTORY])
    assert not path.parent.exists()
    record(DIRECTORY)
    record(CONTAINER, check=True)
    assert json.loads(path.read_text())["entries"] == [DIRECTORY]


def test_diff_is_one_line_per_entry(record):
    record(DIRECTORY)
    diff = record(CONTAINER)["diff"]
    assert set(diff["after"].splitlines()) - set(diff["before"].splitlines()) == {
        '    {"kind": "container", "name": "gpustack-server", "by": "server"},'
    }


def test_entry_without_a_role_is_refused(path, record):
    result = record({"kind": "file", "name": "/x"})
    assert result["failed"] is True
    assert "say in 'by' which role makes the entry; it is missing for: /x" in result["msg"]
    assert not path.parent.exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"version": 1, "entries": [', "is not JSON"),
        ("[]", 'is not an object with a list "entries"'),
        ('{"version": 2, "entries": []}', "has version 2; this collection reads version 1"),
        ('{"version": 1, "entries": [{"kind": "file"}]}', 'an entry without the texts "kind" and "name"'),
    ],
)
def test_broken_manifest_is_refused_and_kept(path, record, content, message):
    path.parent.mkdir()
    path.write_text(content)
    result = record(DIRECTORY)
    assert result["failed"] is True
    assert message in result["msg"]
    assert "Nothing was written" in result["msg"]
    assert path.read_text() == content
    assert os.listdir(path.parent) == ["manifest.json"]


def test_link_is_refused(path, record, tmp_path):
    path.parent.mkdir()
    path.symlink_to(tmp_path / "elsewhere")
    assert "is not a regular file" in record(DIRECTORY)["msg"]
    assert path.is_symlink()


def test_kinds_of_a_later_version_are_kept(path, record):
    path.parent.mkdir()
    rule = {"kind": "rule", "name": "allow 80", "by": "firewall", "zone": "public"}
    path.write_text(json.dumps({"version": 1, "entries": [rule]}))
    assert record(DIRECTORY)["entries"] == [DIRECTORY, rule]


def test_run_killed_while_writing_leaves_the_old_manifest(path, record):
    record(DIRECTORY)
    old = path.read_text()
    killed = (
        "import os, signal\n"
        "from ansible_collections.inferops.gpustack.plugins.module_utils import _atomic_file\n"
        f"with _atomic_file.locked_directory({str(path.parent)!r}):\n"
        f"    with _atomic_file.candidate({str(path)!r}, 'half', 0o644):\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path))
    assert subprocess.run([sys.executable, "-c", killed], env=environment, check=False).returncode == -9
    leftovers = [name for name in os.listdir(path.parent) if name != "manifest.json"]
    assert len(leftovers) == 1
    assert leftovers[0].startswith(".manifest.json.gpustack-")
    assert path.read_text() == old
    # The lock died with its holder, and the leftover is cleared.
    assert record(CONTAINER)["changed"] is True
    assert os.listdir(path.parent) == ["manifest.json"]


def test_writer_waits_for_another_one_and_says_when_it_gives_up(path):
    path.parent.mkdir()
    with _atomic_file.locked_directory(str(path.parent)):
        started = time.monotonic()
        with pytest.raises(_atomic_file.LockTimeout, match="held by another writer"), _atomic_file.locked_directory(
            str(path.parent), seconds=0.2
        ):
            pass
        assert time.monotonic() - started >= 0.2
    with _atomic_file.locked_directory(str(path.parent), seconds=0):
        pass


@pytest.mark.parametrize(
    ("recorded", "expected"),
    [
        ([], [DIRECTORY, CONTAINER]),
        ([CONTAINER], [DIRECTORY]),
        ([CONTAINER, dict(DIRECTORY, note="x")], []),
        ([CONTAINER, dict(DIRECTORY, by="worker")], []),
        ([CONTAINER, dict(DIRECTORY, kind="file")], [DIRECTORY]),
    ],
)
def test_unrecorded(recorded, expected):
    assert unrecorded([DIRECTORY, CONTAINER], recorded) == expected


def test_unrecorded_agrees_with_the_module(path, record):
    wanted = [dict(DIRECTORY, note="new"), dict(CONTAINER, by="worker")]
    record(DIRECTORY, CONTAINER)
    recorded = json.loads(path.read_text())["entries"]
    assert unrecorded(wanted, recorded) == [dict(DIRECTORY, note="new")]
    assert record(*wanted)["changed"] is True
    assert unrecorded(wanted, json.loads(path.read_text())["entries"]) == []
    assert record(*wanted)["changed"] is False


@pytest.mark.parametrize("broken", [None, {}, ["text"], [{"kind": "file"}]])
def test_unrecorded_refuses_other_shapes(broken):
    with pytest.raises(AnsibleFilterError, match="not a list of entries"):
        unrecorded([], broken)
