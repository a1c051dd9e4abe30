# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: plan
short_description: Say what the inventory becomes before anything is touched
version_added: 0.1.0
author: InferOps contributors (@inferops)
description:
  - Prints for every deployment its image, its engine, its cards, each launch argument and environment variable with
    the layer that set it and what that replaced, and what its KV cache holds.
  - Prints the findings of M(inferops.gpustack.preflight) after that. Fails when there is an error; the plan is printed
    and written all the same.
  - Writes the plan to C(plan.json) and as a page to C(report.html). The page is one file that loads nothing.
  - Runs on the controller and opens no connection to any host.
  - Plans the whole inventory, whatever C(--limit) says.
  - Values of secret variables, and those that the inventory gives to the environment of an engine, are never shown.
options:
  plan_from:
    description:
      - What the plan is made from.
      - V(inventory) takes the inventory alone, and the model directories that the controller has as well.
      - V(facts) takes also what M(inferops.gpustack.host_facts) has found on the hosts earlier in the run.
      - A worker of the play without such facts is planned from the inventory, and has a finding C(host_not_read).
    type: str
    choices: [inventory, facts]
    default: inventory
  dest:
    description:
      - Directory for C(plan.json) and C(report.html); it is made when it is missing. Empty writes nothing.
      - A relative path starts at the directory that C(ansible-playbook) was started in.
    type: path
    default: ""
  language:
    description: Language of C(report.html). The texts of findings are English, their titles are translated.
    type: str
    choices: [en, zh]
    default: en
attributes:
  check_mode:
    description: Can run in check_mode and return changed status prediction without modifying target.
    support: full
  diff_mode:
    description: Will return details on what has changed (or possibly needs changing in check_mode).
    support: partial
    details: The differences of C(plan.json) are shown, those of the page are not.
notes:
  - This is an action plugin; use it with C(run_once) and C(delegate_to=localhost).
  - The files hold no time. As long as the plan is the same they do not change.
seealso:
  - module: inferops.gpustack.preflight
"""

EXAMPLES = r"""
- name: Plan
  hosts: all
  gather_facts: false
  tasks:
    - name: Say what the inventory becomes
      inferops.gpustack.plan:
        dest: reports
      run_once: true
      delegate_to: localhost
"""

RETURN = r"""
msg:
  description: How many deployments are planned, how many findings there are, and what was written, in one line.
  returned: always
  type: str
files:
  description: The files the plan is in; in check mode those it would be in. None without O(dest).
  returned: always
  type: list
  elements: str
report:
  description: The plan as text for people, with the findings at its end.
  returned: with C(-v), or when the output is for machines (JSON); it is printed above the result otherwise
  type: str
plan:
  description: The plan as data, the same as in C(plan.json).
  returned: with C(-v), or when the output is for machines (JSON)
  type: dict
  contains:
    deployments:
      description: Each deployment with its C(values), C(capacity), image and parameters.
      type: list
      elements: dict
    routes:
      description: Each route with its targets and their weights.
      type: list
      elements: dict
    images:
      description: The engine images of each accelerator.
      type: dict
    hosts:
      description: The workers with accelerator, number of cards, driver, and C(read), whether facts of it are there.
      type: list
      elements: dict
    findings:
      description: As M(inferops.gpustack.preflight) returns them.
      type: list
      elements: dict
    summary:
      description: The number of findings in words.
      type: str
"""
