# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What roles make of an inventory, as Ansible resolves their defaults."""

from __future__ import annotations

import pathlib

from unit.ansible_run import playbook

PLAYBOOK = pathlib.Path(__file__).parent / "defaults.yml"


def test_the_defaults_over_a_plan():
    done = playbook("-i", "localhost,", PLAYBOOK)
    assert done.returncode == 0, done.stdout + done.stderr
