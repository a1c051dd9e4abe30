# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: accelerator_hosts
short_description: Count worker hosts by accelerator
version_added: 0.1.0
author: InferOps contributors (@inferops)
description: Counts the accelerators of worker hosts, as the filter P(inferops.gpustack.plan#filter) wants them.
positional: _input
options:
  _input:
    description: The accelerator of each worker host, one entry for each host.
    type: list
    elements: str
    required: true
"""

EXAMPLES = r"""
- name: How many hosts carry which accelerator
  ansible.builtin.debug:
    msg: >-
      {{ groups['gpustack_worker'] | map('extract', hostvars, 'gpustack_accelerator')
         | inferops.gpustack.accelerator_hosts }}
"""

RETURN = r"""
_value:
  description: Accelerator to the number of hosts.
  type: dict
"""

import collections

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _data


def accelerator_hosts(accelerators):
    return dict(collections.Counter(_data.plain(list(accelerators))))


class FilterModule:
    def filters(self):
        return {"accelerator_hosts": accelerator_hosts}
