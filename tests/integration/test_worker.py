# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from api import Refused
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from steps import changes, refused, stays

MODULE = "worker"
PATH = "/v2/workers"
INSTANCES = "/v2/model-instances"
STRICT = {"labels": "strict"}
ON, OFF = {"enabled": True, "reason": "Disk swap"}, {"enabled": False}
STORED = {"enabled": True, "message": "Disk swap"}
LOOK = (
    "Look at the worker: 'docker logs gpustack-worker' shows whether it reached the server and was accepted, and "
    "'docker ps' whether it runs. Check its server_url, token and worker_name, and that the server reaches its "
    "port 10150."
)
MODEL_PATH = "/srv/models/simulated"


@pytest.fixture
def row(api, worker):
    yield lambda: api.get(f"{PATH}/{worker.id}")
    # Without `enabled` the state would lag (T46).
    now = api.get(f"{PATH}/{worker.id}")
    api.put(f"{PATH}/{worker.id}", {"name": worker.name, "labels": now["labels"], "maintenance": OFF})


def automatic(worker):
    return {"os": "linux", "arch": "amd64", "worker-name": worker.name}


def test_labels_are_merged(run, worker, row, proxy, server):
    done = changes(run, MODULE, name=worker.name, url=proxy.url, labels={"rack": "r1", "row": 7})
    assert done["actions"] == ["label worker: rack, row"]
    assert row()["labels"] == {**automatic(worker), "rack": "r1", "row": "7"}
    assert done["worker"]["labels"] == row()["labels"]
    since_23 = f"POST {PATH}/labels"
    assert proxy.changes() == ([since_23] if server.version >= "2.3" else [since_23, f"PUT {PATH}/{worker.id}"])
    changes(run, MODULE, name=worker.name, labels={"rack": "r2"})
    assert row()["labels"] == {**automatic(worker), "rack": "r2", "row": "7"}
    stays(run, MODULE, name=worker.name, labels={})
    stays(run, MODULE, name=worker.name, labels={"rack": "r3"}, comparisons={"labels": "ignore"})


@pytest.mark.trap(27)
def test_strict_labels_leave_the_automatic_ones_and_the_maintenance(run, api, worker, row):
    run(MODULE, name=worker.name, labels={"rack": "r1", "row": "7"}, maintenance=ON)
    done = changes(run, MODULE, name=worker.name, labels={"rack": "r1"}, comparisons=STRICT)
    assert done["actions"] == ["label worker: row"]
    assert (row()["labels"], row()["maintenance"]) == ({**automatic(worker), "rack": "r1"}, STORED)
    changes(run, MODULE, name=worker.name, labels={}, comparisons=STRICT)
    assert (row()["labels"], row()["maintenance"]) == (automatic(worker), STORED)

    api.put(f"{PATH}/{worker.id}", {"name": worker.name})
    assert (row()["labels"], row()["maintenance"]) == ({}, None)


def test_maintenance(run, worker, row):
    run(MODULE, name=worker.name, labels={"rack": "r1"})
    done = changes(run, MODULE, name=worker.name, maintenance=ON)
    assert done["actions"] == ["update worker: maintenance"]
    assert (done["worker"]["state"], done["worker"]["state_message"]) == ("maintenance", "Disk swap")
    assert row()["labels"] == {**automatic(worker), "rack": "r1"}
    stays(run, MODULE, name=worker.name, maintenance={"enabled": True})
    changes(run, MODULE, name=worker.name, maintenance={"enabled": True, "reason": "Longer"})
    message = (
        f"Worker {worker.name} is maintenance: Longer. End the maintenance of the worker, or leave it out of this run."
    )
    refused(run, MODULE, message, name=worker.name, state="ready", wait_timeout=60, reason="TerminalState")
    done = changes(run, MODULE, name=worker.name, maintenance=OFF)
    assert (done["worker"]["state"], done["worker"]["maintenance"]) == ("ready", {"enabled": False, "reason": None})
    assert row()["labels"] == {**automatic(worker), "rack": "r1"}


@pytest.mark.trap(46)
def test_state_after_a_maintenance_that_was_wiped(run, api, worker, row):
    """The server computes the state anew only when it is told `enabled`, or some time later."""
    run(MODULE, name=worker.name, maintenance=ON)
    api.put(f"{PATH}/{worker.id}", {"name": worker.name, "labels": automatic(worker)})
    assert (row()["maintenance"], row()["state"]) == (None, "maintenance")
    # A maintenance that has ended may be waited for.
    message = f"Waiting for worker {worker.name}: not after 0 s. Worker {worker.name} is maintenance: Disk swap. {LOOK}"
    refused(run, MODULE, message, name=worker.name, state="ready", reason="Timeout")
    api.put(f"{PATH}/{worker.id}", {"name": worker.name, "labels": automatic(worker), "maintenance": OFF})
    assert row()["state"] == "ready"


def test_rename(run, api, make_worker, unique):
    old, new = unique("worker"), unique("worker")
    worker = make_worker(old, labels={"rack": "r1"})
    done = changes(run, MODULE, name=old, new_name=new)
    assert done["actions"] == ["update worker: name"]
    assert (done["worker"]["id"], done["worker"]["labels"]["rack"]) == (worker.id, "r1")
    assert api.get(f"{PATH}/{worker.id}")["name"] == new


@pytest.mark.parametrize("is_renamed", [False, True])
def test_delete_by_either_name(run, api, make_worker, unique, is_renamed):
    old, new = unique("worker"), unique("worker")
    worker = make_worker(new if is_renamed else old)
    changes(run, MODULE, name=old, new_name=new, state="absent")
    assert api.find(PATH, id=worker.id) is None


@pytest.mark.trap(22)
def test_rename_to_a_taken_name(run, api, worker, other_worker, row):
    with pytest.raises(Refused) as caught:
        api.put(f"{PATH}/{worker.id}", {**row(), "name": other_worker.name})
    assert caught.value.status == 500
    message = (
        f"worker {worker.name} shall be renamed to {other_worker.name}, but both exist. "
        "Choose another new_name, or remove one of the two."
    )
    for check in (True, False):
        options = {"name": worker.name, "new_name": other_worker.name}
        refused(run, MODULE, message, check=check, reason="AlreadyExists", **options)
    assert row()["name"] == worker.name


@pytest.mark.trap(25)
def test_delete(run, api, make_worker, unique):
    name = unique("worker")
    worker = make_worker(name)
    done = changes(run, MODULE, name=name, state="absent")
    assert (done["actions"], done["worker"], done["diff"]["after"]) == (["delete worker"], {}, {})
    assert api.find(PATH, name=name) is None
    with pytest.raises(Refused) as caught:
        api.delete(f"{PATH}/{worker.id}")
    assert caught.value.status == 404


def running_on(api, model, worker, count):
    """Wait until so many instances of the deployment run, all of them on that worker."""

    def done(found):
        return [one["worker_id"] for one in found["items"] if one["state"] == "running"] == [worker.id] * count

    return api.wait(INSTANCES, done, model_id=model["id"])["items"]


@pytest.fixture
def leaving(make_worker, unique):
    worker = make_worker(unique("leaving"), labels={"pool": "a"})
    worker.add_path(MODEL_PATH)
    return worker


def test_drain(run, api, worker, row, leaving, deploy):
    model = deploy(replicas=2, worker_selector={"pool": "a"})
    names = sorted(one["name"] for one in running_on(api, model, leaving, 2))
    options = {"name": leaving.name, "state": "absent"}
    message = (
        f"worker {leaving.name} is not deleted, because instances are on it: {', '.join(names)}. "
        "Set drain to move them to other workers first, or delete their deployments."
    )
    refused(run, MODULE, message, reason="Conflict", **options)
    message = (
        f"worker {leaving.name} has instances to move, and wait_timeout is not set: {', '.join(names)}. "
        "Set wait_timeout to the seconds that moving all of them may take."
    )
    refused(run, MODULE, message, reason="Invalid", drain=True, **options)
    options.update(drain=True, wait_timeout=120)
    message = (
        f"worker {leaving.name} cannot be drained. No other ready worker of its cluster can take {model['name']}. "
        "Make room for them, stop them, or set drain_force to leave them without these instances."
    )
    for check in (True, False):
        refused(run, MODULE, message, check=check, reason="Conflict", **options)
    assert api.get(f"{PATH}/{leaving.id}")["maintenance"] is None

    run(MODULE, name=worker.name, labels={"pool": "a"})
    done = changes(run, MODULE, **options)
    moved = [f"move instance: {name}" for name in names]
    assert done["actions"] == ["update worker: maintenance", *moved, "delete worker"]
    running_on(api, model, worker, 2)
    # One after the other, and never more than one was missing.
    assert (leaving.running_counts(model["name"])[1:3], worker.running_counts(model["name"])) == ([2, 1], [1, 2])


def test_drain_that_is_not_done_in_time(run, api, worker, row, leaving, deploy):
    model = deploy(worker_selector={"pool": "a"})
    (instance,) = running_on(api, model, leaving, 1)
    run(MODULE, name=worker.name, labels={"pool": "a"})
    worker.behave(model["name"], slow=20)
    options = {"name": leaving.name, "state": "absent", "drain": True}
    result = run(MODULE, ok=False, wait_timeout=2, **options)
    assert f"Moving instance {instance['name']}: not after 2 s." in result["msg"]
    assert "The worker stays in maintenance and is not deleted." in result["msg"]
    assert result["failure"]["reason"] == "Timeout"
    assert (result["changed"], result["actions"]) == (
        True,
        ["update worker: maintenance", f"move instance: {instance['name']}"],
    )
    assert api.get(f"{PATH}/{leaving.id}")["state"] == "maintenance"
    changes(run, MODULE, wait_timeout=2, **options)


def test_drain_that_is_taken_up_again(run, api, worker, row, leaving, deploy):
    """What an earlier run has moved runs before the next instance goes."""
    model = deploy(replicas=2, worker_selector={"pool": "a"})
    running_on(api, model, leaving, 2)
    run(MODULE, name=worker.name, labels={"pool": "a"})
    worker.behave(model["name"], slow=5)
    options = {"name": leaving.name, "state": "absent", "drain": True}
    first = run(MODULE, ok=False, wait_timeout=2, **options)
    assert first["failure"]["reason"] == "Timeout"
    # One is still there to answer requests, and the other one is starting.
    second = run(MODULE, ok=False, wait_timeout=1, **options)
    assert second["failure"]["reason"] == "Timeout"
    assert second["msg"].startswith("Before instance ")
    assert second["actions"] == []
    assert leaving.running_counts(model["name"]) == [1, 2, 1]
    changes(run, MODULE, wait_timeout=60, **options)
    running_on(api, model, worker, 2)
    # The last one left before its successor ran, and after the first one's did.
    assert (leaving.running_counts(model["name"])[2:], worker.running_counts(model["name"])) == ([1, 0], [1, 2])


def test_drain_force(run, api, leaving, deploy):
    model = deploy(worker_selector={"pool": "a"})
    running_on(api, model, leaving, 1)
    changes(run, MODULE, name=leaving.name, state="absent", drain=True, drain_force=True, wait_timeout=60)
    api.wait(INSTANCES, lambda found: [one["worker_id"] for one in found["items"]] == [None], model_id=model["id"])


def test_usable(run, worker):
    stays(run, MODULE, name=worker.name, state="ready", accelerators=8, reachable=True, wait_timeout=30)
    name, what = worker.name, "Worker {0} reports 8 accelerators (8 x NVIDIA H20-3e), expected 4"
    message = f"Waiting for worker {name}: not after 0 s. {what.format(name)}. {LOOK}"
    result = refused(run, MODULE, message, name=name, accelerators=4, reason="Timeout")
    assert result["last"]["name"] == name


def test_no_such_worker(run):
    message = f"Waiting for worker nobody: not after 0 s. The server knows no worker named 'nobody'. {LOOK}"
    refused(run, MODULE, message, name="nobody", reason="Timeout")
    stays(run, MODULE, name="nobody", state="absent")
    predicted = run(MODULE, check=True, name="nobody", labels={"rack": "r1"})
    assert (predicted["changed"], predicted["actions"], predicted["worker"]) == (True, ["wait for worker"], {})
    predicted = run(MODULE, check=True, name="nobody", state="ready", wait_timeout=60)
    assert (predicted["changed"], predicted["actions"], predicted["diff"]) == (False, [], {})
    assert "The server knows no worker named 'nobody'" in predicted["warnings"][0]


@pytest.mark.parametrize(
    "options, message",
    [
        (
            {"labels": {"rack": True}},
            "labels.rack is True, which YAML read as bool; a text is needed. Put the value in quotes.",
        ),
        (
            {"state": "ready", "maintenance": ON},
            "state is ready and maintenance.enabled is true, but a worker in maintenance is never ready. "
            "Use state present.",
        ),
        (
            {"comparisons": {"maintenance": "allow"}},
            "comparisons has maintenance: 'allow'. It must be one of strict, ignore, allow_more_present.",
        ),
    ],
)
def test_invalid_values(run, worker, options, message):
    refused(run, MODULE, message, name=worker.name, reason="Invalid", **options)


def test_wrong_credentials(run):
    endpoint = f"GET {PATH}?page=1&perPage=100&name=a"
    refused(
        run,
        MODULE,
        f"{endpoint} answered 401 (Unauthorized): Invalid authentication credentials. Check username and password, or "
        "api_key. A deactivated user and an expired key look the same.",
        name="a",
        password="Canary_wrong-1",
        status=401,
        code=401,
        reason="Unauthorized",
        endpoint=endpoint,
    )


TEXT = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=8)
SPEC = st.fixed_dictionaries(
    {},
    optional={
        "labels": st.dictionaries(TEXT, TEXT, max_size=3),
        "maintenance": st.fixed_dictionaries({"enabled": st.booleans()}, optional={"reason": TEXT}),
    },
)


@settings(max_examples=10, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(spec=SPEC, comparison=st.sampled_from(["strict", "allow_more_present"]))
def test_twice_is_once(run, worker, row, spec, comparison):
    run(MODULE, name=worker.name, comparisons={"labels": comparison}, **spec)
    stays(run, MODULE, name=worker.name, comparisons={"labels": comparison}, **spec)
    assert row()["labels"].items() >= automatic(worker).items()
