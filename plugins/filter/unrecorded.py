# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: unrecorded
short_description: Entries that the manifest of a host does not hold yet
version_added: 0.1.0
description:
  - Tells what M(inferops.gpustack.manifest) would write, so that a role can skip the task when it would write nothing.
author:
  - InferOps contributors (@inferops)
positional: recorded
options:
  _input:
    description: Entries a role is about to record, each with C(kind), C(name) and C(by).
    type: list
    elements: dict
    required: true
  recorded:
    description: Entries of the manifest, C(ansible_facts.gpustack_host.manifest.entries).
    type: list
    elements: dict
    required: true
seealso:
  - module: inferops.gpustack.manifest
"""

EXAMPLES = r"""
- name: Record what is new
  inferops.gpustack.manifest:
    entries: "{{ __worker_made | inferops.gpustack.unrecorded(ansible_facts.gpustack_host.manifest.entries) }}"
  when: __worker_made | inferops.gpustack.unrecorded(ansible_facts.gpustack_host.manifest.entries) | length > 0
"""

RETURN = r"""
_value:
  description: The entries that are missing from the manifest, or that their own role recorded differently.
  type: list
  elements: dict
"""

from ansible.errors import AnsibleFilterError
from ansible_collections.inferops.gpustack.plugins.module_utils import _manifest


def unrecorded(entries, recorded):
    for name, value in (("the input", entries), ("recorded", recorded)):
        if not isinstance(value, list) or not all(
            isinstance(entry, dict) and {"kind", "name"} <= set(entry) for entry in value
        ):
            raise AnsibleFilterError(f"unrecorded: {name} is not a list of entries with 'kind' and 'name': {value!r}")
    known = {_manifest.key_of(entry): entry for entry in recorded}
    return [entry for entry in entries if _manifest.needs_recording(known.get(_manifest.key_of(entry)), entry)]


class FilterModule:
    def filters(self):
        return {"unrecorded": unrecorded}
