#!/usr/bin/python
# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A model file of a GPUStack worker: what it has downloaded or found on its disk."""

from __future__ import annotations

DOCUMENTATION = r"""
module: model_file
short_description: Manage a model file of a GPUStack worker
version_added: 0.1.0
description:
  - Lets a worker download a model, or register one that lies on its disk, before a deployment needs it.
  - A model file is found by its worker and its source. It cannot be changed, only made and deleted.
  - A deployment makes the model files it needs by itself, also without this module.
author:
  - InferOps contributors (@inferops)
extends_documentation_fragment:
  - inferops.gpustack.auth
  - inferops.gpustack.auth.requests
  - inferops.gpustack.attributes
  - inferops.gpustack.waits
attributes:
  check_mode:
    support: full
    details: Does not wait in check mode.
  diff_mode:
    support: full
options:
  worker:
    description: Name of the worker.
    type: str
    required: true
  local_path:
    description:
      - Absolute path of a file or directory inside the worker container.
      - The API accepts a path that is not there, and the model file then has the state V(error).
      - Exactly one of O(local_path), O(huggingface_repo_id) and O(model_scope_model_id) is needed.
    type: str
  huggingface_repo_id:
    description: Repository on Hugging Face, for example V(Qwen/Qwen3-0.6B).
    type: str
  huggingface_filename:
    description: File of the repository, or a pattern of files. The whole repository when unset.
    type: str
  model_scope_model_id:
    description: Model on ModelScope, for example V(Qwen/Qwen3-0.6B).
    type: str
  model_scope_file_path:
    description: File of the model, or a pattern of files. The whole model when unset.
    type: str
  local_dir:
    description:
      - Directory inside the worker container that the download goes to, instead of the worker's cache. Not
        for O(local_path).
      - It cannot change. The server allows one model file for each directory.
    type: str
  state:
    description:
      - V(present) makes the model file and does not wait for it. V(ready) also waits until the worker has it.
      - V(absent) deletes the model file, and what is on disk only with O(cleanup). One in use cannot be deleted.
    type: str
    choices: [present, ready, absent]
    default: present
  wait_timeout:
    description: Seconds that O(state=ready) waits. An error of the worker ends the wait at once.
    type: int
    default: 3600
  reset:
    description: Whether to let the worker try again when the model file has the state V(error).
    type: str
    choices: [on_error, never]
    default: on_error
  cleanup:
    description:
      - Whether O(state=absent) also deletes the download from the worker's disk, with everything else in O(local_dir).
      - Refused with O(local_path), because the worker would delete files it did not bring, following symbolic links.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Register a model that lies on the disk of the worker, and wait until the worker has read it
  inferops.gpustack.model_file:
    url: http://10.0.0.10
    password: "{{ gpustack_admin_password }}"
    worker: h20-01
    local_path: /srv/models/DeepSeek-V4-Flash-0731
    state: ready
    wait_timeout: 60

- name: Forget it. Its files stay on the disk
  inferops.gpustack.model_file:
    url: http://10.0.0.10
    password: "{{ gpustack_admin_password }}"
    worker: h20-01
    local_path: /srv/models/DeepSeek-V4-Flash-0731
    state: absent

- name: Start a download
  inferops.gpustack.model_file:
    url: http://10.0.0.10
    password: "{{ gpustack_admin_password }}"
    worker: h20-01
    huggingface_repo_id: Qwen/Qwen3-0.6B

- name: Remove the download from the disk too
  inferops.gpustack.model_file:
    url: http://10.0.0.10
    password: "{{ gpustack_admin_password }}"
    worker: h20-01
    huggingface_repo_id: Qwen/Qwen3-0.6B
    state: absent
    cleanup: true
"""

RETURN = r"""
model_file:
  description:
    - The model file, with the options of this module as names, and C(id), C(state) (V(downloading), V(ready) or
      V(error)), C(state_message), C(download_progress) in percent, C(size) in bytes and C(resolved_paths).
    - Empty when it is absent. C(id) is null in check mode when it does not exist yet.
  returned: success
  type: dict
actions:
  description: What was done, or would be done in check mode.
  returned: success
  type: list
  elements: str
  sample: [create model file]
last:
  description: The model file as it was seen last.
  returned: when the wait ends without success
  type: dict
"""

import dataclasses

from ansible_collections.inferops.gpustack.plugins.module_utils import _args, _resource, _resource_module
from ansible_collections.inferops.gpustack.plugins.module_utils._errors import (
    ApiError,
    GpustackError,
    TerminalState,
    WaitTimeout,
)
from ansible_collections.inferops.gpustack.plugins.module_utils._resource import Field
from ansible_collections.inferops.gpustack.plugins.module_utils._views import model_file_view
from ansible_collections.inferops.gpustack.plugins.module_utils._wait import OPTION, Wait

#: The option that names a source, what the API calls that source, and the option for a part of it.
SOURCES = (
    ("local_path", "local_path", None),
    ("huggingface_repo_id", "huggingface", "huggingface_filename"),
    ("model_scope_model_id", "model_scope", "model_scope_file_path"),
)
SOURCE_OPTIONS = ("local_path", "huggingface_repo_id", "model_scope_model_id")
SOURCE_KEYS = (*SOURCE_OPTIONS, "huggingface_filename", "model_scope_file_path")


def prepare(payload, wanted, current):
    del payload["worker_name"]
    return dict(payload, worker_id=wanted["worker_id"], source=wanted["source"])


MODEL_FILE = _resource.Resource(
    kind="model file",
    path="/v2/model-files",
    identity="title",
    fields=(
        # The API knows no name. This one is for messages.
        Field("title", server_owned=True),
        Field("worker", api_name="worker_name", write_once=True, spec={"required": True}),
        *(Field(name, default_none=True, write_once=True) for name in SOURCE_KEYS),
        Field("local_dir", default_none=True, write_once=True),
    ),
    prepare=prepare,
)


def desired(params):
    """What the user wrote, with what the API wants to know about the source. The worker's number comes later."""
    wanted = _resource.desired(MODEL_FILE, params)
    option, source, part = next(one for one in SOURCES if params[one[0]] is not None)
    if not params[option]:
        raise GpustackError(f"{option} is empty.", reason="Invalid", hint="Name the model that the worker shall have.")
    inside = f"/{params[part]}" if part and params[part] else ""
    return dict(wanted, title=f"{params[option]}{inside} on {params['worker']}", source=source, worker_id=None)


def check_cleanup(params):
    if params["cleanup"] and params["local_path"]:
        raise GpustackError(
            f"cleanup is asked for with local_path {params['local_path']}.",
            reason="Refused",
            hint="The worker would delete files that GPUStack did not download, following symbolic links. "
            "Leave cleanup out to forget the model file, and remove what is on disk with ansible.builtin.file.",
        )


def find_worker(client, name):
    return next((one for one in client.list_all("/v2/workers", name=name) if one["name"] == name), None)


def find(client, wanted, absent):
    """The model file of this source. The server allows several in different directories.

    A directory that is named never leads to the file of another one when that is to be deleted.
    """
    files = client.list_all(MODEL_FILE.path, worker_id=wanted["worker_id"])
    same = [one for one in files if all((one.get(key) or None) == (wanted.get(key) or None) for key in SOURCE_KEYS)]
    there = [one for one in same if wanted.get("local_dir") in (None, one.get("local_dir") or "")]
    if absent or len(there) == 1:
        same = there
    if len(same) > 1:
        directories = ", ".join(repr(one.get("local_dir") or "") for one in same)
        raise GpustackError(
            f"There are {len(same)} model files of {wanted['title']}.",
            reason="Ambiguous",
            hint=f"Set local_dir to one of theirs: {directories}.",
        )
    return dict(same[0], title=wanted["title"], worker_name=wanted["worker"]) if same else None


def remove(module, client, current):
    result = _resource.sync(None, MODEL_FILE, None, current, check_mode=True)
    if current and not module.check_mode:
        # Said both ways, because the server may have stored another wish (T48).
        cleanup = "true" if module.params["cleanup"] else "false"
        try:
            _resource.delete(client, f"{MODEL_FILE.path}/{current['id']}?cleanup={cleanup}")
        except ApiError as error:
            if error.status == 409:
                error.hint = "Remove the deployments of these instances first, or let them have no replicas."
            raise
    return result


def bring(module, client, wanted, current):
    result = _resource.sync(client, MODEL_FILE, wanted, current, module.check_mode)
    waiting = Wait.of(module)
    # An error in a later slice of the wait is the answer to this task.
    fresh = not waiting.memory.get("begun")
    if current and current["state"] == "error" and module.params["reset"] == "on_error" and fresh:
        result = retried(module, client, current)
    if module.params["state"] == "ready" and not module.check_mode:
        waiting.memory["begun"] = True
        waiting.done = {key: result[key] for key in ("changed", "actions", "diff")}
        result["object"] = until_ready(module, client, waiting, wanted, result["object"])
    return result


def retried(module, client, current):
    header = f"model file {current['title']}"
    after = {"state": "downloading", "state_message": "", "download_progress": 0}
    if not module.check_mode:
        client.post(f"{MODEL_FILE.path}/{current['id']}/reset", repeatable=True)
    return {
        "changed": True,
        "diff": {
            "before_header": header,
            "after_header": header,
            "before": {key: current.get(key) for key in after},
            "after": after,
        },
        "actions": ["reset model file"],
        "object": dict(current, **after),
    }


def until_ready(module, client, waiting, wanted, file):
    title, worker = wanted["title"], wanted["worker"]

    def judge(now):
        if now["state"] == "ready":
            return None
        told = now.get("state_message")
        if now["state"] == "error":
            raise TerminalState(
                f"Model file {title} has an error: {told or 'no reason given'}",
                last=model_file_view(now, worker),
                hint="The path is one inside the worker container. Run the task again when it is there."
                if now.get("local_path")
                else "Read the log of the worker: docker logs gpustack-worker. Run the task again to retry.",
            )
        percent = f"{now.get('download_progress') or 0:.0f} %"
        return f"{title} is {now['state']} ({percent}){f': {told}' if told else ''}"

    try:
        return waiting.until(
            f"Waiting for model file {title}",
            lambda: client.get(f"{MODEL_FILE.path}/{file['id']}"),
            judge,
            module.params["wait_timeout"],
            hint="Raise wait_timeout, or read the log of the worker: docker logs gpustack-worker.",
        )
    except WaitTimeout as error:
        error.last = error.last and model_file_view(error.last, worker)
        raise


def body(module):
    check_cleanup(module.params)
    wanted = desired(module.params)
    client = _args.connect(module)
    name, absent = module.params["worker"], module.params["state"] == "absent"
    worker = find_worker(client, name)
    if worker is None:
        if not absent and not module.check_mode:
            raise GpustackError(
                f"There is no worker {name!r} on {client.url}.",
                reason="NotFound",
                hint="Check the name, or let inferops.gpustack.worker wait until it has registered.",
            )
        if not absent:
            module.warn(f"There is no worker {name!r} yet.")
        return when_unreachable(module)
    wanted["worker_id"] = worker["id"]
    current = find(client, wanted, absent)
    return report(module, remove(module, client, current) if absent else bring(module, client, wanted, current))


def report(module, result):
    resource = dataclasses.replace(MODEL_FILE, view=lambda file: model_file_view(file, module.params["worker"]))
    return _resource_module.report(resource, result)


def when_unreachable(module):
    check_cleanup(module.params)
    wanted = desired(module.params)
    if module.params["state"] == "absent":
        wanted = None
    return report(module, _resource.sync(None, MODEL_FILE, wanted, None, check_mode=True))


def main():
    options = dict(
        _resource.argument_spec(MODEL_FILE),
        state={"type": "str", "choices": ["present", "ready", "absent"], "default": "present"},
        wait_timeout={"type": "int", "default": 3600},
        reset={"type": "str", "choices": ["on_error", "never"], "default": "on_error"},
        cleanup={"type": "bool", "default": False},
        **OPTION,
    )
    module = _args.api_module(
        options,
        required_one_of=[SOURCE_OPTIONS],
        mutually_exclusive=[SOURCE_OPTIONS, ("local_path", "local_dir")],
        required_by={part: option for option, _source, part in SOURCES if part},
    )
    _args.run(module, body, when_unreachable)


if __name__ == "__main__":
    main()
