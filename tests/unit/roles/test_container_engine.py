# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role container_engine installs and writes, over made facts, as Ansible resolves its variables."""

from __future__ import annotations

import pathlib

import yaml
from unit.ansible_run import playbook

PLAYBOOK = pathlib.Path(__file__).parent / "container_engine.yml"


def test_the_decisions_over_made_facts():
    hosts = list(yaml.safe_load(PLAYBOOK.read_text(encoding="utf-8"))[0]["vars"]["cases"])
    done = playbook("-i", ",".join(hosts) + ",", PLAYBOOK)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(hosts) > 10
