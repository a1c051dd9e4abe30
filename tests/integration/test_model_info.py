# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from steps import refused

MODULE = "model_info"
MODELS = "/v2/models"
SECRET = "Canary_in-the-environment"


@pytest.fixture(scope="module", autouse=True)
def deployments(server):
    """Two whose names hold one another."""
    cluster = server.default_cluster()
    made = []
    for name in ("read-me", "read-me-too"):
        payload = {"name": name, "source": "local_path", "local_path": "/srv/none", "cluster_id": cluster["id"]}
        made.append(server.api.post(MODELS, {**payload, "env": {"HF_TOKEN": SECRET, "LEVEL": "3"}}))
    yield made
    for one in made:
        server.api.delete(f"{MODELS}/{one['id']}")


def test_all(run):
    names = [one["name"] for one in run(MODULE)["models"]]
    assert names == sorted(names)
    assert {"read-me", "read-me-too"} <= set(names)


def test_one(run, api, deployments):
    # The server makes the instance a moment after the deployment.
    api.wait("/v2/model-instances", lambda found: len(found["items"]) == 2)
    result = run(MODULE, name="read-me")
    (found,) = result["models"]
    assert result["changed"] is False
    assert (found["id"], found["local_path"], found["replicas"]) == (deployments[0]["id"], "/srv/none", 1)
    (instance,) = found["instances"]
    # The scheduler looks at it again and again, and calls it analyzing meanwhile.
    assert instance["state"] in ("analyzing", "pending")
    assert instance["worker_name"] is None
    assert instance["name"].startswith("read-me-")


def test_none(run):
    assert run(MODULE, name="read")["models"] == []


def test_secrets_are_hidden(run, secrets):
    secrets.add(SECRET)
    assert run(MODULE, name="read-me")["models"][0]["env"]["LEVEL"] == "3"


def test_wrong_password(run):
    endpoint = f"GET {MODELS}?page=1&perPage=100"
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
    assert (result["changed"], result["models"], len(result["warnings"])) == (False, [], 1)
    run(MODULE, url="http://127.0.0.1:9", ok=False)
