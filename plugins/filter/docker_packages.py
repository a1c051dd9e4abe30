# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: docker_packages
short_description: Packages that make Docker Engine on a host
version_added: 0.1.0
author: InferOps contributors (@inferops)
description:
  - Tells what Docker Engine and what it conflicts with are called on an operating system, where the packages are, and
    which version suits the accelerators of the host.
  - What cannot be had is told in RV(_value.problem); the other keys are missing then.
positional: _input, vendors
options:
  _input:
    description: The operating system, C(ansible_facts.gpustack_host.os).
    type: dict
    required: true
  vendors:
    description: Vendors of the host's accelerators, such as C(nvidia) and C(ascend).
    type: list
    elements: str
    default: []
  source:
    description: Whose packages.
    type: str
    choices: [docker-ce, distribution]
    default: docker-ce
  version:
    description: A release of Docker or its first parts. The one that suits the host where it is empty.
    type: str
    default: ''
  mirror:
    description: Where the tree of download.docker.com is.
    type: str
    default: https://download.docker.com
"""

EXAMPLES = r"""
- name: What would be installed
  ansible.builtin.debug:
    msg: "{{ (ansible_facts.gpustack_host.os | inferops.gpustack.docker_packages(['ascend'])).packages }}"
"""

RETURN = r"""
_value:
  description: What to install.
  type: dict
  contains:
    problem:
      description: Why there is nothing to install, in a sentence. Empty where there is.
      type: str
    system:
      description: Name of the operating system.
      type: str
    source:
      description: As given.
      type: str
    manager:
      description: V(apt) or V(dnf).
      type: str
    names:
      description: Names of the packages.
      type: list
    packages:
      description: The packages as the manager takes them, with versions where they matter.
      type: list
    python_packages:
      description: What the modules of community.docker need on the host.
      type: list
    conflicts:
      description: Packages that cannot be there as well.
      type: list
    repository:
      description: URL, key and, for apt, suite and component. Null for the distribution's packages.
      type: dict
    pins:
      description: What apt is to prefer and to avoid, each with C(packages), C(version) and C(priority).
      type: list
    excluded:
      description: What dnf is never to take from the repository.
      type: list
"""

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _docker_packages, _packages


def docker_packages(os_facts, *wishes, **options):
    return _packages.or_problem(_docker_packages.packages, os_facts, *wishes, **options)


class FilterModule:
    def filters(self):
        return {"docker_packages": docker_packages}
