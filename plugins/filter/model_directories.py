# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: model_directories
short_description: Model directories that the hosts of an accelerator hold
version_added: 0.1.0
author: InferOps contributors (@inferops)
description:
  - Names the C(path) and the C(draft_path) of every deployment on an accelerator, each once and in order.
  - What has another shape is left out; preflight reports it.
positional: _input, accelerator
options:
  _input:
    description: The models of the site, usually C(gpustack_models).
    type: list
    elements: dict
    required: true
  accelerator:
    description: Accelerator profile, usually C(gpustack_accelerator) of the host.
    type: str
    default: ''
"""

EXAMPLES = r"""
- name: Show what belongs on a host with H20-3e
  ansible.builtin.debug:
    msg: "{{ gpustack_models | inferops.gpustack.model_directories('nvidia_h20_3e') }}"
"""

RETURN = r"""
_value:
  description: Paths.
  type: list
  elements: str
  sample: [/srv/models/DeepSeek-V4-Flash-0731]
"""

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _data, _site


def model_directories(models, accelerator=""):
    models = _data.plain(models)
    entries = [
        entry
        for model in (models if isinstance(models, list) else [])
        for unused, entry in _site.deployments(_data.mapping(model))
        if accelerator and entry.get("accelerator") == accelerator
    ]
    paths = [entry.get(key) for entry in entries for key in ("path", "draft_path")]
    return list(dict.fromkeys(path for path in paths if isinstance(path, str) and path))


class FilterModule:
    def filters(self):
        return {"model_directories": model_directories}
