# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from steps import changes, refused, stays

MODULE = "model_route"
PATH, TARGETS, MODELS = "/v2/model-routes", "/v2/model-route-targets", "/v2/models"
NAME, OTHER = "flash", "flash-2"
DEPLOYMENTS = ("flash-910b", "flash-a100", "flash-h20")
CATEGORIES = ["llm", "embedding", "image", "reranker", "speech_to_text", "text_to_speech", "unknown"]


def model(name, cluster, **more):
    return {
        "name": name,
        "source": "local_path",
        "local_path": "/srv/none",
        "replicas": 0,
        "cluster_id": cluster["id"],
        **more,
    }


@pytest.fixture(scope="module")
def cluster(server):
    return server.default_cluster()


@pytest.fixture(scope="module")
def ids(server, cluster):
    """The numbers of three deployments, by name."""
    made = {name: server.api.post(MODELS, model(name, cluster))["id"] for name in DEPLOYMENTS}
    yield made
    for number in made.values():
        server.api.delete(f"{MODELS}/{number}")


@pytest.fixture(autouse=True)
def no_routes(api, ids):
    yield
    for one in api.items(PATH):
        api.delete(f"{PATH}/{one['id']}")


@pytest.fixture
def user(api):
    made = api.post("/v2/users", {"username": "li.wei", "password": "Canary_1st-password"})
    yield "li.wei"
    api.delete(f"/v2/users/{made['id']}")


@pytest.fixture
def row(api):
    return lambda name=NAME: api.find(PATH, name=name)


@pytest.fixture
def stored(api, row):
    """`{number of target: (number of deployment, weight, fallback codes)}` of the route."""

    def read(name=NAME):
        found = api.items(TARGETS, route_id=row(name)["id"])
        return {one["id"]: (one["model_id"], one["weight"], codes(one)) for one in found}

    def codes(target):
        # The server gives them in no order.
        return sorted(target["fallback_status_codes"]) if target.get("fallback_status_codes") else None

    return read


def targets(**weights):
    return [{"model": f"flash-{name}", "weight": weight} for name, weight in weights.items()]


def fallback(name, weight=1, codes=("5xx",)):
    return [{"model": f"flash-{name}", "weight": weight, "fallback_status_codes": list(codes)}]


def test_create_and_delete(run, row, stored, ids):
    options = {"name": NAME, "targets": targets(h20=3) + fallback("910b"), "description": "for people"}
    made = changes(run, MODULE, **options)
    assert made["actions"] == ["create route"]
    assert made["diff"]["before"] == {}
    assert made["route"] == {
        "id": row()["id"],
        "name": NAME,
        "description": "for people",
        "categories": [],
        "access_policy": "authed",
        "targets": [
            {"model": "flash-910b", "weight": 1, "fallback_status_codes": ["5xx"]},
            {"model": "flash-h20", "weight": 3, "fallback_status_codes": []},
        ],
    }
    assert sorted(stored().values()) == sorted([(ids["flash-910b"], 1, ["5xx"]), (ids["flash-h20"], 3, None)])
    gone = changes(run, MODULE, name=NAME, state="absent")
    assert (gone["actions"], gone["route"], row()) == (["delete route"], {}, None)


FIELDS = {
    "description": ("for people", ""),
    "categories": (["llm", "embedding"], []),
    "targets": (targets(h20=1, a100=2), []),
    "access_policy": ("public", "authed"),
    "users": (["li.wei"], []),
}


@pytest.mark.parametrize("field", FIELDS)
def test_each_field_alone_then_cleared(run, field, user):
    run(MODULE, name=NAME, targets=targets(**{"910b": 1}))
    for value in FIELDS[field]:
        made = changes(run, MODULE, name=NAME, **{field: value})
        assert made["actions"] == [f"update route: {field}"]
        before, after = made["diff"]["before"], made["diff"]["after"]
        assert [key for key in after if before.get(key) != after[key]] == [field]


def test_what_is_not_written_stays(run, stored, row, user):
    everything = {name: value for name, (value, _) in FIELDS.items()}
    everything["access_policy"] = "allowed_principals"
    changes(run, MODULE, name=NAME, **everything)
    before, there = stored(), row()
    stays(run, MODULE, name=NAME)
    changes(run, MODULE, name=NAME, description="other")
    assert stored() == before
    assert row() == {**there, "description": "other", "updated_at": row()["updated_at"]}
    stays(run, MODULE, name=NAME, **{**everything, "description": "other"})


def test_allowed_users(run, api, row, user):
    made = changes(run, MODULE, name=NAME, access_policy="allowed_principals", users=[user])
    assert made["actions"] == ["create route", "update route: access_policy, users"]
    assert [one["username"] for one in api.get(f"{PATH}/{row()['id']}/access")["items"]] == [user]
    # Another policy keeps them, although it does not look at them.
    changes(run, MODULE, name=NAME, access_policy="public")
    assert [one["username"] for one in api.get(f"{PATH}/{row()['id']}/access")["items"]] == [user]
    changes(run, MODULE, name=NAME, access_policy="allowed_principals")
    changes(run, MODULE, name=NAME, users=["admin"], comparisons={"users": "allow_more_present"})
    assert sorted(one["username"] for one in api.get(f"{PATH}/{row()['id']}/access")["items"]) == ["admin", user]


def test_fallback_moves_and_goes(run, stored, ids):
    run(MODULE, name=NAME, targets=targets(h20=1) + fallback("910b", weight=0))
    before = set(stored())
    changes(run, MODULE, name=NAME, targets=fallback("h20", codes=["5xx", "4xx"]) + fallback("910b", codes=[]))
    assert sorted(stored().values()) == sorted([(ids["flash-h20"], 1, ["4xx", "5xx"]), (ids["flash-910b"], 1, None)])
    # A target without the suboption keeps what it has.
    stays(run, MODULE, name=NAME, targets=targets(**{"h20": 1, "910b": 1}))
    changes(run, MODULE, name=NAME, targets=fallback("h20", codes=[]) + fallback("910b", codes=[]))
    assert [codes for _, _, codes in stored().values()] == [None, None]
    assert set(stored()) == before


def test_comparisons_of_targets(run, stored, ids):
    run(MODULE, name=NAME, targets=targets(h20=1))
    stays(run, MODULE, name=NAME, targets=targets(a100=5), comparisons={"targets": "ignore"})
    more = {"name": NAME, "comparisons": {"targets": "allow_more_present"}}
    changes(run, MODULE, targets=targets(a100=5), **more)
    changes(run, MODULE, targets=targets(a100=6), **more)
    assert sorted((number, weight) for number, weight, _ in stored().values()) == sorted(
        [(ids["flash-h20"], 1), (ids["flash-a100"], 6)]
    )


@pytest.mark.trap(21)
def test_rename(run, api, row, stored):
    run(MODULE, name=NAME, targets=targets(h20=3) + fallback("910b"))
    number, before = row()["id"], stored()
    answer = api.request("PUT", f"{PATH}/{number}", json={"name": OTHER})
    assert answer.status_code == 500
    made = changes(run, MODULE, name=NAME, new_name=OTHER)
    assert made["actions"] == ["update route: name"]
    assert (row(), row(OTHER)["id"], stored(OTHER)) == (None, number, before)
    run(MODULE, name=NAME)
    refused(
        run,
        MODULE,
        f"route {NAME} shall be renamed to {OTHER}, but both exist. Choose another new_name, or remove one of the two.",
        name=NAME,
        new_name=OTHER,
        reason="AlreadyExists",
    )


@pytest.mark.trap(41)
def test_names(run, api, row):
    """Deployments may have names that a route cannot have."""
    for name in ("flash v4", "4-flash", "flash-"):
        answer = api.request("POST", PATH, json={"name": name})
        assert (answer.status_code, answer.json()["reason"]) == (422, "Invalid")
        refused(
            run,
            MODULE,
            f"{name!r} is no name for a route. Start with a letter, end with a letter or a digit, and use letters, "
            "digits and _ - . : in between.",
            name=name,
            reason="Invalid",
        )
    changes(run, MODULE, name="Flash_4.1")


@pytest.mark.trap(42)
def test_targets_that_stay_keep_their_number(run, api, row, stored, ids):
    run(MODULE, name=NAME, targets=targets(h20=3))
    (number,) = stored()
    payload = {"name": NAME, "targets": [{"model_id": ids["flash-h20"], "weight": 3}]}
    api.put(f"{PATH}/{row()['id']}", payload)
    (recreated,) = stored()
    assert recreated != number
    changes(run, MODULE, name=NAME, targets=targets(h20=2, a100=1))
    assert stored()[recreated] == (ids["flash-h20"], 2, None)


@pytest.mark.trap(43)
def test_add_targets_replaces(run, api, row, stored, ids):
    run(MODULE, name=NAME, targets=targets(h20=1))
    api.post(f"{PATH}/{row()['id']}/add-targets", [{"model_id": ids["flash-a100"], "weight": 1}])
    assert [number for number, _, _ in stored().values()] == [ids["flash-a100"]]
    changes(run, MODULE, name=NAME, targets=targets(h20=1), comparisons={"targets": "allow_more_present"})
    assert len(stored()) == 2


@pytest.mark.trap(44)
def test_weights(run, api, server, row, ids):
    mixed = [{"model_id": ids["flash-h20"], "weight": 0}, {"model_id": ids["flash-a100"], "weight": 1}]
    answer = api.request("POST", PATH, json={"name": OTHER, "targets": mixed})
    # Older releases take it.
    assert answer.status_code == (200 if server.version < "2.3" else 422)
    refused(
        run,
        MODULE,
        f"targets of route {NAME} have the weights [0, 1]. Make all of them positive or all of them 0. To send nothing "
        "to a deployment, leave it out.",
        name=NAME,
        targets=targets(h20=0, a100=1),
        reason="Invalid",
    )
    assert row() is None
    changes(run, MODULE, name=NAME, targets=targets(h20=0, a100=0))
    changes(run, MODULE, name=NAME, targets=fallback("h20", weight=0) + targets(a100=1))


@pytest.mark.trap(45)
def test_access_policy(run, api, row):
    run(MODULE, name=NAME)
    api.put(f"{PATH}/{row()['id']}", {"name": NAME, "access_policy": "public"})
    assert row()["access_policy"] == "authed"
    changes(run, MODULE, name=NAME, access_policy="public")
    assert row()["access_policy"] == "public"


@pytest.mark.trap(38)
def test_route_that_comes_with_a_deployment(run, api, row, cluster):
    made = api.post(MODELS, model("pro", cluster, enable_model_route=True))
    api.wait(PATH, lambda answer: any(one["name"] == "pro" for one in answer["items"]))
    assert stays(run, MODULE, name="pro", targets=[{"model": "pro", "weight": 100}])["changed"] is False
    # Only looked at when it is made, and the name is not followed.
    path = f"{MODELS}/{made['id']}"
    api.put(path, model("pro-2", cluster, enable_model_route=False))
    assert (api.get(path)["name"], row("pro")["name"], row("pro-2")) == ("pro-2", "pro", None)
    stays(run, MODULE, name="pro", targets=[{"model": "pro-2", "weight": 100}])
    changes(run, MODULE, name="pro", new_name="pro-2")
    api.delete(path)
    api.wait(PATH, lambda answer: all(one["name"] != "pro-2" for one in answer["items"]))


def test_missing_deployment(run, row):
    names = ", ".join(DEPLOYMENTS)
    message = f"Route {NAME} names deployments that do not exist: nowhere."
    refused(
        run,
        MODULE,
        f"{message} Make them first, or correct the names. There are: {names}.",
        name=NAME,
        targets=[{"model": "nowhere"}],
        reason="NotFound",
    )
    predicted = run(MODULE, check=True, name=NAME, targets=[{"model": "nowhere"}])
    assert predicted["changed"] is True
    assert message in predicted["warnings"][0]
    assert row() is None


def test_missing_user(run, row):
    message = f"Route {NAME} names users that do not exist: nobody."
    options = {"name": NAME, "access_policy": "allowed_principals", "users": ["nobody"]}
    refused(
        run,
        MODULE,
        f"{message} Make them first, or correct the names. There are: admin.",
        reason="NotFound",
        **options,
    )
    assert message in run(MODULE, check=True, **options)["warnings"][0]
    assert row() is None


INVALID = {
    "has more than one fallback: flash-h20, flash-a100. Set fallback_status_codes to an empty list on all but one.": {
        "targets": fallback("h20") + fallback("a100")
    },
    "names flash-h20 more than once. Write each deployment once and add up the weights.": {
        "targets": targets(h20=1) + targets(h20=2)
    },
}


@pytest.mark.parametrize("problem", INVALID)
def test_targets_that_cannot_be(run, row, problem):
    refused(run, MODULE, f"targets of route {NAME} {problem}", name=NAME, reason="Invalid", **INVALID[problem])
    assert row() is None


def test_wrong_password(run):
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


SPECS = st.fixed_dictionaries(
    {},
    optional={
        "description": st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20),
        "categories": st.lists(st.sampled_from(CATEGORIES), unique=True),
        "access_policy": st.sampled_from(["public", "authed", "allowed_principals"]),
        "targets": st.booleans().flatmap(
            lambda weighted: st.lists(
                st.fixed_dictionaries(
                    {
                        "model": st.sampled_from(DEPLOYMENTS),
                        "weight": st.integers(1, 1000) if weighted else st.just(0),
                    }
                ),
                unique_by=lambda one: one["model"],
            )
        ),
    },
)


@settings(max_examples=8, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(spec=SPECS, with_fallback=st.booleans())
def test_twice_is_once(run, spec, with_fallback):
    for position, target in enumerate(spec.get("targets", [])):
        target["fallback_status_codes"] = ["5xx"] if with_fallback and position == 0 else []
    first = run(MODULE, name=NAME, **spec)
    assert not first.get("failed"), first["msg"]
    stays(run, MODULE, name=NAME, **spec)
