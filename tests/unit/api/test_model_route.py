# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import copy

import pytest
from api_playback import recorded

ABSENT, CREATED, PRESENT, TARGETS, CHANGED, _AFTER, BAD_NAME, MIXED, MODELS = recorded("model_route")
ROUTE_ID = PRESENT["answer"]["items"][0]["id"]
MODEL_ID = MODELS["answer"]["items"][0]["id"]
TARGET_ID = TARGETS["answer"]["items"][0]["id"]
PATH = f"/v2/model-routes/{ROUTE_ID}"


def targets(*pairs):
    return [{"model": model, "weight": weight} for model, weight in pairs]


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
        "access_policy": "authed",
        "targets": [{"model": "qwen-h20", "weight": 3}],
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
        "targets": [
            {"model_id": 9, "weight": 1},
            {"id": TARGET_ID, "model_id": MODEL_ID, "weight": 1, "fallback_status_codes": ["5xx"]},
        ],
    }
    assert result["diff"]["before"]["targets"] == [{"model": "qwen-h20", "weight": 3}]
    assert result["diff"]["after"]["targets"] == targets(("qwen-910b", 1), ("qwen-h20", 1))


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
    assert server.sent() == [("PUT", PATH, {"name": "qwen", "targets": []})]


def test_target_of_a_provider_is_a_difference(server, run):
    server.play(PRESENT, existing(model_id=None, provider_id=2, overridden_model_name="gpt"), MODELS, CHANGED)
    result = run("model_route", name="qwen", targets=targets(("qwen-h20", 3)))
    assert result["diff"]["before"]["targets"] == [{"model": "provider 2: gpt", "weight": 3}]


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
    result = run("model_route", check=True, name="qwen", targets=targets(("qwen-h20", 1)), access_policy="public")
    assert result["actions"] == ["update route: targets", "update route: access_policy"]
    assert server.sent() == []


def test_access_policy_has_its_own_url(server, run):
    server.play(PRESENT)
    server.on("POST", f"{PATH}/access", {"items": [], "access_policy": "public"})
    result = run("model_route", name="qwen", access_policy="public")
    assert server.sent() == [("POST", f"{PATH}/access", {"access_policy": "public"})]
    assert result["diff"]["before"] == {"access_policy": "authed"}


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
