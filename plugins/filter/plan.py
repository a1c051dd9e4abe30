# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: plan
short_description: Plan the deployments and routes of an inventory's models
version_added: 0.1.0
author: InferOps contributors (@inferops)
description:
  - Turns C(gpustack_models) into the deployments and routes GPUStack is asked for, and says of every argument and every
    variable of the engine where it comes from.
  - Reads nothing but its input and the profiles of this collection, so it needs no connection to any host.
  - Does not judge the plan. The module M(inferops.gpustack.plan) does.
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
  profiles:
    description: What the site adds to the profiles, as described for C(gpustack_profiles).
    type: dict
    default: {}
  engine_images:
    description: What is in engine images of the site's own, as described for C(gpustack_engine_images).
    type: dict
    default: {}
seealso:
  - plugin: inferops.gpustack.launch_args
    plugin_type: filter
  - plugin: inferops.gpustack.kv_capacity
    plugin_type: filter
  - module: inferops.gpustack.plan
"""

EXAMPLES = r"""
- name: Plan the models of the site
  ansible.builtin.set_fact:
    site_plan: >-
      {{ gpustack_models | inferops.gpustack.plan(
           hosts={'nvidia_h20_3e': 8}, rewrites={'docker.io': '10.0.0.5:5000/docker.io'}) }}

- name: Where the arguments of the first deployment come from
  ansible.builtin.debug:
    msg: "{{ item.name }} is {{ item.value }}: {{ item.layer }} ({{ item.source }})"
  loop: "{{ site_plan.deployments[0]['values'] }}"
  loop_control:
    label: "{{ item.name }}"
"""

RETURN = r"""
_value:
  description: The plan.
  type: dict
  contains:
    deployments:
      description: One entry for each GPUStack deployment.
      type: list
      elements: dict
      contains:
        name: {description: "Name of the deployment, C(<model>-<accelerator>).", type: str}
        model: {description: Name of the model., type: str}
        accelerator: {description: Accelerator profile., type: str}
        family: {description: Model family., type: str}
        platform: {description: "C(cuda) or C(cann).", type: str}
        path: {description: Model directory., type: str}
        draft_path: {description: Directory of a draft model of its own., type: str}
        directories: {description: The directories that the engine reads., type: list, elements: str}
        backend: {description: "GPUStack's name of the inference backend.", type: str}
        image: {description: The one reference of the engine image., type: str}
        image_name: {description: "Its canonical name, before rewrites and without digest.", type: str}
        engine: {description: "Inference engine, V(generic) where nobody declared the image.", type: str}
        engine_version: {description: Release of the engine. Null where it is not known., type: str}
        runtime: {description: CUDA or CANN release in the image., type: dict}
        parameters: {description: "The launch arguments, one text each, in order.", type: list, elements: str}
        env: {description: Environment of the engine., type: dict}
        replicas: {description: Instances., type: int}
        worker_selector: {description: Labels of the workers it may run on., type: dict}
        dspark: {description: Whether it drafts with DSpark., type: bool}
        baseline: {description: "Whether it is the one without DSpark, of C(dspark_baseline).", type: bool}
        parallel:
          description: Sizes whose product is RV(_value.deployments[].devices_per_instance).
          type: dict
        devices_per_instance: {description: Cards of one instance., type: int}
        values:
          description: Every argument and variable, in order.
          type: list
          elements: dict
          contains:
            name: {description: Flag or variable., type: str}
            kind: {description: "V(argument) or V(variable).", type: str}
            value: {description: Its value. Variables of a deployment are not shown; they may be secret., type: raw}
            layer: {description: Which layer wrote it., type: str}
            source: {description: "Where that layer's value comes from.", type: str}
            replaced: {description: "What other layers had written, the lowest first.", type: list, elements: dict}
        removed:
          description: What a layer took out with V(null), as RV(_value.deployments[].values).
          type: list
          elements: dict
        capacity:
          description: >-
            What the filter P(inferops.gpustack.kv_capacity#filter) answers, with C(inputs) (what it was asked),
            C(memory) (GiB of one device and how they are known) and C(context) (the longest context for one request).
          type: dict
    routes:
      description: One entry for each name clients use, with name and targets (deployment name and weight).
      type: list
      elements: dict
    images:
      description: Accelerator to the references of the engine images its hosts need.
      type: dict
"""

from ansible.errors import AnsibleFilterError
from ansible_collections.inferops.gpustack.plugins.plugin_utils import _data, _plan, _schema, _site

_COUNTS = {"type": "dict", "entries": {"type": "int", "minimum": 0}}
_TEXTS = {"type": "dict", "entries": {"type": "str"}}


def plan(models, hosts=None, rewrites=None, lock=None, profiles=None, engine_images=None):
    known = _site.known_variables()
    weight = _site.option("gpustack_models.route.weights")["values"]
    given = [
        _sound("models", models, known["gpustack_models"]),
        _sound("hosts", hosts, _COUNTS),
        _sound("rewrites", rewrites, _TEXTS),
        _sound("lock", lock, _TEXTS),
        _sound("profiles", profiles, known["gpustack_profiles"]),
        _sound("engine_images", engine_images, known["gpustack_engine_images"]),
    ]
    for index, model in enumerate(given[0] or ()):
        weights = (model.get("route") or {}).get("weights")
        _sound(f"models[{index}].route.weights", weights, {"type": "dict", "entries": weight})
    try:
        return _plan.plan(*given)
    except _plan.PlanError as error:
        raise AnsibleFilterError(f"plan: {error}") from error


def _sound(name, value, spec):
    """The value as plain data, where it has the shape that it should have; nothing is sound as well."""
    value = _data.plain(value)
    problem = None if value is None else next(_schema.problems(value, spec), None)
    if problem:
        dot = "." if problem.path and not problem.path.startswith("[") else ""
        raise AnsibleFilterError(
            f"plan: {name}{dot}{problem.path} is {problem.found}, where {problem.expected} is needed; {problem.fix}"
        )
    return value


class FilterModule:
    def filters(self):
        return {"plan": plan}
