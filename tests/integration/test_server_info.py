# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from steps import refused

MODULE = "server_info"


def test_what_it_is(run, server):
    # GPUStack 2.1 does not make the first one the default.
    server.api.post(f"/v2/clusters/{server.cluster_id}/set-default")
    found = run(MODULE)
    assert (found["changed"], found["version"]) == (False, server.version)
    assert found["git_commit"] == server.api.get("/version")["git_commit"]
    assert (found["first_time_setup"], found["external_auth"]) == (False, None)
    assert (found["user"]["name"], found["user"]["is_admin"]) == ("admin", True)
    assert found["default_cluster"] == "default"
    assert found["config"]["server_external_url"] is None


def test_what_other_users_may_see(run, api, unique):
    name, password = unique("user"), "Simple+1user"
    user = api.post("/v2/users", {"username": name, "password": password, "is_admin": False})
    found = run(MODULE, username=name, password=password)
    api.delete(f"/v2/users/{user['id']}")
    assert (found["user"]["name"], found["user"]["is_admin"]) == (name, False)
    assert found["config"] is None


def test_wrong_credentials(run):
    refused(
        run,
        MODULE,
        "GET /v2/users/me answered 401 (Unauthorized): Invalid authentication credentials. Check username and "
        "password, or api_key. A deactivated user and an expired key look the same.",
        password="Canary_wrong-1",
        status=401,
        code=401,
        reason="Unauthorized",
        endpoint="GET /v2/users/me",
    )


@pytest.mark.parametrize("key", ["version", "user", "default_cluster", "config"])
def test_no_server_in_check_mode(run, key):
    result = run(MODULE, check=True, url="http://127.0.0.1:9")
    assert (result["changed"], result[key], len(result["warnings"])) == (False, None, 1)
