# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What roles make of an inventory, as Ansible resolves their defaults."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

REPOSITORY = pathlib.Path(__file__).parents[3]
PLAYBOOK = pathlib.Path(__file__).parent / "defaults.yml"


def test_the_defaults_over_a_plan():
    command = [sys.executable, "-m", "ansible", "playbook", "-i", "localhost,", str(PLAYBOOK)]
    environment = dict(os.environ, ANSIBLE_CONFIG=str(REPOSITORY / "ansible.cfg"), ANSIBLE_NOCOLOR="1")
    done = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
