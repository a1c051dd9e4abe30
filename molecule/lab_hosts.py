"""The lab's hosts for pytest-testinfra, over SSH."""

from __future__ import annotations

from pathlib import Path

SSH_CONFIG = Path(__file__).resolve().parents[1] / ".lab" / "ssh" / "config"


def over_ssh(*names):
    return [f"paramiko://{name}?ssh_config={SSH_CONFIG}" for name in names]
