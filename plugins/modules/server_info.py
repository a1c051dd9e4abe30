#!/usr/bin/python
# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a GPUStack server is: its version, how one signs in, and who one is there."""

from __future__ import annotations

DOCUMENTATION = r"""
module: server_info
short_description: Read what a GPUStack server is
version_added: 0.1.0
description:
  - Reads the server's version, its ways to sign in, the user of the credentials, the default cluster and the part of
    its configuration that administrators may read. Changes nothing and returns no secrets.
  - Also of use to find out whether a server answers and accepts the credentials.
author:
  - InferOps contributors (@inferops)
extends_documentation_fragment:
  - inferops.gpustack.auth
  - inferops.gpustack.auth.requests
  - inferops.gpustack.attributes
  - inferops.gpustack.info
attributes:
  check_mode:
    details: Returns nulls, with a warning, when the server does not answer in check mode.
"""

EXAMPLES = r"""
- name: Read what the server is
  inferops.gpustack.server_info:
    url: http://10.0.0.10
    password: "{{ gpustack_admin_password }}"
  register: server

- name: The server has the features this playbook needs
  ansible.builtin.assert:
    that: server.version is version('2.1', '>=')
"""

RETURN = r"""
version:
  description: Version of the server, without the C(v) before it.
  returned: success
  type: str
  sample: 2.3.0
git_commit:
  description: Commit the server was built from.
  returned: success
  type: str
  sample: 63a03ba
first_time_setup:
  description: Whether the administrator still has the password that the server made up.
  returned: success
  type: bool
external_auth:
  description: Type of the external sign-in, for example V(OIDC). Null when there are only the server's own users.
  returned: success
  type: str
user:
  description: The user of the credentials, with the fields of C(user) of M(inferops.gpustack.user).
  returned: success
  type: dict
default_cluster:
  description: Name of the cluster that deployments without a cluster go to. Null when there is none.
  returned: success
  type: str
  sample: lab
config:
  description:
    - The configuration that the server tells administrators, such as C(server_external_url) and
      C(system_default_container_registry). Null for other users.
  returned: success
  type: dict
"""

from ansible_collections.inferops.gpustack.plugins.module_utils import _args
from ansible_collections.inferops.gpustack.plugins.module_utils._errors import ApiError
from ansible_collections.inferops.gpustack.plugins.module_utils._secrets import masked
from ansible_collections.inferops.gpustack.plugins.module_utils._views import user_view

NOTHING = ("version", "git_commit", "first_time_setup", "external_auth", "user", "default_cluster", "config")


def body(module):
    client = _args.connect(module)
    user = user_view(client.get("/v2/users/me"))
    version = client.get("/version")
    auth = client.get("/auth/config")
    return {
        "changed": False,
        "version": version["version"].lstrip("v"),
        "git_commit": version.get("git_commit"),
        "first_time_setup": bool(auth.get("first_time_setup")),
        "external_auth": external_auth(auth),
        "user": user,
        "default_cluster": default_cluster(for_administrators(client.list_all, "/v2/clusters")),
        "config": masked(for_administrators(client.get, "/v2/config")),
    }


def external_auth(auth):
    """GPUStack before 2.3 has a flag for each type."""
    flags = {"OIDC": auth.get("is_oidc"), "SAML": auth.get("is_saml")}
    told = (auth.get("external_auth") or {}).get("type")
    return told or next((name for name, on in flags.items() if on), None)


def for_administrators(read, path):
    try:
        return read(path)
    except ApiError as error:
        if error.status != 403:
            raise
        return None


def default_cluster(clusters):
    return next((one["name"] for one in clusters or [] if one.get("is_default")), None)


def when_unreachable(module):
    return dict(dict.fromkeys(NOTHING), changed=False)


def main():
    _args.run(_args.api_module({}), body, when_unreachable)


if __name__ == "__main__":
    main()
