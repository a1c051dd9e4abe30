# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import base64
import json

import pytest
from ansible_collections.inferops.gpustack.plugins.module_utils import _password_policy

RIGHT = "Portal_2026-secret"
OWN = "Fixture.1pass"
REFUSED = {"code": 401, "reason": "Unauthorized", "message": "Incorrect username or password"}
DEACTIVATED = {"code": 401, "reason": "Unauthorized", "message": "User account is deactivated"}


def user(id=4, username="li.wei", **fields):
    """As GPUStack 2.3.0 answers it."""
    return {
        "id": id,
        "username": username,
        "is_admin": False,
        "is_active": True,
        "full_name": "Li Wei",
        "avatar_url": "https://example.org/li.png",
        "source": "Local",
        "require_password_change": False,
        "created_at": "2026-11-30T08:06:46.406322Z",
        "updated_at": "2026-11-30T08:06:46.406343Z",
        **fields,
    }


ADMIN = user(1, "admin", is_admin=True, full_name=None, avatar_url=None)


def users(server, *listed):
    pages = {"page": 1, "perPage": 100, "total": len(listed), "totalPage": 1}
    server.on("GET", "/v2/users", {"items": list(listed), "pagination": pages})


def login(server, answer=None):
    server.on("POST", "/auth/login", answer, 401 if answer else 200)


def put(server, one):
    server.on("PUT", f"/v2/users/{one['id']}", lambda body: {**one, **body})


def written(server):
    return [call for call in server.sent() if call[1] != "/auth/login"]


def basic(headers):
    return base64.b64decode(headers["Authorization"].partition(" ")[2]).decode()


def test_makes_a_user(server, run):
    users(server)
    server.on("POST", "/v2/users", lambda body: user(**body))
    result = run("user", name="li.wei", full_name="Li Wei", user_password=RIGHT)
    payload = {"username": "li.wei", "full_name": "Li Wei", "password": RIGHT}
    assert server.sent() == [("POST", "/v2/users", payload)]
    assert (result["changed"], result["actions"]) == (True, ["create user"])
    assert result["user"] == {
        "id": 4,
        "name": "li.wei",
        "full_name": "Li Wei",
        "is_admin": False,
        "is_active": True,
        "require_password_change": False,
        "source": "Local",
    }
    assert result["warnings"] == []


def test_a_flag_that_the_server_drops_is_sent_again(server, run):
    """GPUStack 2.1 does."""
    users(server)
    server.on("POST", "/v2/users", lambda body: user(require_password_change=False))
    put(server, user())
    result = run("user", name="li.wei", user_password=RIGHT, require_password_change=True)
    assert [method for method, _, _ in server.sent()] == ["POST", "PUT"]
    body = server.sent()[1][2]
    assert (body["password"], body["require_password_change"]) == (RIGHT, True)
    assert (result["actions"], result["user"]["require_password_change"]) == (["create user"], True)


def test_an_inactive_administrator_is_made_a_plain_user_first(server, run):
    """The server counts the active administrators, and takes an inactive one for the only one."""
    users(server, ADMIN, user(is_admin=True, is_active=False))
    put(server, user())
    server.on("DELETE", "/v2/users/4", None)
    assert run("user", name="li.wei", state="absent")["actions"] == ["delete user"]
    assert [method for method, _, _ in server.sent()] == ["PUT", "DELETE"]
    assert server.sent()[0][2]["is_admin"] is False


def test_a_part_of_the_name_is_another_user(server, run):
    users(server, user(5, "li.weiwei"), user(6, "portal", full_name="li.wei"))
    result = run("user", check=True, name="li.wei", user_password=RIGHT)
    assert result["actions"] == ["create user"]


def test_a_new_user_needs_a_password(server, run):
    users(server)
    result = run("user", name="li.wei")
    assert result["msg"] == ("user li.wei does not exist, and user_password is not set. It is needed to make it.")


def test_a_name_is_needed(server, run):
    result = run("user", name="", user_password=RIGHT)
    assert result["msg"] == "name is empty. Name the user."
    assert server.requests == []


@pytest.mark.parametrize(
    "password, lacks",
    [
        ("Aa1!", []),
        ("aa1!", ["an upper-case letter"]),
        ("AA1!", ["a lower-case letter"]),
        ("Aaa!", ["a digit"]),
        ("Aa11", ["one of !@#$%^&*_+."]),
        ("Aa1-", ["one of !@#$%^&*_+."]),
        ("Äa1.", ["an upper-case letter"]),
        ("", ["an upper-case letter", "a lower-case letter", "a digit", "one of !@#$%^&*_+."]),
    ],
)
def test_policy(password, lacks):
    assert _password_policy.missing(password) == lacks


def test_a_weak_password_is_told_before_the_call(server, run):
    result = run("user", name="li.wei", user_password="secret-pass1")
    assert result["msg"] == (
        "user_password of user li.wei lacks an upper-case letter, one of !@#$%^&*_+. "
        "GPUStack wants an upper-case letter, a lower-case letter, a digit and one of !@#$%^&*_+."
    )
    assert result["failure"]["reason"] == "Invalid"
    assert server.requests == []


def test_a_change_sends_what_the_user_has_and_no_password(server, run):
    users(server, user())
    put(server, user())
    result = run("user", name="li.wei", full_name="", user_password=RIGHT)
    payload = {
        "username": "li.wei",
        "full_name": None,
        "is_admin": False,
        "is_active": True,
        "require_password_change": False,
        "avatar_url": "https://example.org/li.png",
    }
    assert server.sent() == [("PUT", "/v2/users/4", payload)]
    assert result["actions"] == ["update user: full_name"]


def test_on_create_does_not_look_at_the_password(server, run):
    users(server, user())
    assert run("user", name="li.wei", user_password=RIGHT)["changed"] is False
    assert server.sent() == []


@pytest.mark.parametrize("answer", [None, DEACTIVATED])
def test_a_password_that_signs_in_is_right(server, run, answer):
    """The server says that a user is deactivated only to who knows the password."""
    users(server, user(is_active=answer is None))
    login(server, answer)
    assert run("user", name="li.wei", user_password=RIGHT, update_password="always")["changed"] is False
    assert server.sent() == [("POST", "/auth/login", {"username": "li.wei", "password": RIGHT})]
    (headers,) = (headers for _, path, _, headers in server.requests if path == "/auth/login")
    assert headers["Content-Type"] == "application/x-www-form-urlencoded"


@pytest.mark.parametrize("check", [True, False])
def test_a_password_that_is_refused_is_set(server, run, check):
    users(server, user())
    login(server, REFUSED)
    put(server, user())
    result = run("user", check=check, name="li.wei", user_password=RIGHT, update_password="always")
    assert (result["changed"], result["actions"]) == (True, ["update user: user_password"])
    assert [body["password"] for _, _, body in written(server)] == ([] if check else [RIGHT])
    diff = result["diff"]
    assert (diff["before"]["user_password"], diff["after"]["user_password"]) == (
        "******** (before)",
        "******** (after)",
    )
    assert RIGHT not in json.dumps({key: value for key, value in result.items() if key != "invocation"})


def test_other_errors_of_the_login_are_errors(server, run):
    users(server, user())
    server.on("POST", "/auth/login", {"detail": "Not Found"}, 404)
    result = run("user", name="li.wei", user_password=RIGHT, update_password="always")
    assert result["failure"]["endpoint"] == "POST /auth/login"
    assert written(server) == []


def test_always_clears_the_flag_of_the_first_login(server, run):
    users(server, user(require_password_change=True))
    login(server)
    put(server, user())
    result = run("user", name="li.wei", user_password=RIGHT, update_password="always")
    assert result["actions"] == ["update user: require_password_change"]
    ((_, _, body),) = written(server)
    assert (body["password"], body["require_password_change"]) == (RIGHT, False)


def test_the_flag_is_left_alone_otherwise(server, run):
    users(server, user(require_password_change=True))
    assert run("user", name="li.wei", user_password=RIGHT)["changed"] is False
    assert server.sent() == []


def test_the_flag_needs_a_password(server, run):
    users(server, user())
    result = run("user", name="li.wei", require_password_change=True)
    assert result["msg"] == (
        "require_password_change of user li.wei shall become True, which GPUStack writes only with a password. "
        "Set user_password to the password the user has."
    )
    assert server.sent() == []


def test_the_flag_does_not_reset_a_password(server, run):
    users(server, user())
    login(server, REFUSED)
    result = run("user", name="li.wei", require_password_change=True, user_password=RIGHT)
    assert result["failure"]["hint"] == "Set update_password to always to give the user this password."
    assert written(server) == []


def test_a_user_of_another_source_has_no_password(server, run):
    users(server, user(source="OIDC"))
    result = run("user", name="li.wei", user_password=RIGHT, update_password="always")
    assert result["msg"].startswith("User li.wei signs in through OIDC and has no password in GPUStack.")
    assert server.sent() == []


@pytest.mark.parametrize("check", [True, False])
@pytest.mark.parametrize("change", [{"is_admin": False}, {"is_active": False}, {"state": "absent"}])
@pytest.mark.parametrize("others", [[], [user(2, "boss", is_admin=True, is_active=False)]])
def test_the_last_administrator_stays(server, run, change, check, others):
    users(server, ADMIN, user(), *others)
    result = run("user", check=check, name="admin", **change)
    assert result["msg"] == (
        f"User admin is the only active administrator of {server.url}, and has to stay one. "
        "Make another administrator first."
    )
    assert result["failure"]["reason"] == "Conflict"
    assert server.sent() == []


def test_an_administrator_with_a_deputy_can_go(server, run):
    users(server, ADMIN, user(2, "boss", is_admin=True))
    server.on("DELETE", "/v2/users/1", None)
    assert run("user", name="admin", state="absent")["actions"] == ["delete user"]


def test_rename(server, run):
    server.on("GET", "/v2/users?page=1&perPage=100&search=li", {"items": [user(username="li")]})
    server.on("GET", "/v2/users?page=1&perPage=100&search=li.wei", {"items": []})
    put(server, user())
    assert run("user", name="li", new_name="li.wei")["actions"] == ["update user: name"]
    assert server.sent()[0][2]["username"] == "li.wei"


class TestOwnPassword:
    """The task changes the password it connects with."""

    options = {"name": "admin", "user_password": RIGHT, "update_password": "always"}

    def test_is_changed(self, server, run):
        server.on("GET", "/v2/users/me", ADMIN)
        users(server, ADMIN)
        login(server, REFUSED)
        put(server, ADMIN)
        server.on("POST", "/auth/update-password", None)
        assert run("user", **self.options)["actions"] == ["update user: user_password"]
        body = {"current_password": RIGHT, "new_password": RIGHT}
        assert written(server)[1:] == [("POST", "/auth/update-password", body)]
        assert basic(server.requests[-1][3]) == f"admin:{RIGHT}"

    def test_was_changed_by_an_earlier_run(self, server, run):
        server.on("GET", "/v2/users/me", REFUSED, 401)
        server.on("GET", "/v2/users/me", ADMIN)
        users(server, ADMIN)
        login(server)
        assert run("user", **self.options)["changed"] is False
        used = [basic(headers) for _, path, _, headers in server.requests if path != "/auth/login"]
        assert used == [f"admin:{OWN}", f"admin:{RIGHT}", f"admin:{RIGHT}"]

    def test_is_unknown(self, server, run):
        server.on("GET", "/v2/users/me", REFUSED, 401)
        result = run("user", **self.options)
        assert (result["failure"]["status"], result["failure"]["endpoint"]) == (401, "GET /v2/users/me")

    def test_is_not_asked_for(self, server, run):
        users(server, ADMIN)
        assert run("user", name="admin", user_password=RIGHT)["changed"] is False
        assert [path.partition("?")[0] for _, path, _, _ in server.requests] == ["/v2/users"]


def test_check_mode_without_a_server(server, run):
    server.close()
    result = run("user", check=True, name="li.wei", user_password=RIGHT)
    assert (result["changed"], result["actions"]) == (True, ["create user"])
    assert "This would be done after the server answers" in result["warnings"][0]


def test_info(server, run):
    users(server, user(), ADMIN)
    result = run("user_info")
    assert [one["name"] for one in result["users"]] == ["admin", "li.wei"]
    assert set(result["users"][0]) == {
        "id", "name", "full_name", "is_admin", "is_active", "require_password_change", "source",
    }  # fmt: skip
    assert [one["id"] for one in run("user_info", name="li.wei")["users"]] == [4]
