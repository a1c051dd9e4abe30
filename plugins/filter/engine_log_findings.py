# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: engine_log_findings
short_description: Where engines are not what was planned
version_added: 0.1.0
author: InferOps contributors (@inferops)
description:
  - Compares planned deployments with what their engines told when they started.
  - The size of the KV cache is worked out again for the memory that the engine has. More than 1 % of difference is a
    finding. Where the KV cache is not modelled, its size is not compared.
positional: instances
options:
  _input:
    description: C(deployments) of the plan that P(inferops.gpustack.plan#filter) makes.
    type: list
    elements: dict
    required: true
  instances:
    description: What the engines told, as M(inferops.gpustack.engine_log_info) returns it.
    type: list
    elements: dict
    required: true
seealso:
  - module: inferops.gpustack.engine_log_info
  - plugin: inferops.gpustack.kv_capacity
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Read what the engines told
  inferops.gpustack.engine_log_info:
  register: engines

- name: No engine differs from the plan
  ansible.builtin.assert:
    that: plan.deployments | inferops.gpustack.engine_log_findings(engines.instances) | length == 0
"""

RETURN = r"""
_value:
  description:
    - The findings, each C({id, severity, where, found, expected, fix, source, accepted}).
    - The id is V(dspark_draft_empty), an error, or one of the warnings V(kv_capacity_differs),
      V(engine_context_differs) and V(engine_variable_unknown).
  type: list
  elements: dict
"""

from ansible.errors import AnsibleFilterError
from ansible_collections.inferops.gpustack.plugins.plugin_utils import _check_engine_log, _findings


def engine_log_findings(deployments, instances):
    for what, value in (("the input", deployments), ("instances", instances)):
        if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
            raise AnsibleFilterError(f"engine_log_findings: {what} is not a list of dictionaries")
    try:
        found = _check_engine_log.findings(deployments, instances)
    except KeyError as error:
        raise AnsibleFilterError(f"engine_log_findings: a deployment or an instance has no {error}") from error
    return [finding.as_dict() for finding in _findings.ordered(found)]


class FilterModule:
    def filters(self):
        return {"engine_log_findings": engine_log_findings}
