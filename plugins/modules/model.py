#!/usr/bin/python
# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A deployment of GPUStack (the API calls it a model)."""

from __future__ import annotations

DOCUMENTATION = r"""
module: model
short_description: Manage a deployment of a GPUStack server
version_added: 0.1.0
description:
  - Creates, changes or deletes a deployment of a model that lies in a directory of the workers.
  - The API calls a deployment a model.
  - An option that is not set is not managed and keeps what the server has. An empty value clears it.
  - A change never restarts instances that run already. Only new instances get the new settings.
  - Does not wait. Use M(inferops.gpustack.chat_probe) for that.
author:
  - InferOps contributors (@inferops)
extends_documentation_fragment:
  - inferops.gpustack.auth
  - inferops.gpustack.attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
options:
  name:
    description: Name of the deployment.
    type: str
    required: true
  state:
    description:
      - Whether the deployment shall exist.
      - Deleting it also deletes its instances and its targets in routes. Files on disk stay.
    type: str
    choices: [present, absent]
    default: present
  cluster:
    description:
      - Name of the cluster to create it in. Only looked at when the deployment is created.
      - May be left out when the server has one cluster.
    type: str
  local_path:
    description:
      - Absolute path of the model directory inside the worker containers.
      - Required to create a deployment. The API accepts a path that is not there; the instance then stays pending.
    type: str
  backend:
    description: Inference backend, for example V(vLLM). The API does not check it.
    type: str
  backend_version:
    description:
      - Version of the backend. An empty text lets the server choose.
      - Excludes O(image_name). With an image, a version the server has stored is cleared.
    type: str
  image_name:
    description:
      - Container image of the engine, with its registry host. An empty text returns to the images of GPUStack.
      - With an image GPUStack filters no workers by accelerator, so set O(worker_selector).
    type: str
  backend_parameters:
    description:
      - Arguments of the engine, kept verbatim and in this order. Write JSON as V(--flag={...}) in one element.
    type: list
    elements: str
  env:
    description: Environment variables of the engine, with texts as values. They replace all the deployment has.
    type: dict
  replicas:
    description: Number of instances. V(0) stops it.
    type: int
  worker_selector:
    description: Labels, with texts as values, that a worker must have.
    type: dict
  placement_strategy:
    description: Whether to spread instances over workers or to fill one worker first.
    type: str
    choices: [spread, binpack]
  categories:
    description: Kinds of the model. The server fills them in when they are empty. Their order does not matter.
    type: list
    elements: str
    choices: [llm, embedding, image, reranker, speech_to_text, text_to_speech, unknown]
  restart_on_error:
    description: Whether the server starts a failed instance again.
    type: bool
  enable_model_route:
    description:
      - Whether the server also makes a route of the same name. Only looked at when the deployment is created.
      - Leave it off when routes are managed with M(inferops.gpustack.model_route).
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Deploy on the H20 workers
  inferops.gpustack.model:
    url: http://10.0.0.10
    password: "{{ gpustack_admin_password }}"
    name: deepseek-v4-flash-nvidia_h20_3e
    local_path: /srv/models/DeepSeek-V4-Flash-0731
    backend: vLLM
    image_name: docker.io/vllm/vllm-openai:v0.25.0
    backend_parameters:
      - --max-model-len=128000
      - '--speculative-config={"method":"dspark"}'
    worker_selector:
      gpustack-accelerator: nvidia_h20_3e
    replicas: 1

- name: Remove a deployment
  inferops.gpustack.model:
    url: http://10.0.0.10
    password: "{{ gpustack_admin_password }}"
    name: old
    state: absent
"""

RETURN = r"""
model:
  description:
    - The deployment, with the options of this module as names, and C(id), C(ready_replicas), C(state) and
      C(state_message).
    - Empty when it is absent. C(id) is null in check mode when it does not exist yet.
  returned: success
  type: dict
actions:
  description: What was done, or would be done in check mode.
  returned: success
  type: list
  elements: str
  sample: ["update model: backend_parameters, replicas"]
"""

import shlex

from ansible_collections.inferops.gpustack.plugins.module_utils import _args, _resource
from ansible_collections.inferops.gpustack.plugins.module_utils._clusters import find_cluster
from ansible_collections.inferops.gpustack.plugins.module_utils._errors import GpustackError
from ansible_collections.inferops.gpustack.plugins.module_utils._resource import Field
from ansible_collections.inferops.gpustack.plugins.module_utils._secrets import secret_values
from ansible_collections.inferops.gpustack.plugins.module_utils._texts import texts
from ansible_collections.inferops.gpustack.plugins.module_utils._views import model_view

#: Fields that take effect without a restart.
LIVE_FIELDS = ("replicas", "categories", "restart_on_error")

CATEGORIES = ["llm", "embedding", "image", "reranker", "speech_to_text", "text_to_speech", "unknown"]
OTHER_SOURCES = ("huggingface_repo_id", "huggingface_filename", "model_scope_model_id", "model_scope_file_path")


def same_members(one, other):
    return sorted(one or []) == sorted(other or [])


def prepare(payload, wanted, current):
    """Rules between fields. The server has them too, but some of its answers to a violation are a bare 500."""
    if current is None:
        return dict(payload, source="local_path")
    if wanted.get("local_path"):
        payload.update(dict.fromkeys(OTHER_SOURCES), source="local_path")
    if "backend" in wanted and wanted["backend"] != current.get("backend"):
        # A new engine cannot use the old one's image, version and command (T36); parameters are the user's to change.
        payload.update({key: None for key in ("run_command", "image_name", "backend_version") if key not in wanted})
    if payload.get("image_name") and payload.get("backend") != "Custom":
        # The stored version counts too (T34).
        payload["backend_version"] = None
    if "replicas" not in wanted and (current.get("scaling_schedule") or {}).get("enabled"):
        # The schedule moves it, and a stale number would be refused.
        payload.pop("replicas", None)
    return payload


MODEL = _resource.Resource(
    kind="model",
    path="/v2/models",
    lookup="search",
    fields=(
        Field("name", spec={"required": True}),
        Field("local_path"),
        Field("backend", default_none=True),
        Field("backend_version", default_none=True),
        Field("image_name", default_none=True),
        Field("backend_parameters", type="list", default_none=True, spec={"elements": "str"}),
        Field("env", type="dict", default_none=True),
        Field("replicas", type="int"),
        Field("worker_selector", type="dict", default_none=True),
        Field("placement_strategy", spec={"choices": ["spread", "binpack"]}),
        Field("categories", type="list", compare=same_members, spec={"elements": "str", "choices": CATEGORIES}),
        Field("restart_on_error", type="bool"),
        Field("enable_model_route", type="bool", create_only=True, spec={"default": False}),
        Field("id", server_owned=True),
        Field("state", server_owned=True),
        Field("state_message", server_owned=True),
        Field("ready_replicas", server_owned=True),
    ),
    echo=(
        "source",
        *OTHER_SOURCES,
        "description",
        "meta",
        "cpu_offloading",
        # Snaps back to true when it is not sent (T26).
        "distributed_inference_across_workers",
        "gpu_selector",
        "gpu_type_selector",
        "run_command",
        "native_anthropic_api",
        "extended_kv_cache",
        "speculative_config",
        "scaling_schedule",
        "generic_proxy",
        "lora_list",
        "roles",
        "disaggregation",
        "gather",
        "revision_history_limit",
        "cluster_id",
    ),
    prepare=prepare,
)


def checked(wanted):
    for option in ("env", "worker_selector"):
        if option in wanted:
            wanted[option] = texts(option, wanted[option])
    for parameter in wanted.get("backend_parameters", []):
        # The server splits an element like a shell unless it holds JSON, and answers 500 when it cannot (T20).
        if parameter.startswith("-") and "{" not in parameter and "[" not in parameter:
            try:
                shlex.split(parameter)
            except ValueError as error:
                raise GpustackError(
                    f"backend_parameters has {parameter!r}, which cannot be split like a shell: {error}.",
                    reason="Invalid",
                    hint="Balance the quotes, or quote the whole value.",
                ) from error
    if wanted.get("image_name") and wanted.get("backend_version"):
        raise GpustackError(
            "image_name and backend_version are both set.",
            reason="Invalid",
            hint="An image brings its own version: leave backend_version out.",
        )
    return wanted


def desired(module):
    if module.params["state"] == "absent":
        return None
    return checked(_resource.desired(MODEL, module.params))


def with_cluster(client, module, wanted):
    if not wanted.get("local_path"):
        raise GpustackError(
            f"Deployment {wanted['name']} does not exist, and local_path is not set.",
            reason="Invalid",
            hint="Set local_path to the model directory on the workers.",
        )
    cluster_id = find_cluster(client, module.params["cluster"])["id"]
    return _resource.Resource(
        kind=MODEL.kind,
        path=MODEL.path,
        fields=MODEL.fields,
        prepare=lambda payload, wanted, current: dict(prepare(payload, wanted, current), cluster_id=cluster_id),
    )


def body(module):
    client = _args.connect(module)
    wanted = desired(module)
    current = _resource.find(client, MODEL, module.params["name"])
    resource = MODEL
    if wanted is not None and current is None:
        try:
            resource = with_cluster(client, module, wanted)
        except GpustackError as error:
            # On a new site check mode has made no cluster.
            if not module.check_mode or error.reason != "NotFound":
                raise
            module.warn(error.message)
    result = _resource.sync(client, resource, wanted, current, module.check_mode)
    warn_of_older_instances(module, current, wanted, result)
    return report(result)


def warn_of_older_instances(module, current, wanted, result):
    """An edit never restarts an instance (T37): what runs keeps the specification it was started with."""
    if not (result["changed"] and current and wanted and current.get("ready_replicas")):
        return
    before, after = result["diff"]["before"], result["diff"]["after"]
    if any(before.get(key) != after.get(key) for key in set(before) | set(after) if key not in LIVE_FIELDS):
        module.warn(
            f"Deployment {current['name']} was changed, but its running instances keep the "
            f"arguments they were started with. Restart the deployment in GPUStack when its requests may be cut."
        )


def report(result):
    return {
        "changed": result["changed"],
        "diff": result["diff"],
        "actions": result["actions"],
        "model": _view(result["object"]),
    }


def _view(model):
    if model is None:
        return {}
    view = model_view(model, [])
    del view["instances"]
    return view


def when_unreachable(module):
    wanted = desired(module)
    if wanted is None:
        return {"changed": False, "diff": {}, "actions": [], "model": {}}
    return report(_resource.sync(None, MODEL, wanted, None, check_mode=True))


def main():
    options = dict(
        _resource.argument_spec(MODEL),
        state={"type": "str", "choices": ["present", "absent"], "default": "present"},
        cluster={"type": "str"},
    )
    # Secrets in env stay out of the system log, and out of the result.
    module = _args.api_module(options, unlogged=True)
    module.no_log_values.update(secret_values(module.params["env"] or {}))
    _args.run(module, body, when_unreachable)


if __name__ == "__main__":
    main()
