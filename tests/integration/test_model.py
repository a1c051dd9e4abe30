# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from steps import changes, refused, stays

MODULE = "model"
PATH = "/v2/models"
NAME = "qwen"
NEW = {"name": NAME, "cluster": "default", "local_path": "/srv/none", "backend": "vLLM", "replicas": 0}
IMAGE = "docker.io/vllm/vllm-openai:v0.25.0"


@pytest.fixture(autouse=True)
def no_models(api):
    yield
    for one in api.items(PATH):
        if one["name"].startswith(NAME):
            api.delete(f"{PATH}/{one['id']}")


@pytest.fixture
def row(api):
    """The deployment as the API has it. Its list ignores `name=` (T13)."""
    return lambda name=NAME: next((one for one in api.items(PATH) if one["name"] == name), None)


@pytest.fixture
def made(run, row):
    run(MODULE, **NEW)
    return row()


def test_create(run, row):
    done = changes(run, MODULE, **NEW)
    assert done["actions"] == ["create model"]
    assert done["diff"]["before"] == {}
    assert done["diff"]["after"]["local_path"] == "/srv/none"
    assert done["model"]["id"] == row()["id"]
    assert row()["source"] == "local_path"


@pytest.mark.parametrize(
    ("option", "first", "second"),
    [
        ("description", "one", "two"),
        ("local_path", "/srv/one", "/srv/two"),
        ("backend", "SGLang", "vLLM"),
        ("backend_version", "0.11.0", "0.11.2"),
        ("image_name", IMAGE, "docker.io/vllm/vllm-openai:v0.26.0"),
        ("run_command", "serve {{model_path}}", "serve --x {{model_path}}"),
        ("backend_parameters", ["--max-model-len=8192", '--speculative-config={"method":"dspark"}'], ["--x=1"]),
        ("env", {"A": "1", "B": "2"}, {"A": "1"}),
        ("worker_selector", {"zone": "a", "rack": "1"}, {"zone": "b"}),
        ("gpu_selector", {"gpu_ids": ["h20-01:cuda:0"]}, {"gpu_ids": ["h20-01:cuda:1"], "gpus_per_replica": 1}),
        ("placement_strategy", "binpack", "spread"),
        ("categories", ["llm"], ["embedding", "reranker"]),
        ("distributed_inference_across_workers", False, True),
        ("cpu_offloading", True, False),
        ("extended_kv_cache", {"enabled": True, "ram_ratio": 2.0}, {"enabled": False}),
        ("speculative_config", {"enabled": True, "algorithm": "ngram"}, {"enabled": True, "num_draft_tokens": 3}),
        ("generic_proxy", True, False),
        ("restart_on_error", False, True),
    ],
)
def test_each_field(run, made, option, first, second):
    """Set, changed, and then left alone by a task that does not name it."""
    for value in (first, second):
        done = changes(run, MODULE, name=NAME, **{option: value})
        assert f"update model: {option}" in done["actions"][0]
        assert done["model"]["id"] == made["id"]
    stays(run, MODULE, name=NAME)


@pytest.mark.parametrize(
    ("option", "value", "empty"),
    [
        ("description", "one", ""),
        ("image_name", IMAGE, ""),
        ("run_command", "serve", ""),
        ("backend_parameters", ["--x=1"], []),
        ("env", {"A": "1"}, {}),
        ("worker_selector", {"zone": "a"}, {}),
        ("gpu_selector", {"gpu_ids": ["h20-01:cuda:0"]}, {}),
        ("extended_kv_cache", {"enabled": True}, {}),
        ("speculative_config", {"enabled": True, "algorithm": "ngram"}, {}),
    ],
)
def test_clear(run, made, row, option, value, empty):
    run(MODULE, name=NAME, **{option: value})
    changes(run, MODULE, name=NAME, **{option: empty})
    assert not any((row()[option] or {}).values()) if isinstance(empty, dict) else not row()[option]


@pytest.mark.parametrize(
    ("source", "others"),
    [
        ({"huggingface_repo_id": "Qwen/Qwen3-8B", "huggingface_filename": "*.gguf"}, ["local_path"]),
        ({"model_scope_model_id": "Qwen/Qwen3-8B", "model_scope_file_path": "*.gguf"}, ["local_path"]),
    ],
)
def test_another_source(run, made, row, source, others):
    changes(run, MODULE, name=NAME, **source)
    assert {key: row()[key] for key in source} == source
    assert [row()[key] for key in others] == [None]
    changes(run, MODULE, name=NAME, local_path="/srv/back")
    assert [row()[key] for key in source] == [None, None]


def test_rename(run, made, row):
    changes(run, MODULE, name=NAME, new_name="qwen-2", description="renamed")
    assert (row(), row("qwen-2")["id"]) == (None, made["id"])
    stays(run, MODULE, name="qwen-2", description="renamed")


def test_rename_to_a_name_that_is_taken(run, made):
    run(MODULE, **{**NEW, "name": "qwen-2"})
    message = (
        "model qwen shall be renamed to qwen-2, but both exist. Choose another new_name, or remove one of the two."
    )
    refused(run, MODULE, message, reason="AlreadyExists", name=NAME, new_name="qwen-2")


def test_delete(run, made, row):
    done = changes(run, MODULE, name=NAME, state="absent")
    assert done["actions"] == ["delete model"]
    assert done["model"] == {}
    assert row() is None


def test_comparisons(run, made, row):
    run(MODULE, name=NAME, env={"A": "1"}, backend_parameters=["--x=1"])
    stays(run, MODULE, name=NAME, env={"A": "2"}, comparisons={"env": "ignore"})
    changes(run, MODULE, name=NAME, env={"B": "2"}, comparisons={"*": "allow_more_present"})
    assert row()["env"] == {"A": "1", "B": "2"}
    message = "comparisons has replicas: 'allow_more_present'. Only lists and dictionaries can allow more present."
    refused(run, MODULE, message, reason="Invalid", name=NAME, comparisons={"replicas": "allow_more_present"})


def test_a_no_op_costs_one_list_request(run, made, proxy):
    run(MODULE, **NEW, url=proxy.url)
    assert [(one.method, one.path) for one in proxy.sent()] == [("GET", PATH)]


def test_secrets_in_the_environment(run, made, row, secrets):
    token = secrets.add("hf_Canary+token")
    done = changes(run, MODULE, name=NAME, env={"HF_TOKEN": token, "A": "1"})
    assert row()["env"]["HF_TOKEN"] == token
    assert done["model"]["env"] == {"HF_TOKEN": "********", "A": "1"}


@pytest.mark.parametrize("spelling", ["--hf-token={}", "--hf-token {}"])
def test_secrets_in_the_arguments(run, made, row, secrets, spelling):
    token = secrets.add("hf_Canary+argument")
    options = {"name": NAME, "backend_parameters": [spelling.format(token), "--max-num-batched-tokens=8192"]}
    done = changes(run, MODULE, **options)
    assert row()["backend_parameters"] == options["backend_parameters"]
    shown = [spelling.format("********"), "--max-num-batched-tokens=8192"]
    assert done["model"]["backend_parameters"] == done["diff"]["after"]["backend_parameters"] == shown
    assert run("model_info", name=NAME)["models"][0]["backend_parameters"] == shown
    command = "vllm serve {{model_path}} " + spelling
    done = changes(run, MODULE, name=NAME, run_command=command.format(token), backend_parameters=[])
    assert done["model"]["run_command"] == command.format("********")
    assert run("model_info", name=NAME)["models"][0]["run_command"] == command.format("********")


def test_a_new_secret_in_the_arguments_is_a_change(run, made, secrets):
    for token in ("hf_Canary-one", "hf_Canary-two"):
        changes(run, MODULE, name=NAME, backend_parameters=[f"--hf-token={secrets.add(token)}"])


def test_wrong_credentials(run):
    endpoint = "GET /v2/models?page=1&perPage=100&search=qwen"
    message = (
        f"{endpoint} answered 401 (Unauthorized): Invalid authentication credentials. Check username and password, or "
        "api_key. A deactivated user and an expired key look the same."
    )
    refused(
        run, MODULE, message, status=401, code=401, reason="Unauthorized", endpoint=endpoint, **NEW, password="wrong"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"local_path": None},
            "Deployment qwen does not exist, and no source is set. Set local_path to the model directory on the "
            "workers, or huggingface_repo_id, or model_scope_model_id.",
        ),
        (
            {"huggingface_repo_id": "Qwen/Qwen3-8B"},
            "local_path and huggingface_repo_id are both set. A deployment has one source: keep one.",
        ),
        (
            {"local_path": None, "huggingface_filename": "x"},
            "huggingface_filename is set without huggingface_repo_id. Set huggingface_repo_id too.",
        ),
        (
            {"image_name": IMAGE, "backend_version": "0.25.0"},
            "image_name and backend_version are both set. An image brings its own version: leave backend_version out.",
        ),
        ({"replicas": -1}, "replicas is -1. Use 0 to stop the deployment, or more."),
        (
            {"env": {"A": True}},
            "env.A is True, which YAML read as bool; a text is needed. Put the value in quotes.",
        ),
    ],
)
def test_what_is_refused_without_asking(run, row, options, message):
    refused(run, MODULE, message, check=True, reason="Invalid", **{**NEW, **options})
    refused(run, MODULE, message, reason="Invalid", **{**NEW, **options})
    assert row() is None


def test_a_cluster_that_does_not_exist(run, server):
    message = (
        f"There is no cluster 'nowhere' on {server.url}. Make it first with inferops.gpustack.cluster. "
        "A new server has none."
    )
    refused(run, MODULE, message, reason="NotFound", **{**NEW, "cluster": "nowhere"})


def test_what_the_server_refuses(run, made):
    message = f"PUT {PATH}/{made['id']} answered 400 (BadRequest): Invalid GPU ID: nonsense."
    endpoint = f"PUT {PATH}/{made['id']}"
    options = {"name": NAME, "replicas": 1, "gpu_selector": {"gpu_ids": ["nonsense"]}}
    refused(run, MODULE, message, status=400, code=400, reason="BadRequest", endpoint=endpoint, **options)


# Traps


@pytest.mark.trap(13)
def test_the_list_ignores_names(api, run, made):
    run(MODULE, **{**NEW, "name": "qwen-other"})
    names = {one["name"] for one in api.items(PATH, name="qwen-other")}
    assert {"qwen", "qwen-other"} <= names
    stays(run, MODULE, name="qwen-other", local_path="/srv/none")


@pytest.mark.trap(19)
def test_no_cluster(server, api, run):
    bare = {"name": "qwen", "source": "local_path", "local_path": "/srv/none", "replicas": 0}
    assert api.request("POST", PATH, json=bare).status_code == 500
    done = run(MODULE, **{**NEW, "cluster": "default"})
    assert done["model"]["cluster_id"] == server.cluster_id


@pytest.mark.trap(20)
def test_an_unbalanced_quote(api, server, run, made, row):
    wrong = {"name": "qwen-wrong", "source": "local_path", "local_path": "/srv/none", "replicas": 0}
    wrong.update(cluster_id=server.cluster_id, backend="vLLM", backend_parameters=["--a=it's"])
    response = api.request("POST", PATH, json=wrong)
    if server.version == "2.1.2":
        # It splits nothing, so the engine is what fails.
        api.delete(f"{PATH}/{response.json()['id']}")
    else:
        assert response.status_code == 500
    message = (
        'backend_parameters has "--a=it\'s", which cannot be split like a shell: No closing quotation. '
        "Balance the quotes, or quote the whole value."
    )
    refused(run, MODULE, message, reason="Invalid", name=NAME, backend_parameters=["--a=it's"])
    assert row()["backend_parameters"] is None


@pytest.mark.trap(26)
def test_distributed_inference_stays_off(api, run, made, row):
    run(MODULE, name=NAME, distributed_inference_across_workers=False)
    changes(run, MODULE, name=NAME, description="x")
    assert row()["distributed_inference_across_workers"] is False
    api.put(f"{PATH}/{made['id']}", {"name": NAME, "source": "local_path", "local_path": "/srv/none"})
    assert row()["distributed_inference_across_workers"] is True


@pytest.mark.trap(31)
def test_what_the_server_fills_in(api, run, made, row):
    stays(run, MODULE, **NEW)
    api.put(f"{PATH}/{made['id']}", {**made, "backend_version": "0.11.0", "categories": ["llm"], "meta": {"n": 1}})
    stays(run, MODULE, **NEW)
    changes(run, MODULE, name=NAME, description="x")
    assert (row()["backend_version"], row()["categories"], row()["meta"]) == ("0.11.0", ["llm"], {"n": 1})


def test_what_the_server_fills_in_for_an_empty_option(api, run, made, row):
    choose = {"backend_version": "", "categories": []}
    # A new deployment is given nothing yet: that is for the worker and the scheduler to write.
    stays(run, MODULE, **NEW, **choose)
    api.put(f"{PATH}/{made['id']}", {**made, "backend_version": "0.11.0", "categories": ["llm"]})
    stays(run, MODULE, **NEW, **choose)
    done = changes(run, MODULE, **NEW, **choose, description="x")
    assert done["actions"] == ["update model: description"]
    assert (row()["backend_version"], row()["categories"]) == ("0.11.0", ["llm"])
    # Another engine has other versions.
    changes(run, MODULE, **{**NEW, **choose, "backend": "SGLang"})
    assert (row()["backend_version"], row()["categories"]) == (None, ["llm"])


def test_fewer_devices(api, run, worker, deploy):
    """The scheduler writes down how many of the chosen devices a replica uses."""
    devices = [f"{worker.name}:cuda:{number}" for number in range(2)]
    model = deploy(gpu_selector={"gpu_ids": devices}, enable_model_route=False)
    path = f"{PATH}/{model['id']}"
    filled_up = api.wait(path, lambda found: (found["gpu_selector"] or {}).get("gpus_per_replica"))
    assert filled_up["gpu_selector"]["gpus_per_replica"] == 2
    stays(run, MODULE, name=model["name"], gpu_selector={"gpu_ids": devices})
    changes(run, MODULE, name=model["name"], gpu_selector={"gpu_ids": devices[:1]})
    assert api.get(path)["gpu_selector"]["gpu_ids"] == devices[:1]


def test_more_replicas_of_a_deployment_without_options(api, run, worker, deploy):
    """The server stores an empty option in more than one way, and neither makes what runs outdated."""
    model = deploy(env={}, backend_parameters=[], enable_model_route=False)
    api.wait("/v2/model-instances", lambda found: "running" in str(found["items"]), model_id=model["id"])
    done = run(MODULE, name=model["name"], env={}, backend_parameters=[], replicas=2)
    assert (done["actions"], done["outdated_instances"], done["warnings"]) == (["update model: replicas"], [], [])
    assert "inferops.gpustack" not in (api.get(f"{PATH}/{model['id']}")["meta"] or {})


@pytest.mark.trap(32)
def test_an_empty_environment(api, run, made, row):
    for stored in (None, {}):
        api.put(f"{PATH}/{made['id']}", {**made, "env": stored})
        assert row()["env"] == stored
        stays(run, MODULE, name=NAME, env={})


@pytest.mark.trap(33)
@pytest.mark.parametrize("spelling", [["--port=1"], ["--api-key x"], ["--served-model-name", "x"]])
def test_reserved_arguments(run, made, spelling):
    flag = spelling[0].split("=")[0].split()[0]
    result = run(MODULE, ok=False, name=NAME, backend_parameters=spelling)
    assert (result["failure"]["status"], result["failure"]["reason"]) == (400, "BadRequest")
    assert flag in result["msg"]


@pytest.mark.trap(34)
def test_image_after_version(api, run, made, row):
    run(MODULE, name=NAME, backend_version="0.11.0")
    response = api.request("PUT", f"{PATH}/{made['id']}", json={**row(), "image_name": IMAGE})
    assert response.status_code in (200, 400)
    if response.ok:
        # A release that takes both. Without the image again:
        api.put(f"{PATH}/{made['id']}", {**row(), "image_name": None})
    changes(run, MODULE, name=NAME, image_name=IMAGE)
    assert (row()["image_name"], row()["backend_version"]) == (IMAGE, None)


@pytest.mark.trap(35)
def test_devices_are_looked_at_when_something_shall_run(run, made):
    devices = {"gpu_ids": ["nowhere:cuda:0"]}
    changes(run, MODULE, name=NAME, gpu_selector=devices)
    result = run(MODULE, ok=False, name=NAME, replicas=1)
    assert result["failure"]["status"] == 400
    assert "nowhere" in result["msg"]


@pytest.mark.trap(36)
def test_another_backend(run, made, row):
    run(MODULE, name=NAME, image_name=IMAGE, run_command="serve", backend_parameters=["--x=1"])
    changes(run, MODULE, name=NAME, backend="SGLang")
    assert [row()[key] for key in ("image_name", "run_command", "backend_version")] == [None, None, None]
    assert row()["backend_parameters"] == ["--x=1"]


@pytest.mark.trap(38)
def test_a_route_of_its_own(api, run, row):
    run(MODULE, **NEW, enable_model_route=True)
    # Only looked at when the deployment is made.
    stays(run, MODULE, name=NAME, enable_model_route=False)
    run(MODULE, name=NAME, new_name="qwen-2")
    assert api.find("/v2/model-routes", name="qwen-2") is None
    route = api.find("/v2/model-routes", name=NAME)
    run(MODULE, name="qwen-2", state="absent")
    api.gone(f"/v2/model-routes/{route['id']}")


@pytest.mark.trap(39, not_on={"2.1.2": "keeps no revisions", "2.2.3": "keeps no revisions"})
def test_revisions(api, run, made, row):
    def count():
        return len(api.get(f"{PATH}/{made['id']}/revisions")["items"])

    before = count()
    api.put(f"{PATH}/{made['id']}", row())
    assert count() == before
    changes(run, MODULE, name=NAME, backend_parameters=["--x=1"])
    assert count() == before + 1


@pytest.mark.trap(40, not_on={"2.1.2": "has no import", "2.2.3": "has no import"})
def test_import(api, server, made):
    """Its dry run is a diff, but it refuses to change a deployment that runs; so modules use PUT."""
    content = f"name: {NAME}\nsource: local_path\nlocal_path: /srv/other\nbackend: vLLM\nreplicas: 0\n"
    asked = {"content": content, "cluster_id": server.cluster_id}
    answer = api.post(f"{PATH}/import", {**asked, "dry_run": True})
    assert "local_path" in str(answer)
    assert api.get(f"{PATH}/{made['id']}")["local_path"] == "/srv/none"
    response = api.request("POST", f"{PATH}/import", json=asked)
    assert (response.status_code, "overwrite" in response.text) == (400, True)


words = st.text("abcdefghijklmnopqrstuvwxyz0123456789-_.", min_size=1, max_size=12)
texts = st.dictionaries(words, words, max_size=3)


@settings(max_examples=8, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.fixed_dictionaries(
        {},
        optional={
            "description": st.one_of(st.just(""), words),
            "backend": st.sampled_from(["vLLM", "SGLang", "Custom"]),
            "image_name": st.sampled_from(["", IMAGE]),
            "backend_parameters": st.lists(words.map(lambda word: f"--{word}=1"), max_size=3),
            "env": texts,
            "worker_selector": texts,
            "categories": st.lists(st.sampled_from(["llm", "image"]), unique=True, min_size=1),
            "placement_strategy": st.sampled_from(["spread", "binpack"]),
            "cpu_offloading": st.booleans(),
            "restart_on_error": st.booleans(),
        },
    )
)
def test_twice_is_once(run, spec):
    run(MODULE, **{**NEW, **spec})
    stays(run, MODULE, **{**NEW, **spec})
