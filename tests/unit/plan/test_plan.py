from __future__ import annotations

import math

import pytest
from ansible_collections.inferops.gpustack.plugins.plugin_utils._plan import PlanError
from ansible_collections.inferops.gpustack.plugins.plugin_utils._plan import plan as launch_plan


def model(entry=None, **more):
    deployment = {"accelerator": "nvidia_h20_3e", "path": "/srv/models/x"}
    deployment.update(entry or {})
    return {"name": "m", "family": "deepseek_v4", "dspark": True, "deployments": [deployment], **more}


def deployment(entry=None, hosts=None, **more):
    return launch_plan([model(entry, **more)], hosts=hosts)["deployments"][0]


def origins(planned):
    """What every value of the plan comes from."""
    return {value["name"]: value["layer"] for value in planned["values"]}


def test_without_dspark_only_that_argument_is_gone():
    on, off = deployment(), deployment(dspark=False)
    assert [p for p in on["parameters"] if p not in off["parameters"]] == [
        '--speculative-config={"method":"dspark","num_speculative_tokens":7,"draft_sample_method":"greedy"}'
    ]
    assert "speculative-config" not in origins(off)


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
    assert origins(after)["block-size"] == "inventory: deployment"
    assert "trust-remote-code" not in origins(after)


def test_an_argument_the_platform_orders_stands_in_its_place():
    parameters = deployment({"args": {"max-num-batched-tokens": 4096}})["parameters"]
    assert parameters[:2] == ["--max-model-len=300000", "--max-num-batched-tokens=4096"]


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
    assert origins(planned)["NEW"] == "inventory: deployment"


def test_every_value_knows_where_it_comes_from():
    planned = deployment({"max_model_len": 1000, "env": {"A": "b"}})
    assert len(planned["values"]) == len(planned["parameters"]) + len(planned["env"])
    found = origins(planned)
    assert found["max-model-len"] == "inventory: deployment"
    assert found["tokenizer-mode"] == "family deepseek_v4"
    assert found["kv-cache-dtype"] == "family deepseek_v4 on cuda"
    assert found["max-num-seqs"] == "pair deepseek_v4 x nvidia_h20_3e"
    assert found["gpu-memory-utilization"] == "platform cuda"
    assert found["speculative-config"] == "dspark switch"
    assert found["VLLM_ENGINE_READY_TIMEOUT_S"] == "platform cuda"


def test_every_value_of_a_profile_has_a_source_and_names_what_it_replaced():
    values = {value["name"]: value for value in deployment({"max_model_len": 1000})["values"]}
    assert all(value["source"] for value in values.values())
    assert values["max-model-len"]["replaced"] == [
        {
            "name": "max-model-len",
            "value": 300000,
            "layer": "pair deepseek_v4 x nvidia_h20_3e",
            "source": "report C 3.1",
        }
    ]
    assert values["block-size"]["replaced"] == []


def test_what_people_write_into_an_environment_is_not_shown_as_a_value():
    planned = deployment({"env": {"HF_TOKEN": "hf_secret"}})
    assert planned["env"]["HF_TOKEN"] == "hf_secret"
    assert "hf_secret" not in str(planned["values"])


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
        ({"accelerator": "nvidia_h21"}, {}, "nvidia_h21"),
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


SITE = {
    "accelerators": {"nvidia_h20_3e": {"arguments": {"gpu-memory-utilization": 0.85, "block-size": 64}}},
    "families": {"deepseek_v4": {"platforms": {"cuda": {"arguments": {"block-size": 32}}}}},
    "pairs": {"deepseek_v4__nvidia_h20_3e": {"env": {"SITE": "1"}, "sources": {"SITE": "our wiki"}}},
}


def test_what_a_site_adds_is_above_all_that_is_built_in_and_below_the_models():
    entry = {"accelerator": "nvidia_h20_3e", "path": "/a", "max_concurrency": 8}
    planned = launch_plan([dict(model(), deployments=[entry])], profiles=SITE)["deployments"][0]
    found = {value["name"]: value for value in planned["values"]}
    assert (found["gpu-memory-utilization"]["value"], found["gpu-memory-utilization"]["layer"]) == (
        0.85,
        "site: accelerator nvidia_h20_3e",
    )
    assert (found["block-size"]["value"], [each["value"] for each in found["block-size"]["replaced"]]) == (
        32,
        [256, 64],
    )
    assert (found["SITE"]["layer"], found["SITE"]["source"]) == (
        "site: pair deepseek_v4 x nvidia_h20_3e",
        "our wiki",
    )
    assert (found["max-num-seqs"]["value"], found["max-num-seqs"]["layer"]) == (8, "inventory: deployment")


def test_keys_of_the_model_hold_for_its_deployments_unless_they_say_otherwise():
    more = {
        "gpu_memory_utilization": 0.8,
        "max_concurrency": 16,
        "vram_claim_gib": 1.5,
        "structured_outputs": {"backend": "xgrammar", "cache_mb": 1024},
    }
    planned = deployment({"max_concurrency": 4}, **more)
    assert "--gpu-memory-utilization=0.8" in planned["parameters"]
    assert "--max-num-seqs=4" in planned["parameters"]
    assert '--structured-outputs-config={"backend":"xgrammar"}' in planned["parameters"]
    assert planned["env"]["VLLM_XGRAMMAR_CACHE_MB"] == "1024"
    assert planned["env"]["GPUSTACK_MODEL_VRAM_CLAIM"] == "1610612736"
    assert origins(planned)["gpu-memory-utilization"] == "inventory: model"
    assert origins(planned)["max-num-seqs"] == "inventory: deployment"


def test_a_baseline_is_a_second_deployment_without_dspark_behind_a_route_of_its_own():
    plan = launch_plan([model(dspark_baseline=True)])
    assert [(each["name"], each["dspark"], each["baseline"]) for each in plan["deployments"]] == [
        ("m-nvidia_h20_3e", True, False),
        ("m-plain-nvidia_h20_3e", False, True),
    ]
    on, off = (each["parameters"] for each in plan["deployments"])
    assert [flag.partition("=")[0] for flag in on if flag not in off] == ["--speculative-config"]
    assert [(route["name"], route["targets"][0]["model"]) for route in plan["routes"]] == [
        ("m", "m-nvidia_h20_3e"),
        ("m-plain", "m-plain-nvidia_h20_3e"),
    ]


def test_a_baseline_of_a_model_without_dspark_is_the_model_itself():
    assert len(launch_plan([model(dspark=False, dspark_baseline=True)])["deployments"]) == 1


@pytest.mark.parametrize(
    ("args", "sizes"),
    [
        ({}, [8, 1, 1]),
        ({"tp": 4, "pp": 2}, [4, 2, 1]),
        ({"tensor-parallel-size": "2", "data_parallel_size": 3}, [2, 1, 3]),
        ({"tensor-parallel-size": "many"}, [1, 1, 1]),
    ],
)
def test_devices_of_one_instance(args, sizes):
    planned = deployment({"args": args})
    assert list(planned["parallel"].values()) == sizes
    assert planned["devices_per_instance"] == math.prod(sizes)


def test_the_draft_of_a_qwen3_is_named_and_one_card_is_enough():
    entry = {"accelerator": "nvidia_rtx_4090", "path": "/srv/models/Qwen3-8B-AWQ", "draft_path": "/srv/models/draft"}
    planned = launch_plan([{"name": "q", "family": "qwen3", "dspark": True, "deployments": [entry]}])["deployments"][0]
    assert planned["parameters"] == [
        "--max-model-len=16384",
        "--tensor-parallel-size=1",
        "--tool-call-parser=hermes",
        "--enable-auto-tool-choice",
        "--reasoning-parser=qwen3",
        '--speculative-config={"method":"dspark","num_speculative_tokens":7,"draft_sample_method":"greedy",'
        '"model":"/srv/models/draft"}',
        "--gpu-memory-utilization=0.9",
        "--max-num-seqs=4",
    ]
    assert planned["capacity"]["reason"] == "family qwen3 is not modelled"


def test_capacity_says_what_it_was_asked_and_where_the_memory_is_known_from():
    capacity = deployment()["capacity"]
    # Report C, with the length of its command line and one batch in flight, as in vLLM 0.25.0.
    assert (capacity["tokens"], capacity["admission_concurrency"]) == (7798123, 25.99)
    assert capacity["inputs"] == {
        "release": "0.25.0",
        "platform": "cuda",
        "max_model_len": 300000,
        "max_num_batched_tokens": 8192,
        "dspark": True,
        "speculative_tokens": 7,
        "gib_per_device": 108.37,
        "gib_from": "pair deepseek_v4 x nvidia_h20_3e: report C, the log of its H20-3e run",
        "config_from": "DeepSeek-V4-Flash-0731",
    }
    assert capacity["memory"]["exact"] is True


def test_capacity_of_the_910b_is_the_one_of_the_report():
    capacity = deployment({"accelerator": "ascend_910b", "max_model_len": 500000})["capacity"]
    assert (capacity["tokens"], capacity["admission_concurrency"]) == (539406, 1.08)


def test_memory_is_an_estimate_where_nobody_measured_it_and_the_inventory_can_say_it():
    estimate = deployment({"gpu_memory_utilization": 0.8})["capacity"]["memory"]
    assert estimate["exact"] is False
    assert estimate["gib"] == pytest.approx(151397597184 * 0.8 / 2**30 - 167e9 / 8 / 2**30, abs=0.01)
    said = deployment({"gpu_memory_utilization": 0.8, "kv_cache_gib": 50})["capacity"]["memory"]
    assert said == {"gib": 50, "from": "the inventory", "exact": True}


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({"image": "me/engine:1"}, "gpustack_engine_images"),
        ({"max_model_len": "auto"}, None),
        ({"args": {"max-model-len": "far"}}, "not a number"),
        ({"engine_version": "0.28.0"}, "0.28"),
        ({"gpu_memory_utilization": 0.1}, "no memory is left for the cache: 19.4 GiB of weights, 14.1 GiB to use"),
    ],
)
def test_capacity_that_is_not_known_says_why(entry, reason):
    capacity = deployment(entry)["capacity"]
    if reason is None:
        assert (capacity["reason"], capacity["inputs"]["max_model_len"]) == (None, 1048576)
    else:
        assert reason in capacity["reason"]
        assert capacity["tokens"] is None


def test_a_checkpoint_that_was_read_is_believed_more_than_what_was_published():
    key = ("nvidia_h20_3e", "/srv/models/x")
    facts = {"config": {"model_type": "other"}, "weight_bytes": 8 * 10**9}
    planned = launch_plan([model({"gpu_memory_utilization": 0.5})], checkpoints={key: facts})["deployments"][0]
    assert planned["capacity"]["inputs"]["config_from"] == "the checkpoint"
    assert planned["capacity"]["tokens"] is None
    assert planned["capacity"]["memory"]["gib"] == pytest.approx(151397597184 / 2**31 - 1e9 / 2**30, abs=0.01)


def test_what_was_taken_out_and_what_was_turned_round_is_told():
    args = {"max-num-seqs": None, "no-enable-prefix-caching": True, "no-enable-flashinfer-autotune": True}
    planned = deployment({"args": args})
    (removed,) = planned["removed"]
    assert (removed["name"], removed["layer"]) == ("max-num-seqs", "inventory: deployment")
    assert [(each["name"], each["value"]) for each in removed["replaced"]] == [("max-num-seqs", 48)]
    values = {value["name"]: value["replaced"] for value in planned["values"]}
    assert [each["name"] for each in values["no-enable-prefix-caching"]] == ["enable-prefix-caching"]
    assert values["no-enable-flashinfer-autotune"] == []


def test_flags_of_a_profile_may_be_spelled_as_people_do():
    site = {"accelerators": {"nvidia_h20_3e": {"arguments": {"--max_num_seqs": 7, "tp": 4}}}}
    planned = launch_plan([model()], profiles=site)["deployments"][0]
    assert "--max-num-seqs=7" in planned["parameters"]
    assert "--tensor-parallel-size=4" in planned["parameters"]
    assert planned["devices_per_instance"] == 4


@pytest.mark.parametrize(
    ("written", "dspark", "drafted"),
    [
        ({"method": "dspark", "num_speculative_tokens": 3}, True, 3),
        ('{"method": "dspark", "num_speculative_tokens": 3}', True, 3),
        ({"method": "ngram", "num_speculative_tokens": 3}, False, None),
        ("no json", False, None),
        (None, False, None),
    ],
)
def test_what_the_engine_gets_decides_whether_it_drafts(written, dspark, drafted):
    planned = deployment({"args": {"speculative-config": written}})
    inputs = planned["capacity"]["inputs"]
    assert (planned["dspark"], inputs["dspark"], inputs["speculative_tokens"]) == (dspark, dspark, drafted)


def test_the_longest_context_is_the_one_that_fits():
    entry = {"accelerator": "ascend_910b", "max_model_len": "auto"}
    capacity = deployment(entry)["capacity"]
    assert capacity["inputs"]["max_model_len"] == capacity["context"]["max_model_len"] < 1048576
    assert capacity["minimum_gib"] <= 13.89
    assert capacity["admission_concurrency"] >= 1


@pytest.mark.parametrize("change", [{"tp": 4, "pp": 2}, {"tp": 1, "dp": 8}])
def test_a_log_says_nothing_of_another_layout(change):
    assert deployment({"args": change})["capacity"]["memory"]["exact"] is False


def test_a_log_says_nothing_of_other_weights():
    key = ("nvidia_h20_3e", "/srv/models/x")
    planned = launch_plan([model()], checkpoints={key: {"config": None, "weight_bytes": 900 * 10**9}})
    memory = planned["deployments"][0]["capacity"]["memory"]
    assert (memory["exact"], round(memory["gib"])) == (False, 22)
