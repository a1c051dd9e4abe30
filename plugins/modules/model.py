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
  - Creates, changes, rolls out or deletes a deployment. The API calls a deployment a model.
  - A change never restarts instances that run already, unless O(restart) says so. The module warns as long as
    instances run that were started before the last change.
  - Does not wait unless O(wait), O(ramp), or O(restart) with something to restart make it. To check the answers of
    models use M(inferops.gpustack.chat_probe).
author:
  - InferOps contributors (@inferops)
extends_documentation_fragment:
  - inferops.gpustack.auth
  - inferops.gpustack.auth.requests
  - inferops.gpustack.attributes
  - inferops.gpustack.resource
  - inferops.gpustack.resource.rename
  - inferops.gpustack.waits
attributes:
  check_mode:
    details: Does not wait in check mode.
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
  description:
    description: Text for people.
    type: str
  local_path:
    description:
      - Absolute path of the model directory inside the worker containers.
      - The API accepts a path that is not there; the instance then stays pending.
      - A deployment has one source, which is this, O(huggingface_repo_id) or O(model_scope_model_id).
    type: str
  huggingface_repo_id:
    description: Repository on Hugging Face, such as V(Qwen/Qwen3-8B). The workers download it.
    type: str
  huggingface_filename:
    description: File of the repository, where patterns are allowed. For repositories of single-file models.
    type: str
  model_scope_model_id:
    description: Model on ModelScope, such as V(Qwen/Qwen3-8B). The workers download it.
    type: str
  model_scope_file_path:
    description: File of the model on ModelScope, where patterns are allowed.
    type: str
  backend:
    description:
      - Inference backend, for example V(vLLM). The API does not check it.
      - A new backend clears O(image_name), O(backend_version) and O(run_command), unless they are set too.
        O(backend_parameters) stay.
    type: str
  backend_version:
    description:
      - Version of the backend. An empty text lets the server choose when the deployment is made or its
        backend changes, and keeps what it chose then.
      - Excludes O(image_name). With an image, a version the server has stored is cleared.
    type: str
  image_name:
    description:
      - Container image of the engine, with its registry host. An empty text returns to the images of GPUStack.
      - With an image GPUStack filters no workers by accelerator, so set O(worker_selector).
    type: str
  run_command:
    description: Command of the engine's container, in place of the backend's.
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
  gpu_selector:
    description:
      - Devices to use, as C(gpu_ids), a list of texts such as V(h20-01:cuda:0), and C(gpus_per_replica).
      - M(inferops.gpustack.gpu_device_info) returns the ids. They hold the name of the worker.
      - Keys that are left out are the server's to choose. An empty dictionary lets the scheduler choose the devices.
    type: dict
  placement_strategy:
    description: Whether to spread instances over workers or to fill one worker first.
    type: str
    choices: [spread, binpack]
  categories:
    description:
      - Kinds of the model. Their order does not matter.
      - An empty list lets the server choose, and keeps what it chose.
    type: list
    elements: str
    choices: [llm, embedding, image, reranker, speech_to_text, text_to_speech, unknown]
  distributed_inference_across_workers:
    description: Whether one instance may use devices of several workers. A new deployment may.
    type: bool
  cpu_offloading:
    description: Whether layers may be kept in the memory of the host.
    type: bool
  extended_kv_cache:
    description:
      - Key-value cache in the memory of the host, with C(enabled), C(ram_ratio), C(ram_size) and C(chunk_size).
      - Keys that are left out keep what the server has. An empty dictionary clears it.
    type: dict
  speculative_config:
    description:
      - GPUStack's own speculative decoding, with C(enabled), C(algorithm), C(draft_model) and C(num_draft_tokens).
        It knows no DSpark, which goes into O(backend_parameters).
      - Keys that are left out keep what the server has. An empty dictionary clears it.
    type: dict
  generic_proxy:
    description: Whether the server also passes requests on that are not of the OpenAI API.
    type: bool
  restart_on_error:
    description: Whether the server starts a failed instance again.
    type: bool
  enable_model_route:
    description:
      - Whether the server also makes a route of the same name. Only looked at when the deployment is created.
      - Leave it off when routes are managed with M(inferops.gpustack.model_route).
    type: bool
    default: false
  restart:
    description:
      - Whether running instances are replaced, one at a time. The next one is touched when the one before runs and, if
        a route leads to this deployment alone and it is a language model, has answered a chat request.
      - V(never) only warns that instances run with older settings.
      - V(on_change) replaces the instances that were started before the last change, of this run or an earlier one.
      - V(always) replaces all of them in every run.
      - An instance that failed with older settings is replaced whenever the task waits, whatever is set here.
      - Requests that a replaced instance is working on are lost. With one replica the deployment is away meanwhile.
    type: str
    choices: [never, on_change, always]
    default: never
  rollback:
    description:
      - Whether a deployment returns to the settings before the change when an instance with the new ones does not
        become ready. The task fails all the same.
      - Only used with O(restart). Needs GPUStack 2.3 or newer, which keeps revisions of a deployment.
    type: bool
    default: false
  ramp:
    description:
      - Whether several O(replicas) start with one, which must run and answer before the others are asked for. It
        concerns a new deployment, and one that had at most one replica and none that ran.
      - It starts with all of them when no ready worker has the labels of O(worker_selector), because nothing can be
        proven then.
    type: bool
    default: false
  wait:
    description: Whether to wait until all instances run.
    type: bool
    default: false
  wait_timeout:
    description:
      - Seconds to wait for the instances that are started together, for an answer, and for the end of an instance that
        is replaced, each. Loading a large model from a slow disk takes half an hour.
    type: int
    default: 3600
"""

EXAMPLES = r"""
- name: Deploy on the H20 workers
  inferops.gpustack.model:
    url: http://10.0.0.10
    password: "{{ gpustack_admin_password }}"
    name: deepseek-v4-flash-nvidia_h20_3e
    cluster: lab
    local_path: /srv/models/DeepSeek-V4-Flash-0731
    backend: vLLM
    image_name: docker.io/vllm/vllm-openai:v0.25.0
    backend_parameters:
      - --max-model-len=128000
      - '--speculative-config={"method":"dspark"}'
    worker_selector:
      gpustack-accelerator: nvidia_h20_3e
    replicas: 1

- name: Change it and bring its instances to it, one at a time
  inferops.gpustack.model:
    url: http://10.0.0.10
    password: "{{ gpustack_admin_password }}"
    name: deepseek-v4-flash-nvidia_h20_3e
    backend_parameters:
      - --max-model-len=300000
      - '--speculative-config={"method":"dspark"}'
    restart: on_change
    rollback: true

- name: Remove a deployment
  inferops.gpustack.model:
    url: http://10.0.0.10
    password: "{{ gpustack_admin_password }}"
    name: deepseek-v4-flash-nvidia_h20_3e
    state: absent
"""

RETURN = r"""
model:
  description:
    - The deployment, with the options of this module as names, and C(id), C(ready_replicas), C(state) and
      C(state_message). Values of environment variables are hidden when their names look like secrets.
    - Empty when it is absent. C(id) is null in check mode when it does not exist yet.
  returned: success
  type: dict
outdated_instances:
  description: Names of the instances that were started before the last change of the deployment.
  returned: success
  type: list
  elements: str
actions:
  description: What was done, or would be done in check mode.
  returned: success
  type: list
  elements: str
  sample: ["update model: backend_parameters, replicas", "replace instance: qwen-xYz12"]
last:
  description: The instances as they were seen last, and C({log}) with the last lines of one that failed.
  returned: when the wait ends without success
  type: list
  elements: dict
"""

from dataclasses import replace

from ansible_collections.inferops.gpustack.plugins.module_utils import (
    _model,
    _placement,
    _resource,
    _resource_module,
    _revision,
)
from ansible_collections.inferops.gpustack.plugins.module_utils._clusters import find_cluster
from ansible_collections.inferops.gpustack.plugins.module_utils._deployments import instances_of
from ansible_collections.inferops.gpustack.plugins.module_utils._errors import (
    GpustackError,
    TerminalState,
    WaitTimeout,
)
from ansible_collections.inferops.gpustack.plugins.module_utils._model import MODEL
from ansible_collections.inferops.gpustack.plugins.module_utils._rollout import Rollout, latest_revision
from ansible_collections.inferops.gpustack.plugins.module_utils._wait import OPTION, Wait


class Deployment:
    """One run of the module: what is there, what is wanted, and what has been done about it."""

    def __init__(self, module, client):
        self.module, self.client, self.params = module, client, module.params
        self.wanted, self.current = _resource_module.prepared(module, client, MODEL, _model.checked)
        self.wait = Wait.of(module)

    def converge(self):
        if self.wanted is None:
            self._sync(MODEL, None)
            return
        if self._is_ramped():
            self._sync(self._table(), dict(self.wanted, replicas=1))
            if self._can_be_placed():
                self.current, _instances = self._rollout().settle(at_least_one=True)
            self.wait.memory["ramp"] = False
        self._sync(self._table(), self.wanted)
        if not self.module.check_mode:
            self._roll_out()

    def _is_ramped(self):
        if not self.params["ramp"] or self.wanted.get("replicas", 1) <= 1 or self.module.check_mode:
            return False
        idle = self.current is None or not (self.current["ready_replicas"] or self.current["replicas"] > 1)
        # An earlier slice of this task may be waiting for the proof of an instance that runs by now.
        self.wait.memory["ramp"] = self.wait.memory.get("ramp", idle)
        return self.wait.memory["ramp"]

    def _can_be_placed(self):
        if _placement.ready(_placement.fitting(self.current, self.client.list_all("/v2/workers"))):
            return True
        self.module.warn(
            f"No ready worker fits deployment {self.current['name']}, so nothing can prove its first instance. "
            "It gets all its replicas at once."
        )
        return False

    def _sync(self, table, wanted):
        result = _resource.sync(self.client, table, wanted, self.current, self.module.check_mode)
        done = self.wait.done
        done["changed"] = done.get("changed", False) or result["changed"]
        done["actions"] = done.get("actions", []) + result["actions"]
        done["diff"] = done.get("diff") or result["diff"]
        if self.current is None:
            # What is new is not outdated, whatever `restart` says.
            self.wait.memory["forgotten"] = True
        self.current = result["object"]
        if result["changed"] and wanted is not None and not self.module.check_mode:
            _resource_module.check_taken_over(self.module, MODEL, wanted, self.current)

    def _table(self):
        return self._table_to_create() if self.current is None else replace(MODEL, prepare=self._with_record)

    def _table_to_create(self):
        _model.check_complete(self.wanted)
        try:
            cluster_id = find_cluster(self.client, self.params["cluster"])["id"]
        except GpustackError as error:
            # On a new site check mode has made no cluster.
            if not self.module.check_mode or error.reason != "NotFound":
                raise
            self.module.warn(error.message)
            return MODEL
        return replace(MODEL, prepare=lambda *given: dict(_model.prepare(*given), cluster_id=cluster_id))

    def _with_record(self, payload, wanted, current):
        """The payload of a change, with what the instances that run now have to be remembered for."""
        payload = _model.prepare(payload, wanted, current)
        after = dict(current, **payload)
        record = _revision.record_of(current) or None
        if _revision.differs(current, after):
            revision = latest_revision(self.client, current) if self.params["rollback"] else None
            running = (
                instances_of(self.client, current["id"]) if current["replicas"] or current["ready_replicas"] else []
            )
            record = _revision.new_record(current, after, running, revision)
        return dict(payload, meta=_revision.meta_with(current, record))

    def _rollout(self):
        return Rollout(self.client, self.current, self.params["wait_timeout"], self.wait)

    def _roll_out(self):
        rollout, restart = self._rollout(), self.params["restart"]
        if restart == "always":
            rollout.forget_all()
            self.current = self.client.get(rollout.path)
        if restart != "never" and _revision.is_pending(self.current):
            try:
                rollout.replace_outdated()
            except (TerminalState, WaitTimeout) as error:
                if not self.params["rollback"]:
                    raise
                rollout.roll_back(error)
            self.current = self.client.get(rollout.path)
        if self.params["wait"]:
            rollout.settle()
            self.current = self.client.get(rollout.path)

    def outdated(self):
        """Names of the instances with older settings. Costs a request only where there is a record of some."""
        if not self.current or self.current.get("id") is None or not _revision.record_of(self.current):
            return []
        instances = instances_of(self.client, self.current["id"])
        return sorted(one["name"] for one in _revision.outdated(self.current, instances))

    def _predict_roll_out(self, outdated):
        names = outdated
        if self.params["restart"] == "always" and self.current and self.current.get("id"):
            names = sorted(one["name"] for one in instances_of(self.client, self.current["id"]))
        done = self.wait.done
        done.update(
            actions=done["actions"] + [f"replace instance: {name}" for name in names],
            changed=done["changed"] or bool(names),
        )

    def report(self):
        outdated = self.outdated()
        if self.module.check_mode and self.params["restart"] != "never":
            self._predict_roll_out(outdated)
        elif outdated:
            self.module.warn(
                f"Deployment {self.current['name']} was changed, but {', '.join(outdated)} still runs with the "
                "settings it was started with. Run the task with restart=on_change when its requests may be cut."
            )
        result = dict(self.wait.done, object=self.current)
        return dict(_resource_module.report(MODEL, result), outdated_instances=outdated)


def body(module, client):
    deployment = Deployment(module, client)
    deployment.converge()
    return deployment.report()


def when_unreachable(module):
    wanted = _resource_module.desired(module, MODEL, _model.checked)
    result = _resource.sync(None, MODEL, wanted, None, check_mode=True)
    return dict(_resource_module.report(MODEL, result), outdated_instances=[])


def main():
    options = {
        "cluster": {"type": "str"},
        "restart": {"type": "str", "choices": ["never", "on_change", "always"], "default": "never"},
        "rollback": {"type": "bool", "default": False},
        "ramp": {"type": "bool", "default": False},
        "wait": {"type": "bool", "default": False},
        "wait_timeout": {"type": "int", "default": 3600},
        **OPTION,
    }
    _resource_module.run(MODEL, extra_options=options, body=body, when_unreachable=when_unreachable)


if __name__ == "__main__":
    main()
