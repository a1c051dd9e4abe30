# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role gpustack_models over 50 deployments: it reads once, and calls a module only for those that differ."""

from __future__ import annotations

import re

import pytest

from playbooks import play

PATH = "/v2/models"
COUNT = 50
IMAGE = "docker.io/vllm/vllm-openai:v0.25.0"
LABELS = {"gpustack-accelerator": "nvidia_h20_3e"}


def name(number):
    return f"many-{number:02}"


@pytest.fixture
def made(server):
    """50 stopped deployments, made the way the role makes them, and a route of each pair."""
    api, numbers, routes = server.api, [], []
    for number in range(COUNT):
        body = {"name": name(number), "source": "local_path", "local_path": f"/srv/models/{number}", "replicas": 0}
        body.update(backend="vLLM", image_name=IMAGE, backend_parameters=["--x=1"], env={"A": "1"})
        body.update(worker_selector=LABELS, cluster_id=server.cluster_id)
        numbers.append(api.post(PATH, body)["id"])
    for number in range(0, COUNT, 2):
        targets = [{"model_id": one, "weight": weight} for one, weight in zip(numbers[number:], (3, 1))]
        routes.append(api.post("/v2/model-routes", {"name": f"pair-{number:02}", "targets": targets})["id"])
    yield
    for one in routes:
        api.delete(f"/v2/model-routes/{one}")
    for one in numbers:
        api.delete(f"{PATH}/{one}")


@pytest.fixture
def run_role(server, proxy, tmp_path):
    def run(changes=None, *arguments):
        deployments = [
            {
                "name": name(number),
                "path": f"/srv/models/{number}",
                "backend": "vLLM",
                "image": IMAGE,
                "parameters": ["--x=1"],
                "env": {"A": "1"},
                "replicas": 0,
                "worker_selector": LABELS,
                **(changes or {}).get(number, {}),
            }
            for number in range(COUNT)
        ]
        routes = [
            {
                "name": f"pair-{number:02}",
                "targets": [{"model": name(number), "weight": 3}, {"model": name(number + 1), "weight": 1}],
            }
            for number in range(0, COUNT, 2)
        ]
        variables = {
            "gpustack_server_url": proxy.url,
            "gpustack_admin_password": server.password,
            "gpustack_models_deployments": deployments,
            "gpustack_models_routes": routes,
        }
        role = {"ansible.builtin.import_role": {"name": "inferops.gpustack.gpustack_models"}}
        plays = [{"hosts": "localhost", "gather_facts": False, "tasks": [role]}]
        done = play(plays, "-vvv", *arguments, variables=variables, directory=tmp_path)
        assert done.code == 0, done.of("localhost")
        return done

    return run


def executions(run):
    return [one for one in re.findall(r"Using module file .*/modules/(\w+)\.py", run.output) if one != "setup"]


def test_fifty_deployments(made, run_role, proxy):
    run = run_role()
    assert executions(run) == ["model_info", "model_route_info"]
    assert run.recap["localhost"]["changed"] == 0
    assert len(proxy.sent("GET", PATH)) == 2
    assert proxy.changes() == []


def test_one_that_differs(made, run_role, server, proxy):
    run = run_role({7: {"parameters": ["--x=2"]}})
    assert executions(run) == ["model_info", "model", "model_route_info"]
    assert run.recap["localhost"]["changed"] == 1
    # Older releases take the image of a deployment that had one the second time only.
    assert [one.split()[0] for one in proxy.changes()] == ["PUT"] * (1 if server.version == "2.3.0" else 2)
