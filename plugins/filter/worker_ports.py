# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: worker_ports
short_description: TCP ports that a GPUStack worker and the engines on it listen on
version_added: 0.1.0
author: InferOps contributors (@inferops)
description:
  - Tells which ports of a worker host others must reach, by the worker's configuration and GPUStack's defaults.
  - What is not a port or a range is left out; preflight reports it.
positional: _input
options:
  _input:
    description: The worker's configuration in GPUStack's own names, usually C(gpustack_worker_config).
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Show the ports to open
  ansible.builtin.debug:
    msg: "{{ gpustack_worker_config | default({}, true) | inferops.gpustack.worker_ports }}"
"""

RETURN = r"""
_value:
  description: Ports and ranges C(first-last), as texts.
  type: list
  elements: str
  sample: ["10150", "10151", "40000-40063", "41000-41999"]
"""

from ansible.errors import AnsibleFilterError
from ansible_collections.inferops.gpustack.plugins.plugin_utils import _check_ports


def worker_ports(config):
    if not isinstance(config, dict):
        # Its value may be secret.
        raise AnsibleFilterError("worker_ports: the input is not a mapping")
    return [_check_ports.text(span) for span in _check_ports.worker_ports(config).values()]


class FilterModule:
    def filters(self):
        return {"worker_ports": worker_ports}
