# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: package_progress
short_description: How far a role came with its packages on a host
version_added: 0.1.0
author: InferOps contributors (@inferops)
description:
  - Reads the notes that a role leaves in the manifest of a host, C(running) and a release before it begins, C(finished)
    and a release at its end. So a run that died in between can be made up for.
positional: _input, by
options:
  _input:
    description: The entries of the host's manifest.
    type: list
    elements: dict
    required: true
  by:
    description: The role.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Which releases of the driver are finished
  ansible.builtin.debug:
    msg: "{{ (entries | inferops.gpustack.package_progress('nvidia_driver')).finished }}"
  vars:
    entries: "{{ ansible_facts.gpustack_host.manifest.entries }}"
"""

RETURN = r"""
_value:
  description: How far the role came.
  type: dict
  contains:
    recorded:
      description: Whether it recorded any package.
      type: bool
    finished:
      description: The releases that it finished.
      type: list
    running:
      description: The releases that it began and did not finish; of a driver it may be the branch.
      type: list
    replaced:
      description: The releases that these were to replace.
      type: list
"""

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _data, _progress


def package_progress(entries, by):
    return _progress.of_packages(_data.plain(entries), str(by))


class FilterModule:
    def filters(self):
        return {"package_progress": package_progress}
