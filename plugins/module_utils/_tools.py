# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the vendors' tools of a host, all of them within one time limit."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time

from ansible_collections.inferops.gpustack.plugins.module_utils._host_finding import finding

# Root's PATH lacks some of these: WSL's directory, and npu-smi's on some distributions.
PLACES = {
    "nvidia-smi": ("usr/bin/nvidia-smi", "usr/lib/wsl/lib/nvidia-smi"),
    "npu-smi": ("usr/local/bin/npu-smi", "usr/local/sbin/npu-smi", "usr/bin/npu-smi"),
    "modinfo": ("usr/sbin/modinfo", "sbin/modinfo", "usr/bin/modinfo"),
    "nv-fabricmanager": ("usr/bin/nv-fabricmanager",),
}
# `nvidia-smi -q -x` prints up to 120 KiB for each card; a tool that prints this much is stuck in a loop.
MAX_BYTES = 8 * 1024 * 1024
POLL_SECONDS = 0.05
# A process that sleeps inside a driver does not die of SIGKILL before the driver lets go of it.
REAP_SECONDS = 1


class Tools:
    """What the tools together may take is counted while they run, so a hanging one costs the time-out once."""

    def __init__(self, sysroot, seconds):
        self.sysroot = sysroot
        self.seconds = seconds
        self.left = float(seconds)

    def find(self, name):
        """Where the tool lies, or None."""
        paths = (self.sysroot.path(place) for place in PLACES[name])
        return next((path for path in paths if os.path.isfile(path) and os.access(path, os.X_OK)), None)

    def run(self, name, *arguments):
        """(what the tool printed, what is wrong). The text is None when there is none that can be trusted to be whole;
        a tool that ran and failed gives both, because its text often says why."""
        path = self.find(name)
        if path is None:
            return None, missing(name, self.sysroot)
        command = " ".join((name,) + arguments)
        if self.left <= 0:
            return None, hangs(path, f"{command}: not started, earlier tools took all of the {self.seconds} s")
        started = time.monotonic()
        try:
            process = subprocess.Popen(
                [path, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=dict(os.environ, LC_ALL="C"),
                start_new_session=True,
            )
        except OSError as error:
            return None, fails(path, f"{command}: {error.strerror or error}")
        try:
            out, err, ended = _read(process, started + self.left)
        finally:
            _end(process)
            self.left -= time.monotonic() - started
        text, complaint = (part.decode("utf-8", "replace").replace("\0", "") for part in (out, err))
        if not ended:
            if len(out) + len(err) >= MAX_BYTES:
                return None, garbled(path, f"{command}: more than {MAX_BYTES} bytes")
            return None, hangs(path, f"{command}: no end within {self.seconds} s")
        if process.returncode != 0:
            words = " ".join((text + " " + complaint).split())[:300]
            return text + complaint, fails(path, f"{command}: exit status {process.returncode}, {words or 'no output'}")
        return text, None


def _read(process, deadline):
    """(stdout, stderr, whether the process ended by itself)."""
    texts = {process.stdout: b"", process.stderr: b""}
    with selectors.DefaultSelector() as selector:
        for pipe in texts:
            selector.register(pipe, selectors.EVENT_READ)
        while True:
            # Asked before reading: what it wrote before it ended is then in the pipe. A child of it that lives on may
            # keep the pipe open, so the end of the pipe is not waited for.
            ended = process.poll() is not None
            ready = selector.select(0 if ended else POLL_SECONDS) if selector.get_map() else []
            for key, _events in ready:
                chunk = os.read(key.fd, 65536)
                if not chunk:
                    selector.unregister(key.fileobj)
                texts[key.fileobj] += chunk
            out, err = texts.values()
            if len(out) + len(err) >= MAX_BYTES or time.monotonic() >= deadline:
                return out, err, False
            if not ready:
                if ended:
                    return out, err, True
                if not selector.get_map():
                    time.sleep(POLL_SECONDS)


def _end(process):
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    for pipe in (process.stdout, process.stderr):
        pipe.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(REAP_SECONDS)


def missing(name, sysroot):
    return finding(
        "vendor_tool_missing",
        "warning",
        sysroot.path(PLACES[name][0]),
        f"{name} is in none of: " + ", ".join("/" + place for place in PLACES[name]),
        f"{name}, which comes with the driver",
        "install the vendor's driver with its tools",
    )


def hangs(path, found):
    return finding(
        "vendor_tool_hangs",
        "error",
        path,
        found,
        "an answer within the time limit",
        "look into the kernel's log (dmesg); a card or driver that hangs usually needs a reboot",
    )


def fails(path, found):
    return finding(
        "vendor_tool_fails",
        "error",
        path,
        found,
        "exit status 0",
        "run the command by hand and follow its message",
    )


def garbled(path, found):
    return finding(
        "vendor_tool_garbled",
        "warning",
        path,
        found,
        "the tool's usual output",
        "run the command by hand; what it should have told is unknown",
    )
