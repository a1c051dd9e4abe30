# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Real GPUStack servers from PyPI, each version in a virtual environment of its own.

`servers.py [VERSION]` starts one and leaves it running until it is interrupted, for `pytest --server URL`.
"""

from __future__ import annotations

import contextlib
import datetime
import functools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import requests
import uv
import yaml
from api import Api
from ports import free_port
from postgres import Postgres

ROOT = Path(__file__).resolve().parents[2]
RELEASES = yaml.safe_load((Path(__file__).parent / "releases.yml").read_text())
NEWEST = "2.3.0"
ADMIN = "admin"
PASSWORD = "Rig.4dmin+pass"
#: The name of the rig's own API key.
KEY = "rig"


def program(version):
    """The path of `gpustack` of that version, installed on first use."""
    if version not in RELEASES:
        raise ValueError(f"GPUStack {version} has no release day in releases.yml; there are {', '.join(RELEASES)}")
    directory = ROOT / ".venv-gpustack" / version
    ready = directory / ".ready"
    if not ready.exists():
        until = datetime.date.fromisoformat(RELEASES[version]) + datetime.timedelta(days=1)
        tool = uv.find_uv_bin()
        subprocess.run([tool, "venv", "-q", "--clear", "--python", sys.executable, directory], check=True)
        subprocess.run(
            [tool, "pip", "install", "-q", "--python", directory / "bin" / "python"]
            + ["--exclude-newer", f"{until}T00:00:00Z", f"gpustack=={version}"],
            check=True,
        )
        ready.touch()
    return directory / "bin" / "gpustack"


class Running:
    """A server that runs already."""

    def __init__(self, version, url, username=ADMIN, password=PASSWORD):
        self.version, self.url = version, url
        self.username, self.password = username, password
        self.api = Api(url, username, password)

    def close(self):
        """It is not ours."""

    @functools.cached_property
    def key(self):
        """An API key of the administrator. The server takes five times as long to believe a password."""
        for one in self.api.items("/v2/api-keys"):
            if one["name"] == KEY:
                self.api.delete(f"/v2/api-keys/{one['id']}")
        return self.api.post("/v2/api-keys", {"name": KEY})["value"]

    @functools.cached_property
    def cluster_id(self):
        """Of the cluster that tests share; a server started without a legacy token has none."""
        return self.default_cluster()["id"]

    def default_cluster(self):
        return self.api.find("/v2/clusters", name="default") or self.api.post(
            "/v2/clusters", {"name": "default", "provider": "Docker"}
        )

    def registration_token(self, cluster_id):
        return self.api.get(f"/v2/clusters/{cluster_id}/registration-token")["token"]


class Server(Running):
    """A server of its own with an empty database. `bootstrap_password=None` leaves the first password to the server."""

    def __init__(self, version, database_url, bootstrap_password=PASSWORD, files=None, arguments=()):
        self._port = free_port()
        super().__init__(version, f"http://127.0.0.1:{self._port}", password=bootstrap_password)
        self._directory = Path(tempfile.mkdtemp(prefix=f"gpustack-{version}-"))
        self.data_dir = self._directory / "data"
        self.data_dir.mkdir()
        for name, text in (files or {}).items():
            (self.data_dir / name).write_text(text)
        self.log = self._directory / "server.log"
        self._database_url, self._arguments = database_url, list(arguments)
        self.start()

    def start(self):
        command = [program(self.version), "start", "--disable-worker", "--gateway-mode=disabled"]
        command += ["--disable-update-check", "--disable-builtin-observability", "--disable-metrics"]
        command += [f"--data-dir={self.data_dir}", f"--database-url={self._database_url}"]
        command += [f"--api-port={self._port}", f"--metrics-port={free_port()}"]
        if self.version >= "2.2":
            command += [f"--proxy-port={free_port()}"]
        else:
            # It would believe every request from its own host.
            command += ["--force-auth-localhost"]
        if self.password:
            command += [f"--bootstrap-password={self.password}"]
        # What it would fetch from the internet is not there for a test.
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("GPUSTACK_")}
        environment = {**inherited, "HF_HUB_OFFLINE": "1", "TZ": "UTC", "NO_PROXY": "*", "no_proxy": "*"}
        # Without bytecode its imports alone take a minute.
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        begin = time.monotonic()
        with open(self.log, "a") as log:
            self._process = subprocess.Popen(
                command + self._arguments, stdout=log, stderr=subprocess.STDOUT, cwd=self._directory, env=environment
            )
        try:
            self._wait()
        except BaseException:
            self._process.kill()
            raise
        self.started_in = time.monotonic() - begin

    def stop(self):
        """Stop the process; the data stay, so that `start` continues with them."""
        self._process.terminate()
        try:
            self._process.wait(15)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def close(self):
        self.stop()
        shutil.rmtree(self._directory)

    def log_tail(self, lines=40):
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def _wait(self, seconds=300):
        # /readyz does not know the database, so the first answer to a password counts.
        for path, wanted in (("/readyz", (200,)), ("/v2/users/me", (200,) if self.password else (200, 401))):
            end = time.monotonic() + seconds
            while not self._answers(path, wanted):
                if self._process.poll() is not None or time.monotonic() > end:
                    raise RuntimeError(f"GPUStack {self.version} did not start:\n{self.log_tail()}")
                time.sleep(0.1)

    def _answers(self, path, statuses):
        try:
            return self.api.request("GET", path, timeout=5).status_code in statuses
        except requests.RequestException:
            return False


def main(version=NEWEST):
    postgres = Postgres()
    try:
        server = Server(version, postgres.database("gpustack"))
        print(f"GPUStack {version}, ready after {server.started_in:.0f} s: {server.url}", flush=True)
        try:
            signal.pause()
        finally:
            server.close()
    finally:
        postgres.stop()


if __name__ == "__main__":
    # A shell that starts it in the background lets it ignore the interrupt.
    for ending in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, signal.default_int_handler)
    with contextlib.suppress(KeyboardInterrupt):
        main(*sys.argv[1:])
