# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role container_engine installs and writes, over made facts, as Ansible resolves its variables."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import yaml

REPOSITORY = pathlib.Path(__file__).parents[3]
PLAYBOOK = pathlib.Path(__file__).parent / "container_engine.yml"


def test_the_decisions_over_made_facts():
    hosts = list(yaml.safe_load(PLAYBOOK.read_text(encoding="utf-8"))[0]["vars"]["cases"])
    command = [sys.executable, "-m", "ansible", "playbook", "-i", ",".join(hosts) + ",", str(PLAYBOOK)]
    environment = dict(os.environ, ANSIBLE_CONFIG=str(REPOSITORY / "ansible.cfg"), ANSIBLE_NOCOLOR="1")
    done = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(hosts) > 10
