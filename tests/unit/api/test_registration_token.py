# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import os
import stat

import pytest
import yaml
from api_playback import recorded

(TOKEN,) = recorded("registration_token")
CLUSTER = recorded("cluster")[2]
SECRET = "gpustack_0000000000000000_00000000000000000000000000000000"
URL = "http://10.0.0.10"


@pytest.fixture
def playing(server):
    server.play(CLUSTER, TOKEN)
    return server


@pytest.fixture
def dest(tmp_path):
    return tmp_path / "gpustack" / "worker.yaml"


def mode_of(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def test_writes_the_file(playing, run, dest):
    result = run("registration_token", cluster="lab", dest=str(dest), server_url=URL, config={"worker_ip": "10.0.0.21"})
    assert yaml.safe_load(dest.read_text()) == {"token": SECRET, "server_url": URL, "worker_ip": "10.0.0.21"}
    assert dest.read_text().startswith("# Managed by inferops.gpustack")
    assert mode_of(dest) == 0o600
    assert mode_of(dest.parent) == 0o700
    assert os.listdir(dest.parent) == ["worker.yaml"]
    assert result["changed"] is True
    # Ansible adds what it sees of the file at dest.
    of_ansible = {"invocation", "diff", "warnings", "size", "state", "uid", "gid", "owner", "group", "mode"}
    returned = set(result) - of_ansible
    assert returned == {"changed", "dest", "server_url"}
    assert (result["dest"], result["server_url"]) == (str(dest), URL)


def test_token_is_nowhere_in_the_result(playing, run, dest):
    config = {"huggingface_token": "canary-hf", "nested": {"admin_password": "canary-pw"}, "database_key": ""}
    for _ in range(2):
        result = run("registration_token", cluster="lab", dest=str(dest), config=config)
        text = json.dumps(result)
        assert SECRET not in text
        assert "canary" not in text


def test_second_run_changes_nothing(playing, run, dest):
    options = {"cluster": "lab", "dest": str(dest), "server_url": URL, "config": {"worker_port": 10150, "debug": False}}
    run("registration_token", **options)
    before = os.stat(dest)
    result = run("registration_token", **options)
    assert result["changed"] is False
    assert (os.stat(dest).st_ino, os.stat(dest).st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_layout_of_the_file_does_not_count(playing, run, dest):
    dest.parent.mkdir()
    dest.write_text(json.dumps({"token": SECRET, "server_url": URL}))
    dest.chmod(0o600)
    assert run("registration_token", cluster="lab", dest=str(dest), server_url=URL)["changed"] is False


def test_mode_counts(playing, run, dest):
    options = {"cluster": "lab", "dest": str(dest), "server_url": URL}
    run("registration_token", **options)
    dest.chmod(0o644)
    result = run("registration_token", **options)
    assert result["changed"] is True
    assert (result["diff"]["before"]["mode"], result["diff"]["after"]["mode"]) == ("0644", "0600")
    assert mode_of(dest) == 0o600


@pytest.mark.parametrize("text", ["token: old\n", "", "[1]", "{"])
def test_file_that_is_not_ours_is_replaced(playing, run, dest, text):
    dest.parent.mkdir()
    dest.write_text(text)
    assert run("registration_token", cluster="lab", dest=str(dest), server_url=URL)["changed"] is True
    assert yaml.safe_load(dest.read_text())["token"] == SECRET


def test_new_token_shows_as_a_change_only(playing, run, dest):
    dest.parent.mkdir()
    dest.write_text(json.dumps({"token": "canary-old", "server_url": URL}))
    dest.chmod(0o600)
    result = run("registration_token", cluster="lab", dest=str(dest), server_url=URL)
    assert result["diff"]["before"]["content"]["token"] != result["diff"]["after"]["content"]["token"]
    assert "canary" not in json.dumps(result)


def test_another_key(playing, run, dest):
    result = run("registration_token", cluster="lab", dest=str(dest), key="registration")
    assert yaml.safe_load(dest.read_text())["registration"] == SECRET
    assert SECRET not in json.dumps(result)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"server_url": URL, "config": {"server_url": "http://other"}}, URL),
        ({"config": {"server_url": "http://other"}}, "http://other"),
        ({}, "http://127.0.0.1:18081"),
    ],
)
def test_server_url(playing, run, dest, options, expected):
    result = run("registration_token", cluster="lab", dest=str(dest), **options)
    assert result["server_url"] == expected
    assert yaml.safe_load(dest.read_text())["server_url"] == expected


def test_config_must_not_hold_the_token(playing, run, dest):
    result = run("registration_token", cluster="lab", dest=str(dest), config={"token": "mine"})
    assert "config holds 'token'" in result["msg"]
    assert not dest.exists()


def test_dest_is_a_directory(playing, run, dest):
    dest.mkdir(parents=True)
    assert "is no plain file" in run("registration_token", cluster="lab", dest=str(dest))["msg"]


def test_check_mode_writes_nothing(playing, run, dest):
    result = run("registration_token", check=True, cluster="lab", dest=str(dest))
    assert result["changed"] is True
    assert not dest.parent.exists()


def test_check_mode_without_a_server(run, dest):
    options = {"url": "http://127.0.0.1:9", "cluster": "lab", "dest": str(dest)}
    result = run("registration_token", check=True, **options)
    assert result["changed"] is True
    assert "does not answer" in result["warnings"][0]


def test_check_mode_without_a_server_keeps_an_existing_file(playing, run, dest):
    options = {"cluster": "lab", "dest": str(dest), "server_url": URL, "config": {"worker_ip": "10.0.0.21"}}
    run("registration_token", **options)
    gone = dict(options, url="http://127.0.0.1:9")
    assert run("registration_token", check=True, **gone)["changed"] is False
    gone["config"] = {"worker_ip": "10.0.0.22"}
    assert run("registration_token", check=True, **gone)["changed"] is True


def test_missing_cluster(server, run, dest):
    server.on("GET", "/v2/clusters", {"items": [], "pagination": {"totalPage": 0}})
    result = run("registration_token", cluster="lab", dest=str(dest))
    assert "no cluster 'lab'" in result["msg"]
    assert run("registration_token", check=True, cluster="lab", dest=str(dest))["changed"] is True


def test_a_text_in_place_of_a_dictionary_shows_no_secret(run, tmp_path):
    result = run("registration_token", dest=str(tmp_path / "c.yaml"), config="huggingface_token: CanaryHf-1")
    assert result["failed"] is True
    assert "CanaryHf" not in json.dumps(result["invocation"])
