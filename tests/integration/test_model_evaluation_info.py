# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from steps import refused

MODULE = "model_evaluation_info"
SECRET = "Canary_in-the-environment"
NOWHERE = {"name": "nowhere", "local_path": "/srv/none"}
HINT = "Use options of inferops.gpustack.model that describe a deployment, and give each a name."


@pytest.fixture(autouse=True, scope="module")
def cluster(server):
    return server.default_cluster()


def test_what_does_not_fit(run, cluster):
    result = run(MODULE, cluster=cluster["name"], models=[NOWHERE, {**NOWHERE, "name": "again"}])
    assert result["changed"] is False
    assert [one["name"] for one in result["evaluations"]] == ["nowhere", "again"]
    for one in result["evaluations"]:
        assert one["compatible"] is False
        assert one["messages"] != []
        assert (one["ram_bytes"], one["vram_bytes"]) == (None, None)


def test_nothing_is_made(run, api, cluster):
    run(MODULE, cluster=cluster["name"], models=[NOWHERE])
    assert api.find("/v2/models", name="nowhere") is None


def test_what_fits(run, cluster, worker):
    path = worker.add_path("/srv/models/fits")
    parameters = ["--max-model-len=8192", "--gpu-memory-utilization=0.2"]
    spec = {"name": "fits", "local_path": path, "backend": "vLLM", "backend_parameters": parameters}
    (found,) = run(MODULE, cluster=cluster["name"], models=[spec])["evaluations"]
    assert (found["compatible"], found["messages"]) == (True, [])
    assert found["vram_bytes"] > 0


@pytest.mark.trap(35)
def test_chosen_devices(run, cluster):
    """They are looked at, as far as their worker goes, only for what shall run."""
    chosen = {**NOWHERE, "gpu_selector": {"gpu_ids": ["no-such-worker:cuda:0"]}}
    (found,) = run(MODULE, cluster=cluster["name"], models=[{**chosen, "replicas": 1}])["evaluations"]
    assert found["compatible"] is False
    assert "no-such-worker" in " ".join(found["messages"])


def test_secrets_are_hidden(run, cluster, secrets):
    run(MODULE, cluster=cluster["name"], models=[{**NOWHERE, "env": {"HF_TOKEN": secrets.add(SECRET)}}])


INVALID = {
    "models has a deployment x that cannot be read: inferops.gpustack.model has no option local_pathh.": {
        "name": "x",
        "local_pathh": "/srv/none",
    },
    "models has a deployment without a name that cannot be read: missing required arguments: name.": {
        "local_path": "/srv/none"
    },
}


@pytest.mark.parametrize("message", INVALID)
def test_what_is_no_deployment(run, message):
    refused(run, MODULE, f"{message} {HINT}", models=[INVALID[message]], reason="Invalid")


def test_no_server_in_check_mode(run):
    result = run(MODULE, check=True, url="http://127.0.0.1:9", models=[NOWHERE])
    assert (result["changed"], result["evaluations"], len(result["warnings"])) == (False, [], 1)
