#!/usr/bin/python
# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cluster of a GPUStack server, and waiting for that server to answer."""

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster
short_description: Manage a cluster of a GPUStack server
version_added: 0.1.0
description:
  - Makes a cluster for Docker workers, or changes its description.
  - A new server has no cluster unless it was started with a legacy token, and workers cannot register without one.
  - Can wait for the server to answer first, which makes it the natural first task after the server was started.
author:
  - InferOps contributors (@inferops)
extends_documentation_fragment:
  - inferops.gpustack.auth
  - inferops.gpustack.attributes
attributes:
  check_mode:
    support: full
    details: Does not wait in check mode.
  diff_mode:
    support: full
options:
  name:
    description: Name of the cluster. It is unique within the server's organization.
    type: str
    required: true
  description:
    description: Text for people. Not managed when unset; an empty text clears it.
    type: str
  state:
    description: Whether the cluster shall exist.
    type: str
    choices: [present]
    default: present
  wait_timeout:
    description:
      - Seconds to wait for C(/readyz) and a first authenticated answer of the server. V(0) does not wait.
      - Refused credentials end the wait after three refusals.
    type: int
    default: 0
"""

EXAMPLES = r"""
- name: Make the cluster that the workers join
  inferops.gpustack.cluster:
    url: http://10.0.0.10
    password: "{{ gpustack_admin_password }}"
    name: lab
    wait_timeout: 300
"""

RETURN = r"""
cluster:
  description: The cluster. Its C(id) is null in check mode when it does not exist yet.
  returned: success
  type: dict
  sample: {id: 1, name: lab, description: null, state: ready, is_default: true}
actions:
  description: What was done, or would be done in check mode.
  returned: success
  type: list
  elements: str
  sample: [create cluster]
"""

from ansible_collections.inferops.gpustack.plugins.module_utils import _args, _resource
from ansible_collections.inferops.gpustack.plugins.module_utils._client import Client
from ansible_collections.inferops.gpustack.plugins.module_utils._errors import ApiError, TerminalState, WaitTimeout
from ansible_collections.inferops.gpustack.plugins.module_utils._views import cluster_view
from ansible_collections.inferops.gpustack.plugins.module_utils._wait import wait_for

CLUSTER = _resource.Resource(
    kind="cluster",
    path="/v2/clusters",
    fields=(
        _resource.Field("name", spec={"required": True}),
        _resource.Field("description", default_none=True),
    ),
    prepare=lambda payload, wanted, current: payload if current else dict(payload, provider="Docker"),
)

REFUSALS = 3


def wait_for_server(module, client):
    anonymous = Client(
        module.params["url"],
        ca=module.params["ca_path"],
        timeout=module.params["timeout"],
        use_proxy=module.params["use_proxy"],
        validate_certs=module.params["validate_certs"],
    )
    refusals = []

    def read():
        try:
            anonymous.get("/readyz")
            return client.get("/v2/clusters", page=1, perPage=1)
        except ApiError as error:
            return error

    def judge(answer):
        if not isinstance(answer, ApiError):
            return None
        if answer.status in (401, 403):
            # /readyz is "ok" before the database is filled (T2), so one refusal says little.
            refusals.append(answer)
            if len(refusals) >= REFUSALS:
                raise TerminalState(answer.message, hint=answer.hint)
        return answer.message

    what = f"Waiting for GPUStack at {client.url}"
    try:
        wait_for(what, read, judge, module.params["wait_timeout"], hint="Read its log: docker logs gpustack-server.")
    except WaitTimeout as error:
        # What was read last is an error, not an object of the server's.
        refusal, error.last = error.last, None
        if refusal:
            error.status, error.endpoint = refusal.status, refusal.endpoint
        raise


def body(module):
    client = _args.connect(module)
    if module.params["wait_timeout"] and not module.check_mode:
        wait_for_server(module, client)
    wanted = _resource.desired(CLUSTER, module.params)
    current = _resource.find(client, CLUSTER, wanted["name"])
    result = _resource.sync(client, CLUSTER, wanted, current, module.check_mode)
    return {
        "changed": result["changed"],
        "diff": result["diff"],
        "actions": result["actions"],
        "cluster": cluster_view(result["object"]),
    }


def when_unreachable(module):
    wanted = _resource.desired(CLUSTER, module.params)
    return {
        "changed": True,
        "diff": _resource.diff_of(CLUSTER, wanted, None),
        "actions": ["create cluster"],
        "cluster": cluster_view(wanted),
    }


def main():
    options = dict(
        _resource.argument_spec(CLUSTER),
        state={"type": "str", "choices": ["present"], "default": "present"},
        wait_timeout={"type": "int", "default": 0},
    )
    _args.run(_args.api_module(options), body, when_unreachable)


if __name__ == "__main__":
    main()
