# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: docker_version_problem
short_description: Why a release of Docker does not suit a host's accelerators
version_added: 0.1.0
author: InferOps contributors (@inferops)
description: Compares the release of a host's Docker Engine with those that the vendors of its accelerators support.
positional: _input, vendors
options:
  _input:
    description: The release. An empty one is no problem.
    type: str
    required: true
  vendors:
    description: Vendors of the host's accelerators.
    type: list
    elements: str
    required: true
"""

EXAMPLES = r"""
- name: Refuse an engine that the accelerators' runtime does not support
  ansible.builtin.fail:
    msg: "{{ ansible_facts.gpustack_host.engine.version | inferops.gpustack.docker_version_problem(vendors) }}"
  when: ansible_facts.gpustack_host.engine.version | inferops.gpustack.docker_version_problem(vendors) != ''
"""

RETURN = r"""
_value:
  description: The problem with its reason and what to do, or nothing.
  type: str
"""

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _data, _docker_packages


def docker_version_problem(version, vendors):
    return _docker_packages.version_problem(_data.plain(version), _data.plain(vendors))


class FilterModule:
    def filters(self):
        return {"docker_version_problem": docker_version_problem}
