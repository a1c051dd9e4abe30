#!/usr/bin/python
# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Deployments of a GPUStack server (the API calls them models), with their instances."""

from __future__ import annotations

DOCUMENTATION = r"""
module: model_info
short_description: Read deployments of a GPUStack server
version_added: 0.1.0
description:
  - Reads deployments and their instances. Changes nothing.
  - Values of environment variables are hidden when their names look like secrets.
author:
  - InferOps contributors (@inferops)
extends_documentation_fragment:
  - inferops.gpustack.auth
  - inferops.gpustack.auth.requests
  - inferops.gpustack.attributes
  - inferops.gpustack.info
options:
  name:
    description: Name of the deployment to read. All are read when it is not set.
    type: str
seealso:
  - module: inferops.gpustack.model
  - module: inferops.gpustack.model_instance_info
"""

EXAMPLES = r"""
- name: Read all deployments
  inferops.gpustack.model_info:
    url: http://10.0.0.10
    password: "{{ gpustack_admin_password }}"
  register: all

- name: No deployment lacks an instance
  ansible.builtin.assert:
    that: all.models | rejectattr('replicas', 'le', 0) | selectattr('ready_replicas', 'eq', 0) | length == 0
"""

RETURN = r"""
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
"""

from ansible_collections.inferops.gpustack.plugins.module_utils import _info_module, _views
from ansible_collections.inferops.gpustack.plugins.module_utils._info_module import named


def read(client, params):
    # The API ignores name= on this list (T13).
    models = named(client.list_all("/v2/models", search=params["name"]), params["name"])
    instances = client.list_all("/v2/model-instances") if models else []
    return [_views.model_view(one, instances) for one in models]


def main():
    _info_module.run("models", read, {"name": {"type": "str"}})


if __name__ == "__main__":
    main()
