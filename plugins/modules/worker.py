#!/usr/bin/python
# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A worker that registered with a GPUStack server: its labels, and waiting until it is usable."""

from __future__ import annotations

DOCUMENTATION = r"""
module: worker
short_description: Label a GPUStack worker and wait until it is usable
version_added: 0.1.0
description:
  - A worker makes itself known to the server when it starts, so this module never creates or deletes one.
  - Adds or overwrites labels and leaves every other label alone.
  - Can wait until the worker is there, is ready, and reports the expected number of accelerators.
author:
  - InferOps contributors (@inferops)
extends_documentation_fragment:
  - inferops.gpustack.auth
  - inferops.gpustack.attributes
attributes:
  check_mode:
    support: full
    details: Does not wait in check mode. A worker that is not there yet, or not ready yet, is a warning.
  diff_mode:
    support: full
options:
  name:
    description: Name of the worker. It is unique on the server, over all clusters.
    type: str
    required: true
  labels:
    description:
      - Labels the worker shall have, with texts as values. They are merged into the labels it has.
      - Removing a label is not offered, because the API can only do it by replacing all of them.
    type: dict
  state:
    description:
      - V(present) waits until the worker is registered.
      - V(ready) waits until the server also calls it ready. A worker in maintenance fails at once.
    type: str
    choices: [present, ready]
    default: present
  accelerators:
    description:
      - Number of devices that the server must see on the worker. The module waits for it.
      - A worker registers before it has counted its devices, so V(ready) alone does not mean that they were found.
    type: int
  reachable:
    description:
      - Also wait until the worker's own API answers the machine this module runs on, at the address and port the
        server knows.
      - The server calls a worker ready some 20 seconds before that. A deployment made in between is not placed,
        because its C(config.json) cannot be read, and the scheduler tries again only after two minutes.
      - A worker in tunnel mode has no API to reach; it is not asked.
    type: bool
    default: false
  wait_timeout:
    description: Seconds to wait for all of it together. V(0) looks once.
    type: int
    default: 0
"""

EXAMPLES = r"""
- name: Wait for the worker and label it
  inferops.gpustack.worker:
    url: http://10.0.0.10
    password: "{{ gpustack_admin_password }}"
    name: h20-01
    labels:
      gpustack-accelerator: nvidia_h20_3e
    state: ready
    accelerators: 8
    wait_timeout: 300
"""

RETURN = r"""
worker:
  description: The worker. Empty in check mode when it is not registered.
  returned: success
  type: dict
  contains:
    id: {description: Number of the worker., type: int}
    name: {description: Name., type: str}
    ip: {description: Address under which the server reaches it., type: str}
    port: {description: Port of the worker's API., type: int}
    cluster_id: {description: Number of its cluster., type: int}
    state: {description: State as the server sees it., type: str}
    state_message: {description: Why it is not ready., type: str}
    version: {description: GPUStack version of the worker., type: str}
    labels: {description: All its labels., type: dict}
    accelerators:
      description: "Devices by vendor and name, each C({vendor, name, memory_bytes, count}), with the memory of one."
      type: list
      elements: dict
actions:
  description: What was done, or would be done in check mode.
  returned: success
  type: list
  elements: str
  sample: ["label worker: gpustack-accelerator"]
last:
  description: The worker as it was seen last.
  returned: when the wait ends without success and the worker was seen
  type: dict
"""

import time
from http.client import HTTPException
from urllib.request import ProxyHandler, build_opener

from ansible_collections.inferops.gpustack.plugins.module_utils import _args
from ansible_collections.inferops.gpustack.plugins.module_utils._errors import GpustackError, TerminalState, WaitTimeout
from ansible_collections.inferops.gpustack.plugins.module_utils._texts import texts
from ansible_collections.inferops.gpustack.plugins.module_utils._views import accelerators_of, device_count, worker_view
from ansible_collections.inferops.gpustack.plugins.module_utils._wait import wait_for

PATH = "/v2/workers"
API_TIMEOUT = 5
TERMINAL = {
    "maintenance": "End the maintenance of the worker, or leave it out of this run.",
    "error": "Look at the worker: docker logs gpustack-worker.",
    "deleting": "Wait until it is gone, then restart its container.",
}
LOOK_AT_THE_WORKER = (
    "Look at the worker: 'docker logs gpustack-worker' shows whether it reached the server and was accepted, and "
    "'docker ps' whether it runs. Check its server_url, token and worker_name, and that the server reaches its "
    "port 10150."
)


def find_worker(client, name):
    for worker in client.list_all(PATH, name=name):
        if worker["name"] == name:
            return worker
    return None


def absent(name, worker):
    return None if worker else f"The server knows no worker named {name!r}"


def unready(params, worker):
    """Why the worker is not what was asked for yet."""
    if worker is None:
        return absent(params["name"], worker)
    if params["state"] == "ready" and worker["state"] != "ready":
        found = f"Worker {worker['name']} is {worker['state']}: {worker.get('state_message') or 'no reason given'}"
        if worker["state"] in TERMINAL:
            raise TerminalState(f"{found}.", last=worker_view(worker), hint=TERMINAL[worker["state"]])
        return found
    expected = params["accelerators"]
    if expected is not None and device_count(worker) != expected:
        seen = ", ".join(f"{one['count']} x {one['name']}" for one in accelerators_of(worker)) or "none"
        return f"Worker {worker['name']} reports {device_count(worker)} accelerators ({seen}), expected {expected}"
    return silent(worker) if params["reachable"] else None


def silent(worker):
    """Why the worker's own API does not count as answering; None when it answers."""
    if worker.get("proxy_mode") == "tunnel":
        return None
    address = worker.get("advertise_address") or worker["ip"]
    url = f"http://{f'[{address}]' if ':' in address else address}:{worker['port']}/healthz"
    try:
        build_opener(ProxyHandler({})).open(url, timeout=API_TIMEOUT).close()
    except (OSError, HTTPException) as error:
        return f"The API of worker {worker['name']} at {url} does not answer: {getattr(error, 'reason', error)}"
    return None


def missing_labels(params, worker):
    current = (worker or {}).get("labels") or {}
    return {key: value for key, value in texts("labels", params["labels"] or {}).items() if current.get(key) != value}


def wait(client, params, judge, timeout):
    try:
        return wait_for(
            f"Waiting for worker {params['name']}",
            lambda: find_worker(client, params["name"]),
            judge,
            timeout,
            hint=LOOK_AT_THE_WORKER,
        )
    except WaitTimeout as error:
        error.last = error.last and worker_view(error.last)
        raise


def labelled(client, params, worker, check_mode):
    missing = missing_labels(params, worker)
    if not missing:
        return worker, {}
    if not check_mode:
        # Not the PUT of the worker, which would wipe what it does not name (T27).
        client.post(f"{PATH}/labels", {"worker_ids": [worker["id"]], "labels": missing}, repeatable=True)
    return dict(worker, labels=dict(worker.get("labels") or {}, **missing)), missing


def report(params, before, worker, missing):
    header = f"worker {params['name']}"
    old = (before or {}).get("labels") or {}
    diff = {
        "before_header": header,
        "after_header": header,
        "before": {"labels": old},
        "after": {"labels": dict(old, **missing)},
    }
    return {
        "changed": bool(missing),
        "diff": diff if missing else {},
        "actions": [f"label worker: {', '.join(sorted(missing))}"] if missing else [],
        "worker": worker_view(worker) if worker else {},
    }


def check(module, client):
    params = module.params
    worker = find_worker(client, params["name"])
    try:
        reason = unready(params, worker)
    except GpustackError as error:
        reason = error.message
    if reason:
        module.warn(f"{reason.rstrip('.')}. Check mode does not wait for it.")
    if worker is None:
        return when_unreachable(module)
    after, missing = labelled(client, params, worker, check_mode=True)
    return report(params, worker, after, missing)


def body(module):
    params = module.params
    client = _args.connect(module)
    if module.check_mode:
        return check(module, client)
    deadline = time.monotonic() + params["wait_timeout"]
    worker = wait(client, params, lambda one: absent(params["name"], one), params["wait_timeout"])
    # Labels first: a deployment that selects on them may be waiting for this worker already.
    after, missing = labelled(client, params, worker, check_mode=False)
    if unready(params, after):
        left = max(0, round(deadline - time.monotonic()))
        after = wait(client, params, lambda one: unready(params, one), left)
    return report(params, worker, after, missing)


def when_unreachable(module):
    missing = missing_labels(module.params, None)
    return dict(report(module.params, None, None, missing), changed=True, actions=["wait for worker"])


def main():
    options = {
        "name": {"type": "str", "required": True},
        "labels": {"type": "dict"},
        "state": {"type": "str", "choices": ["present", "ready"], "default": "present"},
        "accelerators": {"type": "int"},
        "reachable": {"type": "bool", "default": False},
        "wait_timeout": {"type": "int", "default": 0},
    }
    _args.run(_args.api_module(options), body, when_unreachable)


if __name__ == "__main__":
    main()
