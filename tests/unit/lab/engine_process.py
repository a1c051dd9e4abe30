"""Start the simulated engine as a process, with the command lines of the two reference hosts."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

ENGINE_FOLDER = Path(__file__).parents[3] / "lab" / "images" / "engine"

# The fields that the published DeepSeek-V4-Flash-0731 has, as far as the engine reads them.
FLASH_CONFIG = {
    "architectures": ["DeepseekV4ForCausalLM"],
    "model_type": "deepseek_v4",
    "num_hidden_layers": 43,
    "max_position_embeddings": 1048576,
    "num_nextn_predict_layers": 1,
    "vocab_size": 129280,
    "dspark_target_layer_ids": [40, 41, 42],
    "dspark_markov_rank": 256,
    "dspark_noise_token_id": 128799,
    "dspark_block_size": 5,
}

# The same of Qwen/Qwen3-8B-AWQ and of deepseek-ai/dspark_qwen3_8b_block7.
QWEN3_CONFIG = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "num_hidden_layers": 36,
    "max_position_embeddings": 40960,
    "vocab_size": 151936,
    "quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 128, "version": "gemm", "zero_point": True},
}

QWEN3_DRAFT_CONFIG = {
    "architectures": ["Qwen3DSparkModel"],
    "model_type": "qwen3",
    "num_hidden_layers": 5,
    "max_position_embeddings": 40960,
    "vocab_size": 151936,
    "block_size": 7,
    "markov_rank": 256,
    "mask_token_id": 151669,
    "target_layer_ids": [1, 9, 17, 25, 33],
    "enable_confidence_head": True,
    "confidence_head_with_markov": True,
}

H20_ARGUMENTS = [
    "--max-model-len=300000",
    "--trust-remote-code",
    "--kv-cache-dtype=fp8",
    "--block-size=256",
    "--tensor-parallel-size=8",
    "--no-enable-flashinfer-autotune",
    "--tokenizer-mode=deepseek_v4",
    "--tool-call-parser=deepseek_v4",
    "--enable-auto-tool-choice",
    "--reasoning-parser=deepseek_v4",
    '--speculative-config={"method":"dspark","num_speculative_tokens":7,"draft_sample_method":"greedy"}',
    "--gpu-memory-utilization=0.9",
    "--max-num-seqs=48",
    "--enable-prefix-caching",
]

ASCEND_ARGUMENTS = [
    "--max-model-len=500000",
    "--max-num-batched-tokens=8192",
    "--gpu-memory-utilization=0.9",
    "--max-num-seqs=32",
    "--data-parallel-size=1",
    "--tensor-parallel-size=8",
    "--enable-expert-parallel",
    "--tokenizer-mode=deepseek_v4",
    "--tool-call-parser=deepseek_v4",
    "--enable-auto-tool-choice",
    "--reasoning-parser=deepseek_v4",
    "--no-disable-hybrid-kv-cache-manager",
    '--model-loader-extra-config={"enable_multithread_load":true,"num_threads":128}',
    "--quantization=ascend",
    "--block-size=128",
    '--speculative-config={"method":"dspark","num_speculative_tokens":7,"enforce_eager":true}',
    '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}',
]

ASCEND_ENVIRONMENT = {
    "SIMULATED_ENGINE_PLATFORM": "ascend",
    "HCCL_BUFFSIZE": "1024",
    "TASK_QUEUE_ENABLE": "1",
    "HCCL_OP_EXPANSION_MODE": "AIV",
    "OMP_NUM_THREADS": "10",
    "PYTORCH_NPU_ALLOC_CONF": "expandable_segments:True",
    "VLLM_ENGINE_READY_TIMEOUT_S": "3600",
}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class RunningEngine:
    """One `vllm serve` process, its output and a tiny HTTP client."""

    def __init__(self, arguments, environment):
        self.port = free_port()
        # What GPUStack appends behind the user's parameters.
        self.command = [
            str(ENGINE_FOLDER / "vllm"),
            "serve",
            *arguments,
            "--host",
            "127.0.0.1",
            "--port",
            str(self.port),
        ]
        self.lines = []
        self.process = subprocess.Popen(
            self.command,
            env=clean_environment(environment),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))

    @property
    def log(self) -> str:
        return "\n".join(self.lines)

    def wait_for(self, text, seconds=10.0):
        deadline = time.monotonic() + seconds
        while text not in self.log:
            assert time.monotonic() < deadline, f"no {text!r} in:\n{self.log}"
            time.sleep(0.02)
        return self

    def request(self, path, body=None, headers=None):
        """Status and raw body; a refusal is an answer, not an exception."""
        data = json.dumps(body).encode() if isinstance(body, (dict, list)) else body
        asked = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data=data, headers=headers or {})
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(asked, timeout=20) as reply:
                return reply.status, reply.read().decode()
        except urllib.error.HTTPError as refusal:
            return refusal.code, refusal.read().decode()

    def chat(self, prompt="ping", **fields):
        body = {"messages": [{"role": "user", "content": prompt}], **fields}
        status, text = self.request("/v1/chat/completions", body)
        return status, json.loads(text)

    def metric(self, name, **labels):
        _, text = self.request("/metrics")
        for line in text.splitlines():
            wanted = [f'{key}="{value}"' for key, value in labels.items()]
            if line.startswith(name + "{") and all(pair in line for pair in wanted):
                return float(line.rsplit(" ", 1)[1])
        return None

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=5)
        self._reader.join(timeout=5)
        return code


def clean_environment(environment):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("VLLM_", "SIMULATED_ENGINE_"))}
    return {**kept, "PYTHONUNBUFFERED": "1", "SIMULATED_ENGINE_STARTUP_SECONDS": "0", **environment}


def write_config(folder, config, **changes):
    folder.mkdir(exist_ok=True)
    kept = {name: value for name, value in {**config, **changes}.items() if value is not None}
    (folder / "config.json").write_text(json.dumps(kept))
    return folder


def write_model(folder, tensors=("embed.weight", "mtp.0.main_proj.weight", "mtp.0.main_norm.weight"), **changes):
    write_config(folder, FLASH_CONFIG, **changes)
    index = {"weight_map": dict.fromkeys(tensors, "model-00001-of-00001.safetensors")}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return folder
