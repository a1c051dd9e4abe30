# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A simulated worker: it speaks a worker's side of the server's API, and runs nothing.

Like the real one it registers with the cluster's token, posts its status, watches for model instances and model files
and takes them through their states. What happens to a deployment is told with `behave`; what it saw is in `starts`,
`chats` and `running_counts`.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import threading
import time

import cards
import requests
from api import Api, Refused
from simulated_worker_api import WorkerApi

DELETED = 3
#: Below the time after which a server gives a silent worker up.
STATUS_EVERY_S = 30
CONFIG = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "hidden_size": 4096,
    "intermediate_size": 12288,
    "num_attention_heads": 32,
    "num_hidden_layers": 36,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "max_position_embeddings": 40960,
    "torch_dtype": "bfloat16",
    "vocab_size": 151936,
}


@dataclasses.dataclass
class Path:
    config: dict
    size: int


@dataclasses.dataclass
class Behaviour:
    """What happens to a deployment (by its name) or a model file (by its path or repository)."""

    #: The message it fails with, or a function of the deployment's specification that gives one or None.
    fail: object = None
    #: How often the worker starts an instance again that failed.
    restarts: int = 0
    #: The message its download fails with.
    fail_download: str | None = None
    #: Stay at this percentage until another behaviour is told.
    stay_downloading: float | None = None
    #: Seconds from `starting` to `running`.
    slow: float = 0
    #: Lines its engine writes into its log while it starts.
    says: tuple = ()
    chat_status: int = 200


@dataclasses.dataclass
class Start:
    """One start of an instance with the specification its deployment had then."""

    instance: dict
    spec: dict

    @property
    def name(self):
        return self.instance["name"]


class SimulatedWorker:
    def __init__(self, server, cluster_id, name, labels=None, status=None):
        self.name, self.labels = name, dict(labels or {})
        self._status = status or cards.status()
        self._url = server.url
        self._port = WorkerApi(self)
        registration = server.registration_token(cluster_id)
        self._uuid = ""
        registered = Api(self._url, token=registration).post("/v2/workers", self._description())
        self.id, self.cluster_id = registered["id"], cluster_id
        self.registered_labels = registered["labels"]
        self.tokens = {registered["token"], registration}
        self._token = registered["token"]
        # Up to 2.2 a report without it makes the next new worker the same one.
        self._uuid = registered["worker_uuid"]
        self._stopped = threading.Event()
        self._changed = threading.Condition()
        self._instances, self._files = {}, set()
        self._log = {}
        self.forget()
        self._beat()
        for work, arguments in (
            (self._beats, ()),
            (self._watch, ("model-instances", self._on_instance)),
            (self._watch, ("model-files", self._on_file)),
        ):
            self._in_background(work, *arguments)

    # What tests tell it and read from it

    def forget(self):
        """Everything told and seen."""
        with self._changed:
            self.paths = {}
            self._behaviours = {}
            self.starts, self.chats, self._timeline = [], [], []
            self._changed.notify_all()

    def add_path(self, path, config=None, size=16 << 30):
        """A model directory that exists on this worker."""
        self.paths[path] = Path(dict(CONFIG, **(config or {})), size)
        return path

    def behave(self, name, **behaviour):
        """From now on; without options as if nothing had ever been told."""
        with self._changed:
            self._behaviours[name] = Behaviour(**behaviour)
            self._changed.notify_all()

    def started(self, model):
        """The specifications instances of a deployment were started with, in order."""
        return [start.spec for start in self.starts if start.spec["name"] == model]

    def running_counts(self, model):
        """How many instances of a deployment were running, after each change."""
        count = itertools.accumulate(step for name, step in self._timeline if name == model)
        return list(count)

    def close(self):
        self._stopped.set()
        with self._changed:
            self._changed.notify_all()
        self._port.close()

    # What its port needs

    def running_instance(self, instance_id=None, port=0):
        with self._changed:
            return next(
                (
                    one
                    for one in self._instances.values()
                    if one["state"] == "running" and (one["id"] == instance_id or (port and one["port"] == port))
                ),
                None,
            )

    def chat(self, instance, request):
        self.chats.append((instance["model_name"], request))
        return self._behaviour(instance["model_name"]).chat_status

    def log_of(self, instance_id):
        return self._log.get(instance_id)

    # The protocol

    def _description(self):
        return {
            "name": self.name,
            "labels": {"os": "linux", "arch": "amd64", "worker-name": self.name, **self.labels},
            "worker_version": "simulated",
            **self._report(),
        }

    def _report(self):
        return {
            "hostname": self.name,
            "ip": "127.0.0.1",
            "advertise_address": "127.0.0.1",
            "ifname": "lo",
            "port": self._port.port,
            "metrics_port": -1,
            "system_reserved": {"ram": 0, "vram": 0},
            "state_message": None,
            "status": self._status,
            "worker_uuid": self._uuid,
            "proxy_mode": "worker",
        }

    def _beat(self):
        api = Api(self._url, token=self._token)
        api.post("/v2/worker-heartbeat", {})
        api.post("/v2/worker-status", self._report())

    def _beats(self):
        while not self._stopped.wait(STATUS_EVERY_S):
            try:
                self._beat()
            except (requests.RequestException, Refused):
                continue

    def _watch(self, kind, handle):
        session = requests.Session()
        session.trust_env = False
        session.headers["Authorization"] = f"Bearer {self._token}"
        while not self._stopped.is_set():
            try:
                with session.get(
                    f"{self._url}/v2/{kind}", params={"watch": "true"}, stream=True, timeout=(5, 60)
                ) as answer:
                    answer.raise_for_status()
                    for line in answer.iter_lines():
                        if self._stopped.is_set():
                            return
                        if line:
                            handle(json.loads(line))
            except requests.RequestException:
                self._stopped.wait(0.2)

    def _on_instance(self, event):
        found = event.get("data") or {}
        if event["type"] == DELETED:
            self._forget_instance(found.get("id") or event.get("id"))
            return
        if found.get("worker_id") != self.id:
            return
        with self._changed:
            known = self._instances.setdefault(found["id"], {"state": None, "restart_count": -1})
            attempt = found.get("restart_count") or 0
            if found["state"] == "scheduled" and attempt > known["restart_count"]:
                known.update(found, state="initializing", restart_count=attempt, port=40000 + found["id"] % 20000)
                self._in_background(self._begin, known)
            elif found["state"] == "starting" and known["state"] == "initializing":
                known["state"] = "starting"
                self._in_background(self._run, known)

    def _begin(self, instance):
        spec = self._api().get(f"/v2/models/{instance['model_id']}")
        self.starts.append(Start(dict(instance), spec))
        self._write(instance, f"start of {instance['name']} with {json.dumps(spec.get('backend_parameters'))}")
        instance["spec"] = spec
        self._report_instance(instance, state="initializing", port=instance["port"], ports=[instance["port"]], pid=1)

    def _run(self, instance):
        behaviour = self._behaviour(instance["model_name"])
        self._stopped.wait(behaviour.slow)
        message = behaviour.fail(instance["spec"]) if callable(behaviour.fail) else behaviour.fail
        if message:
            self._fail(instance, behaviour, message)
            return
        for line in behaviour.says:
            self._write(instance, line)
        self._write(instance, "Application startup complete.")
        with self._changed:
            # Deleted in the meantime?
            if instance["id"] not in self._instances:
                return
            self._move(instance, "running")
        self._report_instance(instance, state="running", state_message="")

    def _fail(self, instance, behaviour, message):
        self._write(instance, f"ERROR {message}")
        with self._changed:
            self._move(instance, "error")
        self._report_instance(instance, state="error", state_message=message)
        if instance["restart_count"] < behaviour.restarts:
            attempt = instance["restart_count"] + 1
            self._report_instance(instance, state="scheduled", state_message="", restart_count=attempt)

    def _forget_instance(self, instance_id):
        with self._changed:
            instance = self._instances.pop(instance_id, None)
            if instance:
                self._move(instance, "deleted")

    def _move(self, instance, state):
        step = (state == "running") - (instance["state"] == "running")
        instance["state"] = state
        if step:
            self._timeline.append((instance["model_name"], step))

    def _on_file(self, event):
        file = event.get("data") or {}
        with self._changed:
            if event["type"] == DELETED:
                self._files.discard(file.get("id") or event.get("id"))
            elif file.get("worker_id") == self.id and file["state"] == "downloading" and file["id"] not in self._files:
                self._files.add(file["id"])
                self._in_background(self._download, file)

    def _download(self, file):
        try:
            self._report_file(file, **self._downloaded(file))
        finally:
            # An error can be tried again.
            with self._changed:
                self._files.discard(file["id"])

    def _downloaded(self, file):
        if file["source"] == "local_path":
            path = file["local_path"]
            if path not in self.paths:
                return {"state": "error", "state_message": f"Path does not exist: {path}"}
        else:
            path = f"/var/lib/gpustack/cache/{file['source']}/{_source(file)}"
        names = {_source(file), *self._deployments_with(file)}
        for percent in (0, 50):
            self._report_file(file, download_progress=percent)
        while (behaviour := self._first_behaviour(names)).stay_downloading is not None:
            self._report_file(file, download_progress=behaviour.stay_downloading)
            with self._changed:
                self._changed.wait_for(
                    lambda told=behaviour: self._stopped.is_set() or self._first_behaviour(names) is not told
                )
            if self._stopped.is_set():
                return {}
        if behaviour.fail_download:
            return {"state": "error", "state_message": behaviour.fail_download}
        size = self.add_path(path) and self.paths[path].size
        return {"state": "ready", "download_progress": 100, "size": size, "resolved_paths": [path]}

    def _deployments_with(self, file):
        with self._changed:
            instances = list(self._instances.values())
        return {one["model_name"] for one in instances if _source(one) == _source(file)}

    def _behaviour(self, name):
        return self._first_behaviour({name})

    def _first_behaviour(self, names):
        with self._changed:
            return next((told for name, told in self._behaviours.items() if name in names), Behaviour())

    def _write(self, instance, line):
        self._log.setdefault(instance["id"], []).append(f"{time.strftime('%H:%M:%S')} {line}")

    def _report_instance(self, instance, **changes):
        self._put(f"/v2/model-instances/{instance['id']}", changes)

    def _report_file(self, file, **changes):
        if changes:
            self._put(f"/v2/model-files/{file['id']}", changes)

    def _put(self, path, changes):
        """As the real one does it: the whole object with the changes in it."""
        api = self._api()
        api.put(path, dict(api.get(path), **changes))

    def _api(self):
        return Api(self._url, token=self._token)

    def _in_background(self, work, *arguments):
        name = f"{self.name} {work.__name__}"
        threading.Thread(target=self._do, args=(work, *arguments), daemon=True, name=name).start()

    def _do(self, work, *arguments):
        try:
            work(*arguments)
        except (requests.RequestException, Refused) as error:
            deleted_meanwhile = getattr(error, "status", None) == 404
            if not deleted_meanwhile and not self._stopped.is_set():
                raise


def _source(thing):
    return thing.get("local_path") or thing.get("huggingface_repo_id") or thing.get("model_scope_model_id")
