# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import copy
import json

import pytest
from api_playback import recorded

ABSENT, CREATED, PRESENT, TARGETS, CHANGED, _AFTER, BAD_NAME, MIXED, MODELS = recorded("model_route")
ROUTE_ID = PRESENT["answer"]["items"][0]["id"]
MODEL_ID = MODELS["answer"]["items"][0]["id"]
TARGET_ID = TARGETS["answer"]["items"][0]["id"]
PATH = f"/v2/model-routes/{ROUTE_ID}"
USERS = {
    "method": "GET",
    "path": "/v2/users?page=1&perPage=100",
    "status": 200,
    "answer": {"items": [{"id": 4, "username": "alice"}, {"id": 5, "username": "bob"}]},
}


def targets(*pairs):
    return [{"model": model, "weight": weight} for model, weight in pairs]


def returned(*triples):
    return [{"model": model, "weight": weight, "fallback_status_codes": codes} for model, weight, codes in triples]


def models(*extra):
    call = copy.deepcopy(MODELS)
    call["answer"]["items"] += [{"id": number, "name": name} for name, number in extra]
    return call


def existing(**fields):
    call = copy.deepcopy(TARGETS)
    call["answer"]["items"][0].update(fields)
    return call


def test_creates_with_its_targets(server, run):
    server.play(ABSENT, MODELS, CREATED)
    result = run("model_route", name="qwen", targets=targets(("qwen-h20", 3)))
    assert server.sent() == [("POST", "/v2/model-routes", CREATED["body"])]
    assert result["route"] == {
        "id": ROUTE_ID,
        "name": "qwen",
        "description": None,
        "categories": [],
        "access_policy": "authed",
        "targets": returned(("qwen-h20", 3, [])),
    }
    assert result["actions"] == ["create route"]


def test_no_op_sends_no_targets(server, run):
    server.play(PRESENT, TARGETS, MODELS)
    result = run("model_route", name="qwen", targets=targets(("qwen-h20", 3)))
    assert (result["changed"], result["diff"]) == (False, {})
    assert server.sent() == []
    assert len(server.requests) == 3


def test_default_weight_is_one(server, run):
    server.play(PRESENT, existing(weight=1), MODELS)
    assert run("model_route", name="qwen", targets=[{"model": "qwen-h20"}])["changed"] is False


def test_target_that_stays_keeps_its_id_and_its_other_fields(server, run):
    server.play(PRESENT, existing(fallback_status_codes=["5xx"]), models(("qwen-910b", 9)), CHANGED)
    result = run("model_route", name="qwen", targets=targets(("qwen-910b", 1), ("qwen-h20", 1)))
    ((verb, path, body),) = server.sent()
    assert (verb, path) == ("PUT", PATH)
    assert body == {
        "name": "qwen",
        "categories": [],
        "targets": [
            {"model_id": 9, "weight": 1},
            {"id": TARGET_ID, "model_id": MODEL_ID, "weight": 1, "fallback_status_codes": ["5xx"]},
        ],
    }
    assert result["diff"]["before"]["targets"] == returned(("qwen-h20", 3, ["5xx"]))
    assert result["diff"]["after"]["targets"] == returned(("qwen-910b", 1, []), ("qwen-h20", 1, ["5xx"]))


def test_order_of_targets_does_not_count(server, run):
    two = copy.deepcopy(TARGETS)
    two["answer"]["items"].append(dict(two["answer"]["items"][0], id=99, model_id=9, weight=1))
    server.play(PRESENT, two, models(("qwen-910b", 9)))
    result = run("model_route", name="qwen", targets=targets(("qwen-h20", 3), ("qwen-910b", 1)))
    assert result["changed"] is False


def test_no_targets_is_not_the_same_as_unmanaged_targets(server, run):
    server.play(PRESENT, TARGETS, MODELS, CHANGED)
    assert run("model_route", name="qwen")["changed"] is False
    assert server.sent() == []
    assert run("model_route", name="qwen", targets=[])["changed"] is True
    assert server.sent() == [("PUT", PATH, {"name": "qwen", "categories": [], "targets": []})]


def test_target_of_a_provider_is_a_difference(server, run):
    server.play(PRESENT, existing(model_id=None, provider_id=2, overridden_model_name="gpt"), MODELS, CHANGED)
    result = run("model_route", name="qwen", targets=targets(("qwen-h20", 3)))
    assert result["diff"]["before"]["targets"] == returned(("provider 2: gpt", 3, []))


def test_unknown_deployment(server, run):
    server.play(ABSENT, MODELS)
    result = run("model_route", name="qwen", targets=targets(("typo", 1)))
    assert "deployments that do not exist: typo" in result["msg"]
    assert "There are: qwen-h20." in result["msg"]
    assert server.sent() == []


def test_check_mode_before_the_deployments_exist(server, run):
    server.play(ABSENT, MODELS)
    result = run("model_route", check=True, name="qwen", targets=targets(("later", 1)))
    assert result["changed"] is True
    assert "later" in result["warnings"][0]
    assert server.sent() == []


def test_check_mode_sends_nothing(server, run):
    server.play(PRESENT, TARGETS, MODELS)
    server.on("GET", f"{PATH}/access", {"items": [], "access_policy": "authed"})
    result = run("model_route", check=True, name="qwen", targets=targets(("qwen-h20", 1)), access_policy="public")
    assert result["actions"] == ["update route: targets", "update route: access_policy"]
    assert server.sent() == []


def test_access_policy_has_its_own_url_and_keeps_the_users(server, run):
    server.play(PRESENT, USERS)
    server.on("GET", f"{PATH}/access", {"items": [{"id": 4, "username": "alice"}], "access_policy": "authed"})
    server.on("POST", f"{PATH}/access", {"items": [], "access_policy": "public"})
    result = run("model_route", name="qwen", access_policy="public")
    assert server.sent() == [("POST", f"{PATH}/access", {"access_policy": "public", "users": [{"id": 4}]})]
    assert result["diff"]["before"]["access_policy"] == "authed"
    assert result["diff"]["after"]["access_policy"] == "public"


def test_users_are_sent_by_number(server, run):
    server.play(PRESENT, USERS)
    server.on("GET", f"{PATH}/access", {"items": [], "access_policy": "authed"})
    server.on("POST", f"{PATH}/access", {})
    result = run("model_route", name="qwen", access_policy="allowed_principals", users=["bob", "alice"])
    # GPUStack 2.1 knows the policy by this name only.
    payload = {"access_policy": "allowed_users", "users": [{"id": 5}, {"id": 4}]}
    assert server.sent() == [("POST", f"{PATH}/access", payload)]
    assert result["actions"] == ["update route: access_policy, users"]
    assert (result["route"]["access_policy"], result["route"]["users"]) == ("allowed_principals", ["bob", "alice"])


def test_users_that_stay_are_no_difference(server, run):
    call = copy.deepcopy(PRESENT)
    call["answer"]["items"][0]["access_policy"] = "allowed_users"
    server.play(call)
    server.on("GET", f"{PATH}/access", {"items": [{"id": 4, "username": "alice"}, {"id": 5, "username": "bob"}]})
    result = run("model_route", name="qwen", access_policy="allowed_principals", users=["bob", "alice"])
    assert result["changed"] is False


def test_unknown_user_stops_before_anything_is_made(server, run):
    server.play(ABSENT, USERS)
    result = run("model_route", name="qwen", access_policy="allowed_principals", users=["carol", "bob"])
    assert "Route qwen names users that do not exist: carol." in result["msg"]
    assert "There are: alice, bob." in result["msg"]
    assert server.sent() == []


def test_users_without_effect(server, run):
    result = run("model_route", name="qwen", access_policy="public", users=["bob"])
    assert "users of route qwen have no effect with access_policy public." in result["msg"]
    assert server.requests == []


@pytest.mark.parametrize("put_clears", [True, False])
def test_fallback_moves_to_another_target(server, run, put_clears):
    """A null in a PUT clears it, but GPUStack 2.1 leaves out what is null."""
    two = existing(fallback_status_codes=["5xx"])
    two["answer"]["items"].append({"id": 99, "route_id": ROUTE_ID, "model_id": 9, "weight": 1})
    server.play(PRESENT, two, models(("qwen-910b", 9)), CHANGED, existing() if put_clears else two)
    server.on("POST", f"/v2/model-route-targets/{TARGET_ID}/set-fallback", {})
    wanted = returned(("qwen-h20", 3, []), ("qwen-910b", 1, ["5xx", "4xx"]))
    result = run("model_route", name="qwen", targets=wanted)
    (_, _, put), *more = server.sent()
    assert put["targets"] == [
        {"id": 99, "model_id": 9, "weight": 1, "fallback_status_codes": ["4xx", "5xx"]},
        {"id": TARGET_ID, "model_id": MODEL_ID, "weight": 3, "fallback_status_codes": None},
    ]
    unset = ("POST", f"/v2/model-route-targets/{TARGET_ID}/set-fallback", {"fallback_status_codes": None})
    assert more == ([] if put_clears else [unset])
    assert result["actions"] == ["update route: targets"]


def test_one_fallback_only(server, run):
    result = run("model_route", name="qwen", targets=returned(("a", 1, ["4xx"]), ("b", 1, ["5xx"])))
    assert "targets of route qwen has more than one fallback: a, b." in result["msg"]
    assert server.requests == []


def test_second_fallback_beside_the_one_the_server_has(server, run):
    server.play(PRESENT, existing(fallback_status_codes=["5xx"]), models(("qwen-910b", 9)))
    wanted = targets(("qwen-h20", 3)) + returned(("qwen-910b", 1, ["5xx"]))
    assert "more than one fallback: qwen-910b, qwen-h20" in run("model_route", name="qwen", targets=wanted)["msg"]
    assert server.sent() == []


def test_weight_of_a_fallback_does_not_count(server, run):
    server.play(ABSENT, models(("qwen-910b", 9)), CREATED)
    result = run("model_route", name="qwen", targets=returned(("qwen-h20", 3, []), ("qwen-910b", 0, ["5xx"])))
    assert result["changed"] is True


def test_other_targets_stay_when_asked(server, run):
    server.play(PRESENT, TARGETS, models(("qwen-910b", 9)), CHANGED)
    options = {"name": "qwen", "comparisons": {"targets": "allow_more_present"}}
    result = run("model_route", targets=targets(("qwen-910b", 1)), **options)
    assert [one.get("id") for one in server.sent()[0][2]["targets"]] == [None, TARGET_ID]
    assert result["route"]["targets"] == returned(("qwen-910b", 1, []), ("qwen-h20", 3, []))


def test_target_of_a_provider_stays_when_asked(server, run):
    provider = existing(model_id=None, provider_id=2, overridden_model_name="gpt")
    server.play(PRESENT, provider, MODELS, CHANGED)
    run("model_route", name="qwen", targets=targets(("qwen-h20", 1)), comparisons={"targets": "allow_more_present"})
    assert server.sent()[0][2]["targets"] == [
        {"id": TARGET_ID, "provider_id": 2, "overridden_model_name": "gpt", "weight": 3},
        {"model_id": MODEL_ID, "weight": 1},
    ]


def test_ignored_targets(server, run):
    server.play(PRESENT, TARGETS, MODELS)
    options = {"name": "qwen", "comparisons": {"targets": "ignore"}}
    assert run("model_route", targets=targets(("qwen-h20", 1)), **options)["changed"] is False


def test_rename_sends_the_targets(server, run):
    server.play(PRESENT)
    server.on("GET", "/v2/model-routes?page=1&perPage=100&name=qwen3", ABSENT["answer"])
    server.play(TARGETS, MODELS, CHANGED)
    result = run("model_route", name="qwen", new_name="qwen3")
    assert server.sent()[0][2] == {
        "name": "qwen3",
        "categories": [],
        "targets": [{"id": TARGET_ID, "model_id": MODEL_ID, "weight": 3}],
    }
    assert result["actions"] == ["update route: name"]


def test_new_name_is_checked_too(server, run):
    assert "'a b' is no name for a route" in run("model_route", name="qwen", new_name="a b")["msg"]
    assert server.requests == []


@pytest.mark.parametrize("options", [{"description": "for people"}, {"categories": ["llm"]}])
def test_other_fields_leave_the_targets_alone(server, run, options):
    server.play(PRESENT, TARGETS, MODELS, CHANGED)
    result = run("model_route", name="qwen", targets=targets(("qwen-h20", 3)), **options)
    assert result["actions"] == [f"update route: {next(iter(options))}"]
    assert server.sent() == [("PUT", PATH, {"name": "qwen", "categories": [], **options})]


def test_equal_access_policy_is_left_alone(server, run):
    server.play(PRESENT)
    assert run("model_route", name="qwen", access_policy="authed")["changed"] is False


@pytest.mark.parametrize("name", ["9 bad", "a/b", "a-", "a b", "", "_a"])
def test_names_the_server_refuses(server, run, name):
    assert BAD_NAME["status"] == 422
    assert "is no name for a route" in run("model_route", name=name)["msg"]
    assert server.requests == []


@pytest.mark.parametrize("name", ["a", "deepseek-v4-flash", "Qwen3.5_0.8B", "base:lora"])
def test_names_the_server_accepts(server, run, name):
    server.on("GET", "/v2/model-routes", {"items": [], "pagination": {"totalPage": 0}})
    assert run("model_route", name=name, state="absent")["changed"] is False


def test_weights_the_server_refuses(server, run):
    assert "either every target" in MIXED["answer"]["message"]
    result = run("model_route", name="qwen", targets=targets(("a", 0), ("b", 1)))
    assert "have the weights [0, 1]" in result["msg"]
    assert server.requests == []


def test_same_deployment_twice(run):
    assert "more than once" in run("model_route", name="qwen", targets=targets(("a", 1), ("a", 2)))["msg"]


def test_deletes(server, run):
    server.play(PRESENT)
    server.on("DELETE", PATH, None)
    result = run("model_route", name="qwen", state="absent")
    assert (result["changed"], result["route"]) == (True, {})
    assert server.sent() == [("DELETE", PATH, None)]


def test_delete_of_what_has_gone_meanwhile(server, run):
    server.play(PRESENT)
    server.on("DELETE", PATH, recorded("delete")[1]["answer"], status=404)
    assert run("model_route", name="qwen", state="absent")["changed"] is True


@pytest.mark.parametrize("secret", ["password", "api_key"])
def test_arguments_of_the_wrong_type_show_no_secret(run, secret):
    result = run("model_route", name="qwen", targets="qwen-h20", **{secret: "Canary.1pass"})
    assert result["failed"] is True
    assert result["invocation"]["module_args"]["name"] == "qwen"
    assert "Canary" not in json.dumps(result)
