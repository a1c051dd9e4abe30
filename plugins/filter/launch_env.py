# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: launch_env
short_description: Environment of an engine as GPUStack takes it
version_added: 0.1.0
author: InferOps contributors (@inferops)
description:
  - GPUStack takes only texts as values of a deployment's C(env). Numbers become text; V(null) leaves a variable out.
  - V(true), V(false), mappings and lists are refused, because engines differ in the words they read for them.
positional: _input
options:
  _input:
    description: Variable to value.
    type: dict
    required: true
seealso:
  - plugin: inferops.gpustack.launch_args
    plugin_type: filter
"""

EXAMPLES = r"""
- name: An environment for a deployment
  ansible.builtin.debug:
    msg: "{{ {'VLLM_ENGINE_READY_TIMEOUT_S': 3600, 'OMP_NUM_THREADS': none} | inferops.gpustack.launch_env }}"
    # {'VLLM_ENGINE_READY_TIMEOUT_S': '3600'}
"""

RETURN = r"""
_value:
  description: Variable to text.
  type: dict
"""

from ansible.errors import AnsibleFilterError
from ansible_collections.inferops.gpustack.plugins.plugin_utils import _data


def launch_env(variables):
    given = _data.plain(variables)
    if not isinstance(given, dict):
        raise AnsibleFilterError(f"launch_env: {type(given).__name__} given; give a mapping of variables to values")
    refused = [name for name, value in given.items() if isinstance(value, (bool, dict, list))]
    if refused:
        raise AnsibleFilterError(
            f"launch_env: no text or number: {', '.join(map(str, refused))}; write in quotes what the engine expects, "
            'such as "1" or "true"'
        )
    return {str(name): str(value) for name, value in given.items() if value is not None}


class FilterModule:
    def filters(self):
        return {"launch_env": launch_env}
