# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the filters about the KV cache are asked about."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  _input:
    description: The content of the checkpoint's C(config.json).
    type: dict
    required: true
  release:
    description:
      - Release of the vLLM that runs, such as V(0.26.0). With vllm-ascend, the vLLM that it is built for.
      - On V(cuda) 0.25 to 0.33 without 0.28 are modelled, on V(ascend) 0.25 to 0.27.
    type: str
    required: true
  platform:
    description:
      - V(cuda) with an fp8 cache and C(--block-size 256), or V(ascend) (Atlas A2 and A3, of which the 910B is one) with
        C(--block-size 128).
    type: str
    required: true
  max_model_len:
    description: The engine's C(--max-model-len), in tokens.
    type: int
    required: true
  max_num_batched_tokens:
    description: The engine's C(--max-num-batched-tokens).
    type: int
    required: true
  gib_per_device:
    description:
      - The memory of one device that is left for the cache, as in the log's line C(Available KV cache memory).
      - Every device of a tensor-parallel group holds the whole cache, so this is not multiplied by their number.
    type: float
    required: true
  dspark:
    description:
      - Whether the checkpoint's DSpark draft stages are loaded, with C(--speculative-config). Other ways of speculation
        are not modelled.
    type: bool
    required: true
  max_concurrent_batches:
    description:
      - How many batches are in flight at the same time. The default is 2, that of asynchronous scheduling
        without pipeline parallelism; without either it is 1.
      - Release 0.25 counts one batch however many run, and takes no other value.
    type: int
  speculative_tokens:
    description: Tokens that are drafted for each step. The default is 7 with O(dspark), 0 without.
    type: int
"""
