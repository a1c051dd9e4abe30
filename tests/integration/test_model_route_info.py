# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

MODULE = "model_route_info"
ROUTES, MODELS = "/v2/model-routes", "/v2/models"


@pytest.fixture(scope="module", autouse=True)
def routes(server):
    cluster = server.default_cluster()
    payload = {"name": "seen", "source": "local_path", "local_path": "/srv/none", "replicas": 0}
    model = server.api.post(MODELS, {**payload, "cluster_id": cluster["id"]})
    target = {"model_id": model["id"], "weight": 7, "fallback_status_codes": ["5xx"]}
    made = [
        server.api.post(ROUTES, {"name": "a-seen", "targets": [target], "description": "for people"}),
        server.api.post(ROUTES, {"name": "b-seen", "categories": ["llm"]}),
    ]
    admin = server.api.find("/v2/users", username=server.username)
    # GPUStack 2.1 calls this policy allowed_users, and later ones take the name.
    access = {"access_policy": "allowed_users", "users": [{"id": admin["id"]}]}
    server.api.post(f"{ROUTES}/{made[1]['id']}/access", access)
    yield made
    for one in made:
        server.api.delete(f"{ROUTES}/{one['id']}")
    server.api.delete(f"{MODELS}/{model['id']}")


def test_all(run, routes):
    result = run(MODULE)
    assert result["changed"] is False
    assert [one for one in result["routes"] if one["name"].endswith("-seen")] == [
        {
            "id": routes[0]["id"],
            "name": "a-seen",
            "description": "for people",
            "categories": [],
            "access_policy": "authed",
            "users": [],
            "targets": [{"model": "seen", "weight": 7, "fallback_status_codes": ["5xx"], "state": "unavailable"}],
        },
        {
            "id": routes[1]["id"],
            "name": "b-seen",
            "description": None,
            "categories": ["llm"],
            "access_policy": "allowed_principals",
            "users": ["admin"],
            "targets": [],
        },
    ]


def test_one(run):
    assert [one["targets"][0]["model"] for one in run(MODULE, name="a-seen")["routes"]] == ["seen"]


def test_none(run):
    assert run(MODULE, name="seen")["routes"] == []
