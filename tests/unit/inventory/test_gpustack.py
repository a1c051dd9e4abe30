# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The inventory plugin against a server that plays back two workers."""

from __future__ import annotations

import pathlib

import pytest
import yaml
from ansible.errors import AnsibleOptionsError, AnsibleParserError
from ansible.inventory.data import InventoryData
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.loader import fragment_loader, inventory_loader
from unit.api.api_playback import Playback

PLUGINS = pathlib.Path(__file__).parents[3] / "plugins"
NAME = "inferops.gpustack.gpustack"
DEVICE = {"vendor": "nvidia", "name": "NVIDIA H20-3e", "memory": {"total": 151397597184}}
WORKERS = [
    {
        "id": 2,
        "name": "h20-01",
        "ip": "10.0.0.21",
        "port": 10150,
        "cluster_id": 1,
        "state": "ready",
        "state_message": None,
        "worker_version": "2.3.0",
        "labels": {"os": "linux", "gpustack-accelerator": "nvidia_h20_3e", "worker-name": "h20-01", "rack": "a/7"},
        "status": {"gpu_devices": [DEVICE, DEVICE]},
        "token": "must-not-be-seen",
    },
    {"id": 1, "name": "cpu-01", "ip": "10.0.0.20", "port": 10150, "cluster_id": 1, "state": "not_ready", "labels": {}},
]


def plugin():
    # By its directory: a collection that was imported as a Python package has no metadata for Ansible's loader.
    inventory_loader.add_directory(str(PLUGINS / "inventory"))
    found = inventory_loader.get("gpustack")
    found._redirected_names = [NAME]
    return found


@pytest.fixture(autouse=True)
def fragments(monkeypatch):
    """Of the documentation, which Ansible looks for in a collection that it has loaded itself."""
    fragment_loader.add_directory(str(PLUGINS / "doc_fragments"))
    get = fragment_loader.get
    monkeypatch.setattr(fragment_loader, "get", lambda name: get(name.replace("inferops.gpustack.", "")))


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch):
    for name in ("GPUSTACK_URL", "GPUSTACK_PASSWORD", "GPUSTACK_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def server():
    playback = Playback()
    playback.on("GET", "/v2/workers", {"items": WORKERS, "pagination": {"totalPage": 1}})
    playback.on("GET", "/v2/clusters", {"items": [{"id": 1, "name": "lab"}], "pagination": {"totalPage": 1}})
    yield playback
    playback.close()


@pytest.fixture
def read(server, tmp_path):
    def call(may_read_cache=True, **options):
        path = tmp_path / "gpustack.yml"
        options = {"plugin": NAME, "url": server.url, "password": "Fixture.1pass", **options}
        path.write_text(yaml.safe_dump({key: value for key, value in options.items() if value is not None}))
        inventory = InventoryData()
        source = plugin()
        source.parse(inventory, DataLoader(), str(path), may_read_cache)
        if options.get("cache"):
            source.update_cache_if_changed()
        inventory.reconcile_inventory()
        return inventory

    return call


def groups_of(inventory, host):
    return sorted(str(one) for one in inventory.hosts[host].get_groups() if str(one) not in ("all", "ungrouped"))


def test_a_host_of_each_worker(read):
    inventory = read()
    assert sorted(inventory.hosts) == ["cpu-01", "h20-01"]
    variables = inventory.hosts["h20-01"].get_vars()
    assert variables["ansible_host"] == "10.0.0.21"
    assert variables["gpustack_worker"] == {
        "id": 2,
        "name": "h20-01",
        "ip": "10.0.0.21",
        "port": 10150,
        "cluster": "lab",
        "state": "ready",
        "state_message": None,
        "maintenance": {"enabled": False, "reason": None},
        "version": "2.3.0",
        "labels": WORKERS[0]["labels"],
        "accelerators": [{"vendor": "nvidia", "name": "NVIDIA H20-3e", "memory_bytes": 151397597184, "count": 2}],
    }


def test_groups(read):
    inventory = read()
    assert groups_of(inventory, "h20-01") == [
        "accelerator_nvidia_h20_3e",
        "label_gpustack_accelerator_nvidia_h20_3e",
        "label_os_linux",
        "label_rack_a_7",
        "state_ready",
        "vendor_nvidia",
    ]
    assert groups_of(inventory, "cpu-01") == ["state_not_ready"]


def test_groups_that_are_asked_for(read):
    inventory = read(
        group_by=["state"],
        strict=True,
        keyed_groups=[{"key": "gpustack_worker.cluster", "prefix": "cluster"}],
        groups={"with_cards": "gpustack_worker.accelerators | length > 0"},
        compose={"cards": "gpustack_worker.accelerators | map(attribute='count') | sum"},
        set_ansible_host=False,
    )
    assert groups_of(inventory, "h20-01") == ["cluster_lab", "state_ready", "with_cards"]
    assert inventory.hosts["h20-01"].get_vars()["cards"] == 2
    assert "ansible_host" not in inventory.hosts["h20-01"].get_vars()


def test_a_worker_without_cards_and_labels_is_no_mistake(read):
    assert groups_of(read(strict=True), "cpu-01") == ["state_not_ready"]


def test_password_and_url_from_the_environment(server, read, monkeypatch):
    monkeypatch.setenv("GPUSTACK_URL", server.url)
    monkeypatch.setenv("GPUSTACK_PASSWORD", "Fixture.1pass")
    assert len(read(url=None, password=None).hosts) == 2


def test_api_key_goes_before_the_password(server, read):
    read(api_key="gpustack_1_2")
    assert {headers["Authorization"] for *_, headers in server.requests} == {"Bearer gpustack_1_2"}


def test_cache(server, read, tmp_path):
    cached = {"cache": True, "cache_plugin": "jsonfile", "cache_connection": str(tmp_path / "cache")}
    for _ in range(2):
        assert len(read(**cached).hosts) == 2
    assert len(server.requests) == 2
    kept = "".join(one.read_text() for one in (tmp_path / "cache").iterdir())
    assert "h20-01" in kept
    assert "must-not-be-seen" not in kept
    assert "Fixture.1pass" not in kept
    # What --flush-cache does.
    read(may_read_cache=False, **cached)
    assert len(server.requests) == 4


@pytest.mark.parametrize("options", [{"password": None}, {"password": None, "api_key": ""}, {"password": ""}])
def test_no_credentials(server, read, options):
    with pytest.raises(AnsibleParserError, match=r"Neither password nor api_key is set\. Set one of them"):
        read(**options)
    assert server.requests == []


def test_wrong_password(server, read):
    server.answers.clear()
    server.on("GET", "/v2/clusters", {"code": 401, "reason": "Unauthorized", "message": "Invalid"}, status=401)
    with pytest.raises(AnsibleParserError, match=r"answered 401 \(Unauthorized\): Invalid\. Check username") as caught:
        read()
    assert "Fixture.1pass" not in str(caught.value)


def test_no_server(server, read):
    server.close()
    with pytest.raises(AnsibleParserError, match="does not answer GET /v2/clusters"):
        read()


@pytest.mark.parametrize("options", [{"group_by": ["rack"]}, {"timeout": "soon"}])
def test_options_are_checked(read, options):
    with pytest.raises(AnsibleOptionsError, match=next(iter(options))):
        read(**options)


@pytest.mark.parametrize(
    ("name", "taken"),
    [("gpustack.yml", True), ("site.gpustack.yaml", True), ("hosts.yml", False), ("gpustack.json", False)],
)
def test_files_it_reads(tmp_path, name, taken):
    path = tmp_path / name
    path.write_text("plugin: x")
    assert plugin().verify_file(str(path)) is taken
