# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: kv_context
short_description: The longest context for a number of requests, and what to lower first
version_added: 0.1.0
author: InferOps contributors (@inferops)
description:
  - Answers the opposite question of P(inferops.gpustack.kv_capacity#filter).
  - Says also which of O(max_model_len) and O(max_num_batched_tokens) admits more requests when it is lowered.
positional: _input
extends_documentation_fragment: inferops.gpustack.kv_cache
options:
  requests:
    description: How many requests of full length are to be served at the same time.
    type: int
    required: true
seealso:
  - plugin: inferops.gpustack.kv_capacity
    plugin_type: filter
"""

EXAMPLES = r"""
- name: The longest context of eight 910B for two requests at once
  ansible.builtin.debug:
    msg: >-
      {{ read.content | b64decode | from_json | inferops.gpustack.kv_context(
           requests=2, release='0.26.0', platform='ascend', max_model_len=500000,
           max_num_batched_tokens=4096, gib_per_device=13.89, dspark=true) }}
"""

RETURN = r"""
_value:
  description: The answer. All of it is null where RV(_value.reason) is set.
  type: dict
  contains:
    max_model_len:
      description:
        - The largest O(max_model_len) with which the engine starts and prints a concurrency of at least O(requests),
          not above C(max_position_embeddings) of O(_input). V(0) where there is none.
      type: int
    lever:
      description:
        - V(max_model_len) or V(max_num_batched_tokens), whichever admits more requests when it is halved;
          V(max_num_batched_tokens) where both do the same, as it costs no context.
      type: str
    halved:
      description: The concurrency that the engine prints with half of V(max_model_len) and V(max_num_batched_tokens).
      type: dict
    reason:
      description: Why there is no answer for this checkpoint, release or platform. Null where there is.
      type: str
"""

from ansible.errors import AnsibleFilterError
from ansible_collections.inferops.gpustack.plugins.plugin_utils import _capacity, _data


def kv_context(config, requests=None, **asked):
    try:
        return _capacity.context(_data.plain(config), requests, **_data.plain(asked))
    except _capacity.CapacityError as error:
        raise AnsibleFilterError(f"kv_context: {error}") from error


class FilterModule:
    def filters(self):
        return {"kv_context": kv_context}
