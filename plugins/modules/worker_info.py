#!/usr/bin/python
# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The workers of a GPUStack server."""

from __future__ import annotations

DOCUMENTATION = r"""
module: worker_info
short_description: Read the workers of a GPUStack server
version_added: 0.1.0
description:
  - Reads workers with their state, labels and accelerators. Changes nothing.
author:
  - InferOps contributors (@inferops)
extends_documentation_fragment:
  - inferops.gpustack.auth
  - inferops.gpustack.auth.requests
  - inferops.gpustack.attributes
  - inferops.gpustack.info
options:
  name:
    description: Only the worker of this name.
    type: str
  cluster:
    description: Only workers of the cluster of this name. It is an error when there is no such cluster.
    type: str
  state:
    description: Only workers in this state.
    type: str
    choices: [not_ready, ready, unreachable, pending, provisioning, initializing, deleting, error, maintenance]
  labels:
    description: Only workers that have all of these labels, with these texts as values.
    type: dict
"""

EXAMPLES = r"""
- name: Read the workers that are not ready
  inferops.gpustack.worker_info:
    url: http://10.0.0.10
    password: "{{ gpustack_admin_password }}"
    state: not_ready
  register: lost

- name: Read the workers that deployments with this selector can use
  inferops.gpustack.worker_info:
    url: http://10.0.0.10
    password: "{{ gpustack_admin_password }}"
    cluster: lab
    labels: {gpustack-accelerator: nvidia_h20_3e}
  register: fitting
"""

RETURN = r"""
workers:
  description: Workers, sorted by name.
  returned: success
  type: list
  elements: dict
  contains:
    id: {description: Number of the worker., type: int}
    name: {description: Name., type: str}
    ip: {description: Address under which the server reaches it., type: str}
    port: {description: Port of the worker's API., type: int}
    cluster_id: {description: Number of its cluster., type: int}
    state: {description: State as the server sees it., type: str}
    state_message: {description: Why it is not ready., type: str}
    version: {description: GPUStack version of the worker., type: str}
    labels: {description: All its labels., type: dict}
    maintenance: {description: "Its maintenance, C({enabled, reason}).", type: dict}
    accelerators:
      description: "Devices by vendor and name, each C({vendor, name, memory_bytes, count}), with the memory of one."
      type: list
      elements: dict
"""

from ansible_collections.inferops.gpustack.plugins.module_utils import _info_module
from ansible_collections.inferops.gpustack.plugins.module_utils._clusters import find_cluster
from ansible_collections.inferops.gpustack.plugins.module_utils._texts import texts
from ansible_collections.inferops.gpustack.plugins.module_utils._views import worker_view

STATES = [
    "not_ready",
    "ready",
    "unreachable",
    "pending",
    "provisioning",
    "initializing",
    "deleting",
    "error",
    "maintenance",
]


def read(client, params):
    labels = texts("labels", params["labels"] or {}).items()
    cluster_id = find_cluster(client, params["cluster"])["id"] if params["cluster"] else None
    workers = [worker_view(one) for one in client.list_all("/v2/workers", name=params["name"], cluster_id=cluster_id)]
    return [
        one
        for one in _info_module.named(workers, params["name"])
        if cluster_id in (None, one["cluster_id"])
        and params["state"] in (None, one["state"])
        and labels <= one["labels"].items()
    ]


def main():
    options = {
        "name": {"type": "str"},
        "cluster": {"type": "str"},
        "state": {"type": "str", "choices": STATES},
        "labels": {"type": "dict"},
    }
    _info_module.run("workers", read, options)


if __name__ == "__main__":
    main()
