# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: nvidia_toolkit_packages
short_description: Packages that make the NVIDIA Container Toolkit on a host
version_added: 0.1.0
author: InferOps contributors (@inferops)
description:
  - Tells what the NVIDIA Container Toolkit is called on an operating system, and where the packages are.
  - What cannot be had is told in RV(_value.problem); the other keys are missing then.
positional: _input
options:
  _input:
    description: The operating system, C(ansible_facts.gpustack_host.os).
    type: dict
    required: true
  version:
    description: Release of the toolkit. The newest that is known where it is empty.
    type: str
    default: ''
  mirror:
    description: Where the tree of nvidia.github.io/libnvidia-container is.
    type: str
    default: https://nvidia.github.io/libnvidia-container
"""

EXAMPLES = r"""
- name: What would be installed
  ansible.builtin.debug:
    msg: "{{ (ansible_facts.gpustack_host.os | inferops.gpustack.nvidia_toolkit_packages).packages }}"
"""

RETURN = r"""
_value:
  description: What to install.
  type: dict
  contains:
    problem:
      description: Why there is nothing to install, in a sentence. Empty where there is.
      type: str
    manager:
      description: V(apt) or V(dnf).
      type: str
    version:
      description: The release that is installed.
      type: str
    names:
      description: Names of the packages.
      type: list
    packages:
      description: The packages as the manager takes them, all of one version.
      type: list
    repository:
      description: Its C(name), C(url) and C(key).
      type: dict
    leftovers:
      description: Packages of earlier products, and what their files of sources have in them (C(contains)).
      type: dict
    runtimes:
      description: What Docker is to be told, by the name of the runtime.
      type: dict
"""

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _nvidia_toolkit, _packages


def nvidia_toolkit_packages(os_facts, **options):
    return _packages.or_problem(_nvidia_toolkit.packages, os_facts, **options)


class FilterModule:
    def filters(self):
        return {"nvidia_toolkit_packages": nvidia_toolkit_packages}
