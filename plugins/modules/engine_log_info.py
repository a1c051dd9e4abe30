#!/usr/bin/python
# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the engines behind the deployments of a GPUStack server told about themselves when they started."""

from __future__ import annotations

DOCUMENTATION = r"""
module: engine_log_info
short_description: Read what engines told about their KV cache when they started
version_added: 0.1.0
description:
  - Reads the beginnings of the logs of running instances, and returns the figures that vLLM and vllm-ascend write
    there. Changes nothing.
  - A log is read until its engine serves, at most 2 MiB of it and for about 10 seconds. Nothing else of it is returned,
    because a log may hold secrets.
author:
  - InferOps contributors (@inferops)
extends_documentation_fragment:
  - inferops.gpustack.auth
  - inferops.gpustack.auth.requests
  - inferops.gpustack.attributes
  - inferops.gpustack.info
options:
  deployments:
    description: Names of the deployments whose instances are read. All of them when unset.
    type: list
    elements: str
seealso:
  - module: inferops.gpustack.model_instance_info
  - plugin: inferops.gpustack.engine_log_findings
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Read what the engines told
  inferops.gpustack.engine_log_info:
    url: http://10.0.0.10
    password: "{{ gpustack_admin_password }}"
    deployments: [deepseek-v4-flash-nvidia_h20_3e]
  register: engines

- name: Every engine has room for ten requests of full length
  ansible.builtin.assert:
    that: engines.instances | selectattr('concurrency') | rejectattr('concurrency', 'ge', 10) | length == 0
"""

RETURN = r"""
instances:
  description: The running instances, sorted by name. A figure is null where the log does not tell it.
  returned: success
  type: list
  elements: dict
  contains:
    name: {description: Name of the instance., type: str}
    model_name: {description: Name of its deployment., type: str}
    worker_name: {description: Worker it runs on., type: str}
    engine_version: {description: "Version of vLLM, for example V(0.26.0).", type: str}
    kv_cache_gib: {description: Memory for the KV cache on each device. That of the device with the least., type: float}
    kv_cache_tokens: {description: "The log's C(KV cache size), in tokens.", type: int}
    concurrency:
      description: The log's C(Maximum concurrency), requests of full length that are in their prefill.
      type: float
    max_model_len: {description: The length of such a request., type: int}
    max_num_batched_tokens: {description: The argument of this name. Null where it is the engine's default., type: int}
    draft_parameters: {description: "Parameters of DSpark's draft that were loaded. None of them is V(0).", type: int}
    unknown_variables:
      description: Names of environment variables that the engine took no notice of.
      type: list
      elements: str
    problem: {description: Why there are no figures of the KV cache. Null where there are., type: str}
"""

from ansible_collections.inferops.gpustack.plugins.module_utils import _engine_log, _info_module, _release

PATH = "/v2/model-instances"
FIGURES = (
    "engine_version",
    "kv_cache_gib",
    "kv_cache_tokens",
    "concurrency",
    "max_model_len",
    "draft_parameters",
    "unknown_variables",
)
#: Servers before it read a log to its end, which takes their memory, unless they follow it.
STREAMS_LOGS = (2, 3)


def read(client, params):
    wanted = params["deployments"]
    running = [
        one
        for one in client.list_all(PATH)
        if one.get("state") == "running" and (wanted is None or one.get("model_name") in wanted)
    ]
    follow = bool(running) and _release.is_older(client, STREAMS_LOGS)
    return [view(client, one, follow) for one in running]


def view(client, instance, follow):
    told, problem = _engine_log.read(client, f"{PATH}/{instance['id']}/logs", follow)
    batched = (told["non_default_args"] or {}).get("max_num_batched_tokens")
    return dict(
        {key: instance.get(key) for key in ("name", "model_name", "worker_name")},
        **{key: told[key] for key in FIGURES},
        max_num_batched_tokens=batched if isinstance(batched, int) else None,
        problem=problem,
    )


def main():
    _info_module.run("instances", read, {"deployments": {"type": "list", "elements": "str"}})


if __name__ == "__main__":
    main()
