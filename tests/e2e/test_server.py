"""A server that keeps answering 502 is restarted once, its data stays; a port that is taken is named with its owner."""

from __future__ import annotations

import json

import lab_site
import pytest
from lab_site import ROOT, SERVER, wait_until

PLAYBOOK = ROOT / "tests" / "e2e" / "server_502.yml"
STATE = "docker inspect -f '{{.State.StartedAt}}' gpustack-server"
DATA = "sha256sum /var/lib/docker/volumes/gpustack-server-data/_data/jwt_secret_key"


@pytest.fixture
def gateway(lab):
    def start(patience):
        source = (ROOT / "tests" / "e2e" / "simulated_gateway.py").read_bytes().hex()
        lab.sh(SERVER, f'python3 -c \'open("/tmp/gateway.py", "wb").write(bytes.fromhex("{source}"))\'')
        lab.sh(SERVER, f"setsid python3 /tmp/gateway.py 8099 {patience} > /tmp/gateway.log 2>&1 &")
        wait_until(lambda: lab.sh(SERVER, "ss -Hltn 'sport = 8099'"), 20, "the simulated gateway listens")

    yield start
    lab.sh(SERVER, "pkill -f gateway.py; rm -f /tmp/gateway.py /tmp/gateway.log", check=False)


def converge(start_timeout, log, **variables):
    extra = json.dumps({"start_timeout": start_timeout, **variables})
    return lab_site.playbook(str(PLAYBOOK), "-i", str(lab_site.INVENTORY), "-e", extra, log=log)


def test_one_restart_cures_it(gateway, lab, api):
    gateway(patience=1)
    before, data, models = lab.sh(SERVER, STATE), lab.sh(SERVER, DATA), api.items("models")
    run = converge(60, "server_502.log")
    assert run.code == 0, run.tail()
    assert "still answers 502 after 60 s" in run.output
    assert lab.sh(SERVER, STATE) != before
    assert lab.sh(SERVER, DATA) == data
    assert [(m["id"], m["created_at"]) for m in api.items("models")] == [(m["id"], m["created_at"]) for m in models]


def test_it_is_restarted_once_only(gateway, lab):
    gateway(patience=-1)
    run = converge(10, "server_502_lasting.log")
    started = lab.sh(SERVER, STATE)
    assert run.code != 0
    assert "502" in run.tail(15)
    assert run.output.count("TASK [inferops.gpustack.gpustack_server : Restart the server once]") == 1
    assert lab.sh(SERVER, STATE) == started


def test_a_taken_port_is_refused_with_its_owner(gateway, lab):
    gateway(patience=-1)
    before = lab.sh(SERVER, STATE)
    run = converge(10, "port_taken.log", gpustack_server_http_port=8099)
    message = " ".join(run.output.split())
    assert run.code != 0
    assert "Port 8099 of gs-01 is taken by python3 (pid " in message
    assert "set gpustack_server_port to a free port" in message
    assert lab.sh(SERVER, STATE) == before
