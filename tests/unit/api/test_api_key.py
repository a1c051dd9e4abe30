# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import datetime
import json
import urllib.parse

import pytest
from ansible_collections.inferops.gpustack.plugins.modules import api_key

SECRET = "sk-portal-5f1c0a7be2"
UNKNOWN = {"code": 401, "reason": "Unauthorized", "message": "Invalid authentication credentials"}
DEACTIVATED = {"code": 401, "reason": "Unauthorized", "message": "User account is deactivated"}
OUT_OF_SCOPE = {
    "code": 403,
    "reason": "Forbidden",
    "message": "API key does not have permission to access management features",
}
ADMIN = {"id": 1, "username": "admin"}


def key(id=7, name="portal", **fields):
    """As GPUStack 2.3.0 answers it."""
    return {
        "allowed_model_names": ["deepseek-v4-flash"],
        "description": "For people",
        "scope": ["inference"],
        "name": name,
        "id": id,
        "user_name": "admin",
        "value": None,
        "masked_value": "Custom API Key",
        "is_custom": True,
        "owner_principal_id": None,
        "created_at": "2026-11-30T08:06:58.243592Z",
        "updated_at": "2026-11-30T08:06:58.243613Z",
        "expires_at": None,
        **fields,
    }


def old_key():
    """As GPUStack 2.1.2 answers it."""
    newer = ("scope", "user_name", "is_custom", "owner_principal_id")
    return {name: value for name, value in key().items() if name not in newer}


def keys(server, *listed, **filters):
    query = "&" + urllib.parse.urlencode(filters) if filters else ""
    pages = {"page": 1, "perPage": 100, "total": len(listed), "totalPage": 1}
    server.on("GET", f"/v2/api-keys?page=1&perPage=100{query}", {"items": list(listed), "pagination": pages})


def opened_by(server, answer, status=200, holder=None):
    """What the server says to a request with the secret, and to a second key with it."""
    server.on("GET", "/v2/users/me", answer, status)
    if holder:
        message = f"Custom API Key duplicate with existing key {holder['name']} (id: {holder['id']}, expired: False)"
        server.on("POST", "/v2/api-keys", {"code": 409, "reason": "AlreadyExists", "message": message}, 409)
    else:
        server.on("POST", "/v2/api-keys", lambda body: key(9, body["name"]))


def from_now(seconds):
    moment = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)
    return moment.isoformat().replace("+00:00", "Z")


def shown(result):
    return json.dumps({name: value for name, value in result.items() if name != "invocation"})


def test_makes_a_key(server, run):
    keys(server)
    server.on("GET", "/version", {"version": "v2.3.0"})
    opened_by(server, UNKNOWN, 401)
    result = run("api_key", name="portal", secret=SECRET, scope=["inference"], expires_in=3600)
    payload = {"name": "portal", "custom": SECRET, "scope": ["inference"], "expires_in": 3600}
    assert server.sent() == [("POST", "/v2/api-keys", payload)]
    assert (result["changed"], result["actions"]) == (True, ["create api key"])
    assert set(result["api_key"]) == {
        "id", "name", "user", "description", "scope", "allowed_model_names", "is_custom", "expires_at",
    }  # fmt: skip
    assert SECRET not in shown(result)
    assert result["warnings"] == []


def test_check_mode_sends_nothing_for_a_new_key(server, run):
    keys(server, key(8, "another"))
    opened_by(server, UNKNOWN, 401)
    assert run("api_key", check=True, name="portal", secret=SECRET)["changed"] is True
    assert server.sent() == []


@pytest.mark.parametrize("answer, status", [(ADMIN, 200), (OUT_OF_SCOPE, 403), (DEACTIVATED, 401)])
def test_a_key_that_its_secret_opens_is_left_alone(server, run, answer, status):
    keys(server, key())
    opened_by(server, answer, status, holder=key())
    assert run("api_key", name="portal", secret=SECRET)["changed"] is False
    tried = [headers["Authorization"] for _, path, _, headers in server.requests if path == "/v2/users/me"]
    assert tried == [f"Bearer {SECRET}"]
    ((method, path, body),) = server.sent()
    assert (method, path, body["custom"]) == ("POST", "/v2/api-keys", SECRET)
    assert body["name"] != "portal"


def test_a_secret_of_another_key_is_refused(server, run):
    keys(server, key(), key(8, "another"))
    opened_by(server, ADMIN, holder=key(8, "another"))
    result = run("api_key", name="portal", secret=SECRET)
    assert result["msg"] == (
        "secret of api key portal is that of another key already: another (id 8). Give each key a secret of its own."
    )
    assert [method for method, _, _ in server.sent()] == ["POST"]


def test_a_secret_that_is_no_key_leaves_nothing_behind(server, run):
    """Such as a registration token: it opens the server, and is free as the secret of a key."""
    keys(server, key())
    opened_by(server, ADMIN)
    server.on("DELETE", "/v2/api-keys/9", None)
    run("api_key", check=True, name="portal", secret=SECRET)
    assert [(method, path) for method, path, _ in server.sent()] == [
        ("POST", "/v2/api-keys"),
        ("DELETE", "/v2/api-keys/9"),
    ]


@pytest.mark.parametrize("check", [True, False])
def test_another_secret_makes_the_key_again(server, run, check):
    keys(server, key())
    opened_by(server, UNKNOWN, 401)
    server.on("DELETE", "/v2/api-keys/7", None)
    result = run("api_key", check=check, name="portal", secret=SECRET, description="")
    assert (result["changed"], result["actions"]) == (True, ["replace api key: secret"])
    kept = {"scope": ["inference"], "allowed_model_names": ["deepseek-v4-flash"]}
    payload = {"name": "portal", "custom": SECRET, "description": None, "expires_in": None, **kept}
    calls = [("DELETE", "/v2/api-keys/9", None), ("DELETE", "/v2/api-keys/7", None), ("POST", "/v2/api-keys", payload)]
    # First of all it asks whether the secret is free.
    assert server.sent()[1:] == ([] if check else calls)
    diff = result["diff"]
    assert (diff["before"]["secret"], diff["after"]["secret"]) == ("******** (before)", "******** (after)")
    assert SECRET not in shown(result)


def test_a_new_secret_does_not_prolong_the_life(server, run):
    keys(server, key(created_at=from_now(-400), expires_at=from_now(600)))
    opened_by(server, UNKNOWN, 401)
    server.on("DELETE", "/v2/api-keys/7", None)
    run("api_key", name="portal", secret=SECRET)
    assert 590 <= server.sent()[-1][2]["expires_in"] <= 600


@pytest.mark.parametrize(
    "wanted, found, same",
    [
        (3600, 3599, True),
        (3600, 3540, True),
        (3600, 3539, False),
        (3600, None, False),
        (0, None, True),
        (-1, None, True),
        (0, 3600, False),
    ],
)
def test_same_life(wanted, found, same):
    assert api_key.same_life(wanted, found) is same


def test_another_life_makes_the_key_again(server, run):
    keys(server, key(expires_at="2026-11-30T09:06:57.549853Z"))
    # Its secret is asked for twice: to find the key, and before that is deleted.
    opened_by(server, ADMIN, holder=key())
    opened_by(server, ADMIN, holder=key())
    server.on("POST", "/v2/api-keys", lambda body: key(9, body["name"]))
    server.on("DELETE", "/v2/api-keys/7", None)
    result = run("api_key", name="portal", secret=SECRET, expires_in=0)
    assert result["actions"] == ["replace api key: expires_in"]
    assert [method for method, _, _ in server.sent()] == ["POST", "POST", "DELETE", "POST"]
    assert result["diff"]["before"]["expires_in"] == 3599


def test_another_life_needs_the_secret(server, run):
    keys(server, key())
    result = run("api_key", name="portal", expires_in=3600)
    assert result["msg"] == (
        "api key portal expires never, and expires_in 3600 is asked for. GPUStack cannot change that. "
        "Set secret too: the key is then made again with it. Or leave expires_in unset."
    )
    assert result["failure"]["reason"] == "WriteOnce"


def test_an_expired_key_is_not_made_for_ever(server, run):
    ended = from_now(-0.5)
    keys(server, key(created_at=from_now(-3600), expires_at=ended))
    opened_by(server, UNKNOWN, 401)
    result = run("api_key", name="portal", secret=SECRET)
    assert result["msg"].startswith(f"api key portal expired at {ended}. Set expires_in")
    assert server.sent() == []


def test_an_expired_key_lives_again_when_told_how_long(server, run):
    keys(server, key(created_at=from_now(-3600), expires_at=from_now(-0.1)))
    opened_by(server, UNKNOWN, 401)
    server.on("DELETE", "/v2/api-keys/7", None)
    result = run("api_key", name="portal", secret=SECRET, expires_in=3600)
    assert result["actions"] == ["replace api key: expired"]
    assert server.sent()[-1][2]["expires_in"] == 3600


def test_a_task_does_not_saw_off_its_own_key(server, run):
    keys(server, key())
    server.on("GET", "/v2/users/me", UNKNOWN, 401)
    opened_by(server, ADMIN, holder=key())
    result = run("api_key", name="portal", secret=SECRET, api_key="sk-old")
    assert result["msg"].startswith("api key portal has to be made again, and is the one this task connects with.")
    assert [method for method, _, _ in server.sent()] == ["POST"]


def test_a_change_does_not_send_what_the_server_ignores(server, run):
    keys(server, key())
    opened_by(server, ADMIN, holder=key())
    server.on("PUT", "/v2/api-keys/7", lambda body: key(**body))
    result = run("api_key", name="portal", secret=SECRET, scope=["*"], expires_in=0)
    assert result["actions"] == ["update api key: scope"]
    payload = {
        "name": "portal",
        "scope": ["*"],
        "allowed_model_names": ["deepseek-v4-flash"],
        "description": "For people",
    }
    assert server.sent()[-1] == ("PUT", "/v2/api-keys/7", payload)


@pytest.mark.parametrize(
    "options, same",
    [
        ({"scope": ["management", "inference"]}, True),
        ({"scope": ["inference"]}, False),
        ({"allowed_model_names": []}, True),
        ({"allowed_model_names": ["a"]}, False),
    ],
)
def test_order_and_null_do_not_count(server, run, options, same):
    keys(server, key(scope=["inference", "management"], allowed_model_names=None))
    assert run("api_key", check=True, name="portal", **options)["changed"] is not same


@pytest.mark.parametrize(
    "options, message",
    [
        ({"scope": []}, "scope of api key portal is empty, and such a key opens nothing."),
        ({"secret": ""}, "secret of api key portal is empty, or has characters that an HTTP header cannot carry."),
        ({"secret": "a b"}, "secret of api key portal is empty, or has characters that an HTTP header cannot carry."),
        ({"secret": "schlüssel"}, "secret of api key portal is empty, or has characters that an HTTP header"),
        ({"secret": "line\n"}, "secret of api key portal is empty, or has characters that an HTTP header"),
    ],
)
def test_invalid(server, run, options, message):
    result = run("api_key", name="portal", **options)
    assert result["msg"].startswith(message)
    assert result["failure"]["reason"] == "Invalid"
    assert server.requests == []


def test_a_new_key_needs_a_secret(server, run):
    keys(server, key(8, "another"))
    result = run("api_key", name="portal")
    assert result["msg"] == "api key portal does not exist, and secret is not set. It is needed to make it."


def test_a_key_of_no_organization_comes_first(server, run):
    keys(server, key(5, owner_principal_id=3), key(7))
    assert run("api_key", check=True, name="portal")["api_key"]["id"] == 7


class TestOfAnotherUser:
    listed = (key(5, user_name="admin"), key(6, user_name="eve"))

    def test_is_changed(self, server, run):
        keys(server, *self.listed, user_id="*")
        server.on("PUT", "/v2/api-keys/6", lambda body: key(6, **body))
        run("api_key", name="portal", user="eve", description="left")
        assert [(method, path) for method, path, _ in server.sent()] == [("PUT", "/v2/api-keys/6")]

    def test_is_deleted(self, server, run):
        keys(server, *self.listed, user_id="*")
        server.on("DELETE", "/v2/api-keys/6", None)
        assert run("api_key", name="portal", user="eve", state="absent")["actions"] == ["delete api key"]

    @pytest.mark.parametrize("name", ["portal", "new"])
    def test_is_not_made(self, server, run, name):
        keys(server, *self.listed, user_id="*")
        server.on("GET", "/version", {"version": "v2.3.0"})
        server.on("GET", "/v2/users/me", UNKNOWN, 401)
        opened_by(server, ADMIN)
        result = run("api_key", name=name, user="eve", secret=SECRET)
        assert result["msg"] == (
            f"api key {name} of user eve cannot be made by admin: GPUStack makes keys for the user that connects. "
            "Set username to eve, and password."
        )
        assert server.sent() == []


class TestBefore22:
    @pytest.fixture(autouse=True)
    def version(self, server):
        server.on("GET", "/version", {"version": "v2.1.2"})

    @pytest.mark.parametrize("listed", [[], [old_key()]])
    @pytest.mark.parametrize("options", [{"secret": SECRET}, {"scope": ["*"]}])
    def test_secret_and_scope(self, server, run, listed, options):
        keys(server, *listed)
        result = run("api_key", name="portal", **options)
        (option,) = options
        assert result["msg"] == (
            f"{option} of api key portal: {server.url} is GPUStack v2.1.2, which does not have it. "
            "Upgrade to GPUStack 2.2 or later, or leave it unset."
        )
        assert result["failure"]["reason"] == "Unsupported"
        assert server.sent() == []

    @pytest.mark.parametrize("module, options", [("api_key", {"name": "portal"}), ("api_key_info", {})])
    def test_user(self, server, run, module, options):
        keys(server, old_key(), user_id="*")
        assert run(module, user="eve", **options)["failure"]["reason"] == "Unsupported"

    def test_other_options(self, server, run):
        keys(server, old_key())
        server.on("PUT", "/v2/api-keys/7", lambda body: {**old_key(), **body})
        assert run("api_key", name="portal", description="x")["api_key"]["description"] == "x"

    def test_absent(self, server, run):
        keys(server, old_key())
        server.on("DELETE", "/v2/api-keys/7", None)
        assert run("api_key", name="portal", secret=SECRET, state="absent")["changed"] is True

    def test_info(self, server, run):
        keys(server, old_key())
        (read,) = run("api_key_info")["api_keys"]
        assert (read["name"], read["user"], read["scope"], read["is_custom"]) == ("portal", None, None, None)


@pytest.mark.parametrize("version", ["v2.2.0", "2.3.1", "v3.0.0-rc1", "v0.0.0", "main", None])
def test_other_releases_have_it(server, run, version):
    keys(server)
    server.on("GET", "/version", {"version": version})
    opened_by(server, UNKNOWN, 401)
    assert run("api_key", check=True, name="portal", secret=SECRET)["changed"] is True


def test_check_mode_without_a_server(server, run):
    server.close()
    result = run("api_key", check=True, name="portal", secret=SECRET)
    assert (result["changed"], result["actions"]) == (True, ["create api key"])


def test_info(server, run):
    keys(server, key(8, "z"), key(7, "a"))
    keys(server, key(8, "z"), key(9, "m", user_name="eve"), user_id="*")
    assert [one["name"] for one in run("api_key_info")["api_keys"]] == ["a", "z"]
    assert [one["name"] for one in run("api_key_info", name="z")["api_keys"]] == ["z"]
    assert [one["name"] for one in run("api_key_info", user="*")["api_keys"]] == ["m", "z"]
    assert [one["name"] for one in run("api_key_info", user="eve")["api_keys"]] == ["m"]


@pytest.mark.parametrize(("username", "check", "refused"), [("portal", True, False), ("portal", False, True)])
def test_a_user_that_an_earlier_task_makes(server, run, username, check, refused):
    """Check mode has not made it."""
    server.on("GET", "/v2/api-keys", {"code": 401, "reason": "Unauthorized", "message": "no"}, status=401)
    result = run("api_key", check=check, username=username, name="chat", secret="sk-portal-93")
    assert bool(result.get("failed")) is refused
    if not refused:
        assert (result["changed"], result["actions"]) == (True, ["create api key"])
        assert "Check mode counts portal as a user that an earlier task makes." in result["warnings"][0]


def test_a_refused_administrator_is_an_error_in_check_mode_too(server, run):
    server.on("GET", "/v2/api-keys", {"code": 401, "reason": "Unauthorized", "message": "no"}, status=401)
    assert run("api_key", check=True, name="chat", secret="sk-portal-93")["failure"]["status"] == 401
