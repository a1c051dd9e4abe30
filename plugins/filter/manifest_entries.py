# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: manifest_entries
short_description: Entries of one kind for a host's manifest
version_added: 0.1.0
author: InferOps contributors (@inferops)
description: Turns names of one kind into the entries the module M(inferops.gpustack.manifest) records.
positional: _input
options:
  _input:
    description: Names, such as paths or image references.
    type: list
    elements: str
    required: true
  kind:
    description: What the names name, for example C(file), C(container) or C(image).
    type: str
    required: true
  by:
    description: The role that makes them.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Record two images
  inferops.gpustack.manifest:
    entries: "{{ references | inferops.gpustack.manifest_entries(kind='image', by='image_prefetch') }}"
"""

RETURN = r"""
_value:
  description: One entry for each name.
  type: list
  elements: dict
"""


def manifest_entries(names, kind, by):
    return [{"kind": kind, "name": str(name), "by": by} for name in names]


class FilterModule:
    def filters(self):
        return {"manifest_entries": manifest_entries}
