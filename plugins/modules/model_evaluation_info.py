#!/usr/bin/python
# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the scheduler of a GPUStack server would say to deployments that do not exist yet."""

from __future__ import annotations

DOCUMENTATION = r"""
module: model_evaluation_info
short_description: Ask whether deployments would fit
version_added: 0.1.0
description:
  - Asks the scheduler of a GPUStack server whether it could place one instance of each deployment. Changes nothing.
  - The server remembers an answer for some minutes. It does not look at chosen devices when C(replicas) is
    V(0).
author:
  - InferOps contributors (@inferops)
extends_documentation_fragment:
  - inferops.gpustack.auth
  - inferops.gpustack.auth.requests
  - inferops.gpustack.attributes
  - inferops.gpustack.info
options:
  cluster:
    description:
      - Name of the cluster to place them in.
      - May be left out when the server has one cluster.
    type: str
  models:
    description:
      - Deployments, each with options of M(inferops.gpustack.model) that describe one, such as C(name), C(local_path),
        C(image_name), C(backend_parameters) and C(worker_selector).
    type: list
    elements: dict
    required: true
seealso:
  - module: inferops.gpustack.model
"""

EXAMPLES = r"""
- name: Ask before something is stopped for it
  inferops.gpustack.model_evaluation_info:
    url: http://10.0.0.10
    password: "{{ gpustack_admin_password }}"
    cluster: lab
    models:
      - name: deepseek-v4-flash
        local_path: /srv/models/DeepSeek-V4-Flash-0731
        backend: vLLM
        worker_selector:
          gpustack-accelerator: nvidia_h20_3e
  register: evaluation

- name: Show what stands in the way
  ansible.builtin.debug:
    msg: "{{ item.messages }}"
  loop: "{{ evaluation.evaluations | rejectattr('compatible') }}"
  loop_control:
    label: "{{ item.name }}"
"""

RETURN = r"""
evaluations:
  description: One for each of O(models), in the same order.
  returned: success
  type: list
  elements: dict
  contains:
    name: {description: Name of the deployment., type: str}
    compatible: {description: Whether the scheduler would place an instance now., type: bool}
    messages: {description: What the scheduler says., type: list, elements: str}
    ram_bytes: {description: Memory that one instance would claim. Null when it is not known., type: int}
    vram_bytes: {description: Memory of devices that one instance would claim. Null when it is not known., type: int}
"""

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible_collections.inferops.gpustack.plugins.module_utils import _args, _model, _resource
from ansible_collections.inferops.gpustack.plugins.module_utils._clusters import find_cluster
from ansible_collections.inferops.gpustack.plugins.module_utils._errors import GpustackError
from ansible_collections.inferops.gpustack.plugins.module_utils._secrets import secret_values

#: Deployments have this option, and specifications do not.
NOT_ASKED = "enable_model_route"


def specification(model):
    """What the API knows as a model specification."""
    options = {key: value for key, value in _resource.argument_spec(_model.MODEL).items() if key != NOT_ASKED}
    result = ArgumentSpecValidator(options).validate(model)
    problem = "; ".join(result.error_messages)
    if result.unsupported_parameters:
        names = sorted(one if isinstance(one, str) else ".".join(one) for one in result.unsupported_parameters)
        problem = f"inferops.gpustack.model has no option {', '.join(names)}"
    if problem:
        raise GpustackError(
            f"models has a deployment {model.get('name', 'without a name')} that cannot be read: {problem}.",
            reason="Invalid",
            hint="Use options of inferops.gpustack.model that describe a deployment, and give each a name.",
        )
    wanted = _model.checked(_resource.desired(_model.MODEL, result.validated_parameters))
    return _resource.create_payload(_model.MODEL, wanted)


def body(module):
    specifications = [specification(one) for one in module.params["models"]]
    client = _args.connect(module)
    cluster = find_cluster(client, module.params["cluster"])
    question = {"cluster_id": cluster["id"], "model_specs": specifications}
    answer = client.post("/v2/model-evaluations", question, repeatable=True)
    pairs = zip(specifications, answer["results"])
    return {"changed": False, "evaluations": [view(one["name"], result) for one, result in pairs]}


def view(name, result):
    messages = (result.get("compatibility_messages") or []) + (result.get("scheduling_messages") or [])
    if result.get("error"):
        messages.append(result.get("error_message") or "The server failed to evaluate it.")
    claim = result.get("resource_claim") or {}
    return {
        "name": name,
        "compatible": bool(result.get("compatible")) and not result.get("error"),
        "messages": messages,
        "ram_bytes": claim.get("ram"),
        "vram_bytes": claim.get("vram"),
    }


def when_unreachable(module):
    return {"changed": False, "evaluations": []}


def main():
    options = {
        "cluster": {"type": "str"},
        "models": {"type": "list", "elements": "dict", "required": True},
    }
    module = _args.api_module(options)
    for model in module.params["models"]:
        module.no_log_values.update(secret_values(model.get("env") or {}))
    _args.run(module, body, when_unreachable)


if __name__ == "__main__":
    main()
