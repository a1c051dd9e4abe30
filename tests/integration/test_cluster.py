# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json

import pytest
from api import Refused
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from steps import changes, refused, stays

MODULE = "cluster"
PATH = "/v2/clusters"
NAME = "edge"
REGISTRY = "system_default_container_registry"
SECRET = "hf_canary"
DEFAULT = {"default": True}


@pytest.fixture(autouse=True)
def default(server):
    """The first cluster is made the default, and no test shall do that by accident."""
    return server.default_cluster()


@pytest.fixture(autouse=True)
def tidy(api, default):
    yield
    api.post(f"{PATH}/{default['id']}/set-default")
    for one in api.items(PATH):
        if one["name"] != default["name"]:
            api.delete(f"{PATH}/{one['id']}")


@pytest.fixture
def row(api):
    return lambda name=NAME: api.find(PATH, name=name)


@pytest.fixture
def has_registry(server):
    if server.version < "2.2":
        pytest.skip("GPUStack has it since 2.2")


FULL = {
    "description": "Ours",
    "server_url": "http://10.0.0.10",
    "worker_config": {"debug": True, "worker_port": 10160, "system_reserved": {"ram": 2, "vram": 1}},
}
OTHER = {
    "description": "Theirs",
    "server_url": "https://gpustack.example.com",
    "worker_config": {"debug": False, "service_port_range": "40000-40127"},
}


def test_create_and_delete(run, row):
    made = changes(run, MODULE, name=NAME, **FULL)
    assert made["actions"] == ["create cluster"]
    assert made["diff"]["before"] == {}
    assert made["diff"]["after"] == {"name": NAME, **FULL}
    assert {key: made["cluster"][key] for key in FULL} == FULL
    assert (made["cluster"]["provider"], made["cluster"]["is_default"]) == ("Docker", False)
    assert row()["id"] == made["cluster"]["id"]

    removed = changes(run, MODULE, name=NAME, state="absent")
    assert removed["actions"] == ["delete cluster"]
    assert removed["diff"]["after"] == {}
    assert removed["cluster"] == {}
    assert row() is None


@pytest.mark.parametrize("field", FULL)
def test_each_field_alone_then_cleared(run, row, field):
    run(MODULE, name=NAME, **FULL)
    done = changes(run, MODULE, name=NAME, comparisons={"worker_config": "strict"}, **{field: OTHER[field]})
    assert done["actions"] == [f"update cluster: {field}"]
    expected = {**FULL, field: OTHER[field]}
    assert {key: row()[key] for key in FULL} == expected
    empty = {} if field == "worker_config" else ""
    changes(run, MODULE, name=NAME, comparisons={"worker_config": "strict"}, **{field: empty})
    assert not row().get(field)
    assert {key: row()[key] for key in FULL if key != field} == {key: FULL[key] for key in FULL if key != field}


def test_registry(run, row, has_registry):
    run(MODULE, name=NAME)
    changes(run, MODULE, name=NAME, **{REGISTRY: "registry.example.com"})
    assert row()[REGISTRY] == "registry.example.com"
    changes(run, MODULE, name=NAME, **{REGISTRY: ""})
    assert REGISTRY not in row()


def test_registry_of_an_older_server(run, row, server):
    if server.version >= "2.2":
        pytest.skip("GPUStack has it since 2.2")
    message = (
        f"{REGISTRY}: {server.url} is GPUStack v{server.version}, which does not have it. "
        "Upgrade to GPUStack 2.2 or later, or leave it unset."
    )
    refused(run, MODULE, message, name=NAME, reason="Unsupported", **{REGISTRY: "registry.example.com"})
    assert row() is None


@pytest.mark.trap(28, not_on={"2.1.2": "GPUStack has it since 2.2."})
def test_registry_moves_out_of_the_worker_config(run, api, row):
    api.post(PATH, {"name": NAME, "provider": "Docker", "worker_config": {REGISTRY: "one.example", "debug": True}})
    assert (row()[REGISTRY], row()["worker_config"]) == ("one.example", {"debug": True})
    message = f"worker_config holds {REGISTRY}, which the server keeps beside it. Write it as the option {REGISTRY}."
    refused(run, MODULE, message, name=NAME, reason="Invalid", worker_config={REGISTRY: "two.example"})


@pytest.mark.trap(28)
def test_worker_config_is_replaced_as_a_whole(run, api, row):
    config = FULL["worker_config"]
    made = api.post(PATH, {"name": NAME, "provider": "Docker", "worker_config": config})
    api.put(f"{PATH}/{made['id']}", {"name": NAME, "worker_config": {"worker_port": 10170}})
    assert row()["worker_config"] == {"worker_port": 10170}

    changes(run, MODULE, name=NAME, worker_config={"debug": True})
    assert row()["worker_config"] == {"debug": True, "worker_port": 10170}
    changes(run, MODULE, name=NAME, worker_config={"worker_port": None})
    assert row()["worker_config"] == {"debug": True}
    changes(run, MODULE, name=NAME, worker_config={"worker_port": 1}, comparisons={"worker_config": "strict"})
    assert row()["worker_config"] == {"worker_port": 1}
    stays(run, MODULE, name=NAME, worker_config={}, description="")
    stays(run, MODULE, name=NAME, worker_config={"debug": True}, comparisons={"worker_config": "ignore"})


@pytest.mark.trap(24)
def test_unknown_keys(run, api, row):
    made = api.post(PATH, {"name": NAME, "provider": "Docker", "descripton": "x", "worker_config": {"prot": 1}})
    assert "descripton" not in made
    assert not made.get("worker_config")
    message = (
        "The server does not know prot, wroker_port of worker_config and dropped it. Everything else of cluster "
        f"{NAME} is as asked for. Check the spelling, and whether the server's version has it."
    )
    for _ in range(2):
        options = {"prot": 1, "wroker_port": 2, "debug": True}
        result = refused(run, MODULE, message, name=NAME, reason="Dropped", worker_config=options)
        assert result["changed"] is True
    assert row()["worker_config"] == {"debug": True}


def test_a_value_in_another_form(run):
    result = run(MODULE, name=NAME, worker_config={"worker_port": "10160"})
    assert result["cluster"]["worker_config"] == {"worker_port": 10160}
    (warning,) = result["warnings"]
    assert "The server keeps worker_config.worker_port in another form than it is written" in warning
    assert run(MODULE, name=NAME, worker_config={"worker_port": 10160})["warnings"] == []


@pytest.mark.trap(28)
@pytest.mark.parametrize("first, second", [("http://10.0.0.10/", "http://10.0.0.10"), ("http://h", "http://h/")])
def test_slash_of_the_server_url(run, first, second):
    changes(run, MODULE, name=NAME, server_url=first)
    stays(run, MODULE, name=NAME, server_url=second)


def test_what_is_not_written_stays(run, row):
    run(MODULE, name=NAME, **FULL)
    changes(run, MODULE, name=NAME, description="New")
    assert {key: row()[key] for key in FULL} == {**FULL, "description": "New"}


def test_rename(run, row):
    made = run(MODULE, name=NAME, **FULL)
    changes(run, MODULE, name=NAME, new_name="outside")
    assert row() is None
    assert row("outside")["id"] == made["cluster"]["id"]
    assert row("outside")["worker_config"] == FULL["worker_config"]
    run(MODULE, name=NAME)
    message = (
        f"cluster {NAME} shall be renamed to outside, but both exist. "
        "Choose another new_name, or remove one of the two."
    )
    refused(run, MODULE, message, name=NAME, new_name="outside", reason="AlreadyExists")


def test_name_is_taken(run, api):
    """The server refuses a second one; the module finds the first."""
    run(MODULE, name=NAME)
    with pytest.raises(Refused) as caught:
        api.post(PATH, {"name": NAME, "provider": "Docker"})
    assert caught.value.status == 409
    stays(run, MODULE, name=NAME)


def test_default(run, row, default):
    assert default["is_default"]
    done = changes(run, MODULE, name=NAME, **DEFAULT)
    assert done["actions"] == ["create cluster", "make cluster the default"]
    assert (row()["is_default"], row(default["name"])["is_default"]) == (True, False)
    done = changes(run, MODULE, name=default["name"], **DEFAULT)
    assert done["actions"] == ["make cluster the default"]
    assert (done["diff"]["before"]["default"], done["diff"]["after"]["default"]) == (False, True)
    stays(run, MODULE, name=NAME, default=False)
    message = (
        f"cluster {default['name']} is the default cluster, and the server cannot do without one. "
        "Set default to true for the cluster that shall take its place."
    )
    for check in (True, False):
        refused(run, MODULE, message, check=check, name=default["name"], default=False, reason="Invalid")


@pytest.mark.trap(47)
def test_a_cluster_with_members_stays(run, api, row, make_worker):
    cluster_id = run(MODULE, name=NAME)["cluster"]["id"]
    worker = make_worker("edge-01", cluster_id=cluster_id)
    with pytest.raises(Refused) as caught:
        api.delete(f"{PATH}/{cluster_id}")
    assert (caught.value.status, caught.value.response.json()["reason"]) == (409, "Conflict")
    model = api.post(
        "/v2/models",
        {"name": "kept", "source": "local_path", "local_path": "/none", "cluster_id": cluster_id, "replicas": 0},
    )
    message = (
        f"cluster {NAME} is not empty. It has workers edge-01; deployments kept. "
        "Remove them first, with inferops.gpustack.model and inferops.gpustack.worker."
    )
    for check in (True, False):
        refused(run, MODULE, message, check=check, name=NAME, state="absent", reason="Conflict")
    api.delete(f"/v2/models/{model['id']}")
    api.delete(f"/v2/workers/{worker.id}")
    assert row()["id"] == cluster_id
    changes(run, MODULE, name=NAME, state="absent")


@pytest.mark.trap(47, not_on={"2.1.2": "GPUStack 2.1 has no organizations."})
def test_an_organization_with_resources_stays(api):
    organization = api.post("/v2/organizations", {"name": "lab-org", "display_name": "Lab"})
    cluster = api.post(PATH, {"name": "theirs", "provider": "Docker", "owner_principal_id": organization["id"]})
    with pytest.raises(Refused) as caught:
        api.delete(f"/v2/organizations/{organization['id']}")
    assert caught.value.status == 409
    assert "clusters" in caught.value.response.json()["message"]
    api.delete(f"{PATH}/{cluster['id']}")
    api.delete(f"/v2/organizations/{organization['id']}")


@pytest.mark.parametrize(
    "options, part",
    [
        ({"server_url": "nix"}, "Invalid server_url format"),
        ({"worker_config": {"worker_port": "x"}}, "unable to parse string as an integer"),
    ],
)
def test_invalid_values(run, row, options, part):
    result = run(MODULE, name=NAME, ok=False, **options)
    assert f"POST {PATH} answered 422 (Invalid)" in result["msg"]
    assert part in result["msg"]
    assert result["failure"] == {
        "status": 422,
        "code": 422,
        "reason": "Invalid",
        "endpoint": f"POST {PATH}",
        "hint": "",
    }
    assert row() is None


def test_wrong_credentials(run):
    endpoint = f"GET {PATH}?page=1&perPage=100&name={NAME}"
    refused(
        run,
        MODULE,
        f"{endpoint} answered 401 (Unauthorized): Invalid authentication credentials. Check username and password, or "
        "api_key. A deactivated user and an expired key look the same.",
        name=NAME,
        password="Canary_wrong-1",
        status=401,
        code=401,
        reason="Unauthorized",
        endpoint=endpoint,
    )


def test_no_secret_in_output(run, row):
    written = {"huggingface_token": SECRET}
    made = run(MODULE, check=True, name=NAME, worker_config=written), run(MODULE, name=NAME, worker_config=written)
    # The server tells it in clear.
    assert row()["worker_config"] == written
    changed = run(MODULE, name=NAME, worker_config={"huggingface_token": "hf_other", "debug": True})
    refusal = run(MODULE, name=NAME, worker_config={"huggingface_token": [SECRET]}, ok=False)
    assert refusal["failure"]["status"] == 422
    read = run("cluster_info"), run(MODULE, name=NAME)
    for result in (*made, changed, refusal, *read):
        assert SECRET not in json.dumps(result)
        assert "hf_other" not in json.dumps(result)
    assert read[1]["cluster"]["worker_config"] == {"debug": True, "huggingface_token": "********"}


@pytest.mark.trap(2)
def test_waiting_is_for_an_authenticated_answer(run, server):
    """`/readyz` asks neither the database nor who one is."""
    assert server.api.get("/readyz") == "ok"
    stays(run, MODULE, name="default", wait_timeout=30)
    result = run(MODULE, name="default", password="wrong", wait_timeout=30, ok=False)
    assert result["failure"]["reason"] == "TerminalState"
    assert "Invalid authentication credentials" in result["msg"]


def test_no_server_in_check_mode(run):
    result = run(MODULE, check=True, url="http://127.0.0.1:9", name=NAME, **DEFAULT)
    assert (result["changed"], result["actions"]) == (
        True,
        ["create cluster", "make cluster the default"],
    )
    gone = run(MODULE, check=True, url="http://127.0.0.1:9", name=NAME, state="absent")
    assert (gone["changed"], gone["cluster"]) == (False, {})


TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=12)
SPEC = st.fixed_dictionaries(
    {},
    optional={
        "description": TEXT,
        "server_url": st.sampled_from(["", "http://10.0.0.10", "https://a.example.com/"]),
        "worker_config": st.fixed_dictionaries(
            {},
            optional={
                "debug": st.one_of(st.none(), st.booleans()),
                "worker_port": st.integers(1, 65535),
                "log_dir": TEXT,
                "system_reserved": st.fixed_dictionaries({"ram": st.integers(0, 9), "vram": st.integers(0, 9)}),
            },
        ),
    },
)


@settings(max_examples=10, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(spec=SPEC, comparison=st.sampled_from(["strict", "allow_more_present"]))
def test_twice_is_once(run, spec, comparison):
    run(MODULE, name=NAME, comparisons={"worker_config": comparison}, **spec)
    stays(run, MODULE, name=NAME, comparisons={"worker_config": comparison}, **spec)
