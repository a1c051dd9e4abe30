# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: differing
short_description: Objects of GPUStack that are not yet what they shall be
version_added: 0.1.0
description:
  - Tells for which objects a module of this collection has something to do, from one reading of all of them. A role
    then calls the module for those only.
  - Errs on the side of the module, which compares exactly. An object with a hidden secret always counts as differing.
author:
  - InferOps contributors (@inferops)
positional: found, options
options:
  _input:
    description: What shall be, each a dictionary of C(name) and other options of the module.
    type: list
    elements: dict
    required: true
  found:
    description: What is, as the module's C(_info) module returns it.
    type: list
    elements: dict
    required: true
  options:
    description:
      - Which key of the input stands for which option, as a dictionary, when the keys have other names. Keys that are
        not in it are not compared.
    type: dict
seealso:
  - module: inferops.gpustack.model_info
  - module: inferops.gpustack.model_route_info
"""

EXAMPLES = r"""
- name: Read the deployments
  inferops.gpustack.model_info:
  register: found

- name: Change those that differ
  inferops.gpustack.model:
    name: "{{ item.name }}"
    local_path: "{{ item.local_path }}"
  loop: "{{ deployments | inferops.gpustack.differing(found.models) }}"

- name: Change those that differ, where the path has another name
  inferops.gpustack.model:
    name: "{{ item.name }}"
    local_path: "{{ item.directory }}"
  loop: "{{ deployments | inferops.gpustack.differing(found.models, {'directory': 'local_path'}) }}"
"""

RETURN = r"""
_value:
  description: Those of the input that are missing, or that have an option with another value.
  type: list
  elements: dict
"""

from ansible.errors import AnsibleFilterError
from ansible_collections.inferops.gpustack.plugins.module_utils._secrets import MASK

EMPTY = (None, "", [], {})


def differing(wanted, found, options=None):
    for what, value in (("the input", wanted), ("found", found)):
        problem = _problem(value)
        if problem:
            raise AnsibleFilterError(f"differing: {what} is not a list of dictionaries with 'name': {problem}")
    if not isinstance(options, (dict, type(None))):
        raise AnsibleFilterError(f"differing: options is not a dictionary: {options!r}")
    present = {one["name"]: one for one in found}
    return [one for one in wanted if one["name"] not in present or _differs(_named(one, options), present[one["name"]])]


def _problem(value):
    """Without the value, which may hold secrets."""
    if not isinstance(value, list):
        return f"it is of the type {type(value).__name__}"
    for number, one in enumerate(value, 1):
        if not isinstance(one, dict):
            return f"member {number} is of the type {type(one).__name__}"
        if not isinstance(one.get("name"), (str, int)):
            return f"the name of member {number} is of the type {type(one.get('name')).__name__}"
    return None


def _named(one, options):
    return one if options is None else {option: one[key] for key, option in options.items() if key in one}


def _differs(wanted, present):
    return any(not _equal(value, present.get(option)) for option, value in wanted.items())


def _equal(wanted, present):
    if wanted in EMPTY and present in EMPTY:
        return True
    if isinstance(wanted, dict) and MASK in wanted.values():
        return False
    if _is_list_of_dicts(wanted) and _is_list_of_dicts(present):
        return _same_members(wanted, present)
    return wanted == present


def _is_list_of_dicts(value):
    return isinstance(value, list) and all(isinstance(one, dict) for one in value)


def _same_members(wanted, present):
    """In any order; what an info module tells of a member beyond the options does not count."""
    rest = list(present)
    for one in wanted:
        match = next((other for other in rest if not _differs(one, other)), None)
        if match is None:
            return False
        rest.remove(match)
    return not rest


class FilterModule:
    def filters(self):
        return {"differing": differing}
