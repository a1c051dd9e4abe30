#!/usr/bin/python
# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A worker that registered with a GPUStack server: its labels, its maintenance, its end, and waiting for it."""

from __future__ import annotations

DOCUMENTATION = r"""
module: worker
short_description: Manage a GPUStack worker and wait until it is usable
version_added: 0.1.0
description:
  - A worker makes itself known to the server when it starts, so this module never creates one.
  - Sets its labels, puts it into maintenance and ends that, renames it, drains it and deletes it.
  - Can wait until the worker is there, is ready, and reports the expected number of accelerators.
author:
  - InferOps contributors (@inferops)
extends_documentation_fragment:
  - inferops.gpustack.auth
  - inferops.gpustack.auth.requests
  - inferops.gpustack.waits
  - inferops.gpustack.attributes
  - inferops.gpustack.resource
attributes:
  check_mode:
    details: Does not wait in check mode. A worker that is not there yet, or not ready yet, is a warning.
options:
  name:
    description: Name of the worker. It is unique on the server, over all clusters.
    type: str
    required: true
  new_name:
    description:
      - Name the worker shall have. It is found by either name, so the task changes nothing when it is run again.
      - A worker takes its own name back when it starts again, so change C(worker_name) of its configuration as well.
      - The name is part of the ids of its devices. Deployments that choose devices by id lose them.
    type: str
  labels:
    description:
      - Labels the worker shall have, with texts as values.
      - Compared with V(allow_more_present) by default, so they are merged into the labels it has. V(strict) removes
        labels that are not named, except those that the worker sets itself, C(os), C(arch), C(worker-name) and
        C(gpustack.existence-check).
    type: dict
  maintenance:
    description:
      - Whether the worker is in maintenance. No new instances are placed there then. Those that run go on, also
        while the worker does not answer.
    type: dict
    suboptions:
      enabled:
        description: Whether it is in maintenance.
        type: bool
        required: true
      reason:
        description: Text for people, shown as the worker's state message. The text it has stays when unset.
        type: str
  state:
    description:
      - V(present) waits until the worker is registered.
      - V(ready) waits until the server also calls it ready. A worker in maintenance fails at once.
      - V(absent) deletes the worker from the server. It is refused while instances are on it, unless O(drain) is set.
        A worker whose container still runs is only refused by the server then, and registers again when it is
        restarted. Stop the container first, or after it.
    type: str
    choices: [present, ready, absent]
    default: present
  drain:
    description:
      - With O(state=absent), move the instances away first. The worker is put into maintenance, then its instances are
        deleted one at a time, so that the scheduler places them elsewhere. The next one has to wait until as many
        instances of the deployment run as before.
      - Needs O(wait_timeout), which is the time for all of it. When it is over, or an instance finds no place, the
        worker stays in maintenance and is not deleted. Running the task again goes on from there.
      - Deployments that no other ready worker of the cluster can take, by its labels or its devices, are an error
        before anything is done.
    type: bool
    default: false
  drain_force:
    description: Drain also deployments that have nowhere to go. They are short of these instances from then on.
    type: bool
    default: false
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
    wait_timeout: 300

- name: Keep new instances away from it
  inferops.gpustack.worker:
    url: http://10.0.0.10
    password: "{{ gpustack_admin_password }}"
    name: h20-01
    maintenance: {enabled: true, reason: Disk swap}

- name: Use it again
  inferops.gpustack.worker:
    url: http://10.0.0.10
    password: "{{ gpustack_admin_password }}"
    name: h20-01
    maintenance: {enabled: false}
    state: ready
    wait_timeout: 60

- name: Take a worker out of service for good
  inferops.gpustack.worker:
    url: http://10.0.0.10
    password: "{{ gpustack_admin_password }}"
    name: h20-99
    state: absent
    drain: true
    wait_timeout: 1800
"""

RETURN = r"""
worker:
  description: The worker. Empty when it is deleted, and in check mode when it is not registered.
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
    maintenance: {description: "Its maintenance, C({enabled, reason}).", type: dict}
    accelerators:
      description: "Devices by vendor and name, each C({vendor, name, memory_bytes, count}), with the memory of one."
      type: list
      elements: dict
actions:
  description: What was done, or would be done in check mode.
  returned: success
  type: list
  elements: str
  sample: ["update worker: labels"]
last:
  description: The worker as it was seen last.
  returned: when the wait ends without success and the worker was seen
  type: dict
"""

from http.client import HTTPException
from urllib.request import ProxyHandler, build_opener

from ansible_collections.inferops.gpustack.plugins.module_utils import _drain, _resource, _resource_module, _wait
from ansible_collections.inferops.gpustack.plugins.module_utils._deployments import instances_of
from ansible_collections.inferops.gpustack.plugins.module_utils._errors import (
    ApiError,
    GpustackError,
    TerminalState,
    WaitTimeout,
)
from ansible_collections.inferops.gpustack.plugins.module_utils._texts import texts
from ansible_collections.inferops.gpustack.plugins.module_utils._views import (
    accelerators_of,
    device_count,
    maintenance_view,
    worker_view,
)
from ansible_collections.inferops.gpustack.plugins.module_utils._wait import Wait

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
STAYS_IN_MAINTENANCE = (
    "The worker stays in maintenance and is not deleted. Run the task again to go on, or set "
    "maintenance.enabled to false to use it again."
)
#: A worker sets them at its next registration, whatever was done to them.
AUTOMATIC_LABELS = ("os", "arch", "worker-name", "gpustack.existence-check")


def _same_maintenance(one, other):
    one, other = maintenance_view({"maintenance": one}), maintenance_view({"maintenance": other})
    return one == other or not (one["enabled"] or other["enabled"])


WORKER = _resource.Resource(
    kind="worker",
    path="/v2/workers",
    fields=(
        _resource.Field("name", spec={"required": True}),
        _resource.Field("labels", type="dict", comparison=_resource.MORE_ALLOWED),
        _resource.Field(
            "maintenance",
            type="dict",
            compare=_same_maintenance,
            spec={"options": {"enabled": {"type": "bool", "required": True}, "reason": {"type": "str"}}},
        ),
    ),
    rename=True,
    view=worker_view,
)


def checked(wanted):
    if "labels" in wanted:
        wanted["labels"] = texts("labels", wanted["labels"])
    if "maintenance" in wanted:
        # The API's name is one that Ansible keeps for itself.
        asked = wanted["maintenance"]
        wanted["maintenance"] = {"enabled": asked["enabled"], "message": asked.get("reason")}
    return wanted


def check_options(params):
    if params["state"] == "ready" and (params["maintenance"] or {}).get("enabled"):
        raise GpustackError(
            "state is ready and maintenance.enabled is true, but a worker in maintenance is never ready.",
            reason="Invalid",
            hint="Use state present.",
        )


def locate(client, params):
    return _resource.locate(client, WORKER, params["name"], params["new_name"])


def settled(params, wanted, current):
    """What the user wrote, completed with what is not for them to remove."""
    wanted = _resource.settled(WORKER, wanted, current, params["comparisons"])
    if "labels" in wanted:
        automatic = {key: value for key, value in (current["labels"] or {}).items() if key in AUTOMATIC_LABELS}
        wanted["labels"] = dict(automatic, **wanted["labels"])
    if "maintenance" in wanted:
        asked, has = wanted["maintenance"], maintenance_view(current)
        if asked["enabled"] and asked.get("message") is None:
            wanted["maintenance"] = dict(asked, message=has["message"])
    return wanted


def unknown(params, worker):
    return None if worker else f"The server knows no worker named {params['name']!r}"


def unready(params, worker):
    """Why the worker is not what was asked for yet."""
    if worker is None:
        return unknown(params, worker)
    if params["state"] == "ready" and worker["state"] != "ready":
        found = f"Worker {worker['name']} is {worker['state']}: {worker.get('state_message') or 'no reason given'}"
        # The state lags behind when a maintenance ends (T46).
        ending = worker["state"] == "maintenance" and not maintenance_view(worker)["enabled"]
        if worker["state"] in TERMINAL and not ending:
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


def wait_until(wait, client, params, judge):
    try:
        return wait.until(
            f"Waiting for worker {params['name']}",
            lambda: locate(client, params),
            judge,
            params["wait_timeout"],
            hint=LOOK_AT_THE_WORKER,
            since=0,
        )
    except WaitTimeout as error:
        error.last = error.last and worker_view(error.last)
        raise


def update(client, wanted, current, check_mode):
    result = _resource.sync(None, WORKER, wanted, current, check_mode=True)
    if not result["changed"]:
        return result
    payload = _resource.update_payload(WORKER, wanted, current)
    has, labels = current["labels"] or {}, payload["labels"]
    touched = sorted(key for key in {**has, **labels} if has.get(key) != labels.get(key))
    only_labels = touched and list(_resource.differences(WORKER, wanted, current)) == ["labels"]
    if only_labels:
        result["actions"] = [f"label worker: {', '.join(touched)}"]
    if check_mode:
        return result
    if not (only_labels and set(touched) <= set(labels) and merge_labels(client, current, labels, touched)):
        # A PUT wipes what it does not name (T27), so all of it is sent.
        result["object"] = client.put(f"{WORKER.path}/{current['id']}", payload)
    return result


def merge_labels(client, worker, labels, names):
    """Write labels without touching the rest of the worker, which GPUStack can do since 2.3. Whether it could."""
    body = {"worker_ids": [worker["id"]], "labels": {name: labels[name] for name in names}}
    try:
        client.post(f"{WORKER.path}/labels", body, repeatable=True)
    except ApiError as error:
        if error.status not in (404, 405):
            raise
        return False
    return True


def check(module, client, wanted):
    params = module.params
    worker = locate(client, params)
    if worker is None:
        module.warn(f"{unknown(params, worker)}. Check mode does not wait for it.")
        return not_there(wanted)
    result = update(client, settled(params, wanted, worker), worker, check_mode=True)
    try:
        reason = unready(params, result["object"])
    except GpustackError as error:
        reason = error.message
    if reason:
        module.warn(f"{reason.rstrip('.')}. Check mode does not wait for it.")
    return _resource_module.report(WORKER, result)


def not_there(wanted):
    """What check mode says of a worker that has not registered yet."""
    if not set(wanted) - {"name"}:
        return {"changed": False, "diff": {}, "actions": [], "worker": {}}
    diff = _resource.diff_of(WORKER, wanted, None)
    return {"changed": True, "diff": diff, "actions": ["wait for worker"], "worker": {}}


def remove(module, client):
    params = module.params
    current = _resource.locate(client, WORKER, params["name"], params["new_name"])
    moved = move_instances_away(module, client, current) if current else []
    result = _resource.sync(client, WORKER, None, current, module.check_mode)
    result["actions"] = moved + result["actions"]
    return _resource_module.report(WORKER, result)


def move_instances_away(module, client, worker):
    """What was done to have no instance on the worker."""
    params = module.params
    wait = Wait.of(module)
    if wait.memory.get("moving"):
        see_through(wait, client, params, wait.memory["moving"])
    instances = _drain.instances_on(client, worker)
    if not instances:
        return []
    check_may_drain(params, worker, instances)
    stuck = _drain.with_nowhere_to_go(client, worker, instances)
    if stuck and not params["drain_force"]:
        raise GpustackError(
            f"worker {worker['name']} cannot be drained. No other ready worker of its cluster can take "
            f"{', '.join(sorted(one['name'] for one in stuck))}.",
            reason="Conflict",
            hint="Make room for them, stop them, or set drain_force to leave them without these instances.",
        )
    actions = keep_away(client, worker, module.check_mode)
    wait.done = {"changed": True, "actions": actions}
    for instance in instances:
        action = f"move instance: {instance['name']}"
        if module.check_mode:
            actions.append(action)
            continue
        replaced = instance["model_id"] not in [one["id"] for one in stuck]
        try:
            if replaced:
                settle(wait, client, params, worker, instance)
            actions.append(action)
            see_through(wait, client, params, _drain.begin_move(client, instance, replaced))
        except GpustackError as error:
            error.results.update(changed=True, actions=actions)
            raise
    return actions


def settle(wait, client, params, worker, instance):
    """Wait until what its deployment has elsewhere runs, so that no more of it is away than this instance."""
    what = f"Before instance {instance['name']} is moved"
    watch(wait, client, params, what, instance, lambda instances: _drain.unsettled(worker, instances))


def see_through(wait, client, params, moving):
    """Wait until the instance is gone and has its successor. Which one it is goes along from slice to slice."""
    wait.memory["moving"] = moving
    what = f"Moving instance {moving['name']}"
    watch(wait, client, params, what, moving, lambda instances: _drain.not_moved(moving, instances))
    del wait.memory["moving"]


def watch(wait, client, params, what, instance, judge):
    """Wait for the instances of the same deployment, in the time that all of the draining has."""
    try:
        wait.until(
            what,
            lambda: instances_of(client, instance["model_id"]),
            judge,
            params["wait_timeout"],
            hint=STAYS_IN_MAINTENANCE,
            since=0,
        )
    except WaitTimeout as error:
        error.last = None
        raise


def keep_away(client, worker, check_mode):
    if maintenance_view(worker)["enabled"]:
        return []
    maintenance = {"enabled": True, "message": "Drained by Ansible"}
    return update(client, {"maintenance": maintenance}, worker, check_mode)["actions"]


def check_may_drain(params, worker, instances):
    names = ", ".join(one["name"] for one in instances)
    if not params["drain"]:
        raise GpustackError(
            f"worker {worker['name']} is not deleted, because instances are on it: {names}.",
            reason="Conflict",
            hint="Set drain to move them to other workers first, or delete their deployments.",
        )
    if params["wait_timeout"] <= 0:
        raise GpustackError(
            f"worker {worker['name']} has instances to move, and wait_timeout is not set: {names}.",
            reason="Invalid",
            hint="Set wait_timeout to the seconds that moving all of them may take.",
        )


def body(module, client):
    params = module.params
    check_options(params)
    wanted = _resource_module.desired(module, WORKER, checked)
    if wanted is None:
        return remove(module, client)
    if module.check_mode:
        return check(module, client, wanted)
    wait = Wait.of(module)
    worker = wait_until(wait, client, params, lambda one: unknown(params, one))
    # Labels first: a deployment that selects on them may be waiting for this worker already.
    result = update(client, settled(params, wanted, worker), worker, check_mode=False)
    if unready(params, result["object"]):
        wait.done = _resource_module.report(WORKER, result)
        result["object"] = wait_until(wait, client, params, lambda one: unready(params, one))
    return _resource_module.report(WORKER, result)


def when_unreachable(module):
    check_options(module.params)
    wanted = _resource_module.desired(module, WORKER, checked)
    if wanted is None:
        return _resource_module.report(WORKER, _resource.unchanged(None))
    return not_there(wanted)


def main():
    _resource_module.run(
        WORKER,
        checked,
        extra_options={
            "state": {"type": "str", "choices": ["present", "ready", "absent"], "default": "present"},
            "drain": {"type": "bool", "default": False},
            "drain_force": {"type": "bool", "default": False},
            "accelerators": {"type": "int"},
            "reachable": {"type": "bool", "default": False},
            "wait_timeout": {"type": "int", "default": 0},
            **_wait.OPTION,
        },
        body=body,
        when_unreachable=when_unreachable,
    )


if __name__ == "__main__":
    main()
