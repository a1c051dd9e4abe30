# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: preflight
short_description: Judge the whole inventory before anything is touched
version_added: 0.1.0
author: Contributors to inferops.gpustack
description:
  - Checks every C(gpustack_*) variable of every host of the inventory, the models, the route weights and the images.
  - Reports names that neither the inventory's contract nor a role knows, also under the prefixes of the roles.
  - Runs on the controller and opens no connection to any host.
  - Judges the whole inventory, whatever C(--limit) says.
  - Reports every problem at once, each with its fix. Fails when there is an error; warnings pass.
  - Values of secret variables never appear in a message.
options: {}
attributes:
  check_mode:
    description: Can run in check_mode and return changed status prediction without modifying target.
    support: full
  diff_mode:
    description: Will return details on what has changed (or possibly needs changing in check_mode).
    support: none
    details: Nothing is ever changed.
notes:
  - This is an action plugin; use it with C(run_once) and C(delegate_to=localhost).
"""

EXAMPLES = r"""
- name: Preflight
  hosts: all
  gather_facts: false
  tasks:
    - name: Judge the inventory
      inferops.gpustack.preflight:
      run_once: true
      delegate_to: localhost
"""

RETURN = r"""
msg:
  description: All findings as one text table, or what was looked at when there are none.
  returned: always
  type: str
findings:
  description: The findings, errors first.
  returned: always
  type: list
  elements: dict
  contains:
    id:
      description: Kind of the problem.
      type: str
    severity:
      description: C(error), C(warning) or C(note).
      type: str
    where:
      description: Variable and hosts, or the entry of C(gpustack_models).
      type: str
    found:
      description: What is written there.
      type: str
    expected:
      description: What belongs there.
      type: str
    fix:
      description: What to do.
      type: str
    source:
      description: Where the rule comes from, if it is not this collection's own.
      type: str
"""
