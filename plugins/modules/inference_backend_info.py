#!/usr/bin/python
# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The inference backends of a GPUStack server."""

from __future__ import annotations

DOCUMENTATION = r"""
module: inference_backend_info
short_description: Read the inference backends of a GPUStack server
version_added: 0.1.0
description:
  - Reads built-in, community and custom backends with their versions. Changes nothing.
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
    description: Only the backend of this name, in its spelling.
    type: str
  backend_source:
    description: Only backends of this kind.
    type: str
    choices: [built_in, community, custom]
"""

EXAMPLES = r"""
- name: Read the inference backends
  inferops.gpustack.inference_backend_info:
    url: http://10.0.0.10
    password: "{{ gpustack_admin_password }}"
  register: backends

- name: vLLM has the version that the deployments name
  inferops.gpustack.inference_backend_info:
    url: http://10.0.0.10
    password: "{{ gpustack_admin_password }}"
    name: vLLM
  register: vllm
  failed_when: vllm.inference_backends[0].built_in_versions is not contains "0.17.1"
"""

RETURN = r"""
inference_backends:
  description:
    - Backends, sorted by name. The names of their fields are the options of M(inferops.gpustack.inference_backend).
    - C(default_version) is what a deployment without a version gets, on built-in backends too.
    - C(versions) holds custom versions only, C(built_in_versions) the names of those that GPUStack brings.
    - The list of a community backend that is not enabled shows none of its custom versions.
  returned: success
  type: list
  elements: dict
"""

from ansible_collections.inferops.gpustack.plugins.module_utils import _inference_backend as backends
from ansible_collections.inferops.gpustack.plugins.module_utils import _info_module


def read(client, params):
    rows = client.list_all(backends.RESOURCE.path)
    # A community backend that is not enabled is only in a list of its own, which hides custom versions.
    listed = {one["id"] for one in rows}
    rows += [one for one in client.list_all(backends.RESOURCE.path, community="true") if one["id"] not in listed]
    views = [listed_view(one) for one in rows]
    source = params["backend_source"]
    return [one for one in _info_module.named(views, params["name"]) if source in (None, one["backend_source"])]


def listed_view(row):
    own = backends.own_versions(row)
    brought = set(row.get("built_in_version_configs") or {}) | set(row.get("version_configs") or {})
    return dict(backends.view(row), built_in_versions=sorted(brought - set(own)))


def main():
    options = {
        "name": {"type": "str"},
        "backend_source": {"type": "str", "choices": ["built_in", "community", "custom"]},
    }
    _info_module.run("inference_backends", read, options)


if __name__ == "__main__":
    main()
