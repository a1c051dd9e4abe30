"""inventories/prod as it stands, on the lab's hosts: HTTPS with a certificate of the site's own authority."""

from __future__ import annotations

import json
import os
import socket
import ssl

import lab_site
import pytest
import yaml
from lab_site import ADDRESSES, DEPLOYMENTS, H20, NPU, SERVER

PROD = lab_site.ROOT / "inventories" / "prod"
VAULT = PROD / "group_vars" / "all" / "vault.yml"
OVERLAY = lab_site.ROOT / "lab" / "overlay"
TLS = lab_site.ROOT / ".lab" / "tls"
NAME = "gpustack.example.com"
OWN = "# Written by tests/e2e/test_prod.py for the lab.\n"


@pytest.fixture(scope="module")
def vault(lab):
    """The vault as a person makes it from the example, with the lab's password for every placeholder."""
    example = yaml.safe_load(VAULT.with_suffix(".yml.example").read_text())
    content = OWN + yaml.safe_dump(dict.fromkeys(example, lab.password))
    if VAULT.exists():
        # A run that was killed leaves its own.
        assert VAULT.read_text().startswith(OWN), f"{VAULT} is somebody's own: move it away for this test"
        VAULT.unlink()
    descriptor = os.open(VAULT, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "w") as file:
        file.write(content)
    yield
    VAULT.unlink()


def prod(log):
    return lab_site.playbook(
        *("site.yml", "-i", str(PROD), "-i", str(OVERLAY), "--limit", f"{SERVER},{H20},{NPU}", "-vvv", "--diff"),
        log=log,
        timeout=1800,
    )


@pytest.fixture(scope="module")
def converged(vault):
    return prod("prod.log")


def ask(context):
    """`GET /healthz` under the server's name, which this machine need not know."""
    plain = socket.create_connection((ADDRESSES[SERVER], 443), 10)
    with context.wrap_socket(plain, server_hostname=NAME) as tls:
        tls.sendall(f"GET /healthz HTTP/1.0\r\nHost: {NAME}\r\n\r\n".encode())
        return tls.makefile("rb").readline().split()[1]


def trusting():
    return ssl.create_default_context(cafile=TLS / "ca" / "tls.crt")


def test_the_site_converges(converged):
    assert converged.code == 0, converged.tail()
    assert {SERVER, H20, NPU} <= set(converged.recap())


@pytest.mark.parametrize("host", [H20, NPU])
def test_the_deployment_runs(converged, api, host):
    model = api.named("models", DEPLOYMENTS[host])
    instances = [item for item in api.items("model-instances") if item["model_id"] == model["id"]]
    assert (host, "running") in [(item["worker_name"], item["state"]) for item in instances]


def test_https_answers_those_who_trust_the_authority(converged):
    assert ask(trusting()) == b"200"


def test_https_is_refused_by_those_who_do_not(converged):
    with pytest.raises(ssl.SSLCertVerificationError):
        ask(ssl.create_default_context())


def test_workers_dial_https(converged, lab):
    config = lab.sh(H20, "grep -v '^#' /etc/gpustack/worker/config.yaml")
    assert json.loads(config)["server_url"] == f"https://{NAME}"


def test_the_key_is_neither_in_the_output_nor_in_the_container_or_its_configuration(converged, lab):
    key = (TLS / "server" / "tls.key").read_text().splitlines()[1]
    assert key not in lab.sh(SERVER, "docker inspect gpustack-server; cat /etc/gpustack/server/config.yaml")
    assert key not in converged.output
    assert lab.password not in converged.output


def test_a_second_run_changes_nothing(converged):
    run = prod("prod_no_op.log")
    assert run.code == 0, run.tail()
    assert run.changed() == 0


def test_a_renewed_certificate_restarts_the_server_once(converged, lab):
    before = {host: lab.running(host) for host in (SERVER, H20)}
    (TLS / "server" / "tls.crt").touch()
    run = prod("prod_renewed.log")
    assert run.code == 0, run.tail()
    assert run.changed() == 1
    assert lab.running(SERVER)["gpustack-server"] > before[SERVER]["gpustack-server"]
    assert lab.running(H20) == before[H20]
    assert ask(trusting()) == b"200"
