# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action of the modules that wait: against modules in this process, and once in a real playbook run."""

from __future__ import annotations

import copy
import pathlib
import re
import sys
import time
from types import SimpleNamespace
from unittest import mock

import pytest
import yaml
from ansible_collections.inferops.gpustack.plugins.action import chat_probe as action_file
from ansible_collections.inferops.gpustack.plugins.module_utils import _wait
from ansible_collections.inferops.gpustack.plugins.plugin_utils import _output
from api_playback import recorded, run_module
from unit.ansible_run import playbook

ROOT = pathlib.Path(__file__).parents[3]
STATE = {call["path"].split("?")[0]: call["answer"] for call in recorded("state")}
WORKERS = STATE["/v2/workers"]
BROKEN_MODELS, BROKEN = recorded("instances_error")
RUNNING_MODELS, RUNNING = recorded("instances_running")
CHAT = {
    "model": "qwen-h20",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Paris"}, "finish_reason": "stop"}],
    "usage": {"completion_tokens": 1},
}


def changed(answer, **changes):
    answer = copy.deepcopy(answer)
    for item in answer["items"]:
        item.update(changes)
    return answer


class Run:
    """The action, with `_execute_module` running the module here. Time passes as the modules sleep."""

    def __init__(self, module, monkeypatch, server, **options):
        self.lines = []
        self.arguments = []
        self.clock = _wait.time
        self.module = module
        self.task = SimpleNamespace(
            action=f"inferops.gpustack.{module}",
            args=dict({"url": server.url, "password": "Fixture.1pass"}, **options),
            async_val=0,
            check_mode=False,
            no_log=False,
        )
        monkeypatch.setattr(action_file, "time", self.clock)
        # A bound method, so the action itself is not among its arguments.
        monkeypatch.setattr(action_file.ActionModule, "_execute_module", self._execute)

    def _execute(self, module_args=None, task_vars=None, wrap_async=False):
        self.arguments.append(self.task.args if module_args is None else module_args)
        self.clock.now += 1.5
        return run_module(self.module, self.task.check_mode, **self.arguments[-1])

    def __call__(self):
        action = action_file.ActionModule(self.task, mock.MagicMock(), None, None, None)
        action._display = SimpleNamespace(display=self.lines.append)
        return action.run(task_vars={"inventory_hostname": "h20-01"})


@pytest.fixture
def worker(server, monkeypatch):
    """A worker that gets a label and is ready after 100 s."""

    def ready_after(seconds, timeout=1800):
        run = Run("worker", monkeypatch, server, name="h20-01", labels={"rack": "r1"}, state="ready")
        run.task.args["wait_timeout"] = timeout
        labels = {}

        def workers(_):
            state = "ready" if run.clock.now >= seconds else "not_ready"
            own = {**WORKERS["items"][0]["labels"], **labels}
            return changed(WORKERS, state=state, state_message="starting", labels=own)

        def label(body):
            labels.update(body["labels"])
            return {}

        server.on("GET", "/v2/workers", workers)
        server.on("POST", "/v2/workers/labels", label)
        return run

    return ready_after


def test_what_slices_did_is_one_result(server, worker):
    run = worker(ready_after := 100)
    result = run()
    assert "failed" not in result
    assert result["changed"] is True
    assert result["actions"] == ["label worker: rack"]
    assert result["diff"]["after"]["labels"]["rack"] == "r1"
    assert result["worker"]["state"] == "ready"
    assert "waiting" not in result
    assert len(server.sent("POST")) == 1
    assert ready_after <= run.clock.now < ready_after + 20
    assert [line.partition("  (")[0] for line in run.lines] == [
        "[h20-01] worker: Worker h20-01 is not_ready: starting"
    ] * len(run.lines)
    # The first after ten seconds, the next a minute later.
    assert len(run.lines) == 2
    assert all(re.search(r"  \(\d+ s of 1800 s\)$", line) for line in run.lines)


def test_error_of_a_later_slice(worker):
    run = worker(10**6, timeout=120)
    result = run()
    assert result["failed"] is True
    assert "Waiting for worker h20-01: not after 120 s. Worker h20-01 is not_ready: starting." in result["msg"]
    assert result["last"]["state"] == "not_ready"
    assert (result["changed"], result["actions"]) == (True, ["label worker: rack"])
    assert 120 <= run.clock.now < 130
    assert len(run.arguments) == len(run.lines) + 1


def test_short_wait_is_one_execution_without_a_word(worker):
    run = worker(6)
    assert run()["worker"]["state"] == "ready"
    assert (len(run.arguments), run.lines) == (1, [])


@pytest.mark.parametrize("how", [{"check_mode": True}, {"async_val": 60}])
def test_no_slices(worker, how):
    run = worker(0)
    vars(run.task).update(how)
    assert run()["changed"] is True
    (arguments,) = run.arguments
    assert "wait_slice" not in arguments


def test_secret_task_prints_nothing(worker):
    run = worker(100)
    run.task.no_log = True
    assert run()["changed"] is True
    assert (len(run.arguments) > 1, run.lines) == (True, [])


def test_nothing_between_the_lines_of_a_document(worker, monkeypatch):
    monkeypatch.setattr(_output.constants, "DEFAULT_STDOUT_CALLBACK", "ansible.posix.json")
    run = worker(100)
    run()
    assert run.lines == []


def test_line_is_one_line():
    lines = []
    action = SimpleNamespace(
        _task=SimpleNamespace(no_log=False, action="cluster"), _display=SimpleNamespace(display=lines.append)
    )
    waiting = {"for": "first\nsecond " + "long " * 200, "spent": 10, "timeout": 60}
    action_file.ActionModule._tell(action, "server-01", waiting)
    assert lines[0].startswith("[server-01] cluster: first second long long ")
    assert lines[0].endswith(" long ...  (10 s of 60 s)")
    assert len(lines[0]) < 350


def test_warnings_come_once_and_deprecations_stay():
    slices = [
        {"changed": False, "warnings": ["a"], "deprecations": ["old"]},
        {"changed": False, "warnings": ["a", "b"], "diff": {}},
        {"changed": False, "msg": "ok"},
    ]
    assert action_file._merged(slices) == {
        "changed": False,
        "msg": "ok",
        "warnings": ["a", "b"],
        "deprecations": ["old"],
    }


def test_drain_goes_on_where_it_was(server, monkeypatch):
    """Its instance is gone from the worker after the first slice, and the successor runs 100 s later elsewhere."""
    run = Run("worker", monkeypatch, server, name="h20-01", state="absent", drain=True, wait_timeout=1800)
    (old,) = RUNNING["answer"]["items"]
    here = WORKERS["items"][0]
    there = dict(copy.deepcopy(here), id=99, name="h20-02", state="ready")
    old = dict(old, worker_id=here["id"])
    new = dict(old, id=77, name="qwen-h20-new", worker_id=99, worker_name="h20-02")
    deleted = []

    def instances(_):
        state = "running" if run.clock.now > 100 else "starting"
        return dict(RUNNING["answer"], items=[dict(new, state=state) if deleted else old])

    def delete(_):
        deleted.append(run.clock.now)
        return {}

    server.on("GET", "/v2/workers", dict(WORKERS, items=[dict(here, maintenance=None), there]))
    server.on("PUT", f"/v2/workers/{here['id']}", here)
    server.on("GET", f"/v2/workers/{here['id']}", here)
    server.on("GET", "/v2/models", RUNNING_MODELS["answer"])
    server.on("GET", "/v2/model-instances", instances)
    server.on("DELETE", f"/v2/model-instances/{old['id']}", delete)
    server.on("DELETE", f"/v2/workers/{here['id']}", lambda _: deleted.append(run.clock.now))
    result = run()
    assert result.get("failed") is None, result["msg"]
    assert result["actions"][1:] == [f"move instance: {old['name']}", "delete worker"]
    assert "is starting" in run.lines[0]
    moved, gone = deleted
    assert moved < 10
    assert gone > 100
    assert len(run.lines) == 2


@pytest.fixture
def probe(server, monkeypatch):
    def of(instances):
        run = Run("chat_probe", monkeypatch, server, models=["qwen"], deployments=["qwen-h20"], checks=["chat"])
        run.task.args["wait_timeout"] = 3600
        server.on("GET", "/v2/workers", WORKERS)
        server.on("GET", "/v2/model-instances", lambda _: instances(run.clock.now))
        server.on("POST", "/v1/chat/completions", CHAT)
        return run

    return of


def test_download_is_told_in_percent(server, probe):
    def instances(now):
        return (
            changed(BROKEN["answer"], state="downloading", state_message="", download_progress=now / 2)
            if now < 100
            else RUNNING["answer"]
        )

    server.on("GET", "/v2/models", RUNNING_MODELS["answer"])
    run = probe(instances)
    assert run()["results"][0]["ok"] is True
    told = [re.fullmatch(r"(.*) is downloading: (\d+) %  \(\d+ s of 3600 s\)", line) for line in run.lines]
    assert told[0].group(1) == "[h20-01] chat_probe: deployment qwen-h20: instance qwen-h20-qdx9z on h20-01"
    percents = [int(one.group(2)) for one in told]
    assert 8 <= len(percents) <= 10
    assert percents == sorted(set(percents))


def test_restarts_are_counted_over_slices(server, probe):
    server.on("GET", "/v2/models", changed(BROKEN_MODELS["answer"], restart_on_error=True))
    run = probe(lambda now: changed(BROKEN["answer"], restart_count=5 + (now > 80) + (now > 160)))
    result = run()
    assert result["failure"]["reason"] == "TerminalState"
    assert 160 < run.clock.now < 190
    assert len(run.lines) > 1


def test_patience_lasts_over_slices(server, probe):
    server.on("GET", "/v2/models", RUNNING_MODELS["answer"])
    run = probe(lambda now: {"items": [], "pagination": {"totalPage": 0}})
    server.answers[("GET", "/v2/workers")] = [(200, changed(WORKERS, state="unreachable"), {})]
    server.on("GET", "/v2/model-route-targets", STATE["/v2/model-route-targets"])
    result = run()
    assert result["failure"]["reason"] == "Unplaced"
    assert 60 <= run.clock.now < 90
    assert len(run.lines) == 1


def test_routes_that_settle_late(server, probe):
    server.on("GET", "/v2/models", RUNNING_MODELS["answer"])
    run = probe(lambda now: RUNNING["answer"])
    key = ("POST", "/v1/chat/completions")
    server.answers[key] = [(404, {"detail": "Not Found"}, {})] * 7 + server.answers[key]
    assert run()["results"][0]["ok"] is True
    assert run.lines
    assert all("model qwen: POST /v1/chat/completions answered 404: Not Found" in line for line in run.lines)
    assert all(line.endswith(" s of 60 s)") for line in run.lines)


def test_every_module_that_waits_has_the_action():
    routing = yaml.safe_load((ROOT / "meta" / "runtime.yml").read_text())["plugin_routing"]["modules"]
    modules = (ROOT / "plugins" / "modules").glob("*.py")
    waiting = {one.stem for one in modules if "- inferops.gpustack.waits" in one.read_text()}
    assert {"chat_probe", "cluster", "worker"} <= waiting
    assert {name: one["action_plugin"] for name, one in routing.items()} == dict.fromkeys(
        waiting, "inferops.gpustack.chat_probe"
    )


PLAY = [
    {
        "hosts": "all",
        "gather_facts": False,
        "collections": ["inferops.gpustack"],
        "module_defaults": {
            "group/inferops.gpustack.gpustack": {"url": "{{ lookup('env', 'SITE') }}", "password": "Fixture.1pass"}
        },
        "tasks": [
            {
                "name": "By its short name",
                "chat_probe": {
                    "models": ["qwen"],
                    "deployments": ["qwen-h20"],
                    "checks": ["chat"],
                    "wait_timeout": 60,
                },
                "register": "probed",
            },
            {
                "name": "Another module, by its full name",
                "inferops.gpustack.worker": {"name": "h20-01", "state": "ready", "wait_timeout": 60},
            },
            {
                "name": "In the background",
                "inferops.gpustack.worker": {"name": "h20-01", "state": "ready", "wait_timeout": 60},
                "async": 60,
                "poll": 1,
            },
            {
                "name": "The result is that of one module",
                "ansible.builtin.assert": {"that": ["probed.waiting is undefined", "probed.results[0].ok"]},
            },
        ],
    }
]


def test_a_real_run_shows_progress(server, tmp_path):
    begun = []

    def instances(_):
        begun.append(time.monotonic())
        if time.monotonic() - begun[0] < 9:
            return changed(BROKEN["answer"], state="downloading", state_message="", download_progress=12.4)
        if time.monotonic() - begun[0] < 14:
            return changed(BROKEN["answer"], state="downloading", state_message="", download_progress=37.2)
        return RUNNING["answer"]

    server.on("GET", "/v2/models", RUNNING_MODELS["answer"])
    server.on("GET", "/v2/workers", changed(WORKERS, state="ready"))
    server.on("GET", "/v2/model-instances", instances)
    server.on("POST", "/v1/chat/completions", CHAT)
    (tmp_path / "play.yml").write_text(yaml.safe_dump(PLAY))
    python = f"ansible_python_interpreter={sys.executable}"
    where = ("-i", "h20-01,", "-c", "local", "-e", python)
    run = playbook(*where, "play.yml", cwd=tmp_path, timeout=120, SITE=server.url)
    assert run.returncode == 0, run.stdout + run.stderr
    lines = [line for line in run.stdout.splitlines() if line.startswith("[h20-01] ")]
    assert len(lines) == 1, run.stdout
    assert re.fullmatch(
        r"\[h20-01\] chat_probe: deployment qwen-h20: instance qwen-h20-qdx9z on h20-01 is downloading: (12|37) %"
        r"  \(1\d s of 60 s\)",
        lines[0],
    )
    assert "Fixture.1pass" not in run.stdout
    # Each of the two tasks that do not wait reads the workers once.
    assert sum("name=h20-01" in path for _, path, *_ in server.requests) == 2
