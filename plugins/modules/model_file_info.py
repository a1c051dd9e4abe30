#!/usr/bin/python
# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The model files that the workers of a GPUStack server have."""

from __future__ import annotations

DOCUMENTATION = r"""
module: model_file_info
short_description: Read the model files of GPUStack workers
version_added: 0.1.0
description:
  - Reads which models the workers have downloaded or found on their disks, and how far they are. Changes nothing.
author:
  - InferOps contributors (@inferops)
extends_documentation_fragment:
  - inferops.gpustack.auth
  - inferops.gpustack.auth.requests
  - inferops.gpustack.attributes
  - inferops.gpustack.info
options:
  worker:
    description: Only the model files of the worker of this name.
    type: str
  local_path:
    description: Only model files of this path.
    type: str
  huggingface_repo_id:
    description: Only model files of this repository on Hugging Face.
    type: str
  model_scope_model_id:
    description: Only model files of this model on ModelScope.
    type: str
  state:
    description: Only model files in this state.
    type: str
    choices: [downloading, ready, error]
"""

EXAMPLES = r"""
- name: Read what the workers could not find or download
  inferops.gpustack.model_file_info:
    url: http://10.0.0.10
    password: "{{ gpustack_admin_password }}"
    state: error
  register: broken

- name: Read what one worker has
  inferops.gpustack.model_file_info:
    url: http://10.0.0.10
    password: "{{ gpustack_admin_password }}"
    worker: h20-01
  register: files
"""

RETURN = r"""
model_files:
  description:
    - Model files, sorted by worker and source. Their fields are those of C(model_file) of
      M(inferops.gpustack.model_file).
  returned: success
  type: list
  elements: dict
"""

from ansible_collections.inferops.gpustack.plugins.module_utils import _info_module
from ansible_collections.inferops.gpustack.plugins.module_utils._views import model_file_view

FILTERS = ("worker", "local_path", "huggingface_repo_id", "model_scope_model_id", "state")
ORDER = (
    "worker",
    "local_path",
    "huggingface_repo_id",
    "huggingface_filename",
    "model_scope_model_id",
    "model_scope_file_path",
    "local_dir",
)


def read(client, params):
    names = {one["id"]: one["name"] for one in client.list_all("/v2/workers")}
    views = [model_file_view(one, names.get(one["worker_id"])) for one in client.list_all("/v2/model-files")]
    return [one for one in views if all(params[key] in (None, one[key]) for key in FILTERS)]


def order(view):
    return [str(view[key] or "") for key in ORDER]


def main():
    options = {key: {"type": "str"} for key in FILTERS}
    options["state"]["choices"] = ["downloading", "ready", "error"]
    _info_module.run("model_files", read, options, order=order)


if __name__ == "__main__":
    main()
