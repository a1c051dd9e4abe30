# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
import servers

PATH = "/v2/api-keys"
EVE = {"username": "eve", "password": "Canary_1st-password"}


@pytest.fixture
def keys(api, secrets):
    """Two keys of the administrator and one of another user."""
    made = [api.post(PATH, {"name": name}) for name in ("web", "ci")]
    user = api.post("/v2/users", EVE)
    hers = api.request("POST", PATH, json={"name": "ci"}, auth=tuple(EVE.values())).json()
    for one in (*made, hers):
        secrets.add(one["value"])
    yield {"web": made[0], "ci": made[1], "hers": hers}
    api.delete(f"/v2/users/{user['id']}")
    for one in made:
        api.delete(f"{PATH}/{one['id']}")


def ids(result):
    return [one["id"] for one in result["api_keys"] if one["name"] != servers.KEY]


def test_reads_the_keys_of_the_user_that_connects(run, server, keys):
    result = run("api_key_info")
    assert result["changed"] is False
    assert ids(result) == [keys["ci"]["id"], keys["web"]["id"]]
    assert ids(run("api_key_info", **EVE)) == [keys["hers"]["id"]]
    assert set(result["api_keys"][0]) == {
        "id", "name", "user", "description", "scope", "allowed_model_names", "is_custom", "expires_at",
    }  # fmt: skip


def test_reads_one(run, keys):
    assert ids(run("api_key_info", check=True, name="web")) == [keys["web"]["id"]]
    assert ids(run("api_key_info", name="w")) == []


def test_reads_the_keys_of_others(run, server, keys):
    if server.version.startswith("2.1."):
        for user in ("eve", "*"):
            assert run("api_key_info", ok=False, user=user)["msg"] == (
                f"user {user!r} of api_key_info: {server.url} is GPUStack v{server.version}, which does not have it. "
                "Upgrade to GPUStack 2.2 or later, or leave it unset."
            )
        return
    assert ids(run("api_key_info", user="eve")) == [keys["hers"]["id"]]
    assert sorted(ids(run("api_key_info", user="*"))) == sorted(one["id"] for one in keys.values())
    assert sorted(ids(run("api_key_info", user="*", name="ci"))) == [keys["ci"]["id"], keys["hers"]["id"]]
    assert ids(run("api_key_info", **EVE, user=server.username)) == []
