# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waiting, and what needs more than one simulated worker can show."""

from __future__ import annotations

import pytest

FILES = "/v2/model-files"
PATH = "/srv/models/DeepSeek-V4-Flash-0731"
HERE = {"worker": "h20-01", "local_path": PATH}
DOWNLOAD = {"worker": "h20-01", "huggingface_repo_id": "Qwen/Qwen3-0.6B"}
SOURCE_KEYS = (
    "local_path",
    "huggingface_repo_id",
    "huggingface_filename",
    "model_scope_model_id",
    "model_scope_file_path",
)


def stored(state="downloading", number=1, **fields):
    file = dict(dict.fromkeys(SOURCE_KEYS), id=number, worker_id=7, local_dir=None, state=state, state_message=None)
    return dict(file, **fields)


@pytest.fixture
def worker(server):
    server.on("GET", "/v2/workers", {"items": [{"id": 7, "name": "h20-01"}], "pagination": {"totalPage": 1}})


def has(server, *files):
    server.on("GET", FILES, {"items": list(files), "pagination": {"totalPage": 1}})


def test_waits_until_it_is_ready(server, run, worker, no_pauses):
    has(server)
    server.on("POST", FILES, stored(huggingface_repo_id="Qwen/Qwen3-0.6B"))
    for file in (
        stored(download_progress=None),
        stored(download_progress=41.6),
        stored("ready", download_progress=100.0, resolved_paths=["/cache/qwen"], size=5),
    ):
        server.on("GET", f"{FILES}/1", file)
    result = run("model_file", state="ready", **DOWNLOAD)
    assert result["changed"] is True
    assert result["actions"] == ["create model file"]
    assert result["model_file"]["state"] == "ready"
    assert result["model_file"]["resolved_paths"] == ["/cache/qwen"]
    assert len(no_pauses) == 2


def test_the_time_is_over(server, run, worker):
    has(server, stored(huggingface_repo_id="Qwen/Qwen3-0.6B"))
    server.on("GET", f"{FILES}/1", stored(download_progress=41.6, state_message="mirror is slow"))
    result = run("model_file", state="ready", wait_timeout=5, **DOWNLOAD)
    assert result["msg"] == (
        "Waiting for model file Qwen/Qwen3-0.6B on h20-01: not after 5 s. "
        "Qwen/Qwen3-0.6B on h20-01 is downloading (42 %): mirror is slow. "
        "Raise wait_timeout, or read the log of the worker: docker logs gpustack-worker."
    )
    assert result["failure"]["reason"] == "Timeout"
    assert result["last"]["download_progress"] == 41.6
    assert result["last"]["worker"] == "h20-01"


def test_an_error_ends_the_wait(server, run, worker, no_pauses):
    has(server)
    server.on("POST", FILES, stored(local_path=PATH))
    server.on("GET", f"{FILES}/1", stored("error", local_path=PATH, state_message=f"Path does not exist: {PATH}"))
    result = run("model_file", state="ready", **HERE)
    assert result["msg"] == (
        f"Model file {PATH} on h20-01 has an error: Path does not exist: {PATH}. "
        "The path is one inside the worker container. Run the task again when it is there."
    )
    assert result["failure"]["reason"] == "TerminalState"
    assert result["last"]["state"] == "error"
    assert no_pauses == []


@pytest.mark.parametrize(("reset", "sent"), [("on_error", [("POST", f"{FILES}/1/reset", None)]), ("never", [])])
def test_an_error_is_tried_again(server, run, worker, reset, sent):
    has(server, stored("error", local_path=PATH, state_message="disk is full"))
    server.on("POST", f"{FILES}/1/reset", stored(local_path=PATH))
    result = run("model_file", reset=reset, **HERE)
    assert server.sent() == sent
    assert result["changed"] is bool(sent)
    assert result["model_file"]["state"] == ("downloading" if sent else "error")
    if sent:
        assert result["diff"]["before"] == {
            "state": "error",
            "state_message": "disk is full",
            "download_progress": None,
        }


def test_an_error_in_a_later_slice_of_the_wait_is_not_tried_again(server, run, worker):
    broken = stored("error", local_path=PATH, state_message="disk is full")
    has(server, broken)
    server.on("GET", f"{FILES}/1", broken)
    begun = {"elapsed": 12.0, "said": None, "memory": {"begun": True}}
    result = run("model_file", state="ready", wait_slice=begun, **HERE)
    assert result["failure"]["reason"] == "TerminalState"
    assert server.sent() == []


def test_no_op_costs_two_requests(server, run, worker):
    has(server, stored("ready", local_path=PATH))
    assert run("model_file", **HERE)["changed"] is False
    assert [path.split("?")[0] for _verb, path, _body in server.sent("GET")] == ["/v2/workers", FILES]


@pytest.mark.parametrize(
    ("cleanup", "query"), [(True, "cleanup=true"), (False, "cleanup=false"), (None, "cleanup=false")]
)
def test_cleanup_is_always_said(server, run, worker, cleanup, query):
    """Without it the server takes what it has stored, which may be the wish of somebody else."""
    has(server, stored(huggingface_repo_id="Qwen/Qwen3-0.6B"))
    server.on("DELETE", f"{FILES}/1")
    assert run("model_file", state="absent", cleanup=cleanup, **DOWNLOAD)["changed"] is True
    assert server.sent() == [("DELETE", f"{FILES}/1?{query}", None)]


@pytest.mark.parametrize("state", ["present", "ready", "absent"])
@pytest.mark.parametrize("check", [True, False])
def test_cleanup_of_a_local_path_is_refused_before_any_request(server, run, state, check):
    result = run("model_file", check=check, state=state, cleanup=True, **HERE)
    assert result["failure"]["reason"] == "Refused"
    assert server.requests == []


def test_one_in_use_is_not_deleted(server, run, worker):
    has(server, stored("ready", local_path=PATH))
    message = "Cannot delete the model file. It's being used by model instances: deepseek-x1."
    server.on("DELETE", f"{FILES}/1", {"code": 409, "reason": "Conflict", "message": message}, 409)
    result = run("model_file", state="absent", **HERE)
    assert result["msg"] == (
        f"DELETE {FILES}/1?cleanup=false answered 409 (Conflict): {message} "
        "Remove the deployments of these instances first, or let them have no replicas."
    )
    assert result["failure"]["hint"].startswith("Remove the deployments")


def test_several_files_of_one_source(server, run, worker):
    repository = "Qwen/Qwen3-0.6B"
    has(
        server,
        stored("ready", 1, huggingface_repo_id=repository),
        stored("ready", 2, huggingface_repo_id=repository, local_dir="/data/qwen"),
        stored("ready", 3, huggingface_repo_id=repository, huggingface_filename="*.gguf"),
    )
    result = run("model_file", **DOWNLOAD)
    assert result["failure"]["reason"] == "Ambiguous"
    assert result["failure"]["hint"] == "Set local_dir to one of theirs: '', '/data/qwen'."
    assert run("model_file", local_dir="/data/qwen", **DOWNLOAD)["model_file"]["id"] == 2
    assert run("model_file", local_dir="", **DOWNLOAD)["model_file"]["id"] == 1
    assert run("model_file", huggingface_filename="*.gguf", **DOWNLOAD)["model_file"]["id"] == 3


@pytest.mark.parametrize(("local_dir", "number"), [("", 1), ("/data/qwen", 2), ("/data/other", None)])
def test_only_the_file_of_the_named_directory_is_deleted(server, run, worker, local_dir, number):
    repository = "Qwen/Qwen3-0.6B"
    has(
        server,
        stored("ready", 1, huggingface_repo_id=repository),
        stored("ready", 2, huggingface_repo_id=repository, local_dir="/data/qwen"),
    )
    server.on("DELETE", f"{FILES}/{number}", None)
    result = run("model_file", state="absent", local_dir=local_dir, **DOWNLOAD)
    assert result["changed"] is (number is not None)
    assert [path for _, path, _ in server.sent()] == ([f"{FILES}/{number}?cleanup=false"] if number else [])


def test_what_a_deletion_takes_away_is_in_the_diff(server, run, worker):
    has(server, stored("ready", local_path=PATH))
    result = run("model_file", check=True, state="absent", **HERE)
    assert result["diff"]["before"]["local_path"] == PATH
    assert result["diff"]["after"] == {}


def test_check_mode_before_the_worker_has_registered(server, run):
    server.on("GET", "/v2/workers", {"items": [], "pagination": {"totalPage": 0}})
    result = run("model_file", check=True, **HERE)
    assert result["changed"] is True
    assert "There is no worker 'h20-01' yet." in result["warnings"][0]
    assert run("model_file", check=True, state="absent", **HERE)["changed"] is False


@pytest.mark.parametrize("state", ["present", "absent"])
def test_check_mode_without_a_server(run, state):
    result = run("model_file", check=True, url="http://127.0.0.1:9", state=state, **HERE)
    assert result["changed"] is (state == "present")
    assert "http://127.0.0.1:9 does not answer" in result["warnings"][0]


def test_info_without_a_server(run):
    result = run("model_file_info", check=True, url="http://127.0.0.1:9")
    assert (result["changed"], result["model_files"]) == (False, [])
    assert "http://127.0.0.1:9 does not answer" in result["warnings"][0]


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ({}, "one of the following is required: local_path, huggingface_repo_id, model_scope_model_id"),
        (
            {"local_path": "/a", "huggingface_repo_id": "a/b"},
            "parameters are mutually exclusive: local_path|huggingface_repo_id|model_scope_model_id",
        ),
        ({"local_path": "/a", "local_dir": "/b"}, "parameters are mutually exclusive: local_path|local_dir"),
        ({"local_path": "/a", "huggingface_filename": "b"}, "missing parameter(s) required by 'huggingface_filename'"),
        ({"local_path": ""}, "local_path is empty. Name the model that the worker shall have."),
    ],
)
def test_mistakes_are_told_before_any_request(server, run, written, message):
    assert message in run("model_file", worker="h20-01", **written)["msg"]
    assert server.requests == []
