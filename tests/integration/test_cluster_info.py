# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from steps import refused

MODULE = "cluster_info"
PATH = "/v2/clusters"


@pytest.fixture
def edge(api, unique):
    made = api.post(PATH, {"name": unique("edge"), "provider": "Docker"})
    yield made
    api.delete(f"{PATH}/{made['id']}")


def names(things):
    return [one["name"] for one in things]


def test_whole_state(run, worker, deploy, server, edge):
    model = deploy(replicas=0)
    found = run(MODULE)
    assert (found["changed"], found["version"]) == (False, f"v{server.version}")
    assert names(found["clusters"]) == sorted(names(found["clusters"]))
    assert {"default", edge["name"]} <= set(names(found["clusters"]))
    assert worker.name in names(found["workers"])
    assert model["name"] in names(found["models"])
    (route,) = [one for one in found["routes"] if one["name"] == model["name"]]
    assert [one["model"] for one in route["targets"]] == [model["name"]]


def test_one_cluster(run, api, worker, make_worker, deploy, edge, unique):
    here = deploy(replicas=0)
    there = deploy(replicas=0, cluster_id=edge["id"])
    away = make_worker(unique("edge"), cluster_id=edge["id"])
    found = run(MODULE, name=edge["name"])
    # The members have to go before the cluster.
    api.delete(f"/v2/workers/{away.id}")
    api.delete(f"/v2/models/{there['id']}")
    assert (names(found["clusters"]), names(found["workers"])) == ([edge["name"]], [away.name])
    assert (names(found["models"]), names(found["routes"])) == ([there["name"]], [there["name"]])
    assert here["name"] in names(run(MODULE, name="default")["models"])


def test_no_such_cluster(run):
    found = run(MODULE, name="none")
    assert [found[key] for key in ("clusters", "workers", "models", "routes")] == [[]] * 4


def test_wrong_credentials(run):
    endpoint = "GET /v2/models?page=1&perPage=100"
    refused(
        run,
        MODULE,
        f"{endpoint} answered 401 (Unauthorized): Invalid authentication credentials. Check username and password, or "
        "api_key. A deactivated user and an expired key look the same.",
        password="Canary_wrong-1",
        status=401,
        code=401,
        reason="Unauthorized",
        endpoint=endpoint,
    )


def test_no_server_in_check_mode(run):
    result = run(MODULE, check=True, url="http://127.0.0.1:9")
    assert (result["changed"], result["clusters"], len(result["warnings"])) == (False, [], 1)
