# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Chat answers have the form vLLM 0.25 gives them; states of instances are recorded from a real server."""

from __future__ import annotations

import copy
import json

import pytest
from ansible_collections.inferops.gpustack.plugins.plugin_utils._findings import Finding
from api_playback import recorded

CHAT = "/v1/chat/completions"
PENDING = recorded("instances_pending")[0]
RUNNING_MODELS, RUNNING = recorded("instances_running")
BROKEN_MODELS, BROKEN = recorded("instances_error")
STATE = {call["path"].split("?")[0]: call["answer"] for call in recorded("state")}
WORKERS, TARGETS = STATE["/v2/workers"], STATE["/v2/model-route-targets"]
FACTS = {"city": "Paris", "country": "France", "population_millions": 2.1, "is_capital": True}


def completion(text, finish_reason="stop", model="qwen-h20"):
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": model,
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish_reason},
        ],
        "usage": {"prompt_tokens": 20, "completion_tokens": 7, "total_tokens": 27},
    }


def stream(*pieces, finish_reason="stop", done=True):
    chunks = [{"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]}]
    chunks += [{"choices": [{"index": 0, "delta": {"content": one}}]} for one in pieces]
    chunks += [{"choices": [{"index": 0, "delta": {}, "finish_reason": finish_reason}]}, {"choices": []}]
    lines = [": ping", ""] + [f"data: {json.dumps(one)}\n" for one in chunks]
    return "\n".join(lines + (["data: [DONE]", ""] if done else [""]))


class Engine:
    """Answers by what is asked for; each part can be replaced by a wrong answer."""

    def __init__(self):
        self.chat = completion("Paris is the capital of France.")
        self.stream = stream("Paris", " it is.")
        self.json_object = completion(json.dumps(FACTS))
        self.json_schema = completion(json.dumps(FACTS))

    def __call__(self, body):
        if body.get("stream"):
            return self.stream
        return getattr(self, body.get("response_format", {}).get("type", "chat"))


@pytest.fixture
def engine(server):
    engine = Engine()
    server.on("POST", CHAT, engine)
    return engine


@pytest.fixture
def ready_worker(server):
    server.on("GET", "/v2/workers", WORKERS)


def found(result, check):
    return result["results"][0]["checks"][check]["found"]


def test_all_checks(server, run, engine):
    result = run("chat_probe", models=["qwen"])
    assert result["changed"] is False
    (one,) = result["results"]
    assert (one["model"], one["answered_by"], one["ok"]) == ("qwen", "qwen-h20", True)
    assert list(one["checks"]) == ["chat", "stream", "json_object", "json_schema"]
    assert one["answer"] == "Paris is the capital of France."
    assert one["json_answer"] == FACTS
    assert one["completion_tokens"] == 7
    assert one["latency_s"] >= 0
    bodies = [body for _, _, body in server.sent()]
    assert all(body["model"] == "qwen" and body["max_tokens"] == 512 for body in bodies)
    assert bodies[2]["response_format"] == {"type": "json_object"}
    assert bodies[3]["response_format"]["json_schema"]["schema"]["required"] == list(FACTS)


def test_chosen_checks_and_limits(server, run, engine):
    run("chat_probe", models=["a", "b"], checks=["chat"], max_tokens=9, prompt="Say hi")
    assert [(body["model"], body["max_tokens"]) for _, _, body in server.sent()] == [("a", 9), ("b", 9)]
    assert server.sent()[0][2]["messages"] == [{"role": "user", "content": "Say hi"}]


def test_every_failure_is_told(run, engine):
    engine.chat = completion("")
    engine.json_object = completion('```json\n{"a": 1}\n```')
    result = run("chat_probe", models=["qwen"])
    assert result["failed"] is True
    assert result["msg"].startswith("2 checks failed. qwen: chat: the answer is empty | qwen: json_object: ")
    assert [name for name, one in result["results"][0]["checks"].items() if one["ok"]] == ["stream", "json_schema"]


@pytest.mark.parametrize("check", ["chat", "json_object", "json_schema"])
def test_answer_that_was_cut(run, engine, check):
    setattr(engine, check, completion('{"city": "Par', "length"))
    result = run("chat_probe", models=["qwen"], checks=[check])
    assert "cut at max_tokens=512" in found(result, check)


def test_answer_that_is_only_thinking(run, engine):
    engine.chat = completion(None)
    assert found(run("chat_probe", models=["qwen"]), "chat") == "the answer is empty"


def test_answer_of_another_service(run, engine):
    engine.chat = {"hello": "world"}
    assert "no choices[0].message" in found(run("chat_probe", models=["qwen"]), "chat")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (stream("Paris", done=False), "ended without [DONE]"),
        (stream("Paris", finish_reason="length"), "cut at max_tokens=512"),
        (stream("Paris", finish_reason=None), "no finish_reason"),
        (stream(), "no text"),
        ("data: {broken\n", "no JSON"),
        ('data: {"error": {"message": "engine died"}}\n', "engine died"),
    ],
)
def test_wrong_streams(run, engine, answer, expected):
    engine.stream = answer
    assert expected in found(run("chat_probe", models=["qwen"]), "stream")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("```json\n{}\n```", "inside a code fence"),
        ("Sure! {}", "no JSON"),
        ("{} and more", "no JSON"),
        ('"Paris"', "bare str"),
        ("[1]", "JSON list"),
    ],
)
def test_json_that_is_not_pure(run, engine, text, expected):
    engine.json_object = completion(text)
    assert expected in found(run("chat_probe", models=["qwen"]), "json_object")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"is_capital": "yes"}, "answer.is_capital is string, expected boolean"),
        ({"population_millions": "2.1"}, "answer.population_millions is string, expected number"),
        ({"population_millions": True}, "answer.population_millions is boolean, expected number"),
        ({"city": None}, "answer.city is null, expected string"),
        ({"mayor": "x"}, "answer.mayor is not in the schema"),
    ],
)
def test_json_that_does_not_fit(run, engine, change, expected):
    engine.json_schema = completion(json.dumps(dict(FACTS, **change)))
    assert found(run("chat_probe", models=["qwen"]), "json_schema") == expected


def test_json_with_a_missing_key(run, engine):
    engine.json_schema = completion(json.dumps({"city": "Paris", "country": "France", "is_capital": True}))
    assert found(run("chat_probe", models=["qwen"]), "json_schema") == "answer.population_millions is missing"


def test_own_schema(run, engine):
    schema = {"type": "object", "properties": {"tags": {"type": "array", "items": {"enum": ["a", "b"]}}}}
    engine.json_schema = completion('{"tags": ["a", "c"]}')
    result = run("chat_probe", models=["qwen"], checks=["json_schema"], schema=schema)
    assert found(result, "json_schema") == "answer.tags[1] is 'c', expected one of ['a', 'b']"


@pytest.mark.parametrize("schema", [{"minLength": 1}, {"items": {"pattern": "x"}}, {"type": "text"}])
def test_schema_with_what_would_not_be_checked(server, run, schema):
    result = run("chat_probe", models=["qwen"], schema=schema)
    assert "cannot check" in result["msg"]
    assert server.requests == []


def test_unknown_model(server, run):
    call = recorded("errors")[6]
    server.on("POST", CHAT, call["answer"], status=404)
    result = run("chat_probe", models=["absent"], checks=["chat"])
    assert found(result, "chat") == "status 404: Model not found"


def test_waits_for_a_running_instance(server, run, engine, ready_worker):
    server.on("GET", "/v2/models", RUNNING_MODELS["answer"])
    for call in (PENDING, PENDING, RUNNING):
        server.on("GET", "/v2/model-instances", call["answer"])
    result = run("chat_probe", models=["qwen"], deployments=["qwen-h20"], wait_timeout=600)
    assert result["results"][0]["ok"] is True
    assert len([1 for _, path, *_ in server.requests if path.startswith("/v2/model-instances?")]) == 3


def models_that(restart):
    answer = copy.deepcopy(BROKEN_MODELS["answer"])
    for model in answer["items"]:
        model["restart_on_error"] = restart
    return answer


def broken_after(restarts):
    answer = copy.deepcopy(BROKEN["answer"])
    for instance in answer["items"]:
        instance["restart_count"] = restarts
    return answer


def test_instance_in_error_ends_the_wait(server, run, ready_worker):
    server.on("GET", "/v2/models", models_that(restart=False))
    server.on("GET", "/v2/model-instances", BROKEN["answer"])
    result = run("chat_probe", models=["qwen"], deployments=["qwen-h20"], wait_timeout=600)
    assert "on h20-01 is error: exited with code 1." in result["msg"]
    assert result["failure"]["reason"] == "TerminalState"
    assert server.sent() == []


LOG = "/v2/model-instances/4/logs"


def test_error_carries_the_end_of_the_log(server, run, ready_worker):
    server.on("GET", "/v2/models", models_that(restart=False))
    server.on("GET", "/v2/model-instances", BROKEN["answer"])
    log = ["\x1b[0;36m(EngineCore)\x1b[0m start", "non-default args: {'api_key': ['sk-canary'], 'seed': 0}", "x" * 9999]
    server.on("GET", LOG, "\n".join(["too old", *["torch.OutOfMemoryError: CUDA out of memory"] * 17, *log]) + "\n")
    (last,) = run("chat_probe", models=["qwen"], deployments=["qwen-h20"], wait_timeout=600)["last"]
    assert last["log"][:17] == ["torch.OutOfMemoryError: CUDA out of memory"] * 17
    assert last["log"][17:19] == ["(EngineCore) start", "non-default args: {'api_key': ['********'], 'seed': 0}"]
    assert [len(line) for line in last["log"][19:]] == [500]
    assert [path for _, path, *_ in server.requests if path.startswith(LOG)] == [f"{LOG}?tail=20"]


@pytest.mark.parametrize("status", [404, 500])
def test_log_that_cannot_be_read_is_no_error(server, run, ready_worker, status):
    server.on("GET", "/v2/models", models_that(restart=False))
    server.on("GET", "/v2/model-instances", BROKEN["answer"])
    server.on("GET", LOG, "Unable to read logs", status=status)
    result = run("chat_probe", models=["qwen"], deployments=["qwen-h20"], wait_timeout=600)
    assert "on h20-01 is error: exited with code 1." in result["msg"]
    assert result["last"][0]["log"] == []


def test_log_of_the_broken_one_of_two(server, run, ready_worker):
    starting = dict(BROKEN["answer"]["items"][0], id=9, state="starting", state_message="")
    server.on("GET", "/v2/models", models_that(restart=False))
    server.on("GET", "/v2/model-instances", dict(BROKEN["answer"], items=[starting, *BROKEN["answer"]["items"]]))
    server.on("GET", LOG, "it broke")
    result = run("chat_probe", models=["qwen"], deployments=["qwen-h20"], wait_timeout=600)
    assert result["last"][0]["log"] == ["it broke"]


def test_instance_that_gpustack_starts_again_is_waited_for(server, run, engine, ready_worker):
    server.on("GET", "/v2/models", models_that(restart=True))
    for answer in (broken_after(5), broken_after(6), RUNNING["answer"]):
        server.on("GET", "/v2/model-instances", answer)
    assert run("chat_probe", models=["qwen"], deployments=["qwen-h20"], wait_timeout=600)["results"][0]["ok"] is True


def test_instance_that_keeps_failing_ends_the_wait(server, run, ready_worker):
    server.on("GET", "/v2/models", models_that(restart=True))
    for restarts in (5, 6, 7):
        server.on("GET", "/v2/model-instances", broken_after(restarts))
    result = run("chat_probe", models=["qwen"], deployments=["qwen-h20"], wait_timeout=600)
    assert result["failure"]["reason"] == "TerminalState"
    assert len([1 for _, path, *_ in server.requests if path.startswith("/v2/model-instances?")]) == 3


def test_running_instance_is_enough_beside_a_broken_one(server, run, engine, ready_worker):
    both = copy.deepcopy(RUNNING)
    both["answer"]["items"].append(dict(BROKEN["answer"]["items"][0], id=99))
    server.on("GET", "/v2/models", RUNNING_MODELS["answer"])
    server.on("GET", "/v2/model-instances", both["answer"])
    assert run("chat_probe", models=["qwen"], deployments=["qwen-h20"])["results"][0]["ok"] is True


def test_pending_instance_tells_why_at_the_end(server, run, ready_worker):
    server.on("GET", "/v2/models", BROKEN_MODELS["answer"])
    server.on("GET", "/v2/model-instances", PENDING["answer"])
    result = run("chat_probe", models=["qwen"], deployments=["qwen-h20"], wait_timeout=60)
    assert "is pending: Failed to find candidate" in result["msg"]
    assert result["last"][0]["instances"][0]["state"] == "pending"
    assert result["failure"]["reason"] == "Timeout"


def test_stopped_and_missing_deployments_end_the_wait(server, run, ready_worker):
    models = copy.deepcopy(RUNNING_MODELS["answer"])
    models["items"][0]["replicas"] = 0
    server.on("GET", "/v2/models", models)
    server.on("GET", "/v2/model-instances", {"items": [], "pagination": {"totalPage": 0}})
    result = run("chat_probe", models=["qwen"], deployments=["qwen-h20", "typo"], wait_timeout=600)
    assert "qwen-h20 is stopped" in result["msg"]
    assert "no deployment typo" in result["msg"]


def test_waits_for_the_route_behind_a_gateway(server, run, ready_worker):
    server.on("GET", "/v2/models", RUNNING_MODELS["answer"])
    server.on("GET", "/v2/model-instances", RUNNING["answer"])
    for _ in range(3):
        server.on("POST", CHAT, {"detail": "Not Found"}, status=404)
    server.on("POST", CHAT, Engine())
    result = run("chat_probe", models=["qwen"], deployments=["qwen-h20"], wait_timeout=600)
    assert result["results"][0]["ok"] is True


def test_check_mode_asks_nothing(server, run):
    result = run("chat_probe", check=True, models=["qwen"], deployments=["qwen-h20"], wait_timeout=600)
    assert (result["changed"], result["results"]) == (False, [])
    assert server.requests == []


ABSENT = {"items": [], "pagination": {"page": 1, "perPage": 100, "total": 0, "totalPage": 0}}
PLACED, LOST = "qwen-h20", "qwen-npu"


def changed(answer, *changes):
    """The recorded answer with one item for each of the changes."""
    (item,) = answer["items"]
    return dict(answer, items=[dict(copy.deepcopy(item), **change) for change in changes])


def workers(*changes):
    return changed(WORKERS, *changes)


@pytest.fixture
def two_kinds(server):
    """qwen-h20 runs on h20-01. qwen-npu waits for a worker with another label. Route qwen leads to both."""
    npu = {"id": 5, "name": LOST, "ready_replicas": 0, "worker_selector": {"gpustack-accelerator": "ascend_910b"}}
    server.on("GET", "/v2/models", changed(RUNNING_MODELS["answer"], {}, npu))
    waiting = dict(PENDING["answer"]["items"][0], id=5, model_id=5, model_name=LOST, name=f"{LOST}-x")
    running = dict(RUNNING["answer"], items=[*RUNNING["answer"]["items"], waiting])
    server.on("GET", "/v2/model-instances", running)
    routes = [
        {"route_id": 7, "route_name": "qwen", "model_id": 4, "state": "active"},
        {"route_id": 7, "route_name": "qwen", "model_id": 5},
        {"route_id": 8, "route_name": PLACED, "model_id": 4, "state": "active"},
        {"route_id": 9, "route_name": LOST, "model_id": 5},
        {"route_id": 10, "route_name": "qwen-plain", "model_id": 5},
    ]
    server.on(
        "GET",
        "/v2/model-route-targets",
        changed(TARGETS, *[dict(one, id=14 + number) for number, one in enumerate(routes)]),
    )
    return server


def npu(state):
    labels = {"arch": "arm64", "gpustack-accelerator": "ascend_910b", "os": "linux", "worker-name": "npu-01"}
    return {"id": 5, "name": "npu-01", "ip": "127.0.0.2", "state": state, "labels": labels}


def probe_both(run, **params):
    return run("chat_probe", models=[PLACED, LOST, "qwen", "qwen-plain"], deployments=[PLACED, LOST], **params)


def test_deployment_without_a_worker_is_not_waited_for(two_kinds, run, engine, no_pauses):
    two_kinds.on("GET", "/v2/workers", workers({}, npu("unreachable")))
    result = probe_both(run, wait_timeout=3600)
    assert "failed" not in result
    assert [one["model"] for one in result["results"]] == [PLACED, "qwen"]
    assert {body["model"] for _, _, body in two_kinds.sent()} == {PLACED, "qwen"}
    assert result["not_asked"] == [LOST, "qwen-plain"]
    assert result["not_placed"] == [
        {
            "deployment": LOST,
            "worker_selector": {"gpustack-accelerator": "ascend_910b"},
            "found": "no worker that fits is ready: npu-01 is unreachable",
        }
    ]
    assert 60 <= sum(no_pauses) <= 75


def test_deployment_without_a_worker_is_a_finding(two_kinds, run, engine):
    two_kinds.on("GET", "/v2/workers", workers({}, npu("not_ready")))
    (found,) = probe_both(run)["findings"]
    assert Finding(**found).severity == "warning"
    assert (found["id"], found["where"]) == ("deployment_without_worker", "deployment qwen-npu")
    assert found["found"] == (
        "no worker that fits is ready: npu-01 is not_ready; nothing answers on route qwen-plain; "
        "its requests on route qwen go to the route's other targets"
    )
    assert found["expected"] == "a ready worker with label gpustack-accelerator=ascend_910b"


def test_a_stopped_deployment_does_not_keep_a_route_alive(two_kinds, run, engine):
    npu_model = {"id": 5, "name": LOST, "worker_selector": {"gpustack-accelerator": "ascend_910b"}}
    stopped = {"id": 4, "replicas": 0}
    running = {"id": 3, "name": "other"}
    two_kinds.answers[("GET", "/v2/models")] = [
        (200, changed(RUNNING_MODELS["answer"], stopped, npu_model, running), {}),
    ]
    instances = changed(RUNNING["answer"], {"model_id": 3})
    two_kinds.answers[("GET", "/v2/model-instances")] = [(200, instances, {})]
    two_kinds.on("GET", "/v2/workers", workers({}, npu("unreachable")))
    result = run("chat_probe", models=[LOST, "other", "qwen"], deployments=[LOST, "other"])
    assert result["not_asked"] == [LOST, "qwen"]


@pytest.mark.parametrize("other", [{"cluster_id": 2}, {"labels": None}, {"labels": {"gpustack-accelerator": "x"}}])
def test_worker_that_does_not_fit(two_kinds, run, engine, other):
    two_kinds.on("GET", "/v2/workers", workers({}, dict(npu("ready"), **other)))
    result = probe_both(run)
    assert result["not_placed"][0]["found"] == "the server knows no worker that fits"


def test_worker_that_becomes_ready_in_time(two_kinds, run, engine):
    instances = copy.deepcopy(two_kinds.answers[("GET", "/v2/model-instances")][0][1])
    instances["items"][1].update(state="running", worker_id=5, worker_name="npu-01")
    for _ in range(4):
        two_kinds.on("GET", "/v2/model-instances", two_kinds.answers[("GET", "/v2/model-instances")][0][1])
    two_kinds.on("GET", "/v2/model-instances", instances)
    for state in ("not_ready", "not_ready", "ready"):
        two_kinds.on("GET", "/v2/workers", workers({}, npu(state)))
    result = probe_both(run, wait_timeout=3600)
    assert [one["model"] for one in result["results"]] == [PLACED, LOST, "qwen", "qwen-plain"]
    assert (result["not_placed"], result["not_asked"], result["findings"]) == ([], [], [])


def test_worker_that_comes_and_goes_is_waited_for(two_kinds, run, engine, no_pauses):
    for state in ["unreachable"] * 6 + ["ready"] + ["unreachable"]:
        two_kinds.on("GET", "/v2/workers", workers({}, npu(state)))
    assert probe_both(run, wait_timeout=3600)["not_asked"] == [LOST, "qwen-plain"]
    assert sum(no_pauses) >= 70


def test_short_wait_does_not_end_on_the_worker(two_kinds, run, engine):
    two_kinds.on("GET", "/v2/workers", workers({}, npu("unreachable")))
    assert probe_both(run, wait_timeout=10)["not_asked"] == [LOST, "qwen-plain"]


def test_no_deployment_has_a_worker(two_kinds, run, engine):
    two_kinds.answers[("GET", "/v2/model-instances")] = [(200, ABSENT, {})]
    two_kinds.on("GET", "/v2/workers", workers({"state": "unreachable"}))
    result = probe_both(run, wait_timeout=3600)
    assert result["failed"] is True
    assert result["msg"].startswith(
        "No deployment has a ready worker. qwen-h20: no worker that fits is ready: h20-01 is"
    )
    assert result["failure"]["reason"] == "Unplaced"
    assert [one["id"] for one in result["findings"]] == ["deployment_without_worker"] * 2
    assert "nothing answers on route qwen, qwen-plain" in result["findings"][1]["found"]
    assert two_kinds.sent() == []


def test_running_instance_needs_no_ready_worker(server, run, engine):
    server.on("GET", "/v2/models", RUNNING_MODELS["answer"])
    server.on("GET", "/v2/model-instances", RUNNING["answer"])
    server.on("GET", "/v2/workers", workers({"state": "maintenance"}))
    result = run("chat_probe", models=["qwen"], deployments=[PLACED])
    assert (result["results"][0]["ok"], result["findings"]) == (True, [])


def test_failed_instance_of_a_lost_worker_is_not_the_end(server, run, engine):
    server.on("GET", "/v2/models", models_that(restart=False))
    moving = changed(BROKEN["answer"], {}, {"id": 9, "state": "starting", "state_message": "", "worker_id": 6})
    moved = changed(BROKEN["answer"], {}, {"id": 9, "state": "running", "state_message": "", "worker_id": 6})
    for answer in (moving, moved):
        server.on("GET", "/v2/model-instances", answer)
    server.on("GET", "/v2/workers", workers({"state": "unreachable"}, {"id": 6, "name": "h20-02"}))
    assert run("chat_probe", models=["qwen"], deployments=[PLACED], wait_timeout=600)["results"][0]["ok"] is True


def test_instances_with_older_settings(server, run, engine, ready_worker):
    instance = RUNNING["answer"]["items"][0]
    counts = {str(instance["id"]): instance["restart_count"]}
    record = {"digest": "0123456789ab", "instances": counts, "revision": None}
    server.on("GET", "/v2/models", changed(RUNNING_MODELS["answer"], {"meta": {"inferops.gpustack": record}}))
    server.on("GET", "/v2/model-instances", RUNNING["answer"])
    (found,) = run("chat_probe", models=["qwen"], deployments=[PLACED])["findings"]
    assert (found["id"], found["where"]) == ("instances_outdated", "deployment qwen-h20")
    assert found["found"].startswith(f"{instance['name']} still runs with the settings")
    assert "-e gpustack_model_restart=on_change" in Finding(**found).fix


def short_of_replicas(server, *instances, replicas=2, hosts=({},)):
    server.on("GET", "/v2/models", changed(RUNNING_MODELS["answer"], {"replicas": replicas}))
    server.on("GET", "/v2/model-instances", changed(RUNNING["answer"], *instances))
    server.on("GET", "/v2/workers", workers(*hosts))


def test_fewer_workers_than_replicas(server, run, engine):
    gone = {"id": 5, "name": "qwen-h20-b", "state": "unreachable", "worker_id": 6, "worker_name": "h20-02"}
    short_of_replicas(server, {}, gone, hosts=({}, {"id": 6, "name": "h20-02", "state": "unreachable"}))
    result = run("chat_probe", models=["qwen"], deployments=[PLACED])
    (found,) = result["findings"]
    assert Finding(**found).severity == "warning"
    assert (found["id"], found["where"]) == ("replicas_short", "deployment qwen-h20")
    assert found["found"] == "1 of 2 instances run; instance qwen-h20-b on h20-02 is unreachable: no message"
    assert (result["not_placed"], result["not_asked"]) == ([], [])


@pytest.mark.parametrize("state", ["running", "starting", "scheduled", "pending"])
def test_instances_that_share_a_worker_are_not_short(server, run, engine, state):
    short_of_replicas(server, {}, {"id": 5, "name": "qwen-h20-b", "state": state})
    assert run("chat_probe", models=["qwen"], deployments=[PLACED])["findings"] == []


@pytest.mark.parametrize("hosts", [({},), ({}, {"id": 6, "name": "h20-02"})], ids=["one_host", "two_hosts"])
def test_an_instance_that_is_stuck_tells_its_own_reason(server, run, engine, hosts):
    waiting = {"id": 5, "name": "qwen-h20-b", "state": "pending", "worker_id": None, "worker_name": None}
    short_of_replicas(server, {}, {**waiting, "state_message": "No card\nis free."}, hosts=hosts)
    (found,) = run("chat_probe", models=["qwen"], deployments=[PLACED])["findings"]
    assert found["found"] == "1 of 2 instances run; instance qwen-h20-b is pending: No card is free"


def test_an_instance_that_was_replaced_is_not_missed(server, run, engine):
    gone = {"id": 5, "name": "qwen-h20-b", "state": "unreachable"}
    short_of_replicas(server, {}, gone, {"id": 6, "name": "qwen-h20-c", "state": "starting"})
    assert run("chat_probe", models=["qwen"], deployments=[PLACED])["findings"] == []


def test_failed_check_of_a_served_model_still_fails(two_kinds, run, engine):
    two_kinds.on("GET", "/v2/workers", workers({}, npu("unreachable")))
    engine.chat = completion("")
    result = probe_both(run, checks=["chat"])
    assert result["msg"].startswith("2 checks failed. qwen-h20: chat: the answer is empty | qwen: chat: ")
    assert result["not_asked"] == [LOST, "qwen-plain"]


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"properties": ["a"]}, "schema.properties is ['a'], where a dictionary is needed."),
        ({"properties": {"a": "string"}}, "schema.properties.a is 'string', where a dictionary such as {type: string}"),
        ({"required": "a"}, "schema.required is 'a', where a list of names is needed."),
        ({"items": "string"}, "schema.items is 'string', where a dictionary such as"),
        ({"type": "objekt"}, "schema uses type objekt, which this module cannot check. Use only "),
    ],
)
def test_schema_of_another_shape(run, schema, message):
    result = run("chat_probe", models=["qwen"], schema=schema)
    assert result["msg"].startswith(message)
    assert result["failure"]["reason"] == "Invalid"


def test_a_server_that_is_not_there_fails_no_check(run):
    result = run("chat_probe", url="http://127.0.0.1:9", models=["a", "b"], checks=["chat", "stream"])
    assert result["failure"]["reason"] == "Unreachable"
    assert result["msg"].count("does not answer") == 1


@pytest.mark.parametrize(("option", "value"), [("max_tokens", 0), ("request_timeout", 0), ("wait_timeout", -3)])
def test_numbers_that_make_no_sense(run, option, value):
    result = run("chat_probe", models=["qwen"], **{option: value})
    assert result["msg"].startswith(f"{option} is {value}. Use ")
