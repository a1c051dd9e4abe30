# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.inferops.gpustack.plugins.module_utils._secrets import (
    is_secret,
    masked,
    masked_text,
    secret_values,
)


@pytest.mark.parametrize(
    "key",
    ["token", "HF_TOKEN", "bootstrap_password", "oidc_client_secret", "jwt_secret_key", "AWS_ACCESS_KEY"],
)
def test_secret_keys(key):
    assert is_secret(key)


@pytest.mark.parametrize("key", ["server_url", "worker_name", "key_file", "tokens_per_second", "monkeys"])
def test_other_keys(key):
    assert not is_secret(key)


def test_url_with_a_password():
    assert is_secret("database_url", "postgresql://u:p@db/x")
    assert is_secret("redis_url", "redis://:p@db:6379")
    assert not is_secret("database_url", "postgresql://u@db:5432/x")


def test_nested_structures():
    value = {"a": [{"token": "t1"}], "password": "t2", "empty_key": "", "secret": {"b": "t3"}, "c": 1}
    assert masked(value) == {
        "a": [{"token": "********"}],
        "password": "********",
        "empty_key": "",
        "secret": "********",
        "c": 1,
    }
    assert secret_values(value) == {"t1", "t2", "t3"}


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        (["--hf-token=x"], ["--hf-token=********"]),
        (["--hf-token", "x"], ["--hf-token", "********"]),
        (["--hf-token x --port 1"], ["--hf-token ******** --port 1"]),
        ("vllm serve --hf-token x", "vllm serve --hf-token ********"),
        (["--max-num-batched-tokens=8192"], ["--max-num-batched-tokens=8192"]),
        (["--max-num-batched-tokens", "8192"], ["--max-num-batched-tokens", "8192"]),
        (["--use-key", "--port", "80"], ["--use-key", "--port", "80"]),
        (["--use-key", "--hf-token=x"], ["--use-key", "--hf-token=********"]),
        (["hf-token", "x"], ["hf-token", "x"]),
    ],
)
def test_arguments(written, shown):
    assert masked({"backend_parameters": written}) == {"backend_parameters": shown}


def test_numbers_can_be_secret():
    env = {"DB_PASSWORD": 12345678, "PIN_KEY": [4711.5], "SORT_KEY": 1, "USE_TOKEN": True, "PORT": 8000}
    assert secret_values(env) == {"12345678", "4711.5"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "non-default args: {'api_key': ['sk-1'], 'seed': 0}",
            "non-default args: {'api_key': ['********'], 'seed': 0}",
        ),
        ('{"token": "t1", "n": 1}', '{"token": "********", "n": 1}'),
        ("HF_TOKEN=hf_abc vllm serve", "HF_TOKEN=******** vllm serve"),
        ("--api-key sk-1 --port 80", "--api-key ******** --port 80"),
        ("--api-key=sk-1", "--api-key=********"),
        ("Authorization: Bearer abc.def", "Authorization: Bearer ********"),
        ("via http://user:pass@proxy:3128/", "via http://user:********@proxy:3128/"),
    ],
)
def test_secrets_in_a_line_of_text(text, expected):
    assert masked_text(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Avg prompt throughput: 12.1 tokens/s",
        "max_tokens=512 top_k=1",
        "KeyError: 'model.layers.0'",
        "listening on http://0.0.0.0:8000/v1",
        "INFO 11-30 08:00:00 [api_server.py:1] Starting",
    ],
)
def test_text_without_secrets_stays(text):
    assert masked_text(text) == text
