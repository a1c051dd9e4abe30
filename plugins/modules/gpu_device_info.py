#!/usr/bin/python
# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The accelerators that a GPUStack server sees on its workers."""

from __future__ import annotations

DOCUMENTATION = r"""
module: gpu_device_info
short_description: Read the accelerators of GPUStack workers
version_added: 0.1.0
description:
  - Reads every accelerator the server sees, with its memory and how much of it deployments have claimed. Changes
    nothing.
  - C(id) is what C(gpu_selector) of M(inferops.gpustack.model) takes. The worker's name is part of it.
author:
  - InferOps contributors (@inferops)
extends_documentation_fragment:
  - inferops.gpustack.auth
  - inferops.gpustack.auth.requests
  - inferops.gpustack.attributes
  - inferops.gpustack.info
options:
  worker:
    description: Only accelerators of the worker of this name.
    type: str
  vendor:
    description: Only accelerators of this vendor, for example V(nvidia).
    type: str
  type:
    description: Only accelerators of this type, which is their runtime, for example V(cuda) or V(cann).
    type: str
"""

EXAMPLES = r"""
- name: Read the accelerators of one worker
  inferops.gpustack.gpu_device_info:
    url: http://10.0.0.10
    password: "{{ gpustack_admin_password }}"
    worker: h20-01
  register: devices

- name: Show the ids that a deployment can choose
  ansible.builtin.debug:
    msg: "{{ devices.gpu_devices | map(attribute='id') }}"
"""

RETURN = r"""
gpu_devices:
  description: Accelerators, sorted by worker, type and index.
  returned: success
  type: list
  elements: dict
  contains:
    id: {description: What a deployment chooses it by., type: str, sample: "h20-01:cuda:0"}
    worker: {description: Name of its worker., type: str}
    cluster_id: {description: Number of the worker's cluster., type: int}
    vendor: {description: Vendor., type: str}
    type: {description: Runtime., type: str}
    index: {description: Number on the worker., type: int}
    name: {description: Model of the accelerator., type: str}
    uuid: {description: Identity that the vendor gave it., type: str}
    driver_version: {description: Version of the driver., type: str}
    runtime_version: {description: Version of the runtime that the driver supports., type: str}
    compute_capability: {description: Its compute capability., type: str}
    memory_bytes: {description: Memory., type: int}
    memory_used_bytes: {description: Memory in use., type: int}
    memory_allocated_bytes: {description: Memory that deployments have claimed., type: int}
    temperature: {description: Degrees Celsius., type: float}
"""

from ansible_collections.inferops.gpustack.plugins.module_utils import _info_module
from ansible_collections.inferops.gpustack.plugins.module_utils._views import gpu_device_view

FILTERS = ("worker", "vendor", "type")


def read(client, params):
    views = [gpu_device_view(one) for one in client.list_all("/v2/gpu-devices")]
    return [one for one in views if all(params[key] in (None, one[key]) for key in FILTERS)]


def order(view):
    return view["worker"], view["type"] or "", view["index"] or 0


def main():
    _info_module.run("gpu_devices", read, {key: {"type": "str"} for key in FILTERS}, order=order)


if __name__ == "__main__":
    main()
