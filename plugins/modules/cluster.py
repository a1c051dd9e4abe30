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
  - Makes, changes, renames or deletes a cluster of Docker workers.
  - A new server has no cluster unless it was started with a legacy token, and workers cannot register without one.
  - Can wait for the server to answer first, which makes it the natural first task after the server was started.
author:
  - InferOps contributors (@inferops)
extends_documentation_fragment:
  - inferops.gpustack.auth
  - inferops.gpustack.auth.requests
  - inferops.gpustack.waits
  - inferops.gpustack.attributes
  - inferops.gpustack.resource
  - inferops.gpustack.resource.rename
attributes:
  check_mode:
    details:
      - Does not wait in check mode.
      - Cannot foresee which keys of O(worker_config) the server does not know.
options:
  name:
    description: Name of the cluster. It is unique within the server's organization.
    type: str
    required: true
  description:
    description: Text for people.
    type: str
  server_url:
    description:
      - URL under which the workers of this cluster reach the server. It goes before the external URL of the server.
      - A slash at the end makes no difference, because the server cuts it off.
    type: str
  system_default_container_registry:
    description:
      - Registry from which the workers of this cluster pull images whose names say no registry.
      - Needs GPUStack 2.2 or later.
    type: str
  worker_config:
    description:
      - Configuration of the workers of this cluster, with the keys of GPUStack's worker configuration, underscores in
        them.
      - A worker takes it when it starts, and what the worker was given itself goes before it. Restart the workers after
        a change.
      - Compared with V(allow_more_present) by default. What is written goes over what the cluster has, keys that are
        not written stay, and a key that is null goes away. With V(strict) other keys go away too.
      - The server drops keys it does not know. The module then fails and names them.
      - Must not hold C(system_default_container_registry), which is an option of its own.
    type: dict
  default:
    description:
      - Whether it is the cluster that deployments without a cluster go to. GPUStack 2.2 and later make the first one
        that by themselves.
      - V(false) is refused for the cluster that is the default, because only another cluster can take its place.
    type: bool
  state:
    description:
      - Whether the cluster shall exist.
      - A cluster that has workers, deployments or instances is not deleted. The message names them.
    type: str
    choices: [present, absent]
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

- name: Make a cluster with a configuration for all its workers
  inferops.gpustack.cluster:
    url: http://10.0.0.10
    password: "{{ gpustack_admin_password }}"
    name: edge
    description: Machines outside the data centre
    server_url: https://gpustack.example.com
    worker_config:
      service_port_range: 40000-40127
      system_reserved: {ram: 8, vram: 1}

- name: Rename it
  inferops.gpustack.cluster:
    url: http://10.0.0.10
    password: "{{ gpustack_admin_password }}"
    name: edge
    new_name: outside

- name: Delete it, which needs it to be empty
  inferops.gpustack.cluster:
    url: http://10.0.0.10
    password: "{{ gpustack_admin_password }}"
    name: outside
    state: absent
"""

RETURN = r"""
cluster:
  description: The cluster. Empty when it does not exist. Its C(id) is null in check mode when it does not exist yet.
  returned: success
  type: dict
  contains:
    id: {description: Number of the cluster., type: int}
    name: {description: Name., type: str}
    description: {description: Text for people., type: str}
    provider: {description: "C(Docker) for a cluster of this module.", type: str}
    server_url: {description: URL under which its workers reach the server., type: str}
    system_default_container_registry: {description: Registry of images without one., type: str}
    worker_config: {description: Configuration of its workers. Secrets are hidden., type: dict}
    is_default: {description: Whether deployments without a cluster go to it., type: bool}
    state: {description: State as the server sees it., type: str}
  sample:
    id: 1
    name: lab
    description: null
    provider: Docker
    server_url: null
    system_default_container_registry: null
    worker_config: {}
    is_default: true
    state: ready
actions:
  description: What was done, or would be done in check mode.
  returned: success
  type: list
  elements: str
  sample: [create cluster]
"""

from ansible_collections.inferops.gpustack.plugins.module_utils import (
    _args,
    _release,
    _resource,
    _resource_module,
    _wait,
)
from ansible_collections.inferops.gpustack.plugins.module_utils._errors import (
    ApiError,
    GpustackError,
    TerminalState,
    WaitTimeout,
)
from ansible_collections.inferops.gpustack.plugins.module_utils._views import cluster_view
from ansible_collections.inferops.gpustack.plugins.module_utils._wait import Wait

REGISTRY = "system_default_container_registry"
MAKE_DEFAULT = "make cluster the default"
REFUSALS = 3


def _same_url(one, other):
    return (one or "").rstrip("/") == (other or "").rstrip("/")


def _kept(config):
    """The server stores no keys without a value."""
    return {key: value for key, value in (config or {}).items() if value is not None}


CLUSTER = _resource.Resource(
    kind="cluster",
    path="/v2/clusters",
    fields=(
        _resource.Field("name", spec={"required": True}),
        _resource.Field("description", default_none=True),
        _resource.Field("server_url", default_none=True, compare=_same_url),
        _resource.Field(REGISTRY, default_none=True),
        _resource.Field(
            "worker_config",
            type="dict",
            default_none=True,
            comparison=_resource.MORE_ALLOWED,
            compare=lambda one, other: _kept(one) == _kept(other),
        ),
    ),
    rename=True,
    prepare=lambda payload, wanted, current: payload if current else dict(payload, provider="Docker"),
    view=cluster_view,
)

MEMBERS = {"workers": "/v2/workers", "deployments": "/v2/models", "instances": "/v2/model-instances"}


def checked(wanted):
    if REGISTRY in wanted.get("worker_config", {}):
        raise GpustackError(
            f"worker_config holds {REGISTRY}, which the server keeps beside it.",
            reason="Invalid",
            hint=f"Write it as the option {REGISTRY}.",
        )
    return wanted


def wait_for_server(module, client):
    anonymous = _args.connect_as_nobody(module)
    wait = Wait.of(module)
    refusals = wait.memory.setdefault("refusals", [])

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
            refusals.append(answer.status)
            if len(refusals) >= REFUSALS:
                raise TerminalState(answer.message, hint=answer.hint)
        return answer.message

    what = f"Waiting for GPUStack at {client.url}"
    try:
        wait.until(what, read, judge, module.params["wait_timeout"], hint="Read its log: docker logs gpustack-server.")
    except WaitTimeout as error:
        # What was read last is an error, not an object of the server's.
        refusal, error.last = error.last, None
        if refusal:
            error.status, error.endpoint = refusal.status, refusal.endpoint
        raise


def check_empty(client, cluster):
    """The server refuses with one kind of member and without names (T47)."""
    found = []
    for kind, path in MEMBERS.items():
        members = [one for one in client.list_all(path, cluster_id=cluster["id"]) if one["cluster_id"] == cluster["id"]]
        if members:
            found.append(f"{kind} {', '.join(sorted(one['name'] for one in members))}")
    if found:
        raise GpustackError(
            f"cluster {cluster['name']} is not empty. It has {'; '.join(found)}.",
            reason="Conflict",
            hint="Remove them first, with inferops.gpustack.model and inferops.gpustack.worker.",
        )


def check_default(wanted_default, current):
    if wanted_default is False and current and current.get("is_default"):
        raise GpustackError(
            f"cluster {current['name']} is the default cluster, and the server cannot do without one.",
            reason="Invalid",
            hint="Set default to true for the cluster that shall take its place.",
        )


def make_default(module, client, wanted, before, result):
    """Being the default is no field of a cluster: it has a call of its own, and only to gain it."""
    cluster = result["object"]
    # A new server makes the first cluster the default by itself, an older one does not.
    if not module.params["default"] or (before is not None and before.get("is_default")):
        return
    if not module.check_mode:
        client.post(f"{CLUSTER.path}/{cluster['id']}/set-default", repeatable=True)
    diff = result["diff"] or _resource.diff_of(CLUSTER, wanted, before)
    if before is not None:
        diff["before"]["default"] = False
    diff["after"]["default"] = True
    cluster = dict(cluster, is_default=True)
    result.update(changed=True, diff=diff, actions=result["actions"] + [MAKE_DEFAULT], object=cluster)


def body(module, client):
    params = module.params
    if params["wait_timeout"] and not module.check_mode:
        wait_for_server(module, client)
    wanted, current = _resource_module.prepared(module, client, CLUSTER, checked)
    if wanted is None:
        if current is not None:
            check_empty(client, current)
        return _resource_module.report(CLUSTER, _resource.sync(client, CLUSTER, None, current, module.check_mode))
    check_default(params["default"], current)
    if wanted.get(REGISTRY) and wanted[REGISTRY] != (current or {}).get(REGISTRY):
        _release.need(client, (2, 2), REGISTRY)
    result = _resource.sync(client, CLUSTER, wanted, current, module.check_mode)
    make_default(module, client, wanted, current, result)
    if result["changed"] and not module.check_mode:
        _resource_module.check_taken_over(module, CLUSTER, wanted, result["object"])
    return _resource_module.report(CLUSTER, result)


def when_unreachable(module):
    wanted = _resource_module.desired(module, CLUSTER, checked)
    result = _resource.sync(None, CLUSTER, wanted, None, check_mode=True)
    if wanted is not None:
        make_default(module, None, wanted, None, result)
    return _resource_module.report(CLUSTER, result)


def main():
    _resource_module.run(
        CLUSTER,
        checked,
        extra_options={"default": {"type": "bool"}, "wait_timeout": {"type": "int", "default": 0}, **_wait.OPTION},
        body=body,
        when_unreachable=when_unreachable,
    )


if __name__ == "__main__":
    main()
