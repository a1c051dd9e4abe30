#!/usr/bin/python
# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Instances of the deployments of a GPUStack server."""

from __future__ import annotations

DOCUMENTATION = r"""
module: model_instance_info
short_description: Read instances of the deployments of a GPUStack server
version_added: 0.1.0
description:
  - Reads the instances of deployments and, when asked, the ends of their logs. Changes nothing.
author:
  - InferOps contributors (@inferops)
extends_documentation_fragment:
  - inferops.gpustack.auth
  - inferops.gpustack.auth.requests
  - inferops.gpustack.attributes
  - inferops.gpustack.info
options:
  name:
    description: Name of the instance to read.
    type: str
  model:
    description: Name of the deployment whose instances are read.
    type: str
  worker:
    description: Name of the worker whose instances are read.
    type: str
  state:
    description: State of the instances that are read, for example V(running), V(pending), V(downloading) or V(error).
    type: str
  log_lines:
    description:
      - Number of lines to read from the end of each log. Costs a request for each instance.
      - A log is returned as the engine wrote it, with everything it may contain.
    type: int
    default: 0
seealso:
  - module: inferops.gpustack.model_info
"""

EXAMPLES = r"""
- name: Read why instances failed
  inferops.gpustack.model_instance_info:
    url: http://10.0.0.10
    password: "{{ gpustack_admin_password }}"
    state: error
    log_lines: 20
  register: failed

- name: Show it
  ansible.builtin.debug:
    msg: "{{ [item.state_message] + item.log }}"
  loop: "{{ failed.instances }}"
  loop_control:
    label: "{{ item.name }}"
"""

RETURN = r"""
instances:
  description: Instances, sorted by name.
  returned: success
  type: list
  elements: dict
  contains:
    id: {description: Number of the instance., type: int}
    name: {description: Name., type: str}
    model_name: {description: Name of its deployment., type: str}
    worker_name: {description: Worker it was given to. Null while it is pending., type: str}
    worker_ip: {description: Address of that worker., type: str}
    state: {description: State., type: str}
    state_message: {description: Why it is in that state., type: str}
    ports: {description: Ports of the engine on the worker., type: list, elements: int}
    gpu_indexes: {description: Indexes of its devices on the worker., type: list, elements: int}
    gpu_type: {description: "Type of its devices, for example V(cuda).", type: str}
    backend: {description: Inference backend., type: str}
    backend_version: {description: Version of the backend., type: str}
    download_progress: {description: Per cent of the model that are on the worker., type: float}
    restart_count: {description: How often it was started again., type: int}
    log: {description: The last lines of its log. Empty unless O(log_lines) is set., type: list, elements: str}
    log_problem: {description: Why the log cannot be read., type: str}
"""

from ansible_collections.inferops.gpustack.plugins.module_utils import _info_module
from ansible_collections.inferops.gpustack.plugins.module_utils._errors import GpustackError
from ansible_collections.inferops.gpustack.plugins.module_utils._views import instance_view

PATH = "/v2/model-instances"
MORE = (
    "id",
    "model_name",
    "worker_ip",
    "gpu_indexes",
    "gpu_type",
    "backend",
    "backend_version",
    "download_progress",
)


#: Options that choose, and the fields they look at. The server answers 500 to a state that it does not know.
FILTERS = {"name": "name", "model": "model_name", "worker": "worker_name", "state": "state"}


def read(client, params):
    found = client.list_all(PATH)
    for option, key in FILTERS.items():
        found = [one for one in found if params[option] in (None, one.get(key))]
    return [view(client, one, params["log_lines"]) for one in found]


def view(client, instance, lines):
    log, problem = read_log(client, instance, lines) if lines > 0 else ([], None)
    return dict({key: instance.get(key) for key in MORE}, **instance_view(instance), log=log, log_problem=problem)


def read_log(client, instance, lines):
    if not instance.get("worker_id"):
        return [], "The instance has no worker yet."
    try:
        text = client.text(f"{PATH}/{instance['id']}/logs", tail=lines)
    except GpustackError as error:
        return [], error.message
    # The server adds what goes wrong later as text, and some of its own lines to the number that is asked for.
    return text.splitlines()[-lines:], None


def main():
    options = dict({name: {"type": "str"} for name in FILTERS}, log_lines={"type": "int", "default": 0})
    _info_module.run("instances", read, options)


if __name__ == "__main__":
    main()
