"""Vendors' tools: found, run, stopped with everything they started, and what is said of them."""

from __future__ import annotations

import os
import time

import pytest
from ansible_collections.inferops.gpustack.plugins.module_utils import _tools
from ansible_collections.inferops.gpustack.plugins.module_utils._sysroot import Sysroot
from made_tree import write


@pytest.fixture
def tool(tmp_path):
    """Makes nvidia-smi of a shell script, and gives Tools for it."""

    def make(script, seconds=20, path="usr/bin/nvidia-smi"):
        write(tmp_path, path, "#!/bin/sh\n" + script)
        (tmp_path / path).chmod(0o755)
        return _tools.Tools(Sysroot(str(tmp_path)), seconds)

    return make


def is_alive(pid):
    try:
        return open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_text_and_no_finding(tool):
    assert tool('printf "%s|" "$@" "$LC_ALL"').run("nvidia-smi", "-q", "-x") == ("-q|-x|C|", None)


def test_the_first_known_place_counts(tool, tmp_path):
    tools = tool("echo wsl", path="usr/lib/wsl/lib/nvidia-smi")
    assert tools.find("nvidia-smi") == str(tmp_path / "usr/lib/wsl/lib/nvidia-smi")
    tool("echo linux")
    assert tools.find("nvidia-smi") == str(tmp_path / "usr/bin/nvidia-smi")


def test_a_file_that_cannot_be_run_is_no_tool(tool, tmp_path):
    tools = tool("echo here")
    (tmp_path / "usr/bin/nvidia-smi").chmod(0o644)
    text, finding = tools.run("nvidia-smi")
    assert (text, finding["id"]) == (None, "vendor_tool_missing")
    assert "/usr/lib/wsl/lib/nvidia-smi" in finding["found"]


def test_a_file_in_another_format(tool, tmp_path):
    tools = tool("")
    write(tmp_path, "usr/bin/nvidia-smi", b"\x7fELF of another machine")
    text, finding = tools.run("nvidia-smi")
    assert (text, finding["id"]) == (None, "vendor_tool_fails")


def test_failure_gives_text_and_finding(tool):
    text, finding = tool("echo told; echo complained >&2; exit 9").run("nvidia-smi", "-q")
    assert text == "told\ncomplained\n"
    assert finding["id"] == "vendor_tool_fails"
    assert finding["found"] == "nvidia-smi -q: exit status 9, told complained"


def test_a_tool_that_hangs_is_stopped_with_its_children(tool, tmp_path):
    pids = tmp_path / "pids"
    tools = tool(f"sleep 300 & echo $! > {pids}; echo $$ >> {pids}; echo begun; wait", seconds=1)
    started = time.monotonic()
    text, finding = tools.run("nvidia-smi")
    assert time.monotonic() - started < 5
    assert (text, finding["id"]) == (None, "vendor_tool_hangs")
    assert "no end within 1 s" in finding["found"]
    child, parent = pids.read_text().split()
    deadline = time.monotonic() + 5
    while (is_alive(child) or is_alive(parent)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_alive(child) and not is_alive(parent)


def test_a_child_that_stays_behind_does_not_delay_the_answer(tool, tmp_path):
    pid = tmp_path / "pid"
    started = time.monotonic()
    assert tool(f"sleep 300 & echo $! > {pid}; echo done").run("nvidia-smi") == ("done\n", None)
    assert time.monotonic() - started < 10
    deadline = time.monotonic() + 5
    while is_alive(pid.read_text().strip()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_alive(pid.read_text().strip())


def test_all_tools_share_one_time_limit(tool):
    tools = tool("sleep 300", seconds=1)
    assert tools.run("nvidia-smi")[1]["id"] == "vendor_tool_hangs"
    started = time.monotonic()
    text, finding = tools.run("nvidia-smi", "-L")
    assert time.monotonic() - started < 0.5
    assert (text, finding["id"]) == (None, "vendor_tool_hangs")
    assert "not started" in finding["found"]


def test_endless_output_is_cut(tool, monkeypatch):
    monkeypatch.setattr(_tools, "MAX_BYTES", 100_000)
    text, finding = tool("while :; do echo yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy; done").run("nvidia-smi")
    assert (text, finding["id"]) == (None, "vendor_tool_garbled")


def test_bytes_that_are_no_text(tool):
    assert tool(r"printf '\377\000ok'").run("nvidia-smi") == ("\ufffdok", None)


def test_a_long_text_is_read_whole(tool):
    text, finding = tool("i=0; while [ $i -lt 20000 ]; do echo 0123456789; i=$((i+1)); done").run("nvidia-smi")
    assert (len(text), finding) == (220_000, None)


def test_the_tool_reads_nothing_from_the_play(tool):
    assert tool("cat; echo end").run("nvidia-smi") == ("end\n", None)


def test_no_open_file_is_left(tool):
    tools = tool("echo")
    tools.run("nvidia-smi")
    before = len(os.listdir("/proc/self/fd"))
    tools.run("nvidia-smi")
    assert len(os.listdir("/proc/self/fd")) == before
