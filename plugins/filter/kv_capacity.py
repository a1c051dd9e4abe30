# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: kv_capacity
short_description: How many requests and tokens the KV cache of one device holds
version_added: 0.1.0
author: InferOps contributors (@inferops)
description:
  - Works out what vLLM and vllm-ascend print about the KV cache of a DeepSeek-V4 checkpoint, before anything is
    started.
  - The figures depend on O(max_model_len) and O(max_num_batched_tokens) as much as on the memory, because a request is
    admitted only with room for a whole prefill. They are no property of the model.
  - The engine refuses to start where RV(_value.minimum_gib) is more than O(gib_per_device).
positional: _input
extends_documentation_fragment: inferops.gpustack.kv_cache
seealso:
  - plugin: inferops.gpustack.kv_context
    plugin_type: filter
"""

EXAMPLES = r"""
- name: What eight H20-3e will print
  ansible.builtin.debug:
    msg: >-
      {{ read.content | b64decode | from_json | inferops.gpustack.kv_capacity(
           release='0.26.0', platform='cuda', max_model_len=500000,
           max_num_batched_tokens=8192, gib_per_device=108.37, dspark=true) }}
# tokens: 6837341, admission_concurrency: 13.67
"""

RETURN = r"""
_value:
  description: The figures. All of them are null where RV(_value.reason) is set.
  type: dict
  contains:
    tokens:
      description: The log's C(KV cache size), in tokens.
      type: int
    admission_concurrency:
      description:
        - The log's C(Maximum concurrency). The number of requests of full length, all of them in their prefill.
      type: float
    steady_concurrency:
      description:
        - The number of requests of full length that fit once each is past its prefill, when the caches of sliding
          windows and of compressor states hold only their windows and the tokens of a decode step,
          O(max_concurrent_batches) times one and O(speculative_tokens).
        - One more request can begin only while there is also room for its prefill.
      type: float
    minimum_gib:
      description: The memory of one device without which the engine does not start, in GiB.
      type: float
    blocks:
      description: The number of blocks of the cache.
      type: int
    reason:
      description: Why there are no figures for this checkpoint, release or platform. Null where there are.
      type: str
"""

from ansible.errors import AnsibleFilterError
from ansible_collections.inferops.gpustack.plugins.plugin_utils import _capacity, _data


def kv_capacity(config, **asked):
    try:
        return _capacity.capacity(_data.plain(config), **_data.plain(asked))
    except _capacity.CapacityError as error:
        raise AnsibleFilterError(f"kv_capacity: {error}") from error


class FilterModule:
    def filters(self):
        return {"kv_capacity": kv_capacity}
