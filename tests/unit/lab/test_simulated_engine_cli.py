from __future__ import annotations

import re
import subprocess
import sys

import pytest
from engine_process import (
    ASCEND_ARGUMENTS,
    ASCEND_ENVIRONMENT,
    ENGINE_FOLDER,
    H20_ARGUMENTS,
    clean_environment,
    write_model,
)
from simulated_engine import arguments, options

FP8 = "--kv-cache-dtype=fp8"
PREFIX = r"\(\w+ pid=\d+\) (INFO|WARNING) \d\d-\d\d \d\d:\d\d:\d\d \[\w+\.py:\d+\] "


def dspark(**keys):
    pairs = {"method": '"dspark"', "num_speculative_tokens": "7", **keys}
    return "--speculative-config={" + ",".join(f'"{key}":{value}' for key, value in pairs.items()) + "}"


def parsed(*words):
    return arguments.build_parser("0.25.0").parse_args(["serve", "/model", *words])


def test_the_h20_command_line_starts_with_the_calculated_figures(start_engine):
    engine = start_engine(*H20_ARGUMENTS, environment={"VLLM_ENGINE_READY_TIMEOUT_S": "3600"})
    for line in (
        "Resolved architecture: DeepseekV4ForCausalLM",
        "DSpark draft model loaded: 2 params",
        "Available KV cache memory: 108.37 GiB",
        "GPU KV cache size: 7,798,123 tokens",
        "Maximum concurrency for 300,000 tokens per request: 25.99x",
    ):
        assert re.search(PREFIX + re.escape(line) + "$", engine.log, re.MULTILINE), engine.log
    assert re.search(PREFIX + r"Loading weights took \d+\.\d\d seconds", engine.log)
    assert re.search(PREFIX + r"Model loading took [\d.]+ GiB and [\d.]+ seconds", engine.log)
    assert "'max_model_len': 300000" in engine.log
    assert "'enable_flashinfer_autotune': False" in engine.log
    assert "Unknown vLLM environment variable" not in engine.log


def test_the_910b_command_line_starts_with_the_calculated_figures(start_engine):
    engine = start_engine(*ASCEND_ARGUMENTS, environment=ASCEND_ENVIRONMENT)
    assert "Available KV cache memory: 13.89 GiB" in engine.log
    assert "GPU KV cache size: 539,406 tokens" in engine.log
    assert "Maximum concurrency for 500,000 tokens per request: 1.08x" in engine.log
    assert "(Worker_TP0_EP0 pid=" in engine.log
    assert "'disable_hybrid_kv_cache_manager': False" in engine.log


@pytest.mark.parametrize(
    "changed",
    [
        ["--max-model-len=128000"],
        ["--max-num-batched-tokens=4096"],
        ["--gpu-memory-utilization=0.8"],
        ["--tensor-parallel-size=4"],
    ],
)
def test_a_launch_outside_the_table_prints_no_figure(start_engine, changed):
    engine = start_engine(*H20_ARGUMENTS, *changed)
    assert "no KV cache figure for platform cuda" in engine.log
    assert "KV cache size" not in engine.log


def test_a_factor_changes_the_figures_that_are_printed(start_engine):
    engine = start_engine(*H20_ARGUMENTS, environment={"SIMULATED_ENGINE_KV_TOKENS_FACTOR": "0.9"})
    assert "GPU KV cache size: 7,018,310 tokens" in engine.log
    assert "Maximum concurrency for 300,000 tokens per request: 23.39x" in engine.log


def test_gpustack_with_a_script_runs_the_command_through_sh(model_directory):
    """GPUStack's script ends in `exec "$@"`, with command and arguments behind it."""
    ended = subprocess.run(
        ["sh", "-c", 'exec "$@"', "sh", str(ENGINE_FOLDER / "vllm"), "serve", str(model_directory), "--nonsense"],
        capture_output=True,
        text=True,
        check=False,
        env=clean_environment({}),
    )
    assert ended.returncode == 2
    assert ended.stderr.endswith("vllm: error: unrecognized arguments: --nonsense\n")


def test_the_package_runs_as_a_module():
    environment = clean_environment({"PYTHONPATH": str(ENGINE_FOLDER)})
    ended = subprocess.run(
        [sys.executable, "-m", "simulated_engine", "--version"],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    assert ended.stdout == "0.25.0 (simulated engine)\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--dspark"], "vllm: error: unrecognized arguments: --dspark"),
        (["--enable-json-schema=true"], "vllm: error: unrecognized arguments: --enable-json-schema=true"),
        (["--max-num-seqs=many"], "argument --max-num-seqs: Value many cannot be converted to <class 'int'>."),
        (["--max-model-len=1.5K"], "Decimals are not allowed with binary suffixes like K"),
        (["--speculative-config={method: dspark}"], "argument --speculative-config/-sc: Value {method: dspark}"),
        (["--kv-cache-dtype=fp4"], "argument --kv-cache-dtype: invalid choice: 'fp4' (choose from 'auto', 'bfloat16'"),
        (['--compilation-config={"cudagraph_mode":"DECODE"}'], "Invalid cudagraph_mode: DECODE"),
        (["--no-max-num-seqs"], "unrecognized arguments: --no-max-num-seqs"),
        (["--m=1"], "ambiguous option: --m"),
    ],
)
def test_a_wrong_command_line_ends_with_status_2(launch_and_fail, words, message):
    status, output = launch_and_fail(*words)
    assert status == 2
    assert message in output


@pytest.mark.parametrize(
    ("words", "name", "value"),
    [
        (["--max_model_len", "1k"], "max_model_len", 1000),
        (["--max-model-len=1K"], "max_model_len", 1024),
        (["--max-model-len=25.6k"], "max_model_len", 25600),
        (["--max-model-len", "auto"], "max_model_len", -1),
        (["-tp", "4"], "tensor_parallel_size", 4),
        (["--gpu-memory-util=0.5"], "gpu_memory_utilization", 0.5),
        (["-O3"], "optimization_level", 3),
        (["--no-enable-prefix-caching"], "enable_prefix_caching", False),
        (["--no-disable-hybrid-kv-cache-manager"], "disable_hybrid_kv_cache_manager", False),
        (["--served-model-name", "a", "b"], "served_model_name", ["a", "b"]),
        (["--max-num-seqs=1", "--max-num-seqs=2"], "max_num_seqs", 2),
        (
            ["--speculative_config.method", "dspark", "--speculative-config.num_speculative_tokens=7"],
            "speculative_config",
            {"method": "dspark", "num_speculative_tokens": 7},
        ),
        (
            ["--compilation-config.sizes+", "1,2", "--compilation-config.sizes+=4"],
            "compilation_config",
            {"sizes": ["1", "2", "4"]},
        ),
    ],
)
def test_the_liberties_of_the_real_parser(words, name, value):
    assert getattr(parsed(*words), name) == value


def test_what_gpustack_adds_is_known():
    added = [
        "--disable-access-log-for-endpoints",
        "/metrics",
        "--enable-prompt-tokens-details",
        "--host",
        "10.0.0.5",
        "--port",
        "40001",
        "--served-model-name",
        "name",
    ]
    result = parsed(*added)
    assert (result.host, result.port, result.served_model_name) == ("10.0.0.5", 40001, ["name"])
    assert result.enable_prompt_tokens_details is True


def test_every_option_stands_in_one_table():
    tables = (
        options.TEXT,
        options.INTEGER,
        options.HUMAN_INTEGER,
        options.HUMAN_INTEGER_OR_AUTO,
        options.FLOAT,
        options.JSON,
        options.BOOLEAN,
        options.CHOICE,
        options.LISTS,
    )
    names = [name for table in tables for name in table]
    assert len(names) == len(set(names)) > 100
    assert set(options.SHORT) <= set(names)


ASCEND = {"SIMULATED_ENGINE_PLATFORM": "ascend"}


@pytest.mark.parametrize(
    ("words", "environment", "message"),
    [
        (["--enable-auto-tool-choice"], {}, "TypeError: Error: --enable-auto-tool-choice requires --tool-call-parser"),
        (
            ["--enable-auto-tool-choice", "--tool-call-parser=deepseek-v4"],
            {},
            "KeyError: invalid tool call parser: deepseek-v4",
        ),
        (["--reasoning-parser=deepseek_v41"], {}, "KeyError: invalid reasoning parser: deepseek_v41"),
        ([FP8, "--block-size=128"], {}, "AssertionError"),
        ([], {}, "DeepseekV4 fp8_ds_mla layout only supports fp8 kv-cache, got auto"),
        ([FP8, "--quantization=ascend"], {}, "Unknown quantization method: ascend"),
        ([FP8, "--max-model-len=2M"], {}, "User-specified max_model_len (2097152)"),
        ([FP8, "--max-model-len=2m"], {}, "is greater than the derived max_model_len (max_position_embeddings=1048576"),
        ([FP8, "--gpu-memory-utilization=1.2"], {}, "gpu_memory_utilization"),
        ([FP8, dspark(auto_compile="true")], {}, "auto_compile\n"),
        ([FP8, dspark(tensor_parallel_size="8")], {}, "Please pass 'draft_tensor_parallel_size' instead."),
        ([FP8, dspark(draft_tensor_parallel_size="3")], {}, "cannot be other value than 1 or target model"),
        ([FP8, dspark(num_speculative_tokens="0")], {}, "Input should be greater than 0"),
        ([FP8, dspark(method='"dsprak"')], {}, "Input should be 'ngram' or"),
        ([FP8, dspark(draft_sample_method='"random"')], {}, "Input should be 'greedy' or 'probabilistic'"),
        ([FP8, '--speculative-config={"method":"dspark"}'], {}, "num_speculative_tokens must be provided"),
        ([FP8, dspark(), "--pipeline-parallel-size=2"], {}, "dspark with pipeline parallel is not supported."),
        ([FP8, dspark(), "--max-num-seqs=2000"], {}, "max_num_scheduled_tokens is set to -3808"),
        ([dspark(draft_sample_method='"probabilistic"')], ASCEND, "not supported on the v1 model runner; use greedy"),
        ([dspark(num_speculative_tokens="3")], ASCEND, "num_speculative_tokens >= dspark_block_size (5); got 3."),
        (
            ['--model-loader-extra-config={"enable_multithread_load":"true"}'],
            ASCEND,
            "ValueError: enable_multithread_load must be a bool, got str",
        ),
        (['--model-loader-extra-config={"threads":1}'], ASCEND, "Unexpected extra config keys for load format auto"),
        (
            ['--model-loader-extra-config={"enable_multithread_load":true}', "--safetensors-load-strategy=prefetch"],
            ASCEND,
            "does not support safetensors_load_strategy='prefetch'",
        ),
    ],
)
def test_the_engine_refuses_with_status_1(launch_and_fail, words, environment, message):
    status, output = launch_and_fail(*words, environment=environment)
    assert status == 1
    assert message in output
    assert "Application startup complete" not in output


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_nextn_predict_layers": 3}, "num_speculative_tokens:7 must be divisible by n_predict=3"),
        ({"dspark_target_layer_ids": None}, "has no attribute 'dspark_target_layer_ids'"),
        ({"dspark_noise_token_id": None}, "Model config must specify `dflash_config.mask_token_id`"),
        ({"architectures": None}, "No model architectures are specified"),
    ],
)
def test_a_checkpoint_that_does_not_fit_is_refused(launch_and_fail, tmp_path, changes, message):
    status, output = launch_and_fail(FP8, dspark(), model=write_model(tmp_path, **changes))
    assert status == 1
    assert message in output


def test_a_directory_without_config_is_refused(launch_and_fail, tmp_path):
    status, output = launch_and_fail(model=tmp_path)
    assert status == 1
    assert f"Invalid repository ID or local directory specified: '{tmp_path}'" in output


def test_a_broken_config_is_refused(launch_and_fail, tmp_path):
    (tmp_path / "config.json").write_text("{")
    status, output = launch_and_fail(model=tmp_path)
    assert status == 1
    assert "is not a valid JSON file" in output


def test_a_checkpoint_without_draft_weights_starts_and_says_so(start_engine, tmp_path):
    engine = start_engine(FP8, dspark(), model=write_model(tmp_path, tensors=["embed.weight"]))
    assert "DSpark draft model loaded: 0 params" in engine.log


def test_an_unusual_block_size_on_ascend_is_reset_with_a_warning(start_engine):
    engine = start_engine("--block-size=256", environment=ASCEND)
    assert "resetting it to 32" in engine.log
    assert 'block_size="32"' in engine.request("/metrics")[1]


def test_the_wrong_time_out_variable_is_only_warned_about(start_engine):
    engine = start_engine(environment={**ASCEND, "VLLM_ENGINE_READY_TIMEOUT": "3600", "VLLM_CACHE_ROOT": "/tmp/x"})
    warning = "Unknown vLLM environment variable detected: VLLM_ENGINE_READY_TIMEOUT"
    assert re.search(r"WARNING .* \[envs\.py:2041\] " + warning + "$", engine.log, re.MULTILINE)
    assert "VLLM_CACHE_ROOT" not in engine.log


def test_the_wrong_time_out_variable_is_fatal_on_request(launch_and_fail):
    status, output = launch_and_fail(FP8, "--fail-on-environ-validation", environment={"VLLM_NONSENSE": "1"})
    assert status == 1
    assert "Unknown vLLM environment variable detected: VLLM_NONSENSE" in output


@pytest.mark.parametrize(
    ("platform", "words"),
    [
        ("cuda", "CUDA out of memory. Tried to allocate"),
        ("ascend", "NPU out of memory. Tried to allocate"),
    ],
)
def test_told_to_run_out_of_memory(launch_and_fail, platform, words):
    status, output = launch_and_fail(
        FP8, environment={"SIMULATED_ENGINE_FAIL": "oom", "SIMULATED_ENGINE_PLATFORM": platform}
    )
    assert status == 1
    assert words in output
    assert "EngineCore failed to start." in output
    assert "Engine core initialization failed. See root cause above." in output


def test_told_to_start_slowly_the_ready_time_out_strikes(launch_and_fail):
    status, output = launch_and_fail(
        FP8, environment={"SIMULATED_ENGINE_FAIL": "slow_start", "VLLM_ENGINE_READY_TIMEOUT_S": "1"}
    )
    assert status == 1
    assert "Waited 1s (configured by VLLM_ENGINE_READY_TIMEOUT_S)" in output


@pytest.mark.parametrize(
    ("name", "value"),
    [("FAIL", "explode"), ("PLATFORM", "rocm"), ("TOKENS_PER_SECOND", "0"), ("KV_TOKENS_FACTOR", "-1")],
)
def test_a_wrong_setting_of_the_simulation_is_named(launch_and_fail, name, value):
    status, output = launch_and_fail(environment={f"SIMULATED_ENGINE_{name}": value})
    assert status == 2
    assert f"SIMULATED_ENGINE_{name}='{value}'" in output
