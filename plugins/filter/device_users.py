# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: device_users
short_description: Who holds device files, for people
version_added: 0.1.0
author: InferOps contributors (@inferops)
description:
  - Makes lines with process id and name of what C(find) tells of the open files in C(/proc), and leaves out those that
    do not count.
positional: _input, told
options:
  _input:
    description: Paths of open files, such as C(/proc/4711/fd/5).
    type: list
    elements: str
    required: true
  told:
    description: What C(grep) tells of C(comm) and C(cgroup) of these processes, such as C(/proc/4711/comm:python3).
    type: list
    elements: str
    required: true
  spared:
    description: Names of programs that do not count. The kernel tells their first 15 characters.
    type: list
    elements: str
    default: []
  container:
    description: Id of a container whose processes do not count.
    type: str
    default: ''
"""

EXAMPLES = r"""
- name: Who holds a card
  ansible.builtin.debug:
    msg: "{{ open.stdout_lines | inferops.gpustack.device_users(told.stdout_lines, spared=['nvidia-persistenced']) }}"
"""

RETURN = r"""
_value:
  description: One text for each process, its id and its name. One that ended meanwhile has no name.
  type: list
  elements: str
  sample: [4711 python3]
"""

import re

OPEN = re.compile(r"/proc/(\d+)/")
TOLD = re.compile(r"/proc/(?P<pid>\d+)/(?P<file>\w+):(?P<text>.*)")
NAME_LENGTH = 15


def device_users(paths, told, spared=(), container=""):
    lines = [line.groupdict() for line in map(TOLD.match, told) if line]
    names = {line["pid"]: line["text"].strip() for line in lines if line["file"] == "comm"}
    inside = {line["pid"] for line in lines if container and line["file"] == "cgroup" and container in line["text"]}
    left_out = {name[:NAME_LENGTH] for name in spared}
    pids = sorted({path[1] for path in map(OPEN.match, paths) if path}, key=int)
    return [
        f"{pid} {names.get(pid, '')}".strip() for pid in pids if pid not in inside and names.get(pid) not in left_out
    ]


class FilterModule:
    def filters(self):
        return {"device_users": device_users}
