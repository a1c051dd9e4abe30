# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: nvidia_packages
short_description: Packages that make NVIDIA's driver on a host
version_added: 0.1.0
author: InferOps contributors (@inferops)
description:
  - Tells what NVIDIA's driver and, where the host has NVSwitches, Fabric Manager are called on a host, where the
    packages are, and which kernel module and branch suit its accelerators.
  - What cannot be had is told in RV(_value.problem); the other keys are missing then.
positional: _input
options:
  _input:
    description: What the host is, C(ansible_facts.gpustack_host).
    type: dict
    required: true
  branch:
    description: Branch of the driver. Where it is empty, the one of V(version), else one that suits host and plan.
    type: str
    default: ''
  version:
    description: Exact release of the driver. The newest of the branch where it is empty.
    type: str
    default: ''
  module:
    description: Which kernel module. V(auto) goes by the cards.
    type: str
    choices: [auto, open, proprietary]
    default: auto
  source:
    description: Whose packages, V(nvidia) for NVIDIA's repository, V(distribution) for Ubuntu's archive.
    type: str
    choices: [nvidia, distribution]
    default: nvidia
  mirror:
    description: Where the tree of developer.download.nvidia.com is.
    type: str
    default: https://developer.download.nvidia.com
  minimum:
    description: The oldest driver that will do. The oldest for GPUStack where it is empty.
    type: str
    default: ''
  keyring_sha256:
    description: Digest of the keyring package in the repository, where it is none of those that are known.
    type: str
    default: ''
"""

EXAMPLES = r"""
- name: What would be installed
  ansible.builtin.debug:
    msg: "{{ (ansible_facts.gpustack_host | inferops.gpustack.nvidia_packages(branch='580')).packages }}"
"""

RETURN = r"""
_value:
  description: What to install.
  type: dict
  contains:
    problem:
      description: Why there is nothing to install, in a sentence or two. Empty where there is.
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
    branch:
      description: The branch that is installed.
      type: str
    version:
      description: The exact release, empty for the newest of the branch.
      type: str
    module:
      description: V(open) or V(proprietary).
      type: str
    module_reason:
      description: Why this one.
      type: str
    names:
      description: Names of the driver's packages.
      type: list
    packages:
      description: The same as the manager takes them, with versions where they matter.
      type: list
    headers:
      description: What a module for the running kernel is built with; empty for modules that are built already.
      type: list
    pinning:
      description: Packages to install first, which keep apt on the branch or release.
      type: list
    pins:
      description: What apt is to prefer where there is no such package, each with C(packages), C(version), C(priority).
      type: list
    stream:
      description: The stream of the dnf module C(nvidia-driver), empty where there are none.
      type: str
    epel:
      description: Package that adds the repository of dkms, empty where there is none.
      type: str
    fabric_names:
      description: Names of the packages for NVSwitches; empty on a host without.
      type: list
    fabric_packages:
      description: The same as the manager takes them.
      type: list
    guarded:
      description: Beginnings of the names that unattended-upgrades is not to touch.
      type: list
    repository:
      description:
        - Null for the distribution's packages. With apt, C(url), C(keyring) (URL of the package with the key) and its
          C(sha256), C(keyring_package), C(list) (the file) and C(line) (what is in it).
        - With dnf C(url), C(key), C(name) and C(file).
      type: dict
"""

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _nvidia_packages, _packages


def nvidia_packages(host, **options):
    return _packages.or_problem(_nvidia_packages.packages, host, **options)


class FilterModule:
    def filters(self):
        return {"nvidia_packages": nvidia_packages}
