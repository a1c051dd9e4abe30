from __future__ import annotations

import pytest
from ansible_collections.inferops.gpustack.plugins.plugin_utils._plan import PlanError, launch_plan


def model(entry=None, **more):
    deployment = {"accelerator": "nvidia_h20_3e", "path": "/srv/models/x"}
    deployment.update(entry or {})
    return {"name": "m", "family": "deepseek_v4", "dspark": True, "deployments": [deployment], **more}


def deployment(entry=None, hosts=None, **more):
    return launch_plan([model(entry, **more)], hosts=hosts)["deployments"][0]


def test_without_dspark_only_that_argument_is_gone():
    on, off = deployment(), deployment(dspark=False)
    assert [p for p in on["parameters"] if p not in off["parameters"]] == [
        '--speculative-config={"method":"dspark","num_speculative_tokens":7,"draft_sample_method":"greedy"}'
    ]
    assert "speculative-config" not in off["origins"]


def test_dspark_is_off_unless_asked_for():
    plain = model()
    del plain["dspark"]
    assert not any("speculative" in p for p in launch_plan([plain])["deployments"][0]["parameters"])


def test_dspark_options_replace_the_profile():
    parameters = deployment(dspark_options={"tokens": 5, "sampling": "probabilistic"})["parameters"]
    assert (
        '--speculative-config={"method":"dspark","num_speculative_tokens":5,"draft_sample_method":"probabilistic"}'
        in parameters
    )


def test_a_draft_of_its_own_is_named():
    parameters = deployment({"draft_path": "/srv/models/draft"})["parameters"]
    assert any(p.startswith("--speculative-config=") and '"model":"/srv/models/draft"' in p for p in parameters)


def test_user_arguments_replace_in_place_and_append_in_their_order():
    args = {"zeta": 1, "block_size": 128, "--max-num-seqs": 8, "alpha": {"b": 1, "a": [True]}}
    args["trust-remote-code"] = None
    before = deployment()["parameters"]
    after = deployment({"args": args})
    changed = [
        {"--block-size=256": "--block-size=128", "--max-num-seqs=48": "--max-num-seqs=8"}.get(p, p)
        for p in before
        if p != "--trust-remote-code"
    ]
    assert after["parameters"] == [*changed, "--zeta=1", '--alpha={"b":1,"a":[true]}']
    assert after["origins"]["block-size"] == "inventory: deployment"
    assert "trust-remote-code" not in after["origins"]


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ({"enable-flashinfer-autotune": True}, "--enable-flashinfer-autotune"),
        ({"no-enable-flashinfer-autotune": False}, "--enable-flashinfer-autotune"),
        ({"enable-flashinfer-autotune": False}, "--no-enable-flashinfer-autotune"),
    ],
)
def test_a_boolean_and_its_negation_are_one_argument(args, expected):
    parameters = deployment({"args": args})["parameters"]
    assert [p for p in parameters if "autotune" in p] == [expected]
    assert parameters.index(expected) == 5


def test_false_turns_a_bare_flag_into_its_negation():
    assert "--no-enable-prefix-caching" in deployment({"args": {"enable-prefix-caching": False}})["parameters"]


def test_environment_replaces_in_place_appends_and_removes():
    entry = {"accelerator": "ascend_910b", "env": {"NEW": 1, "HCCL_BUFFSIZE": 2048, "OMP_NUM_THREADS": None}}
    planned = deployment(entry)
    assert list(planned["env"].items()) == [
        ("HCCL_BUFFSIZE", "2048"),
        ("TASK_QUEUE_ENABLE", "1"),
        ("HCCL_OP_EXPANSION_MODE", "AIV"),
        ("PYTORCH_NPU_ALLOC_CONF", "expandable_segments:True"),
        ("VLLM_ENGINE_READY_TIMEOUT_S", "3600"),
        ("NEW", "1"),
    ]
    assert planned["origins"]["NEW"] == "inventory: deployment"


def test_the_misnamed_time_out_is_refused():
    with pytest.raises(PlanError, match="VLLM_ENGINE_READY_TIMEOUT_S"):
        deployment({"env": {"VLLM_ENGINE_READY_TIMEOUT": 3600}})


def test_every_value_has_an_origin():
    planned = deployment({"max_model_len": 1000, "env": {"A": "b"}})
    assert len(planned["origins"]) == len(planned["parameters"]) + len(planned["env"])
    assert planned["origins"]["max-model-len"] == "inventory: deployment"
    assert planned["origins"]["tokenizer-mode"] == "family deepseek_v4"
    assert planned["origins"]["kv-cache-dtype"] == "accelerator x family"
    assert planned["origins"]["speculative-config"] == "dspark switch"
    assert planned["origins"]["VLLM_ENGINE_READY_TIMEOUT_S"] == "accelerator x family"


@pytest.mark.parametrize(("replicas", "expected"), [(None, 1), (3, 3), (0, 0), ("per_worker", 8)])
def test_replicas(replicas, expected):
    assert deployment({"replicas": replicas}, hosts={"nvidia_h20_3e": 8})["replicas"] == expected


def test_per_worker_without_a_worker_is_refused():
    with pytest.raises(PlanError, match="per_worker"):
        deployment({"replicas": "per_worker"}, hosts={"ascend_910b": 8})


def test_images_follow_rewrites_lock_and_the_deployment():
    digest = "sha256:" + "ab" * 32
    entries = [
        {"accelerator": "nvidia_h20_3e", "path": "/a"},
        {"accelerator": "ascend_910b", "path": "/b"},
    ]
    plan = launch_plan(
        [model(), dict(model(), name="n", deployments=entries)],
        rewrites={"docker.io": "10.0.0.5:5000/docker.io"},
        lock={"quay.io/ascend/vllm-ascend:nightly-main": digest},
    )
    assert plan["images"] == {
        "nvidia_h20_3e": ["10.0.0.5:5000/docker.io/vllm/vllm-openai:v0.25.0"],
        "ascend_910b": [f"quay.io/ascend/vllm-ascend@{digest}"],
    }
    assert deployment({"engine_version": "0.33.0"})["image"] == "docker.io/vllm/vllm-openai:v0.33.0"
    assert deployment({"image": "me/vllm:1", "engine_version": "0.33.0"})["image"] == "docker.io/me/vllm:1"
    ascend = deployment({"accelerator": "ascend_910b", "engine_version": "0.25.1rc1"})
    assert ascend["image"] == "quay.io/ascend/vllm-ascend:v0.25.1rc1"


def test_a_deployment_selects_workers_of_its_accelerator():
    planned = deployment()
    assert planned["name"] == "m-nvidia_h20_3e"
    assert planned["backend"] == "vLLM"
    assert planned["worker_selector"] == {"gpustack-accelerator": "nvidia_h20_3e"}


def test_the_draft_of_a_deployment_is_one_of_its_directories():
    assert deployment()["directories"] == ["/srv/models/x"]
    own_draft = {"draft_path": "/srv/drafts/d"}
    assert deployment(own_draft)["directories"] == ["/srv/models/x", "/srv/drafts/d"]
    assert deployment(own_draft, dspark=False)["directories"] == ["/srv/models/x"]


def test_route_weights():
    entries = [{"accelerator": a, "path": "/a"} for a in ("nvidia_h20_3e", "ascend_910b")]
    plan = launch_plan([dict(model(), deployments=entries, route={"weights": {"nvidia_h20_3e": 3}})])
    assert plan["routes"] == [
        {
            "name": "m",
            "targets": [{"model": "m-nvidia_h20_3e", "weight": 3}, {"model": "m-ascend_910b", "weight": 1}],
        }
    ]


@pytest.mark.parametrize(
    ("entry", "more", "message"),
    [
        ({"accelerator": "nvidia_h20"}, {}, "nvidia_h20"),
        ({}, {"family": "deepseek_v9"}, "deepseek_v9"),
        ({"image": "http://x/y"}, {}, "URL scheme"),
    ],
)
def test_what_cannot_be_planned_says_why(entry, more, message):
    with pytest.raises(PlanError, match=message):
        launch_plan([dict(model(entry), **more)])


def test_two_deployments_of_one_name_are_refused():
    with pytest.raises(PlanError, match="m-nvidia_h20_3e"):
        launch_plan([model(), model()])


def test_nothing_to_serve_is_an_empty_plan():
    assert launch_plan([]) == {"deployments": [], "routes": [], "images": {}}


def test_the_profiles_are_not_changed_by_a_plan():
    deployment({"args": {"model-loader-extra-config": {"num_threads": 1}}, "accelerator": "ascend_910b"})
    again = deployment({"accelerator": "ascend_910b"})["parameters"]
    assert '--model-loader-extra-config={"enable_multithread_load":true,"num_threads":128}' in again
