# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/examples/empty_to_served.yml: looked at, run, and run again."""

from __future__ import annotations

import re
import threading
import time

import pytest
import requests
from simulated_worker import SimulatedWorker
from wipe import wipe

from playbooks import ROOT, play

PLAYBOOK = ROOT / "docs" / "examples" / "empty_to_served.yml"
CHECKPOINT = "/srv/models/DeepSeek-V4-Flash-0731"
_CHANGED = re.compile(r"^TASK \[(.+?)\] \*+$|^changed: ", re.M)


def changed_tasks(run):
    """Names of the tasks that changed something, or would."""
    found, task = [], None
    for match in _CHANGED.finditer(run.output):
        if match[1]:
            task = match[1]
        elif task not in found:
            found.append(task)
    return found


class Arrival(threading.Thread):
    """The worker's host: it joins as soon as there is a cluster to join."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.server, self.worker = server, None
        self.start()

    def run(self):
        end = time.monotonic() + 120
        while time.monotonic() < end:
            cluster = self.server.api.find("/v2/clusters", name="main")
            if cluster:
                self.worker = SimulatedWorker(self.server, cluster["id"], "h20-01")
                self.worker.add_path(CHECKPOINT)
                return
            time.sleep(0.2)


@pytest.fixture
def empty(server):
    """The server, on which nothing was made yet; and nothing stays."""
    if server.version == "2.1.2":
        pytest.skip("GPUStack 2.1 chooses the secrets of keys, so the example needs 2.2")
    api = server.api
    assert api.items("/v2/clusters") == api.items("/v2/models") == []
    yield server
    wipe(server)


@pytest.mark.empty_server
def test_from_an_empty_server_to_one_that_serves(empty, secrets, tmp_path):
    secrets_of_the_vault = {"portal_password": secrets.add("Portal_9+first"), "portal_key": secrets.add("sk-portal-93")}
    variables = {"gpustack_url": empty.url, "gpustack_admin_password": empty.password, **secrets_of_the_vault}

    def run(*arguments):
        done = play(PLAYBOOK, "-vvv", "--diff", *arguments, variables=variables, directory=tmp_path)
        assert done.code == 0, done.of("localhost")
        secrets.check(done.output, "ansible-playbook -vvv --diff")
        return done

    told = changed_tasks(run("--check"))
    assert empty.api.items("/v2/clusters") == empty.api.items("/v2/models") == []

    arrival = Arrival(empty)
    assert changed_tasks(run()) == told
    assert len(told) == 6
    try:
        key = {"Authorization": f"Bearer {secrets_of_the_vault['portal_key']}"}
        ask = {"model": "deepseek-v4-flash", "messages": [{"role": "user", "content": "Are you ready?"}]}
        end = time.monotonic() + 60
        while True:
            answer = requests.post(f"{empty.url}/v1/chat/completions", json=ask, headers=key, timeout=30)
            if answer.ok or time.monotonic() > end:
                break
            time.sleep(0.5)
        assert answer.json()["choices"], answer.text
        again = run()
        assert (again.recap["localhost"]["changed"], changed_tasks(again)) == (0, [])
        assert changed_tasks(run("--check")) == []
    finally:
        arrival.worker.close()
