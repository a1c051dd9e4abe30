# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from api import Api
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from steps import changes, refused, stays

MODULE = "user"
PATH = "/v2/users"
NAME = "li.wei"
PASSWORD, OTHER, FIRST = "Canary_1st-password", "Canary_2nd-password", "Canary_0th-password"
NEW = {"name": NAME, "user_password": PASSWORD}
ALWAYS = {"name": NAME, "user_password": OTHER, "update_password": "always"}


@pytest.fixture(autouse=True)
def _secrets(secrets):
    for one in (PASSWORD, OTHER, FIRST):
        secrets.add(one)


@pytest.fixture(autouse=True)
def _only_admin(server, api):
    yield
    for one in api.items(PATH):
        if one["username"] != server.username:
            api.put(f"{PATH}/{one['id']}", {**one, "is_admin": False})
            api.delete(f"{PATH}/{one['id']}")


@pytest.fixture
def row(api):
    return lambda name=NAME: api.find(PATH, username=name)


@pytest.fixture
def login(api):
    def answer(password, name=NAME):
        response = api.request("POST", "/auth/login", data={"username": name, "password": password})
        return response.status_code, (response.json() or {}).get("message")

    return answer


OPEN = (200, None)
WRONG = (401, "Incorrect username or password")
DEACTIVATED = (401, "User account is deactivated")


def test_create_and_delete(run, row, login):
    made = changes(run, MODULE, **NEW, full_name="Li Wei")
    assert made["actions"] == ["create user"]
    assert made["diff"]["before"] == {}
    assert made["user"] == {
        "id": row()["id"],
        "name": NAME,
        "full_name": "Li Wei",
        "is_admin": False,
        "is_active": True,
        "require_password_change": False,
        "source": "Local",
    }
    assert login(PASSWORD) == OPEN

    removed = changes(run, MODULE, name=NAME, state="absent")
    assert (removed["actions"], removed["user"]) == (["delete user"], {})
    assert removed["diff"]["before"]["full_name"] == "Li Wei"
    assert row() is None


@pytest.mark.parametrize(
    ("option", "value", "other"),
    [("full_name", "Li Wei", ""), ("is_admin", True, False), ("is_active", False, True)],
)
def test_each_field_alone(run, row, login, option, value, other):
    run(MODULE, **NEW)
    before = row()
    for wanted in (value, other):
        done = changes(run, MODULE, name=NAME, **{option: wanted})
        assert done["actions"] == [f"update user: {option}"]
        assert done["diff"]["after"][option] == wanted
        after = row()
        assert after[option] == (None if wanted == "" else wanted)
        assert {**after, option: None, "updated_at": None} == {**before, option: None, "updated_at": None}
    assert login(PASSWORD) == OPEN


def test_fields_that_are_not_named_stay(run, row):
    """GPUStack 2.1 makes a plain, active user without a full name of one whose PUT lacks these."""
    run(MODULE, **NEW, full_name="Li Wei", is_admin=True, is_active=False, require_password_change=True)
    changes(run, MODULE, name=NAME, full_name="Wei")
    after = row()
    assert (after["is_admin"], after["is_active"], after["require_password_change"]) == (True, False, True)


def test_password_on_create(run, login):
    run(MODULE, **NEW)
    stays(run, MODULE, name=NAME, user_password=OTHER)
    assert login(PASSWORD) == OPEN


@pytest.mark.trap(48)
@pytest.mark.parametrize(("active", "right"), [(True, OPEN), (False, DEACTIVATED)])
def test_password_always(run, login, active, right):
    """A password that is sent is hashed again, which nobody can see; so it is sent only when it does not sign in."""
    run(MODULE, **NEW, is_active=active)
    done = changes(run, MODULE, **ALWAYS)
    assert done["actions"] == ["update user: user_password"]
    assert done["diff"]["before"]["user_password"] == "******** (before)"
    assert done["diff"]["after"]["user_password"] == "******** (after)"
    assert (login(PASSWORD), login(OTHER)) == (WRONG, right)


@pytest.mark.trap(1)
def test_login_takes_a_form(run, api):
    run(MODULE, **NEW)
    response = api.request("POST", "/auth/login", json={"username": NAME, "password": PASSWORD})
    assert (response.status_code, response.json()["message"]) == WRONG
    stays(run, MODULE, name=NAME, user_password=PASSWORD, update_password="always")


def test_password_beyond_ascii(run, login):
    """HTTP Basic cannot carry it, and yet it is proved."""
    new = {"name": "lǐ wěi:1", "user_password": "Aa1_größer"}
    changes(run, MODULE, **new, update_password="always")
    assert login(new["user_password"], new["name"]) == OPEN


def test_first_login(run, row):
    changes(run, MODULE, **NEW, require_password_change=True)
    assert row()["require_password_change"] is True
    stays(run, MODULE, **NEW)
    done = changes(run, MODULE, **NEW, require_password_change=False)
    assert done["actions"] == ["update user: require_password_change"]
    run(MODULE, **NEW, require_password_change=True)
    changes(run, MODULE, **NEW, update_password="always")
    assert row()["require_password_change"] is False


def test_first_login_of_an_existing_user(run, row, login):
    run(MODULE, **NEW)
    needs = f"require_password_change of user {NAME} shall become True, which GPUStack writes only with a password"
    message = f"{needs}. Set user_password to the password the user has."
    refused(run, MODULE, message, reason="Invalid", name=NAME, require_password_change=True)
    message = (
        f"{needs}, and user_password is not the one the user has. "
        "Set update_password to always to give the user this password."
    )
    wrong = {"name": NAME, "user_password": OTHER, "require_password_change": True}
    refused(run, MODULE, message, reason="Conflict", **wrong)
    assert login(PASSWORD) == OPEN
    changes(run, MODULE, **wrong, update_password="always")
    assert (login(OTHER), row()["require_password_change"]) == (OPEN, True)


def test_rename(run, row):
    run(MODULE, **NEW)
    number = row()["id"]
    assert changes(run, MODULE, name=NAME, new_name="wei.li")["actions"] == ["update user: name"]
    assert (row(), row("wei.li")["id"]) == (None, number)


def test_rename_to_a_taken_name(run, row):
    """The server answers 500, and 2.1 makes two users of one name."""
    run(MODULE, **NEW)
    run(MODULE, name="wei.li", user_password=PASSWORD)
    message = (
        f"user {NAME} shall be renamed to wei.li, but both exist. Choose another new_name, or remove one of the two."
    )
    refused(run, MODULE, message, reason="AlreadyExists", name=NAME, new_name="wei.li")
    assert row()["full_name"] is None


@pytest.mark.trap(13)
def test_similar_names(run, api):
    assert api.get(PATH, username="nobody")["pagination"]["total"] > 0
    run(MODULE, name=NAME + "wei", user_password=PASSWORD, full_name=NAME)
    assert stays(run, MODULE, name=NAME, state="absent")["user"] == {}
    assert run("user_info", name=NAME)["users"] == []


def test_missing(run):
    message = f"user {NAME} does not exist, and user_password is not set. It is needed to make it."
    refused(run, MODULE, message, reason="Invalid", name=NAME, full_name="Li Wei")


@pytest.mark.trap(6)
def test_policy(run, row):
    """It wants no length."""
    rule = "GPUStack wants an upper-case letter, a lower-case letter, a digit and one of !@#$%^&*_+."
    weak = f"user_password of user {NAME} lacks an upper-case letter, a digit. {rule}"
    refused(run, MODULE, weak, reason="Invalid", name=NAME, user_password="canary_weak")
    assert row() is None
    changes(run, MODULE, name=NAME, user_password="aA1_")


def test_wrong_credentials(run):
    message = (
        "GET /v2/users?page=1&perPage=100&search=li.wei answered 401 (Unauthorized): Invalid authentication "
        "credentials. Check username and password, or api_key. A deactivated user and an expired key look the same."
    )
    asked = {"status": 401, "code": 401, "reason": "Unauthorized", "endpoint": message.split(" answered")[0]}
    refused(run, MODULE, message, **asked, password="wrong", name=NAME, state="absent")


def test_plain_user(run):
    run(MODULE, **NEW)
    message = (
        "GET /v2/users?page=1&perPage=100&search=li.wei answered 403 (Forbidden): No permission to access. The "
        "credentials are valid but may not do this. Use an administrator, or a key with the needed scope."
    )
    asked = {"status": 403, "code": 403, "reason": "Forbidden", "endpoint": message.split(" answered")[0]}
    refused(run, MODULE, message, **asked, username=NAME, password=PASSWORD, name=NAME, full_name="Boss")


def test_an_inactive_administrator_can_be_deleted(run, row):
    """The server takes it for the only one, because it counts the active ones."""
    run(MODULE, **NEW, is_admin=True, is_active=False)
    changes(run, MODULE, name=NAME, state="absent")
    assert row() is None


@pytest.mark.trap(48)
@pytest.mark.parametrize("change", [{"is_admin": False}, {"is_active": False}, {"state": "absent"}])
def test_last_administrator(run, server, row, change):
    run(MODULE, **NEW, is_admin=True, is_active=False)
    message = (
        f"User {server.username} is the only active administrator of {server.url}, and has to stay one. "
        "Make another administrator first."
    )
    for check in (True, False):
        refused(run, MODULE, message, check=check, reason="Conflict", name=server.username, **change)
    assert row(server.username)["is_active"] is True


@pytest.mark.trap(48)
def test_last_administrator_at_the_server(server, api, row):
    admin = row(server.username)
    refusals = [
        api.request("DELETE", f"{PATH}/{admin['id']}"),
        api.request("PUT", f"{PATH}/{admin['id']}", json={"username": server.username, "is_active": False}),
    ]
    assert [one.status_code for one in refusals] == [409, 409]


@pytest.mark.trap(3, 4)
def test_first_password(run, server, seeded_server, secrets):
    """GPUStack 2.1 writes it to a file, later ones also read it from there. It works until it is changed."""
    own = seeded_server
    file = own.data_dir / "initial_admin_password"
    first = secrets.add(file.read_text().strip())
    assert (first == FIRST) is (server.version != "2.1.2")
    admin = Api(own.url, server.username, first).find(PATH, username=server.username)
    assert admin["require_password_change"] is True
    admin = {"name": server.username, "user_password": OTHER, "update_password": "always"}
    done = changes(run, MODULE, url=own.url, password=first, **admin)
    assert done["actions"] == ["update user: require_password_change, user_password"]
    assert not file.exists()

    own.stop()
    own.api, own.password = Api(own.url, server.username, OTHER), PASSWORD
    own.start()
    assert own.api.request("GET", PATH, auth=(server.username, PASSWORD)).status_code == 401
    stays(run, MODULE, url=own.url, password=OTHER, **admin)


@pytest.mark.trap(5)
def test_own_password(run, api, server, login):
    """The task connects with the password that it changes, and works again afterwards."""
    run(MODULE, **NEW, is_admin=True, require_password_change=True)
    own = {**ALWAYS, "username": NAME, "password": PASSWORD}
    done = changes(run, MODULE, **own, full_name="Li Wei")
    assert done["actions"] == ["update user: full_name, require_password_change, user_password"]
    assert (login(PASSWORD), login(OTHER)) == (WRONG, OPEN)

    wrong = {"current_password": PASSWORD, "new_password": FIRST}
    response = api.request("POST", "/auth/update-password", json=wrong, auth=(NAME, OTHER))
    assert (response.status_code, response.json()["message"]) == (422, "Incorrect current password")
    message = (
        "GET /v2/users/me answered 401 (Unauthorized): Invalid authentication credentials. Check username and "
        "password, or api_key. A deactivated user and an expired key look the same."
    )
    asked = {"status": 401, "code": 401, "reason": "Unauthorized", "endpoint": "GET /v2/users/me"}
    refused(run, MODULE, message, **asked, **{**own, "user_password": FIRST})


names = st.text(st.characters(min_codepoint=32, max_codepoint=0x2FFF, exclude_categories=["Cc", "Cs"]), max_size=20)


@settings(max_examples=5, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.fixed_dictionaries(
        {"user_password": st.sampled_from([PASSWORD, OTHER]), "update_password": st.just("always")},
        optional={
            "full_name": names,
            "is_admin": st.booleans(),
            "is_active": st.booleans(),
            "require_password_change": st.booleans(),
        },
    )
)
def test_twice_is_once(run, spec):
    run(MODULE, name=NAME, **spec)
    stays(run, MODULE, name=NAME, **spec)
