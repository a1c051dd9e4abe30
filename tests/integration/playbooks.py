# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs playbooks the way people do, with ansible-playbook, against the server of a test."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
_RECAP = re.compile(r"^(\S+)\s+: (ok=.*)$", re.M)


class Run:
    """What a run printed, and what its recap counts for each host."""

    def __init__(self, process):
        self.code, self.output = process.returncode, process.stdout
        self.recap = {
            host: {key: int(value) for key, value in (pair.split("=") for pair in counts.split())}
            for host, counts in _RECAP.findall(self.output)
        }

    def of(self, host):
        """The part of the output about one host, for a message."""
        lines = self.output.splitlines()
        mine = [
            number for number, line in enumerate(lines) if line.startswith((f"fatal: [{host}]", f"failed: [{host}]"))
        ]
        return "\n".join(line[:500] for number in mine for line in lines[number : number + 40]) or self.output[-4000:]


def play(playbook, *arguments, variables=None, directory):
    """`playbook`: a path, or plays to write into `directory`. Variables travel in a file, as those of a vault do."""
    if not isinstance(playbook, Path):
        playbook, plays = directory / "playbook.yml", playbook
        playbook.write_text(yaml.safe_dump(plays, sort_keys=False))
    extra = directory / "variables.yml"
    extra.write_text(yaml.safe_dump(variables or {}))
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith(("ANSIBLE_", "GPUSTACK_"))},
        "ANSIBLE_COLLECTIONS_PATH": str(ROOT / "collections"),
        "ANSIBLE_LOCALHOST_WARNING": "false",
        "ANSIBLE_NOCOLOR": "1",
        "ANSIBLE_PIPELINING": "true",
    }
    command = [sys.executable, "-m", "ansible", "playbook", playbook, "-e", f"@{extra}", *arguments]
    process = subprocess.run(
        command,
        cwd=directory,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return Run(process)
