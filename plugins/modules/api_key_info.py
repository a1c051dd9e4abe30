#!/usr/bin/python
# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The API keys of a GPUStack server."""

from __future__ import annotations

DOCUMENTATION = r"""
module: api_key_info
short_description: Read the API keys of a GPUStack server
version_added: 0.1.0
description:
  - Reads API keys, without their secrets, which GPUStack does not tell. Changes nothing.
  - Keys of workers and clusters are not among them.
author:
  - InferOps contributors (@inferops)
extends_documentation_fragment:
  - inferops.gpustack.auth
  - inferops.gpustack.auth.requests
  - inferops.gpustack.attributes
  - inferops.gpustack.info
options:
  name:
    description: Name of one key. All keys are read when it is not set. Several users may have a key of that name.
    type: str
  user:
    description:
      - Name of the user whose keys to read, or V(*) for those of all users, which is for administrators.
      - The user that the task connects as, when unset.
      - Needs GPUStack 2.2 or later.
    type: str
seealso:
  - module: inferops.gpustack.api_key
"""

EXAMPLES = r"""
- name: Read the keys of all users
  inferops.gpustack.api_key_info:
    url: http://10.0.0.10
    password: "{{ gpustack_admin_password }}"
    user: "*"
  register: read

- name: Show the keys that never expire
  ansible.builtin.debug:
    msg: "{{ read.api_keys | selectattr('expires_at', 'none') | map(attribute='name') | list }}"
"""

RETURN = r"""
api_keys:
  description: Keys, sorted by name. The names of their fields are the options of M(inferops.gpustack.api_key).
  returned: success
  type: list
  elements: dict
  contains:
    id: {description: Number of the key., type: int}
    name: {description: Name., type: str}
    user: {description: Name of its user. Null before GPUStack 2.2., type: str}
    description: {description: Text for people., type: str}
    scope: {description: What it may be used for. Null before GPUStack 2.2., type: list, elements: str}
    allowed_model_names:
      description: Routes it may use. Empty for all that the user may use.
      type: list
      elements: str
    is_custom: {description: Whether its secret was chosen by its user. Null before GPUStack 2.2., type: bool}
    expires_at: {description: When it stops to work. Null for never., type: str}
"""

from ansible_collections.inferops.gpustack.plugins.module_utils import _info_module, _release
from ansible_collections.inferops.gpustack.plugins.module_utils._views import api_key_view


def read(client, params):
    user = params["user"]
    keys = client.list_all("/v2/api-keys", user_id="*" if user else None)
    if user and not any("user_name" in one for one in keys):
        _release.need(client, (2, 2), f"user {user!r} of api_key_info")
    found = [api_key_view(one) for one in keys if user in (None, "*", one.get("user_name"))]
    return _info_module.named(found, params["name"])


def main():
    _info_module.run("api_keys", read, {"name": {"type": "str"}, "user": {"type": "str"}})


if __name__ == "__main__":
    main()
