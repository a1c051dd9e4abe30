#!/usr/bin/python
# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The whole state of a GPUStack server in one read."""

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster_info
short_description: Read the state of a GPUStack server
version_added: 0.1.0
description:
  - Reads clusters, workers, deployments with their instances, and routes with their targets. Changes nothing.
  - Returns no tokens and no passwords.
  - Values of deployment environment variables are hidden when their names look like secrets.
author:
  - InferOps contributors (@inferops)
extends_documentation_fragment:
  - inferops.gpustack.auth
  - inferops.gpustack.auth.requests
  - inferops.gpustack.attributes
  - inferops.gpustack.info
attributes:
  check_mode:
    details: Returns empty lists, with a warning, when the server does not answer in check mode.
options:
  name:
    description:
      - Only the cluster of this name, with its workers and deployments and the routes that lead to one of these.
      - The lists are empty when there is no such cluster.
    type: str
"""

EXAMPLES = r"""
- name: Read the cluster
  inferops.gpustack.cluster_info:
    url: http://10.0.0.10
    password: "{{ gpustack_admin_password }}"
  register: state

- name: Read one of several clusters
  inferops.gpustack.cluster_info:
    url: http://10.0.0.10
    password: "{{ gpustack_admin_password }}"
    name: lab
  register: lab

- name: Every worker is ready
  ansible.builtin.assert:
    that: state.workers | rejectattr('state', 'equalto', 'ready') | list | length == 0
"""

RETURN = r"""
version:
  description: Version of the server, for example V(v2.3.0). Null when the server does not answer in check mode.
  returned: success
  type: str
  sample: v2.3.0
clusters:
  description: Clusters, sorted by name. Their fields are those of C(cluster) of M(inferops.gpustack.cluster).
  returned: success
  type: list
  elements: dict
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
    state: {description: "For example V(ready), V(not_ready), V(unreachable), V(maintenance).", type: str}
    state_message: {description: Why it is not ready., type: str}
    version: {description: GPUStack version of the worker., type: str}
    labels: {description: Labels., type: dict}
    maintenance: {description: "Its maintenance, C({enabled, reason}).", type: dict}
    accelerators:
      description: "Devices by vendor and name, each C({vendor, name, memory_bytes, count}), with the memory of one."
      type: list
      elements: dict
models:
  description:
    - Deployments, sorted by name. The names of their fields are the options of M(inferops.gpustack.model).
    - C(instances) holds C(name), C(worker_name), C(state), C(state_message), C(ports) and C(restart_count) of each
      replica.
    - C(outdated_instances) names those that were started before the last change that M(inferops.gpustack.model) made.
    - C(rollout_pending) tells whether such a change has not been rolled out to the end yet.
  returned: success
  type: list
  elements: dict
routes:
  description:
    - Routes, sorted by name, with C(access_policy) and with C(targets) of
      C({model, weight, fallback_status_codes, state}).
  returned: success
  type: list
  elements: dict
"""

from ansible_collections.inferops.gpustack.plugins.module_utils import _args, _info_module, _views


def body(module):
    client = _args.connect(module)
    name = module.params["name"]
    models = client.list_all("/v2/models")
    instances = client.list_all("/v2/model-instances")
    targets = client.list_all("/v2/model-route-targets")
    routes = client.list_all("/v2/model-routes")
    clusters = _info_module.named(client.list_all("/v2/clusters"), name)
    workers = client.list_all("/v2/workers")
    names = {model["id"]: model["name"] for model in models}
    if name is not None:
        workers, models = of_clusters(clusters, workers), of_clusters(clusters, models)
        routes = leading_to(models, targets, routes)
    return {
        "changed": False,
        "version": (client.get("/version") or {}).get("version"),
        "clusters": _by_name(_views.cluster_view(one) for one in clusters),
        "workers": _by_name(_views.worker_view(one) for one in workers),
        "models": _by_name(_views.model_view(one, instances) for one in models),
        "routes": _by_name(_views.route_view(one, targets, names) for one in routes),
    }


def of_clusters(clusters, things):
    ids = [one["id"] for one in clusters]
    return [one for one in things if one["cluster_id"] in ids]


def leading_to(models, targets, routes):
    ids = [one["id"] for one in models]
    found = {one["route_id"] for one in targets if one.get("model_id") in ids}
    return [one for one in routes if one["id"] in found]


def _by_name(things):
    return sorted(things, key=lambda one: one["name"])


def when_unreachable(module):
    return {"changed": False, "version": None, "clusters": [], "workers": [], "models": [], "routes": []}


def main():
    _args.run(_args.api_module({"name": {"type": "str"}}), body, when_unreachable)


if __name__ == "__main__":
    main()
