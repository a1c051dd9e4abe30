# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

PASSWORD = "Canary_1st-password"


@pytest.fixture
def li_wei(run):
    yield run("user", name="li.wei", full_name="Li Wei", user_password=PASSWORD)["user"]
    run("user", name="li.wei", state="absent")


def test_reads_all(run, server, li_wei):
    result = run("user_info")
    assert result["changed"] is False
    assert [one["name"] for one in result["users"]] == [server.username, "li.wei"]
    assert result["users"][1] == li_wei
    assert result["users"][0]["is_admin"] is True


def test_reads_one(run, li_wei):
    assert run("user_info", check=True, name="li.wei")["users"] == [li_wei]
    assert run("user_info", name="li.we")["users"] == []


def test_needs_an_administrator(run, li_wei):
    result = run("user_info", ok=False, username="li.wei", password=PASSWORD)
    assert result["failure"]["status"] == 403
    assert result["msg"].startswith(
        "GET /v2/users?page=1&perPage=100 answered 403 (Forbidden): No permission to access."
    )
