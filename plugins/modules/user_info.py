#!/usr/bin/python
# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The users of a GPUStack server."""

from __future__ import annotations

DOCUMENTATION = r"""
module: user_info
short_description: Read the users of a GPUStack server
version_added: 0.1.0
description:
  - Reads users. Changes nothing. Needs the credentials of an administrator.
author:
  - InferOps contributors (@inferops)
extends_documentation_fragment:
  - inferops.gpustack.auth
  - inferops.gpustack.auth.requests
  - inferops.gpustack.attributes
  - inferops.gpustack.info
options:
  name:
    description: Name of one user. All users are read when it is not set.
    type: str
seealso:
  - module: inferops.gpustack.user
"""

EXAMPLES = r"""
- name: Read the users
  inferops.gpustack.user_info:
    url: http://10.0.0.10
    password: "{{ gpustack_admin_password }}"
  register: read

- name: Show who is an administrator
  ansible.builtin.debug:
    msg: "{{ read.users | selectattr('is_admin') | map(attribute='name') | list }}"
"""

RETURN = r"""
users:
  description: Users, sorted by name. The names of their fields are the options of M(inferops.gpustack.user).
  returned: success
  type: list
  elements: dict
  contains:
    id: {description: Number of the user., type: int}
    name: {description: Name with which the user signs in., type: str}
    full_name: {description: Name for people., type: str}
    is_admin: {description: Whether the user is an administrator., type: bool}
    is_active: {description: Whether the user can sign in., type: bool}
    require_password_change: {description: Whether the user interface asks for a new password., type: bool}
    source: {description: "Where the user signs in. V(Local) is GPUStack itself.", type: str}
"""

from ansible_collections.inferops.gpustack.plugins.module_utils import _info_module
from ansible_collections.inferops.gpustack.plugins.module_utils._views import user_view


def read(client, params):
    users = client.list_all("/v2/users", search=params["name"])
    return _info_module.named([user_view(one) for one in users], params["name"])


def main():
    _info_module.run("users", read, {"name": {"type": "str"}})


if __name__ == "__main__":
    main()
