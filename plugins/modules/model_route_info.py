#!/usr/bin/python
# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Routes of a GPUStack server, with their targets."""

from __future__ import annotations

DOCUMENTATION = r"""
module: model_route_info
short_description: Read routes of a GPUStack server
version_added: 0.1.0
description:
  - Reads routes, their targets, and the users who may use them. Changes nothing.
author:
  - InferOps contributors (@inferops)
extends_documentation_fragment:
  - inferops.gpustack.auth
  - inferops.gpustack.auth.requests
  - inferops.gpustack.attributes
  - inferops.gpustack.info
options:
  name:
    description: Name of the route to read. All are read when it is not set.
    type: str
seealso:
  - module: inferops.gpustack.model_route
"""

EXAMPLES = r"""
- name: Read all routes
  inferops.gpustack.model_route_info:
    url: http://10.0.0.10
    password: "{{ gpustack_admin_password }}"
  register: all

- name: Routes that nobody answers
  ansible.builtin.debug:
    msg: "{{ item.name }}"
  loop: "{{ all.routes }}"
  when: item.targets | selectattr('state', 'eq', 'active') | length == 0
"""

RETURN = r"""
routes:
  description: Routes, sorted by name. The names of their fields are the options of M(inferops.gpustack.model_route).
  returned: success
  type: list
  elements: dict
  contains:
    id: {description: Number of the route., type: int}
    name: {description: Name., type: str}
    description: {description: Text for people., type: str}
    categories: {description: Kinds of the models behind it., type: list, elements: str}
    access_policy: {description: Who may use it., type: str}
    users:
      description: Names of the users who may use it. Empty unless RV(routes[].access_policy) is V(allowed_principals).
      type: list
      elements: str
    targets:
      description: "C({model, weight, fallback_status_codes, state}) of each target, sorted by deployment."
      type: list
      elements: dict
"""

from ansible_collections.inferops.gpustack.plugins.module_utils import _info_module, _routes, _views
from ansible_collections.inferops.gpustack.plugins.module_utils._info_module import named


def read(client, params):
    routes = named(client.list_all(_routes.ROUTES, name=params["name"]), params["name"])
    if not routes:
        return []
    targets = client.list_all(_routes.TARGETS, route_name=params["name"])
    names = {one["id"]: one["name"] for one in client.list_all("/v2/models")}
    return [view(client, _views.route_view(one, targets, names)) for one in routes]


def view(client, route):
    users = _routes.allowed_users(client, route) if route["access_policy"] == "allowed_principals" else []
    return dict(route, users=users)


def main():
    _info_module.run("routes", read, {"name": {"type": "str"}})


if __name__ == "__main__":
    main()
