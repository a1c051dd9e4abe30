# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import copy

import pytest
from api_playback import recorded

ABSENT, CREATED, PRESENT, BOTH_SET, CHANGED, _AFTER = recorded("model")
CLUSTERS = recorded("state")[0]
GONE = recorded("delete")[3]
MODEL_ID = PRESENT["answer"]["items"][0]["id"]
PATH = f"/v2/models/{MODEL_ID}"
OPTIONS = {
    "name": "qwen-h20",
    "local_path": "/srv/models/qwen",
    "backend": "vLLM",
    "image_name": "docker.io/vllm/vllm-openai:v0.25.0",
    "backend_parameters": ["--max-model-len=4096", '--speculative-config={"method":"dspark"}'],
    "env": {"A": "1"},
    "replicas": 0,
    "worker_selector": {"gpustack-accelerator": "nvidia_h20_3e"},
}


def stored(**fields):
    call = copy.deepcopy(PRESENT)
    call["answer"]["items"][0].update(fields)
    return call


def put_body(server):
    ((_, path, body),) = server.sent()
    assert path == PATH
    return body


def test_creates(server, run):
    server.play(ABSENT, CREATED)
    server.on("GET", "/v2/clusters", CLUSTERS["answer"])
    result = run("model", **OPTIONS)
    assert result["changed"] is True
    assert result["model"]["id"] == MODEL_ID
    ((verb, path, body),) = server.sent()
    assert (verb, path) == ("POST", "/v2/models")
    recorded_body = dict(CREATED["body"])
    del recorded_body["backend_version"]
    assert body == recorded_body


def test_no_op_costs_one_request(server, run):
    server.play(PRESENT)
    result = run("model", cluster="lab", **OPTIONS)
    assert (result["changed"], result["diff"], result["actions"]) == (False, {}, [])
    assert len(server.requests) == 1


def test_only_the_name_is_a_no_op(server, run):
    server.play(PRESENT)
    assert run("model", name="qwen-h20")["changed"] is False


def instance(number, **fields):
    return dict({"id": number, "name": f"qwen-h20-{number}", "model_id": MODEL_ID, "state": "running"}, **fields)


def listed(server, path, *items):
    server.on(
        "GET", path, {"items": list(items), "pagination": {"page": 1, "perPage": 100, "total": 1, "totalPage": 1}}
    )


def under(server, *instances, **fields):
    """A deployment with these instances, on a server that keeps what is put."""
    call = stored(replicas=len(instances), ready_replicas=len(instances), **fields)
    server.play(call)
    server.on("PUT", PATH, lambda body: dict(call["answer"]["items"][0], **body))
    listed(server, "/v2/model-instances", *instances)


def test_a_change_under_running_instances_is_told(server, run):
    under(server, instance(1), instance(2, state="pending"))
    result = run("model", name="qwen-h20", backend_parameters=["--max-model-len=8192"])
    assert result["outdated_instances"] == ["qwen-h20-1"]
    assert any("qwen-h20-1 still runs with the settings it was started with" in text for text in result["warnings"])


@pytest.mark.parametrize("change", [{"categories": ["embedding"]}, {"restart_on_error": False}, {"description": "x"}])
def test_a_change_that_needs_no_restart_is_not_told(server, run, change):
    under(server, instance(1))
    result = run("model", name="qwen-h20", **change)
    assert (result["changed"], result["outdated_instances"], result["warnings"]) == (True, [], [])


@pytest.mark.parametrize(
    ("state", "outdated"),
    [
        (instance(1), ["qwen-h20-1"]),
        (instance(1, restart_count=1), []),
        (instance(2), []),
    ],
)
def test_what_runs_with_older_settings_is_told_again(server, run, state, outdated):
    """An instance that was started again, or came since, has the new settings."""
    record = {"digest": "0123456789ab", "instances": {"1": 0}, "revision": None}
    under(server, state, meta={"inferops.gpustack": record})
    result = run("model", name="qwen-h20")
    assert (result["changed"], result["outdated_instances"]) == (False, outdated)
    assert len(server.requests) == 2


def test_change_sends_the_whole_object(server, run):
    server.play(PRESENT, CHANGED)
    result = run("model", name="qwen-h20", backend_parameters=["--max-model-len=8192"])
    body = put_body(server)
    assert body["backend_parameters"] == ["--max-model-len=8192"]
    assert body["source"] == "local_path"
    assert body["local_path"] == "/srv/models/qwen"
    assert body["env"] == {"A": "1"}
    assert body["distributed_inference_across_workers"] is True
    for server_owned in ("id", "state", "ready_replicas", "created_at", "enable_model_route"):
        assert server_owned not in body
    assert result["actions"] == ["update model: backend_parameters"]
    assert result["diff"]["after"]["backend_parameters"] == ["--max-model-len=8192"]


def test_an_image_that_the_server_dropped_is_sent_again(server, run):
    server.play(PRESENT)
    after = dict(PRESENT["answer"]["items"][0], replicas=2)
    server.on("PUT", PATH, dict(after, image_name=None))
    server.on("PUT", PATH, after)
    result = run("model", name="qwen-h20", replicas=2)
    assert [body["image_name"] for _verb, _path, body in server.sent()] == [OPTIONS["image_name"]] * 2
    assert result["model"]["image_name"] == OPTIONS["image_name"]


def test_everything_the_server_accepted_from_a_person_is_sent_back(server, run):
    """The recorded PUT held every writable field of the object, so ours must name the same ones."""
    server.play(PRESENT, CHANGED)
    run("model", name="qwen-h20", replicas=2)
    server_owned = {"degradations", "distributable", "has_stale_lora_instances"}
    server_owned |= {"restarting_since", "role_status", "stale"}
    untouchable = {"access_policy", "owner_principal_id"}
    assert set(CHANGED["body"]) - set(put_body(server)) == server_owned | untouchable


def test_order_of_parameters_counts(server, run):
    server.play(PRESENT, CHANGED)
    assert run("model", name="qwen-h20", backend_parameters=OPTIONS["backend_parameters"][::-1])["changed"] is True


def test_order_of_categories_does_not(server, run):
    server.play(stored(categories=["llm", "embedding"]))
    assert run("model", name="qwen-h20", categories=["embedding", "llm"])["changed"] is False


def test_what_the_server_fills_in_is_left_alone(server, run):
    server.play(stored(backend_version="0.25.0", image_name=None, categories=["llm"], meta={"n_params": 1}))
    options = {key: value for key, value in OPTIONS.items() if key != "image_name"}
    assert run("model", **options)["changed"] is False


@pytest.mark.parametrize("value", [None, {}])
def test_no_environment_is_the_same_as_an_empty_one(server, run, value):
    server.play(stored(env=value))
    assert run("model", name="qwen-h20", env={})["changed"] is False


def test_empty_environment_clears(server, run):
    server.play(PRESENT, CHANGED)
    run("model", name="qwen-h20", env={})
    assert put_body(server)["env"] is None


def test_image_clears_a_stored_version(server, run):
    assert "Cannot set both a custom image and a backend version" in BOTH_SET["answer"]["message"]
    server.play(stored(image_name=None, backend_version="0.25.0"), CHANGED)
    run("model", name="qwen-h20", image_name="docker.io/vllm/vllm-openai:v0.25.0")
    body = put_body(server)
    assert body["image_name"] == "docker.io/vllm/vllm-openai:v0.25.0"
    assert body["backend_version"] is None


def test_image_and_version_together(server, run):
    result = run("model", backend_version="0.25.0", **OPTIONS)
    assert "image_name and backend_version are both set" in result["msg"]
    assert server.requests == []


def test_back_to_the_servers_images(server, run):
    server.play(PRESENT, CHANGED)
    run("model", name="qwen-h20", image_name="", backend_version="0.25.0")
    body = put_body(server)
    assert (body["image_name"], body["backend_version"]) == (None, "0.25.0")


def test_another_backend_drops_what_belonged_to_the_old_one(server, run):
    server.play(stored(run_command="serve"), CHANGED)
    run("model", name="qwen-h20", backend="SGLang")
    body = put_body(server)
    assert (body["image_name"], body["run_command"], body["backend_version"]) == (None, None, None)
    assert body["backend_parameters"] == OPTIONS["backend_parameters"]


def test_another_source_becomes_a_local_path(server, run):
    server.play(stored(source="huggingface", huggingface_repo_id="a/b", local_path=None), CHANGED)
    run("model", name="qwen-h20", local_path="/srv/models/qwen")
    body = put_body(server)
    assert (body["source"], body["huggingface_repo_id"]) == ("local_path", None)


def test_replicas_of_a_schedule_are_not_sent_back(server, run):
    server.play(stored(scaling_schedule={"enabled": True}), CHANGED)
    run("model", name="qwen-h20", env={"B": "2"})
    assert "replicas" not in put_body(server)


@pytest.mark.parametrize("parameter", ["--a=it's", '--chat "x'])
def test_unbalanced_quote_is_found_before_the_server_fails(server, run, parameter):
    result = run("model", name="qwen-h20", backend_parameters=[parameter])
    assert "cannot be split like a shell" in result["msg"]
    assert server.requests == []


def test_a_parameter_that_yaml_read_as_a_dictionary(server, run):
    result = run("model", name="qwen", backend_parameters=[{"--max-model-len": 300000}])
    assert "which is no argument. Write each as one text, --name=value" in result["msg"]
    assert server.sent() == []


def test_quotes_inside_json_are_fine(server, run):
    server.play(PRESENT, CHANGED)
    assert run("model", name="qwen-h20", backend_parameters=['--x={"a":"it\'s"}'])["changed"] is True


def test_names_are_compared_here(server, run):
    """search= finds every name that contains the text."""
    server.play(stored(name="qwen-h20-old"))
    result = run("model", name="qwen-h20", state="absent")
    assert result["changed"] is False


def test_create_without_a_path(server, run):
    server.play(ABSENT)
    assert "no source is set" in run("model", name="qwen-h20")["msg"]
    assert server.sent() == []


def test_create_where_the_cluster_is_ambiguous(server, run):
    server.play(ABSENT)
    items = [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]
    server.on("GET", "/v2/clusters", {"items": items, "pagination": {"totalPage": 1}})
    result = run("model", **OPTIONS)
    assert "has 2 clusters (a, b)" in result["msg"]
    assert server.sent() == []


def test_create_in_a_cluster_that_is_not_there(server, run):
    server.play(ABSENT)
    server.on("GET", "/v2/clusters", {"items": [], "pagination": {"totalPage": 0}})
    assert "no cluster 'lab'" in run("model", cluster="lab", **OPTIONS)["msg"]


@pytest.mark.parametrize("existing", [ABSENT, PRESENT])
def test_check_mode_sends_nothing(server, run, existing):
    server.play(existing)
    server.on("GET", "/v2/clusters", CLUSTERS["answer"])
    result = run("model", check=True, **dict(OPTIONS, replicas=3))
    assert result["changed"] is True
    assert result["diff"]["after"]["replicas"] == 3
    assert result["model"]["replicas"] == 3
    assert server.sent() == []


def test_check_mode_before_the_cluster_exists(server, run):
    server.play(ABSENT)
    server.on("GET", "/v2/clusters", {"items": [], "pagination": {"totalPage": 0}})
    result = run("model", check=True, cluster="lab", **OPTIONS)
    assert result["changed"] is True
    assert "no cluster 'lab'" in result["warnings"][0]


def test_check_mode_without_a_server(run):
    result = run("model", check=True, url="http://127.0.0.1:9", **OPTIONS)
    assert result["changed"] is True
    assert result["model"]["id"] is None


def test_deletes(server, run):
    server.play(PRESENT)
    server.on("DELETE", PATH, None)
    result = run("model", name="qwen-h20", state="absent")
    assert (result["changed"], result["model"]) == (True, {})
    assert server.sent() == [("DELETE", PATH, None)]


def test_delete_of_what_has_gone_meanwhile(server, run):
    server.play(PRESENT)
    server.on("DELETE", PATH, GONE["answer"], status=404)
    assert run("model", name="qwen-h20", state="absent")["changed"] is True


def test_delete_of_what_is_absent(server, run):
    server.play(ABSENT)
    assert run("model", name="qwen-h20", state="absent")["changed"] is False


def test_secrets_in_the_environment_stay_hidden(server, run):
    server.play(PRESENT)
    server.on("PUT", PATH, dict(CHANGED["answer"], env={"HF_TOKEN": "canary-value"}))
    result = run("model", name="qwen-h20", env={"HF_TOKEN": "canary-value", "A": "1"})
    assert put_body(server)["env"]["HF_TOKEN"] == "canary-value"
    assert "canary-value" not in str(result)


def test_error_of_the_server(server, run):
    server.play(PRESENT)
    server.on("PUT", PATH, BOTH_SET["answer"], status=400)
    result = run("model", name="qwen-h20", replicas=5)
    assert result["failure"] == {
        "status": 400,
        "code": 400,
        "reason": "BadRequest",
        "endpoint": f"PUT {PATH}",
        "hint": "",
    }


def test_more_replicas_leave_no_record_of_empty_options(server, run):
    under(server, instance(1), env={}, backend_parameters=[])
    result = run("model", name="qwen-h20", env={}, backend_parameters=[], replicas=3)
    assert (result["actions"], result["outdated_instances"]) == (["update model: replicas"], [])
    assert put_body(server)["meta"] == {}


def test_fewer_devices_than_the_scheduler_counted(server, run):
    """It wrote how many of the devices chosen then one replica uses, which the server would refuse now."""
    server.play(stored(gpu_selector={"gpu_ids": ["a:cuda:0", "a:cuda:1"], "gpus_per_replica": 2}))
    server.on("PUT", PATH, lambda body: dict(PRESENT["answer"]["items"][0], **body))
    run("model", name="qwen-h20", gpu_selector={"gpu_ids": ["a:cuda:0"]})
    assert put_body(server)["gpu_selector"] == {"gpu_ids": ["a:cuda:0"]}


def test_create_in_one_of_two_clusters_of_the_same_name(server, run):
    server.play(ABSENT)
    listed(server, "/v2/clusters", {"id": 1, "name": "lab"}, {"id": 2, "name": "lab"}, {"id": 3, "name": "other"})
    result = run("model", cluster="lab", **OPTIONS)
    assert result["msg"] == (
        "There are 2 of cluster lab, in different organizations: id 1, 2. Connect as a user who sees one of them only."
    )
    assert result["failure"]["reason"] == "Ambiguous"
    assert server.sent() == []
