# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: pci_profiles
short_description: Every accelerator card this collection knows
version_added: 0.1.0
author: InferOps contributors (@inferops)
description:
  - The table the host probe matches a host's PCI devices against.
  - Cards without an accelerator profile are listed too, with V(null) as their profile, so that a host can name them.
positional: _input
options:
  _input:
    description: Vendors to list, C(nvidia) or C(ascend); an empty list means all.
    type: list
    elements: str
    required: true
  profiles:
    description: What the site adds to the profiles, as described for C(gpustack_profiles).
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Show the known cards
  ansible.builtin.debug:
    msg: "{{ [] | inferops.gpustack.pci_profiles }}"
"""

RETURN = r"""
_value:
  description: The cards, sorted by PCI id.
  type: list
  elements: dict
  contains:
    pci_id:
      description: Vendor and device in hexadecimal, for example C(10de:232c).
      type: str
    vendor:
      description: C(nvidia) or C(ascend).
      type: str
    profile:
      description: Accelerator profile, or null.
      type: str
    memory_bytes:
      description: Nominal memory of one card in bytes, or null.
      type: int
    name:
      description: Name of the card.
      type: str
"""

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _data, _profiles


def pci_profiles(vendors, profiles=None):
    wanted = vendors if isinstance(vendors, (list, tuple)) else []
    known = _profiles.Profiles(_data.plain(profiles)).pci_profiles()
    return [card for card in known if not wanted or card["vendor"] in wanted]


class FilterModule:
    def filters(self):
        return {"pci_profiles": pci_profiles}
