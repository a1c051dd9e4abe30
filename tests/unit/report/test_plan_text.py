# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan as text for a terminal."""

from __future__ import annotations

import copy
import json
import pathlib

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _findings, _plan_text

SAMPLE = json.loads((pathlib.Path(__file__).parent / "sample_plan.json").read_text(encoding="utf-8"))
FINDINGS = [_findings.Finding(**each) for each in SAMPLE["findings"]]
EXPECTED = """\
flash-nvidia_h20_3e
  model   flash, family deepseek_v4, DSpark
  image   10.0.0.5:5000/docker.io/vllm/vllm-openai:v0.25.0
  engine  vllm 0.25.0, CUDA 13.0
  cards   2 instances of 8 cards, nvidia_h20_3e
  path    /srv/models/DeepSeek-V4-Flash-0731
  arguments
    --max-model-len=200000                        inventory: deployment
                                                    instead of --max-model-len=300000, \
pair deepseek_v4 x nvidia_h20_3e (report C 3.1)
    --trust-remote-code                           pair deepseek_v4 x nvidia_h20_3e (report C 3.1)
    --no-enable-flashinfer-autotune               site: pair deepseek_v4 x nvidia_h20_3e (measured here)
                                                    instead of --enable-flashinfer-autotune, \
pair deepseek_v4 x nvidia_h20_3e (5.1)
    --speculative-config={"method":"dspark","num_speculative_tokens":7}
                                                  dspark switch
    taken out: --max-num-seqs=48 (pair deepseek_v4 x nvidia_h20_3e)
                                                  inventory: deployment
  environment
    VLLM_ENGINE_READY_TIMEOUT_S=3600              platform cuda (vLLM 0.25.0 envs.py:748)
    HF_TOKEN=(from the inventory, not shown)      inventory: deployment
  capacity of one instance
    5,240,000 tokens in 83.5 GiB of each card, an estimate
      nominal memory - weights
    26.2 requests of 200,000 tokens at once, as the engine prints it at start
      with max_num_batched_tokens 8,192, the engine's default: nothing sets it
    31.04 once their prompts are read
    3.17 GiB of each card are needed to start
    1,048,576 tokens is the longest request that fits
    for more requests at once, lower max_model_len first (max_num_batched_tokens halved: 27.5, max_model_len \
halved: 49.9)

flash-ascend_910b
  model   flash, family deepseek_v4, without DSpark for comparison
  image   registry.example.org/own/engine:1
  engine  generic, release not declared
  cards   1 instance of 8 cards, ascend_910b
  path    /srv/models/DeepSeek-V4-Flash-0731-w8a8
  arguments
    --max-model-len=128000                        family deepseek_v4 on cann (report A 2)
  capacity of one instance
    not modelled: release None is not modelled; modelled are 0.25.0

ERROR cards_short
"""


def test_the_text_of_a_plan():
    text = _plan_text.text(SAMPLE, FINDINGS)
    assert text.startswith(EXPECTED)
    assert text.endswith("\n\n1 error, 1 warning, 1 accepted")
    assert text.count("cards_short") == 1


def test_a_number_that_was_set_is_no_default():
    planned = copy.deepcopy(SAMPLE["deployments"][0])
    planned["values"].append(dict(planned["values"][0], name="max_num_batched_tokens", value=8192))
    text = _plan_text.text({"deployments": [planned]}, [])
    assert "\n      with max_num_batched_tokens 8,192\n" in text


def test_the_text_of_no_plan():
    assert _plan_text.text({"deployments": []}, []) == "No deployments.\n\nno findings"
