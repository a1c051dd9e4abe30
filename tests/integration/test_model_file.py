# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import contextlib
import json
import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from steps import changes, refused, stays

MODULE = "model_file"
PATH = "/v2/model-files"
LOCAL = "/srv/models/DeepSeek-V4-Flash-0731"
REPOSITORY = "Qwen/Qwen3-0.6B"
#: The number of that kind of event in streams of the server.
DELETED = 3
SOURCES = [
    {"local_path": LOCAL},
    {"huggingface_repo_id": REPOSITORY},
    {"huggingface_repo_id": REPOSITORY, "huggingface_filename": "*.gguf"},
    {"model_scope_model_id": REPOSITORY},
    {"model_scope_model_id": REPOSITORY, "model_scope_file_path": "*.gguf"},
]


@pytest.fixture
def files(api, worker):
    """The model files of the worker, which has none at first, and the model on its disk."""

    def of_worker():
        return api.items(PATH, worker_id=worker.id)

    forget(api, worker)
    worker.add_path(LOCAL)
    yield of_worker
    forget(api, worker)


def forget(api, worker):
    for file in api.items(PATH, worker_id=worker.id):
        api.request("DELETE", f"{PATH}/{file['id']}", params={"cleanup": "false"})


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: "-".join(source))
def test_create_and_delete(run, files, worker, source):
    made = changes(run, MODULE, worker=worker.name, **source)
    assert made["actions"] == ["create model file"]
    assert made["diff"]["after"] == {"worker": worker.name, **source}
    (stored,) = files()
    shown = made["model_file"]
    assert (shown["id"], shown["worker"], shown["state"]) == (stored["id"], worker.name, "downloading")
    assert {key: stored[key] for key in source} == {key: shown[key] for key in source} == source

    removed = changes(run, MODULE, worker=worker.name, state="absent", **source)
    assert removed["actions"] == ["delete model file"]
    assert removed["diff"]["before"].items() >= source.items()
    assert files() == []


def test_sources_are_told_apart(run, files, worker):
    for number, source in enumerate(SOURCES, 1):
        run(MODULE, worker=worker.name, **source)
        assert len(files()) == number
    for number, source in enumerate(SOURCES, 1):
        run(MODULE, worker=worker.name, state="absent", **source)
        assert len(files()) == len(SOURCES) - number


def test_a_directory_cannot_change(run, files, worker):
    changes(run, MODULE, worker=worker.name, huggingface_repo_id=REPOSITORY, local_dir="/data/qwen")
    stays(run, MODULE, worker=worker.name, huggingface_repo_id=REPOSITORY)
    message = (
        f"local_dir of model file {REPOSITORY} on {worker.name} cannot change: it is '/data/qwen', and '/data/other' "
        "is asked for. Leave local_dir as it is, or delete the model file and make it again."
    )
    for check in (True, False):
        refused(
            run,
            MODULE,
            message,
            check=check,
            reason="WriteOnce",
            worker=worker.name,
            huggingface_repo_id=REPOSITORY,
            local_dir="/data/other",
        )


def test_files_of_other_directories_stay(run, files, worker):
    of_repository = {"worker": worker.name, "huggingface_repo_id": REPOSITORY}
    run(MODULE, **of_repository, local_dir="/data/one")
    for _ in range(2):
        stays(run, MODULE, **of_repository, state="absent", local_dir="/data/other")
        stays(run, MODULE, **of_repository, state="absent", local_dir="")
    assert len(files()) == 1
    run(MODULE, worker=worker.name, huggingface_repo_id=REPOSITORY, huggingface_filename="*", local_dir="/data/three")
    stays(run, MODULE, **of_repository, state="absent", local_dir="/data/three")
    changes(run, MODULE, **of_repository, state="absent", local_dir="/data/one")
    assert [one["local_dir"] for one in files()] == ["/data/three"]


def test_several_directories(run, api, files, worker):
    source = {"source": "huggingface", "huggingface_repo_id": REPOSITORY, "worker_id": worker.id}
    for directory in ("/data/one", "/data/two"):
        api.post(PATH, {**source, "local_dir": directory})
    of_repository = {"worker": worker.name, "huggingface_repo_id": REPOSITORY}
    message = f"There are 2 model files of {REPOSITORY} on {worker.name}. Set local_dir to one of theirs: {{0}}."
    directories = ", ".join(repr(one["local_dir"]) for one in files())
    for state in ("present", "absent"):
        refused(run, MODULE, message.format(directories), reason="Ambiguous", state=state, **of_repository)
    for _ in range(2):
        stays(run, MODULE, **of_repository, state="absent", local_dir="/data/three")
    changes(run, MODULE, **of_repository, state="absent", local_dir="/data/two")
    assert [one["local_dir"] for one in files()] == ["/data/one"]


@pytest.mark.trap(48)
def test_duplicates(run, files, worker, api):
    source = {"source": "local_path", "local_path": LOCAL, "worker_id": worker.id}
    api.post(PATH, source)
    response = api.request("POST", PATH, json=source)
    assert (response.status_code, response.json()["reason"]) == (409, "AlreadyExists")
    stays(run, MODULE, worker=worker.name, local_path=LOCAL)

    run(MODULE, worker=worker.name, huggingface_repo_id=REPOSITORY, local_dir="/data/qwen")
    refused(
        run,
        MODULE,
        f"POST {PATH} answered 409 (AlreadyExists): The local directory /data/qwen is already occupied by {REPOSITORY} "
        "on this worker. Another object has this name, or the object is still in use.",
        status=409,
        code=409,
        reason="AlreadyExists",
        endpoint=f"POST {PATH}",
        worker=worker.name,
        huggingface_repo_id="Qwen/Qwen3-8B",
        local_dir="/data/qwen",
    )


@contextlib.contextmanager
def soon(what):
    """`what()` happens while the module waits."""
    timer = threading.Timer(0.5, what)
    timer.start()
    try:
        yield
    finally:
        timer.join()


def test_ready(run, files, worker):
    worker.behave(REPOSITORY, stay_downloading=42)
    run(MODULE, worker=worker.name, huggingface_repo_id=REPOSITORY)
    with soon(lambda: worker.behave(REPOSITORY)):
        done = run(MODULE, worker=worker.name, huggingface_repo_id=REPOSITORY, state="ready", wait_timeout=20)
    assert (done["changed"], done["model_file"]["state"]) == (False, "ready")
    assert done["model_file"]["resolved_paths"] == files()[0]["resolved_paths"] != []
    stays(run, MODULE, worker=worker.name, huggingface_repo_id=REPOSITORY, state="ready")
    made = run(MODULE, worker=worker.name, local_path=LOCAL, state="ready", wait_timeout=20)
    assert (made["changed"], made["model_file"]["state"]) == (True, "ready")


def test_not_ready_in_time(run, files, worker, api):
    worker.behave(REPOSITORY, stay_downloading=42)
    run(MODULE, worker=worker.name, huggingface_repo_id=REPOSITORY)
    api.wait(PATH, lambda answer: answer["items"][0]["download_progress"] == 42, worker_id=worker.id)
    result = refused(
        run,
        MODULE,
        f"Waiting for model file {REPOSITORY} on {worker.name}: not after 0 s. "
        f"{REPOSITORY} on {worker.name} is downloading (42 %). "
        "Raise wait_timeout, or read the log of the worker: docker logs gpustack-worker.",
        reason="Timeout",
        worker=worker.name,
        huggingface_repo_id=REPOSITORY,
        state="ready",
        wait_timeout=0,
    )
    assert result["last"]["download_progress"] == 42
    worker.behave(REPOSITORY)


@pytest.mark.trap(48)
def test_a_path_that_is_not_there(run, files, worker):
    """The server takes it, and the worker cannot."""
    missing = {"worker": worker.name, "local_path": "/srv/models/missing"}
    result = refused(
        run,
        MODULE,
        f"Model file /srv/models/missing on {worker.name} has an error: Path does not exist: /srv/models/missing. "
        "The path is one inside the worker container. Run the task again when it is there.",
        reason="TerminalState",
        state="ready",
        wait_timeout=20,
        **missing,
    )
    assert result["last"]["state"] == "error"
    assert stays(run, MODULE, reset="never", **missing)["model_file"]["state"] == "error"
    predicted = run(MODULE, check=True, **missing)
    worker.add_path("/srv/models/missing")
    done = run(MODULE, state="ready", wait_timeout=20, **missing)
    assert predicted["actions"] == done["actions"] == ["reset model file"]
    assert predicted["diff"] == done["diff"]
    assert done["diff"]["before"]["state"] == "error"
    assert done["model_file"]["state"] == "ready"
    stays(run, MODULE, state="ready", **missing)


@pytest.fixture
def deletions(api, worker):
    """What the server tells the worker of deleted files, in the stream that the worker reads."""
    stream = api.request("GET", PATH, params={"watch": "true", "worker_id": worker.id}, stream=True)

    def told(number):
        found = []
        for line in filter(None, stream.iter_lines()):
            event = json.loads(line)
            if event["type"] == DELETED:
                found.append(event["data"])
            if len(found) == number:
                break
        return found

    yield told
    stream.close()


@pytest.mark.trap(48)
def test_files_on_disk_stay(run, files, worker, api, deletions):
    refused(
        run,
        MODULE,
        f"cleanup is asked for with local_path {LOCAL}. The worker would delete files that GPUStack did not download, "
        "following symbolic links. Leave cleanup out to forget the model file, and remove what is on disk with "
        "ansible.builtin.file.",
        reason="Refused",
        worker=worker.name,
        local_path=LOCAL,
        state="absent",
        cleanup=True,
    )
    for source in SOURCES[:2]:
        for stored in (None, True):
            run(MODULE, worker=worker.name, state="ready", **source)
            # A wish of somebody else, which a DELETE without `cleanup` would fulfil.
            (file,) = files()
            api.put(f"{PATH}/{file['id']}", dict(file, cleanup_on_delete=stored))
            run(MODULE, worker=worker.name, state="absent", **source)
    # Ready first: a worker that reports its progress meanwhile would write back the older wish.
    run(MODULE, worker=worker.name, huggingface_repo_id=REPOSITORY, state="ready")
    run(MODULE, worker=worker.name, huggingface_repo_id=REPOSITORY, state="absent", cleanup=True)
    assert [one["cleanup_on_delete"] or False for one in deletions(5)] == [False, False, False, False, True]


@pytest.mark.trap(48)
def test_a_file_in_use_stays(run, files, worker, api, deploy):
    model = deploy(path=LOCAL)
    running = api.wait(
        "/v2/model-instances",
        lambda answer: [one for one in answer["items"] if one["state"] == "running"],
        model_id=model["id"],
    )
    (instance,) = running["items"]
    stays(run, MODULE, worker=worker.name, local_path=LOCAL, state="ready")
    (file,) = files()
    endpoint = f"DELETE {PATH}/{file['id']}?cleanup=false"
    refused(
        run,
        MODULE,
        f"{endpoint} answered 409 (Conflict): Cannot delete the model file. It's being used by model instances: "
        f"{instance['name']}. Remove the deployments of these instances first, or let them have no replicas.",
        status=409,
        code=409,
        reason="Conflict",
        endpoint=endpoint,
        worker=worker.name,
        local_path=LOCAL,
        state="absent",
    )
    api.delete(f"/v2/models/{model['id']}")
    api.wait("/v2/model-instances", lambda answer: not answer["items"], model_id=model["id"])
    changes(run, MODULE, worker=worker.name, local_path=LOCAL, state="absent")


def test_no_such_worker(run, server):
    message = (
        f"There is no worker 'nobody' on {server.url}. "
        "Check the name, or let inferops.gpustack.worker wait until it has registered."
    )
    refused(run, MODULE, message, reason="NotFound", worker="nobody", local_path=LOCAL)
    stays(run, MODULE, worker="nobody", local_path=LOCAL, state="absent")
    predicted = run(MODULE, check=True, worker="nobody", local_path=LOCAL)
    assert (predicted["changed"], predicted["actions"]) == (True, ["create model file"])


def test_wrong_credentials(run):
    refused(
        run,
        MODULE,
        "GET /v2/workers?page=1&perPage=100&name=nobody answered 401 (Unauthorized): Invalid authentication "
        "credentials. Check username and password, or api_key. A deactivated user and an expired key look the same.",
        status=401,
        code=401,
        reason="Unauthorized",
        endpoint="GET /v2/workers?page=1&perPage=100&name=nobody",
        worker="nobody",
        local_path=LOCAL,
        password="wrong",
    )


PART = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1, max_size=12)
SPEC = st.one_of(
    st.fixed_dictionaries({"local_path": PART}),
    st.fixed_dictionaries({"huggingface_repo_id": PART}, optional={"huggingface_filename": PART, "local_dir": PART}),
    st.fixed_dictionaries({"model_scope_model_id": PART}, optional={"model_scope_file_path": PART, "local_dir": PART}),
)


@settings(max_examples=5, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
@given(spec=SPEC)
def test_twice_is_once(run, files, api, worker, spec):
    forget(api, worker)
    worker.add_path(spec.get("local_path"))
    assert run(MODULE, worker=worker.name, state="ready", **spec)["changed"] is True
    stays(run, MODULE, worker=worker.name, **spec)


def test_info(run, files, worker):
    for source in SOURCES:
        run(MODULE, worker=worker.name, state="ready", **source)
    everything = run("model_file_info", worker=worker.name)["model_files"]
    assert len(everything) == len(SOURCES)
    for one in everything:
        options = {key: one[key] for key in SOURCES[2] | SOURCES[4] | SOURCES[0] if one[key]}
        assert stays(run, MODULE, worker=worker.name, **options)["model_file"] == one
    of_repository = run("model_file_info", huggingface_repo_id=REPOSITORY)["model_files"]
    assert [one["huggingface_filename"] for one in of_repository] == [None, "*.gguf"]
    assert len(run("model_file_info", model_scope_model_id=REPOSITORY)["model_files"]) == 2
    (local,) = run("model_file_info", local_path=LOCAL, worker=worker.name)["model_files"]
    assert local["worker"] == worker.name
    assert run("model_file_info", worker=worker.name, state="ready")["model_files"] == everything
    assert run("model_file_info", worker=worker.name, state="error")["model_files"] == []
