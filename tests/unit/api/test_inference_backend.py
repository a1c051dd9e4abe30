# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a server of today does not show: rows of older servers, rows that lost a field, requests counted."""

from __future__ import annotations

import pytest

PATH = "/v2/inference-backends"
# A row of GPUStack 2.1.2, as `/backend_name/vLLM` answers it.
OLD_ROW = {
    "id": 1,
    "backend_name": "vLLM",
    "version_configs": {},
    "default_version": None,
    "default_backend_param": [],
    "default_run_command": "",
    "default_entrypoint": "",
    "is_built_in": True,
    "description": None,
    "health_check_path": None,
    "backend_source": "built_in",
    "enabled": None,
    "icon": None,
    "default_env": None,
}
ROW = dict(OLD_ROW, parameter_format=None, common_parameters=None)
VERSION = {"image_name": "docker.io/vllm/vllm-openai:v0.25.0", "custom_framework": "cuda"}


def stored(version):
    """A version with every field, as the server stores it."""
    keys = ("image_name", "run_command", "entrypoint", "built_in_frameworks", "custom_framework", "env")
    return dict(dict.fromkeys(keys), **version)


def test_no_op_costs_one_request(server, run):
    row = dict(ROW, version_configs={"0.25.0-custom": stored(VERSION), "other-custom": stored({"image_name": "other"})})
    server.on("GET", f"{PATH}/backend_name/vLLM", row)
    result = run("inference_backend", name="vLLM", versions={"0.25.0-custom": VERSION}, enabled=True)
    assert result["changed"] is False
    assert len(server.requests) == 1


def test_put_sends_back_everything(server, run):
    """The API replaces the whole backend (T29)."""
    row = dict(
        ROW,
        version_configs={"a-custom": stored({"image_name": "a", "env": {"A": "1"}})},
        default_env={"B": "2"},
        description="Ours",
        health_check_path="/health",
        default_backend_param=["--x"],
        default_run_command="serve",
        default_entrypoint="/bin/sh",
        parameter_format="equal",
        common_parameters=["--y"],
    )
    server.on("GET", f"{PATH}/backend_name/vLLM", row)
    server.on("PUT", f"{PATH}/1", row)
    run("inference_backend", name="vLLM", versions={"0.25.0-custom": VERSION})
    (sent,) = server.sent("PUT")
    assert sent[2] == {
        "backend_name": "vLLM",
        "backend_source": "built_in",
        "version_configs": {"a-custom": {"image_name": "a", "env": {"A": "1"}}, "0.25.0-custom": VERSION},
        "default_version": None,
        "default_env": {"B": "2"},
        "description": "Ours",
        "health_check_path": "/health",
        "default_backend_param": ["--x"],
        "default_run_command": "serve",
        "default_entrypoint": "/bin/sh",
        "parameter_format": "equal",
        "common_parameters": ["--y"],
        "enabled": None,
    }


def test_built_in_backend_that_forgot_it_is_one(server, run):
    """A client that left out backend_source disarms the server's guard (T30). We neither follow nor leave it so."""
    server.on("GET", f"{PATH}/backend_name/vLLM", dict(ROW, backend_source=None))
    server.on("PUT", f"{PATH}/1", ROW)
    refused = run("inference_backend", name="vLLM", state="absent")
    assert refused["msg"].startswith("Inference backend vLLM cannot be deleted, because GPUStack brings it.")
    assert server.sent() == []
    run("inference_backend", name="vLLM", description="Ours")
    assert server.sent()[0][2]["backend_source"] == "built_in"


@pytest.mark.parametrize("exists", [True, False])
def test_field_that_the_server_does_not_have(server, run, exists):
    name = "vLLM" if exists else "own-custom"
    server.on("GET", f"{PATH}/backend_name/vLLM", OLD_ROW)
    server.on("GET", f"{PATH}/backend_name/own-custom", _error(400, "Inference backend own-custom not found"), 400)
    server.on("GET", "/version", {"version": "v2.1.2"})
    result = run("inference_backend", name=name, common_parameters=["--x"], parameter_format="equal")
    assert result["msg"].startswith(f"parameter_format, common_parameters of inference backend {name}: ")
    assert "is GPUStack v2.1.2, which does not have it" in result["msg"]
    assert result["failure"]["reason"] == "Unsupported"
    assert server.sent() == []


def test_another_refusal_is_not_a_missing_backend(server, run):
    server.on("GET", f"{PATH}/backend_name/own-custom", _error(400, "Something else"), 400)
    result = run("inference_backend", name="own-custom", state="absent")
    assert result["failed"] is True
    assert result["failure"]["status"] == 400


def test_versions_of_a_community_backend_are_not_sent_back(server, run):
    """The server keeps those itself, and would forget the frameworks of one that is sent."""
    brought = stored({"image_name": "cpu", "built_in_frameworks": ["cpu"]})
    row = dict(ROW, backend_name="llama.cpp", is_built_in=False, backend_source="community", enabled=False)
    row["version_configs"] = {"cpu": brought, "mine-custom": stored({"image_name": "mine"})}
    server.on("GET", f"{PATH}/backend_name/llama.cpp", row)
    server.on("PUT", f"{PATH}/1", row)
    run("inference_backend", name="llama.cpp", enabled=True)
    (sent,) = server.sent()
    assert sent[2]["version_configs"] == {"mine-custom": {"image_name": "mine"}}
    assert sent[2]["enabled"] is True


@pytest.mark.parametrize(
    ("name", "action"), [("own-custom", "create inference backend"), ("vLLM", "update inference backend: versions")]
)
def test_check_mode_without_a_server(run, name, action):
    result = run(
        "inference_backend", check=True, url="http://127.0.0.1:9", name=name, versions={"1-custom": {"image_name": "x"}}
    )
    assert result["changed"] is True
    assert result["actions"] == [action]


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ({"versions": {"1-custom": {"image": "x"}}}, "versions.1-custom has image."),
        ({"versions": {"1-custom": "x"}}, "versions.1-custom is 'x'."),
        ({"versions": {"1-custom": {"env": ["A=1"]}}}, "versions.1-custom.env is not a dictionary."),
        ({"versions": {"1-custom": {"env": {"A": True}}}}, "versions.1-custom.env.A is True, which YAML read as bool;"),
        ({"versions": {"1-custom": {"image_name": 1.5}}}, "versions.1-custom.image_name is 1.5, which YAML read as"),
        ({"default_env": {"A": None}}, "default_env.A is None, which YAML read as NoneType;"),
        ({"name": "a/b-custom"}, "name is 'a/b-custom'."),
    ],
)
def test_mistakes_are_told_before_any_request(server, run, written, found):
    result = run("inference_backend", **dict({"name": "own-custom"}, **written))
    assert result["msg"].startswith(found)
    assert result["failure"]["reason"] == "Invalid"
    assert server.requests == []


def test_info_without_a_server(run):
    result = run("inference_backend_info", check=True, url="http://127.0.0.1:9")
    assert (result["changed"], result["inference_backends"]) == (False, [])
    assert "http://127.0.0.1:9 does not answer" in result["warnings"][0]


def _error(code, message):
    return {"code": code, "reason": "BadRequest", "message": message}
