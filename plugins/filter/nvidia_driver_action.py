# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: nvidia_driver_action
short_description: What is to be done about the NVIDIA driver of a host
version_added: 0.1.0
author: InferOps contributors (@inferops)
description:
  - Compares the driver that a host has with what is needed and asked for. One that will do is left alone, and none is
    ever downgraded.
positional: _input, plan
options:
  _input:
    description: What the host is, C(ansible_facts.gpustack_host).
    type: dict
    required: true
  plan:
    description: What would be installed, as P(inferops.gpustack.nvidia_packages#filter) tells it.
    type: dict
    required: true
  branch:
    description: The branch that is asked for, if any.
    type: str
    default: ''
  version:
    description: The release that is asked for, if any.
    type: str
    default: ''
  module:
    description: The kernel module that is asked for.
    type: str
    choices: [auto, open, proprietary]
    default: auto
  minimum:
    description: The oldest driver that will do. The oldest for GPUStack where it is empty.
    type: str
    default: ''
  reboot:
    description: With V(allow), a driver is changed under running models, as they are stopped by the reboot after it.
    type: str
    default: fail
"""

EXAMPLES = r"""
- name: What would be done
  ansible.builtin.debug:
    msg: "{{ host | inferops.gpustack.nvidia_driver_action(host | inferops.gpustack.nvidia_packages) }}"
  vars:
    host: "{{ ansible_facts.gpustack_host }}"
"""

RETURN = r"""
_value:
  description: What to do, and why.
  type: dict
  contains:
    action:
      description: V(none), V(install), V(upgrade) or V(refuse).
      type: str
    reasons:
      description: Why, and what else is worth knowing.
      type: list
    refusal:
      description: Why nothing is done though something should be, and what to do. Empty unless
        RV(_value.action=refuse).
      type: str
    driver:
      description: Whether packages of the driver are to be installed. With V(install) and without this, it is Fabric
        Manager alone.
      type: bool
    fabric:
      description: The version of Fabric Manager to install. Empty where it is as it should be, and where the driver
        comes first.
      type: str
    load:
      description: Whether the installed module is to be loaded, as nothing else holds the cards.
      type: bool
    start_fabric:
      description: Whether the Fabric Manager that is there is to be started.
      type: bool
    reboot_reasons:
      description: What waits for a reboot once this is done, each with C(id) and C(reason). A loaded driver that is not
        the installed one is told by the probe.
      type: list
    summary:
      description: The same for people in one line, empty where there is nothing to do and nothing to say.
      type: str
"""

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _data, _nvidia_driver


def nvidia_driver_action(host, plan, **options):
    return _nvidia_driver.action(_data.plain(host), _data.plain(plan), **_data.plain(options))


class FilterModule:
    def filters(self):
        return {"nvidia_driver_action": nvidia_driver_action}
