# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: preflight
short_description: Judge the whole inventory, or all hosts, before anything is changed
version_added: 0.1.0
author: InferOps contributors (@inferops)
description:
  - Checks every C(gpustack_*) variable of every host of the inventory, the models, the route weights and the images.
  - Reads the files of the inventory as well, with their group_vars and host_vars, and finds what is lost when they
    are loaded, such as the first of two equal YAML keys.
  - Reports names that neither the inventory's contract nor a role knows, also under the prefixes of the roles.
  - Runs on the controller and opens no connection to any host.
  - Judges the whole inventory, whatever C(--limit) says.
  - Reports every problem at once, each with its fix. Fails when there is an error; warnings pass.
  - Values of secret variables never appear in a message.
  - With O(of=hosts) it judges what the role P(inferops.gpustack.host_probe#role) has found on the hosts in this run,
    beside what the inventory says of them, and opens no connection either. Hosts that were not looked at are not
    judged.
options:
  of:
    description: What is judged.
    type: str
    choices: [inventory, hosts]
    default: inventory
  overview:
    description:
      - Print one line for each host, and the findings also where none of them is an error.
      - Fails when no host of the server and the workers could be read.
      - Only with O(of=hosts).
    type: bool
    default: false
  again:
    description:
      - Whether the hosts were judged before in this run and changed since, so that only what is an error now is told.
      - Only with O(of=hosts).
    type: bool
    default: false
  dest:
    description:
      - Directory on the controller for C(probe.json), which holds everything that was found, and for every host its
        findings. Empty writes nothing.
      - The file is left as it is while nothing differs but what changes by itself, such as free space, process ids and
        the offset of a clock. Its numbers are those of the last change then.
      - Only with O(of=hosts).
    type: path
    default: ''
attributes:
  check_mode:
    description: Can run in check_mode and return changed status prediction without modifying target.
    support: full
  diff_mode:
    description: Will return details on what has changed (or possibly needs changing in check_mode).
    support: full
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

- name: Look at the hosts
  hosts: gpustack_server:gpustack_worker
  gather_facts: false
  become: true
  roles:
    - role: inferops.gpustack.host_probe

- name: Judge the hosts
  hosts: all
  gather_facts: false
  tasks:
    - name: Judge what was found
      inferops.gpustack.preflight:
        of: hosts
        dest: reports
      run_once: true
      delegate_to: localhost
"""

RETURN = r"""
msg:
  description: How many hosts were looked at and how many findings there are, in one line.
  returned: always
  type: str
of:
  description: What was judged.
  returned: always
  type: str
  sample: hosts
overview:
  description: Whether it was asked for, that is, no change of the hosts follows.
  returned: with O(of=hosts)
  type: bool
report:
  description:
    - All findings as text for people, errors first. One that many hosts have is there once and lists them.
    - With O(overview) a line for each host stands before them.
  returned: as C(findings); a failing run prints it above its result
  type: str
findings:
  description: All findings as data, errors first; with O(of=hosts) one for each host that has it.
  returned: when there is no error, with C(-v), or when the output is for machines (JSON)
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
      description: Variable and hosts, or the entry of C(gpustack_models). With O(of=hosts) the host and a place there.
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
    accepted:
      description: The reason given in C(gpustack_accept), if the site takes the finding on itself; it is a note then.
      type: str
files:
  description: The file of the report.
  returned: when O(dest) is given
  type: list
  elements: str
"""
