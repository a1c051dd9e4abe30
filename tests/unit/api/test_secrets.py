# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.inferops.gpustack.plugins.module_utils._secrets import is_secret, masked, secret_values


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
