# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import stat

import pytest
from steps import refused

MODULE = "registration_token"
PATH = "/v2/clusters"


@pytest.fixture
def file(tmp_path):
    return tmp_path / "worker.yaml"


@pytest.fixture
def token(server, secrets):
    """No module may show it."""
    return secrets.add(server.registration_token(server.cluster_id))


def content(file):
    comment, _, text = file.read_text().partition("\n")
    assert comment.startswith("#")
    return json.loads(text)


def test_write_and_again(run, file, token):
    options = {"dest": str(file), "cluster": "default", "config": {"worker_name": "h20-01"}, "server_url": "http://h"}
    assert run(MODULE, check=True, **options)["changed"] is True
    assert not file.exists()
    done = run(MODULE, **options)
    assert (done["changed"], done["dest"], done["server_url"]) == (True, str(file), "http://h")
    assert content(file) == {"worker_name": "h20-01", "server_url": "http://h", "token": token}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    for check in (True, False):
        assert run(MODULE, check=check, **options)["changed"] is False
    file.chmod(0o644)
    assert run(MODULE, **options)["changed"] is True
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_token_of_the_right_cluster(run, api, server, file, secrets, unique):
    made = api.post(PATH, {"name": unique("edge"), "provider": "Docker", "server_url": "https://edge.example.com"})
    token = secrets.add(server.registration_token(made["id"]))
    done = run(MODULE, dest=str(file), cluster=made["name"], key="registration")
    message = f"cluster is not set, and {server.url} has {len(api.items(PATH))} clusters"
    assert message in run(MODULE, dest=str(file), ok=False)["msg"]
    api.delete(f"{PATH}/{made['id']}")
    assert done["server_url"] == "https://edge.example.com"
    assert content(file) == {"registration": token, "server_url": "https://edge.example.com"}


@pytest.mark.trap(14)
def test_the_server_tells_the_address_it_was_asked_under(run, server, api, file, token):
    path = f"{PATH}/{server.cluster_id}/registration-token"
    told = api.request("GET", path, headers={"Host": "elsewhere:8080"}).json()
    assert (told["server_url"], told["token"]) == ("http://elsewhere:8080", token)
    assert run(MODULE, dest=str(file), cluster="default")["server_url"] == server.url
    assert run(MODULE, dest=str(file), cluster="default", server_url="http://10.0.0.10")["changed"] is True
    assert content(file)["server_url"] == "http://10.0.0.10"
    configured = {"server_url": "http://10.0.0.11"}
    assert run(MODULE, dest=str(file), cluster="default", config=configured)["server_url"] == "http://10.0.0.11"


def test_no_such_cluster(run, server, file):
    message = (
        f"There is no cluster 'none' on {server.url}. "
        "Make it first with inferops.gpustack.cluster. A new server has none."
    )
    refused(run, MODULE, message, dest=str(file), cluster="none", reason="NotFound")
    assert not file.exists()


def test_token_in_the_configuration(run, file):
    message = "config holds 'token', which this module reads from the server. Remove it from config."
    refused(run, MODULE, message, dest=str(file), config={"token": "x"}, reason="Invalid")


def test_only_administrators_get_it(run, api, file, unique):
    name, password = unique("user"), "Simple+1user"
    user = api.post("/v2/users", {"username": name, "password": password, "is_admin": False})
    result = run(MODULE, dest=str(file), cluster="default", username=name, password=password, ok=False)
    api.delete(f"/v2/users/{user['id']}")
    assert result["failure"]["status"] in (403, None)
    assert not file.exists()
