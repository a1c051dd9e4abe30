"""The stand-in for the gateway: what it makes of GPUStack's configuration file."""

from __future__ import annotations

import json
import os
import runpy
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[3] / "lab" / "images" / "gpustack" / "simulated-tls-gateway"
FILES = {"ssl_certfile": "/etc/ssl/gpustack/tls.crt", "ssl_keyfile": "/etc/ssl/gpustack/tls.key"}


@pytest.fixture
def started(tmp_path, monkeypatch):
    """Runs the script with a configuration; gives nginx's configuration, None when nginx was not started."""

    def run(**settings):
        config, written = tmp_path / "config.yaml", []
        config.write_text("# Managed\n" + json.dumps(settings))
        monkeypatch.setattr(sys, "argv", [str(SCRIPT), str(config), "80"])
        monkeypatch.setattr(Path, "write_text", lambda self, text: written.append(text))
        monkeypatch.setattr(os, "execvp", lambda program, arguments: written.append(program))
        runpy.run_path(str(SCRIPT))
        monkeypatch.undo()
        return written[0] if written[1:] == ["nginx"] else None

    return run


@pytest.mark.parametrize("settings", [{}, {"debug": True}, {"ssl_certfile": "/etc/ssl/gpustack/tls.crt"}])
def test_without_certificate_and_key_nothing_starts(started, settings):
    assert started(**settings) is None


@pytest.mark.parametrize(("settings", "port"), [({}, 443), ({"tls_port": 8443}, 8443)])
def test_tls_in_front_of_the_api(started, settings, port):
    lines = [line.strip() for line in started(**FILES, **settings).splitlines()]
    assert f"listen {port} ssl;" in lines
    assert "ssl_certificate /etc/ssl/gpustack/tls.crt;" in lines
    assert "ssl_certificate_key /etc/ssl/gpustack/tls.key;" in lines
    assert "proxy_pass http://127.0.0.1:80;" in lines
    assert "proxy_buffering off;" in lines
