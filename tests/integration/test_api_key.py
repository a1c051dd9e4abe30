# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import time

import pytest
import servers
from api import Api
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from steps import changes, refused, stays

MODULE = "api_key"
PATH = "/v2/api-keys"
NAME = "portal"
SECRET, OTHER, THIRD = "sk-canary-5f1c0a7be2", "sk-canary-91d24c66aa", "sk-canary-07e3d1b9c4"
NEW = {"name": NAME, "secret": SECRET}
FULL = {**NEW, "scope": ["inference"], "allowed_model_names": ["deepseek-v4-flash"], "description": "Ours"}
EVE = {"username": "eve", "password": "Canary_1st-password"}
UNKNOWN = (401, "Invalid authentication credentials")
OLD = {"2.1.2": "GPUStack 2.1 chooses the secrets of its keys."}


@pytest.fixture(autouse=True)
def _secrets(secrets):
    for one in (SECRET, OTHER, THIRD, EVE["password"]):
        secrets.add(one)


@pytest.fixture(autouse=True)
def _no_keys(api):
    yield
    for one in api.items(PATH, user_id="*"):
        if one["name"] != servers.KEY:
            api.delete(f"{PATH}/{one['id']}")


@pytest.fixture
def row(api):
    return lambda name=NAME: next((one for one in api.items(PATH, user_id="*") if one["name"] == name), None)


@pytest.fixture
def use(server):
    """What the server says to a client with this key: the status, and the message of a refusal."""

    def ask(secret, path="/v2/users/me"):
        response = Api(server.url, token=secret).request("GET", path)
        return response.status_code, response.json().get("message")

    return ask


@pytest.fixture
def eve(api):
    user = api.post("/v2/users", EVE)
    yield user
    api.delete(f"/v2/users/{user['id']}")


@pytest.fixture
def chosen(server):
    if server.version in OLD:
        pytest.skip(OLD[server.version])


since_2_2 = pytest.mark.usefixtures("chosen")


@since_2_2
def test_create_and_delete(run, server, row, use):
    made = changes(run, MODULE, **FULL)
    assert made["actions"] == ["create api key"]
    assert made["diff"]["before"] == {}
    assert made["api_key"] == {
        "id": row()["id"],
        "name": NAME,
        "user": server.username,
        "description": "Ours",
        "scope": ["inference"],
        "allowed_model_names": ["deepseek-v4-flash"],
        "is_custom": True,
        "expires_at": None,
    }
    assert use(SECRET, "/v1/models")[0] == 200

    removed = changes(run, MODULE, name=NAME, state="absent")
    assert (removed["actions"], removed["api_key"]) == (["delete api key"], {})
    assert use(SECRET) == UNKNOWN


@since_2_2
@pytest.mark.trap(7, not_on=OLD)
def test_the_secret_is_told_once(run, row):
    run(MODULE, **NEW)
    assert row()["value"] is None
    assert SECRET not in json.dumps(row())


@since_2_2
@pytest.mark.trap(10, not_on=OLD)
@pytest.mark.parametrize(
    ("option", "value", "other"),
    [
        ("scope", ["management"], ["*"]),
        ("allowed_model_names", ["a", "b"], []),
        ("description", "Theirs", ""),
    ],
)
def test_each_field_alone(run, row, use, option, value, other):
    """The key stays the same one, which its secret opens whatever its scope is."""
    run(MODULE, **FULL)
    before = row()
    for wanted in (value, other):
        done = changes(run, MODULE, **NEW, **{option: wanted})
        assert done["actions"] == [f"update api key: {option}"]
        assert done["diff"]["after"][option] == wanted
        after = row()
        assert after[option] == (None if wanted == "" else wanted)
        assert {**after, option: None, "updated_at": None} == {**before, option: None, "updated_at": None}


@since_2_2
@pytest.mark.trap(10, not_on=OLD)
def test_scopes(run, use):
    run(MODULE, **NEW, scope=["inference"])
    assert use(SECRET) == (403, "API key does not have permission to access management features")
    run(MODULE, **NEW, scope=["management"])
    assert use(SECRET, "/v1/models") == (403, "API key does not have permission to access inference features")
    stays(run, MODULE, **NEW)
    changes(run, MODULE, **NEW, scope=["inference", "management"])
    stays(run, MODULE, **NEW, scope=["management", "inference"])
    assert (use(SECRET)[0], use(SECRET, "/v1/models")[0]) == (200, 200)


@since_2_2
@pytest.mark.trap(9, not_on=OLD)
def test_an_empty_scope(run, api, use):
    key = api.post(PATH, {"name": "useless", "custom": OTHER, "scope": []})
    assert (key["scope"], use(OTHER)[0], use(OTHER, "/v1/models")[0]) == ([], 403, 403)
    message = (
        f"scope of api key {NAME} is empty, and such a key opens nothing. "
        "Name what it may be used for: *, management, inference."
    )
    refused(run, MODULE, message, reason="Invalid", **NEW, scope=[])


@since_2_2
def test_another_secret(run, row, use):
    run(MODULE, **FULL)
    before = row()
    done = changes(run, MODULE, name=NAME, secret=OTHER)
    assert done["actions"] == ["replace api key: secret"]
    assert done["diff"]["before"]["secret"] == "******** (before)"
    assert done["diff"]["after"]["secret"] == "******** (after)"
    assert (use(SECRET)[0], use(OTHER)[0]) == (401, 403)
    own = {"id": None, "created_at": None, "updated_at": None}
    assert {**row(), **own} == {**before, **own}


@since_2_2
@pytest.mark.trap(8, not_on=OLD)
def test_a_secret_that_another_key_has(run, api, row):
    run(MODULE, **NEW)
    run(MODULE, name="ci", secret=OTHER)
    response = api.request("POST", PATH, json={"name": "second", "custom": SECRET})
    assert response.status_code == 409
    message = (
        f"secret of api key ci is that of another key already: {NAME} (id {row()['id']}). "
        "Give each key a secret of its own."
    )
    for name in ("ci", "new"):
        told = message.replace(" ci ", f" {name} ")
        refused(run, MODULE, told, reason="AlreadyExists", name=name, secret=SECRET)
    stays(run, MODULE, name="ci", secret=OTHER)


@since_2_2
@pytest.mark.trap(11, not_on=OLD)
def test_life(run, api, row, use):
    changes(run, MODULE, **FULL, expires_in=3600)
    first = row()
    api.put(f"{PATH}/{first['id']}", {"name": "renamed", "expires_in": 60, "scope": ["inference"]})
    assert (row()["name"], row()["expires_at"]) == (NAME, first["expires_at"])
    stays(run, MODULE, name=NAME, expires_in=3600)

    message = (
        f"api key {NAME} expires {{}}, and expires_in 7200 is asked for. GPUStack cannot change that. "
        "Set secret too: the key is then made again with it. Or leave expires_in unset."
    )
    told = message.format(f"at {first['expires_at']}")
    refused(run, MODULE, told, reason="WriteOnce", name=NAME, expires_in=7200)
    done = changes(run, MODULE, **NEW, expires_in=7200)
    assert done["actions"] == ["replace api key: expires_in"]
    assert changes(run, MODULE, **NEW, expires_in=0)["api_key"]["expires_at"] is None
    assert (row()["description"], use(SECRET)[0]) == ("Ours", 403)
    refused(run, MODULE, message.format("never"), reason="WriteOnce", name=NAME, expires_in=7200)


@since_2_2
def test_the_end(run, row, use):
    run(MODULE, **NEW, expires_in=1)
    end = time.monotonic() + 10
    while use(SECRET) != UNKNOWN:
        assert time.monotonic() < end
        time.sleep(0.1)
    message = (
        f"api key {NAME} expired at {row()['expires_at']}. "
        "Set expires_in to how long it shall live from now on, 0 for ever; or delete the key."
    )
    refused(run, MODULE, message, reason="Expired", **NEW)
    predicted = run(MODULE, **NEW, expires_in=3600, check=True)
    assert predicted["actions"] == ["replace api key: expired"]
    run(MODULE, **NEW, expires_in=3600)
    assert use(SECRET)[0] == 200


@since_2_2
def test_a_secret_of_a_key_that_expired(run, api, use):
    """It opens nothing any more, and is taken all the same: the key that works must not be lost over it."""
    run(MODULE, **NEW)
    expired = api.post(PATH, {"name": "expired", "custom": OTHER, "expires_in": 1})
    end = time.monotonic() + 10
    while use(OTHER) != UNKNOWN:
        assert time.monotonic() < end
        time.sleep(0.1)
    before = api.items(PATH)
    message = (
        f"secret of api key {NAME} is that of another key already: expired (id {expired['id']}). "
        "Give each key a secret of its own."
    )
    refused(run, MODULE, message, reason="AlreadyExists", name=NAME, secret=OTHER)
    assert use(SECRET)[0] == 200
    assert api.items(PATH) == before


@since_2_2
@pytest.mark.trap(12, not_on=OLD)
def test_a_key_of_another_user(run, server, api, row, eve):
    run(MODULE, **NEW)
    mine = row()
    changes(run, MODULE, name=NAME, secret=OTHER, **EVE)
    assert [one["id"] for one in api.items(PATH) if one["name"] != servers.KEY] == [mine["id"]]
    hers = {"name": NAME, "user": "eve"}
    stays(run, MODULE, **hers, secret=OTHER)
    assert changes(run, MODULE, **hers, description="left")["api_key"]["user"] == "eve"

    message = (
        f"api key {{}} of user eve cannot be made by {server.username}: GPUStack makes keys for the user that "
        "connects. Set username to eve, and password."
    )
    for name in (NAME, "new"):
        told = message.format(name)
        refused(run, MODULE, told, reason="Forbidden", name=name, user="eve", secret=THIRD)
    assert changes(run, MODULE, **EVE, name=NAME, user="eve", secret=THIRD)["actions"] == ["replace api key: secret"]
    changes(run, MODULE, **hers, state="absent")
    assert [one for one in api.items(PATH) if one["name"] != servers.KEY] == [mine]


@since_2_2
def test_a_deactivated_user(run, api, eve):
    run(MODULE, **NEW, **EVE)
    api.put(f"/v2/users/{eve['id']}", {**eve, "is_active": False})
    stays(run, MODULE, **NEW, user="eve")


@since_2_2
def test_the_key_it_connects_with(run, row):
    run(MODULE, **NEW)
    stays(run, MODULE, **NEW, api_key=SECRET)
    message = (
        f"api key {NAME} has to be made again, and is the one this task connects with. "
        "Connect with a password, or with another key."
    )
    refused(run, MODULE, message, reason="Conflict", name=NAME, secret=OTHER, api_key=SECRET)
    changes(run, MODULE, name="second", secret=OTHER, api_key=SECRET)
    assert row("second")["user_name"] == row()["user_name"]


@since_2_2
@pytest.mark.trap(13, not_on=OLD)
def test_similar_names(run, api):
    run(MODULE, **NEW)
    assert api.items(PATH, name="nobody") == api.items(PATH)
    stays(run, MODULE, name="port", state="absent")
    assert run("api_key_info", name="port")["api_keys"] == []


def test_a_key_whose_secret_the_server_chose(run, api, use):
    """All releases make it, and everything but its secret and its life is managed."""
    key = api.post(PATH, {"name": NAME})
    changes(run, MODULE, name=NAME, description="Ours", allowed_model_names=["a"])
    changes(run, MODULE, name=NAME, description="", allowed_model_names=[])
    assert use(key["value"])[0] == 200
    changes(run, MODULE, name=NAME, state="absent")
    assert use(key["value"]) == UNKNOWN


@pytest.mark.trap(24, not_on=dict.fromkeys(("2.2.3", "2.3.0"), "This release has the options."))
@pytest.mark.parametrize(("option", "value"), [("secret", SECRET), ("scope", ["*"]), ("user", "admin")])
def test_options_that_are_young(run, server, api, option, value):
    """GPUStack 2.1 drops them without a word, and would choose a secret of its own."""
    message = (
        f"{option} of api key {NAME}: {server.url} is GPUStack v{server.version}, which does not have it. "
        "Upgrade to GPUStack 2.2 or later, or leave it unset."
    )
    refused(run, MODULE, message, reason="Unsupported", name=NAME, **{option: value})
    assert [one for one in api.items(PATH) if one["name"] != servers.KEY] == []


def test_missing(run):
    message = f"api key {NAME} does not exist, and secret is not set. It is needed to make it."
    refused(run, MODULE, message, reason="Invalid", name=NAME, description="Ours")
    stays(run, MODULE, name=NAME, state="absent")


@pytest.mark.parametrize("secret", ["", "sk canary", "sk-canary-ü", "sk-canary\n"])
def test_a_secret_that_cannot_be_sent(run, secret):
    message = (
        f"secret of api key {NAME} is empty, or has characters that an HTTP header cannot carry. "
        "Use visible ASCII characters without blanks."
    )
    refused(run, MODULE, message, reason="Invalid", name=NAME, secret=secret)


def test_wrong_credentials(run):
    message = (
        "GET /v2/api-keys?page=1&perPage=100 answered 401 (Unauthorized): Invalid authentication credentials. "
        "Check username and password, or api_key. A deactivated user and an expired key look the same."
    )
    asked = {"status": 401, "code": 401, "reason": "Unauthorized", "endpoint": message.split(" answered")[0]}
    refused(run, MODULE, message, **asked, password="wrong", name=NAME, state="absent")


@since_2_2
@settings(max_examples=5, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.fixed_dictionaries(
        {"secret": st.sampled_from([SECRET, OTHER])},
        optional={
            "scope": st.lists(st.sampled_from(["*", "management", "inference"]), min_size=1, max_size=3),
            "allowed_model_names": st.lists(st.sampled_from(["a", "B", "c d", "ü"]), max_size=3),
            "description": st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=20),
            "expires_in": st.sampled_from([-1, 0, 600, 10**8]),
        },
    )
)
def test_twice_is_once(run, spec):
    run(MODULE, name=NAME, **spec)
    stays(run, MODULE, name=NAME, **spec)
