# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: config_json_problems
short_description: What is wrong with the config.json of model directories
version_added: 0.1.0
author: InferOps contributors (@inferops)
description:
  - Judges the results of reading C(config.json) of several model directories with M(ansible.builtin.slurp).
  - A file is good when it is a JSON object with C(model_type). The weights are not looked at.
positional: _input
options:
  _input:
    description: The results of the loop; C(item) of each is the model directory.
    type: list
    elements: dict
    required: true
"""

EXAMPLES = r"""
- name: Stop when a model directory holds no model
  ansible.builtin.assert:
    that: read.results | inferops.gpustack.config_json_problems | length == 0
"""

RETURN = r"""
_value:
  description: One line for each directory that is not good.
  type: list
  elements: str
"""

import base64
import json


def config_json_problems(results):
    return [f"{result['item']}: {problem}" for result in results for problem in [_problem(result)] if problem]


def _problem(result):
    if "content" not in result:
        return result.get("msg") or "config.json cannot be read"
    try:
        content = json.loads(base64.b64decode(result["content"]))
    except ValueError as error:
        return f"config.json is not JSON ({error})"
    if not isinstance(content, dict) or "model_type" not in content:
        return "config.json has no model_type, so this is no checkpoint"
    return None


class FilterModule:
    def filters(self):
        return {"config_json_problems": config_json_problems}
