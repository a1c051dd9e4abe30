# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from api import Refused
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from steps import changes, refused, stays

MODULE = "inference_backend"
PATH = "/v2/inference-backends"
OWN = "own-custom"
VERSION = {"image_name": "docker.io/vllm/vllm-openai:v0.25.0", "entrypoint": "vllm serve", "custom_framework": "cuda"}
STRICT = {"versions": "strict"}


@pytest.fixture
def row(api):
    return lambda name: api.get(f"{PATH}/backend_name/{name}")


@pytest.fixture
def own(api):
    """The name of a custom backend that goes away after the test."""
    yield OWN
    for one in api.items(PATH):
        if one["backend_name"].endswith("-custom"):
            api.delete(f"{PATH}/{one['id']}")


@pytest.fixture
def built_in(run):
    """The name of a built-in backend that has no versions of ours after the test."""
    yield "vLLM"
    run(MODULE, name="vLLM", versions={}, comparisons=STRICT, description="", default_env={})


@pytest.fixture
def community(api):
    """A community backend that is not enabled after the test."""
    backend = next(one for one in api.items(PATH, community="true") if not one["enabled"])
    before = api.get(f"{PATH}/{backend['id']}")
    yield backend["backend_name"]
    api.put(f"{PATH}/{before['id']}", dict(before, version_configs={}))


FULL = {
    "versions": {"1.0": {**VERSION, "run_command": "serve {{model_path}} --port {{port}}", "env": {"A": "1"}}},
    "default_version": "1.0",
    "default_backend_parameters": ["--max-model-len=8192"],
    "default_run_command": "serve {{model_path}} --port {{port}}",
    "default_entrypoint": "/bin/bash -c",
    "default_env": {"OMP_NUM_THREADS": "8"},
    "description": "Ours",
    "health_check_path": "/health",
}


def test_create_and_delete(run, row, own):
    made = changes(run, MODULE, name=own, **FULL)
    assert made["actions"] == ["create inference backend"]
    assert made["diff"]["before"] == {}
    shown = made["inference_backend"]
    assert {key: shown[key] for key in FULL} == FULL
    assert (shown["backend_source"], shown["enabled"]) == ("custom", True)
    assert row(own)["id"] == shown["id"]
    assert row(own)["default_run_command"] == "serve {{model_path}} --port {{port}}"

    removed = changes(run, MODULE, name=own, state="absent")
    assert removed["actions"] == ["delete inference backend"]
    assert removed["inference_backend"] == {}
    assert removed["diff"]["before"]["default_env"] == {"OMP_NUM_THREADS": "8"}
    assert removed["diff"]["after"] == {}


#: Another value of an option, the one that clears it, and the API's name.
FIELDS = {
    "default_version": ("2.0", "", "default_version"),
    "default_backend_parameters": (["--a", "--b=c d"], [], "default_backend_param"),
    "default_run_command": ("other", "", "default_run_command"),
    "default_entrypoint": ("other", "", "default_entrypoint"),
    "default_env": ({"B": "2"}, {}, "default_env"),
    "description": ("Theirs", "", "description"),
    "health_check_path": ("/v1/models", "", "health_check_path"),
}


@pytest.mark.trap(29)
@pytest.mark.parametrize("option", FIELDS)
def test_each_field_alone(run, row, own, option):
    """A PUT replaces the whole backend, and yet nothing else may change."""
    value, empty, key = FIELDS[option]
    versions = {"1.0": VERSION, "2.0": {"image_name": "two"}}
    run(MODULE, name=own, **{**FULL, "versions": versions})
    before = row(own)
    for wanted in (value, empty):
        done = changes(run, MODULE, name=own, **{option: wanted})
        assert done["actions"] == [f"update inference backend: {option}"]
        assert done["diff"]["after"][option] == wanted
        after = row(own)
        assert (after[key] or empty) == wanted
        untouched = set(before) - {key, "updated_at"}
        assert {name: after[name] for name in untouched} == {name: before[name] for name in untouched}


@pytest.mark.parametrize(("option", "value"), [("parameter_format", "equal"), ("common_parameters", ["--a"])])
def test_fields_that_are_young(run, server, own, option, value):
    run(MODULE, name=own)
    if server.version.startswith("2.1."):
        message = (
            f"{option} of inference backend {own}: {server.url} is GPUStack v{server.version}, which does not have it. "
            "Upgrade to GPUStack 2.2 or later, or leave it unset."
        )
        refused(run, MODULE, message, reason="Unsupported", name=own, **{option: value})
        return
    assert changes(run, MODULE, name=own, **{option: value})["inference_backend"][option] == value
    changes(run, MODULE, name=own, **{option: type(value)()})


@pytest.mark.trap(29)
def test_versions_of_a_built_in_backend(run, row, built_in, api):
    first = changes(run, MODULE, name=built_in, versions={"0.25.0-custom": VERSION})
    assert first["actions"] == ["update inference backend: versions"]
    second = changes(run, MODULE, name=built_in, versions={"0.26.0-custom": {"image_name": "x", "env": {"A": "1"}}})
    # Who names one version does not lose the others.
    assert set(second["inference_backend"]["versions"]) == {"0.25.0-custom", "0.26.0-custom"}
    # What a version does not name stays, and an empty value clears it.
    changes(run, MODULE, name=built_in, versions={"0.26.0-custom": {"run_command": "serve", "env": {}}})
    assert row(built_in)["version_configs"]["0.26.0-custom"]["image_name"] == "x"
    assert not row(built_in)["version_configs"]["0.26.0-custom"]["env"]
    stays(run, MODULE, name=built_in, versions={})

    only = changes(run, MODULE, name=built_in, versions={"0.25.0-custom": VERSION}, comparisons=STRICT)
    assert set(only["inference_backend"]["versions"]) == {"0.25.0-custom"}
    # The trap itself: a PUT that names no versions takes them away.
    before = row(built_in)
    api.put(f"{PATH}/{before['id']}", {"backend_name": built_in, "backend_source": "built_in"})
    assert row(built_in)["version_configs"] == {}
    changes(run, MODULE, name=built_in, versions={"0.25.0-custom": VERSION})
    changes(run, MODULE, name=built_in, versions={}, comparisons=STRICT)
    assert row(built_in)["version_configs"] == {}


def test_ignored_versions(run, built_in):
    stays(run, MODULE, name=built_in, versions={"1-custom": VERSION}, comparisons={"versions": "ignore"})


@pytest.mark.trap(30)
def test_built_in_backend_keeps_its_protection(run, row, built_in, api):
    changes(run, MODULE, name=built_in, description="Ours")
    assert row(built_in)["backend_source"] == "built_in"
    # The trap itself: a PUT without it, and the server would delete what it brings.
    number = row(built_in)["id"]
    api.put(f"{PATH}/{number}", {"backend_name": built_in, "description": "Ours"})
    assert row(built_in)["backend_source"] is None
    assert run(MODULE, name=built_in, state="absent", ok=False)["failure"]["reason"] == "Invalid"
    changes(run, MODULE, name=built_in, description="Ours again")
    assert row(built_in)["backend_source"] == "built_in"
    with pytest.raises(Refused, match="Cannot delete built-in or community backend"):
        api.delete(f"{PATH}/{number}")


@pytest.mark.trap(47)
def test_built_in_backend_cannot_be_absent(run, row, api):
    response = api.request("DELETE", f"{PATH}/{row('vLLM')['id']}")
    assert response.status_code == 400
    assert "Cannot delete built-in or community backend" in response.text
    message = (
        "Inference backend vLLM cannot be deleted, because GPUStack brings it. "
        "To remove its custom versions, set versions: {} and comparisons: {versions: strict}."
    )
    for check in (True, False):
        refused(run, MODULE, message, check=check, reason="Invalid", name="vLLM", state="absent")


@pytest.mark.trap(16)
def test_a_missing_backend_is_a_bad_request(run, api):
    response = api.request("GET", f"{PATH}/backend_name/{OWN}")
    assert response.status_code == 400
    assert f"Inference backend {OWN} not found" in response.text
    stays(run, MODULE, name=OWN, state="absent")


@pytest.mark.trap(24)
def test_unknown_fields_of_a_version_are_refused(run, own, api, row):
    """The server drops them silently, at every depth."""
    api.post(PATH, {"backend_name": own, "version_configs": {"1": {"image": "typo"}}})
    assert "image" not in row(own)["version_configs"]["1"]
    message = (
        "versions.1 has image. It can have image_name, run_command, entrypoint, custom_framework, env, nothing else."
    )
    refused(run, MODULE, message, reason="Invalid", name=own, versions={"1": {"image": "typo"}})


def test_community_backend(run, row, community):
    before = row(community)["version_configs"]
    done = changes(run, MODULE, name=community, enabled=True, versions={"mine-custom": VERSION})
    assert done["inference_backend"]["backend_source"] == "community"
    assert set(done["inference_backend"]["versions"]) == {"mine-custom"}
    after = row(community)
    assert after["enabled"] is True
    # What it came with is as before, frameworks included.
    assert {name: after["version_configs"][name] for name in before} == before
    changes(run, MODULE, name=community, versions={}, comparisons=STRICT)
    assert row(community)["version_configs"] == before
    changes(run, MODULE, name=community, enabled=False)
    assert run(MODULE, name=community, state="absent", ok=False)["msg"] == (
        f"Inference backend {community} cannot be deleted, because GPUStack brings it. To remove its custom versions, "
        "set versions: {} and comparisons: {versions: strict}. To hide it, set enabled: false."
    )


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ({"name": "vllm"}, "There is no inference backend vllm, but vLLM. Write vLLM."),
        (
            {"name": "ours"},
            "There is no inference backend ours, and a custom one cannot have this name. "
            "Let it end in -custom, or use one that GPUStack brings: MindIE, SGLang, VoxBox, vLLM.",
        ),
        (
            {"name": "vLLM", "default_version": "0.25.0"},
            "default_version of inference backend vLLM cannot be set, because it is built in. "
            "Leave it out, and set backend_version of the deployments instead.",
        ),
        (
            {"name": "vLLM", "enabled": False},
            "Inference backend vLLM cannot be disabled. Only community backends can. Leave enabled out.",
        ),
        (
            {"name": "vLLM", "versions": {"0.25.0": {}}},
            "versions of inference backend vLLM has 0.25.0. "
            "GPUStack brings this backend, so your versions end in -custom: 0.25.0-custom.",
        ),
        (
            {"name": OWN, "default_version": "3", "versions": {"1": {}, "2": {}}},
            f"default_version of inference backend {OWN} is 3, which it does not have. "
            "It can be one of its versions: 1, 2.",
        ),
        (
            {"name": OWN, "comparisons": {"description": "allow_more_present"}},
            "comparisons has description: 'allow_more_present'. Only lists and dictionaries can allow more present.",
        ),
    ],
)
@pytest.mark.parametrize("check", [True, False])
def test_mistakes(run, own, written, message, check):
    refused(run, MODULE, message, check=check, reason="Invalid", **written)


def test_the_default_version_cannot_be_taken_away(run, own):
    run(MODULE, name=own, versions={"1": VERSION, "2": VERSION}, default_version="1")
    message = (
        f"default_version of inference backend {own} is 1, which it does not have. It can be one of its versions: 2."
    )
    refused(run, MODULE, message, reason="Invalid", name=own, versions={"2": VERSION}, comparisons=STRICT)
    changes(run, MODULE, name=own, versions={"2": VERSION}, default_version="2", comparisons=STRICT)


def test_what_is_in_use_stays(run, row, own, api, server):
    run(MODULE, name=own, versions={"1": VERSION, "2": VERSION}, default_run_command="serve")
    model = api.post(
        "/v2/models",
        {
            "name": "uses-own",
            "source": "local_path",
            "local_path": "/srv/models/x",
            "backend": own,
            "backend_version": "1",
            "replicas": 1,
            "cluster_id": server.cluster_id,
        },
    )
    try:
        number = row(own)["id"]
        refused(
            run,
            MODULE,
            f"DELETE {PATH}/{number} answered 400 (BadRequest): Cannot delete backend '{own}' because it is currently "
            "being used by the following models: uses-own.",
            status=400,
            code=400,
            reason="BadRequest",
            endpoint=f"DELETE {PATH}/{number}",
            name=own,
            state="absent",
        )
        refused(
            run,
            MODULE,
            f"PUT {PATH}/{number} answered 400 (BadRequest): Cannot remove version name '1' of backend '{own}' because "
            "it is currently being used by the following models: uses-own.",
            status=400,
            code=400,
            reason="BadRequest",
            endpoint=f"PUT {PATH}/{number}",
            name=own,
            versions={"2": VERSION},
            comparisons=STRICT,
        )
    finally:
        api.delete(f"/v2/models/{model['id']}")
        api.gone(f"/v2/models/{model['id']}")


def test_wrong_credentials(run):
    refused(
        run,
        MODULE,
        f"GET {PATH}/backend_name/{OWN} answered 401 (Unauthorized): Invalid authentication credentials. "
        "Check username and password, or api_key. A deactivated user and an expired key look the same.",
        status=401,
        code=401,
        reason="Unauthorized",
        endpoint=f"GET {PATH}/backend_name/{OWN}",
        name=OWN,
        password="wrong",
    )


def test_no_secret_in_any_result(run, own, row, secrets):
    token = secrets.add("canary-of-a-token")
    hidden = {"HF_TOKEN": token, "PROXY": f"http://user:{token}@proxy:3128"}
    changes(run, MODULE, name=own, default_env=hidden, versions={"1": {"image_name": "x", "env": hidden}})
    assert row(own)["default_env"] == hidden
    changes(run, MODULE, name=own, default_env={"HF_TOKEN": secrets.add("another-canary")})
    run("inference_backend_info", name=own)
    changes(run, MODULE, name=own, state="absent")


TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=12)
NAME = st.text("abcAB019.-_{}", min_size=1, max_size=6)
ENV = st.dictionaries(st.text("ABC_", min_size=1, max_size=3), TEXT, max_size=2)
ONE_VERSION = st.fixed_dictionaries(
    {}, optional={"image_name": TEXT, "run_command": TEXT, "entrypoint": TEXT, "custom_framework": TEXT, "env": ENV}
)
SPEC = st.fixed_dictionaries(
    {},
    optional={
        "versions": st.dictionaries(NAME, ONE_VERSION, max_size=2),
        "default_backend_parameters": st.lists(TEXT, max_size=3),
        "default_run_command": TEXT,
        "default_entrypoint": TEXT,
        "default_env": ENV,
        "description": TEXT,
        "health_check_path": TEXT,
        "comparisons": st.just(STRICT),
    },
)


@settings(max_examples=15, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
@given(spec=SPEC)
def test_twice_is_once(run, own, spec):
    run(MODULE, name=own, **spec)
    stays(run, MODULE, name=own, **spec)


@pytest.mark.trap(23)
def test_info(run, own, api, built_in):
    # The trap: elsewhere this answers everything.
    assert api.get(PATH, page=-1)["items"] == []
    run(MODULE, name=own, **FULL)
    run(MODULE, name=built_in, versions={"0.25.0-custom": VERSION})
    everything = run("inference_backend_info")["inference_backends"]
    names = [one["name"] for one in everything]
    assert names == sorted(names)
    assert {"MindIE", "SGLang", "VoxBox", "vLLM", own} <= set(names)

    (ours,) = run("inference_backend_info", name=own)["inference_backends"]
    assert {key: ours[key] for key in FULL} == FULL
    stays(run, MODULE, name=own, **{key: ours[key] for key in FULL})

    (vllm,) = run("inference_backend_info", name="vLLM")["inference_backends"]
    assert vllm["versions"] == {"0.25.0-custom": VERSION}
    assert vllm["default_version"] in vllm["built_in_versions"]
    assert "0.25.0-custom" not in vllm["built_in_versions"]

    for source in ("built_in", "community", "custom"):
        found = run("inference_backend_info", backend_source=source)["inference_backends"]
        assert [one["name"] for one in found] == [one["name"] for one in everything if one["backend_source"] == source]
    assert run("inference_backend_info", name="vllm")["inference_backends"] == []
