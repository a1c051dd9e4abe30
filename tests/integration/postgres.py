# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A PostgreSQL of Debian's, private to one test session and as quick as its data are worthless."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from ports import free_port

#: PostgreSQL refuses to run as root.
USER = "postgres"


class Postgres:
    def __init__(self):
        self._bin = _binaries()
        self._port = free_port()
        self._owner = {"user": USER, "group": USER} if os.geteuid() == 0 else {}
        self._directory = Path(tempfile.mkdtemp(prefix="gpustack-postgres-"))
        if self._owner:
            shutil.chown(self._directory, USER, USER)
        data = self._directory / "data"
        self._call("initdb", "--auth=trust", f"--username={USER}", "--encoding=UTF8", "--no-locale", "--no-sync", data)
        settings = {
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": self._directory,
            "max_connections": "300",
            "fsync": "off",
            "synchronous_commit": "off",
            "full_page_writes": "off",
        }
        self._log = open(self._directory / "log", "w+")  # noqa: SIM115 - open as long as the process
        self._process = subprocess.Popen(
            [self._bin / "postgres", "-D", data, "-p", str(self._port)]
            + [part for name, value in settings.items() for part in ("-c", f"{name}={value}")],
            stdout=self._log,
            stderr=subprocess.STDOUT,
            cwd=self._directory,
            **self._owner,
        )
        self._wait()

    def database(self, name):
        """The URL of a new, empty database."""
        self._call("createdb", "-h", "127.0.0.1", "-p", str(self._port), "-U", USER, name)
        return f"postgresql://{USER}@127.0.0.1:{self._port}/{name}"

    def stop(self):
        # A fast shutdown: it does not wait for its clients.
        self._process.send_signal(signal.SIGINT)
        self._process.wait(30)
        self._log.close()
        shutil.rmtree(self._directory)

    def _call(self, program, *arguments):
        done = subprocess.run(
            [self._bin / program, *arguments], capture_output=True, text=True, cwd=self._directory, **self._owner
        )
        if done.returncode:
            raise RuntimeError(f"{program} failed: {done.stderr or done.stdout}")

    def _wait(self, seconds=30):
        end = time.monotonic() + seconds
        ready = [self._bin / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self._port)]
        while subprocess.run(ready).returncode:
            if self._process.poll() is not None or time.monotonic() > end:
                self._log.seek(0)
                raise RuntimeError(f"PostgreSQL did not start: {self._log.read()[-2000:]}")
            time.sleep(0.05)


def _binaries():
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    if not found and os.geteuid() == 0:
        subprocess.run(
            [
                "apt-get",
                "-o",
                "DPkg::Lock::Timeout=300",
                "install",
                "-y",
                "-q",
                "--no-install-recommends",
                "postgresql",
            ],
            check=True,
        )
        found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    if not found:
        raise RuntimeError("There is no PostgreSQL on this machine: apt-get install postgresql")
    return found[-1].parent
