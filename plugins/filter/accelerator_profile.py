# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: accelerator_profile
short_description: What is known about one accelerator
version_added: 0.1.0
author: InferOps contributors (@inferops)
description: Gives the profile a host's C(gpustack_accelerator) names.
positional: _input
options:
  _input:
    description: Name of the profile.
    type: str
    required: true
  profiles:
    description: What the site adds to the profiles, as described for C(gpustack_profiles).
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: The container runtime of this host's cards
  ansible.builtin.debug:
    msg: "{{ (gpustack_accelerator | inferops.gpustack.accelerator_profile).container.runtime }}"
"""

RETURN = r"""
_value:
  description: The profile.
  type: dict
  contains:
    profile:
      description: Name of the profile.
      type: str
    name:
      description: Name of the card.
      type: str
    vendor:
      description: C(nvidia) or C(ascend).
      type: str
    pci_ids:
      description: Vendor and device in hexadecimal, of every variant.
      type: list
      elements: str
    memory_bytes:
      description: Nominal memory of one card in bytes.
      type: int
    compute_capability:
      description: CUDA compute capability, or null.
      type: str
    platform:
      description: Software platform of the engine images, C(cuda) or C(cann).
      type: str
    device_type:
      description: GPUStack's name for the device type, C(cuda) or C(cann).
      type: str
    container:
      description: What a worker container needs, as runtime (name of the container runtime) and env (variables).
      type: dict
    sources:
      description: Where each value comes from.
      type: dict
"""

from ansible.errors import AnsibleFilterError
from ansible_collections.inferops.gpustack.plugins.plugin_utils import _data, _profiles


def accelerator_profile(name, profiles=None):
    try:
        return _profiles.Profiles(_data.plain(profiles)).accelerator(_data.plain(name))
    except _profiles.ProfileError as error:
        raise AnsibleFilterError(f"accelerator_profile: {error}") from error


class FilterModule:
    def filters(self):
        return {"accelerator_profile": accelerator_profile}
