# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: launch_plan
short_description: Plan the deployments and routes of an inventory's models
version_added: 0.1.0
author: InferOps contributors (@inferops)
description:
  - Turns C(gpustack_models) into the deployments and routes GPUStack is asked for.
  - Reads nothing but its input and the profiles of this collection, so it needs no connection to any host.
positional: _input
options:
  _input:
    description: The models, as described for C(gpustack_models).
    type: list
    elements: dict
    required: true
  hosts:
    description: Accelerator to the number of worker hosts that carry it. Needed where O(_input) says C(per_worker).
    type: dict
    default: {}
  rewrites:
    description: Registry host to the prefix that serves it instead.
    type: dict
    default: {}
  lock:
    description: Canonical image name to its digest.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Plan the models of the site
  ansible.builtin.set_fact:
    site_plan: >-
      {{ gpustack_models | inferops.gpustack.launch_plan(
           hosts={'nvidia_h20_3e': 8}, rewrites={'docker.io': '10.0.0.5:5000/docker.io'}) }}
"""

RETURN = r"""
_value:
  description: The plan.
  type: dict
  contains:
    deployments:
      description: >-
        One entry for each GPUStack deployment, with name, model, accelerator, path, directories (path, and that of a
        draft model of its own), backend, image, parameters (one string for each argument, in order), env, replicas,
        worker_selector and origins (flag or variable to where its value came from).
      type: list
      elements: dict
    routes:
      description: One entry for each model, with name and targets (deployment name and weight).
      type: list
      elements: dict
    images:
      description: Accelerator to the references of the engine images its hosts need.
      type: dict
"""

from ansible.errors import AnsibleFilterError
from ansible_collections.inferops.gpustack.plugins.plugin_utils import _plan


def launch_plan(models, hosts=None, rewrites=None, lock=None):
    try:
        return _plan.launch_plan(models, hosts, rewrites, lock)
    except _plan.PlanError as error:
        raise AnsibleFilterError(f"launch_plan: {error}") from error


class FilterModule:
    def filters(self):
        return {"launch_plan": launch_plan}
