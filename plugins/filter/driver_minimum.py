# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: driver_minimum
short_description: The oldest NVIDIA driver that runs what is planned for an accelerator
version_added: 0.1.0
author: InferOps contributors (@inferops)
description:
  - Compares the CUDA releases of the planned images with the drivers they run on. GPUStack itself needs the driver of
    CUDA 12.8.
positional: _input, accelerator
options:
  _input:
    description: The deployments of a plan, as P(inferops.gpustack.plan#filter) makes them.
    type: list
    elements: dict
    required: true
  accelerator:
    description: Accelerator profile of the host.
    type: str
    default: ''
"""

EXAMPLES = r"""
- name: Show the oldest driver for H20-3e
  ansible.builtin.debug:
    msg: "{{ planned.deployments | inferops.gpustack.driver_minimum('nvidia_h20_3e') }}"
  vars:
    planned: "{{ gpustack_models | inferops.gpustack.plan }}"
"""

RETURN = r"""
_value:
  description: Version of the driver.
  type: str
  sample: 580.65.06
"""

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _data, _driver_needs


def driver_minimum(deployments, accelerator=""):
    return _driver_needs.oldest(
        [one for one in _data.plain(deployments) or () if accelerator and one["accelerator"] == accelerator]
    )


class FilterModule:
    def filters(self):
        return {"driver_minimum": driver_minimum}
