from __future__ import annotations

import json

import pytest
from ansible_collections.inferops.gpustack.plugins.module_utils import _host
from ansible_collections.inferops.gpustack.plugins.modules import host_facts
from made_engine import ANSWERS, made_engine
from made_tree import DEVICES, MACHINE_ID, made_910b, made_h20, made_host, made_listener, made_pci, made_process, write

# What only the vendor's tool knows of a card.
UNTOLD = {"chips": 1, "name": "", "uuid": "", "card": None, "health": "unknown", "mig": None}


@pytest.fixture
def facts(run_module, tmp_path):
    """Facts of a made host without an engine, unless the arguments say otherwise."""

    def probe(root, **arguments):
        arguments.setdefault("devices", DEVICES)
        arguments.setdefault("engine_socket", str(tmp_path / "no.sock"))
        arguments.setdefault("manifest", str(tmp_path / "no-manifest.json"))
        result = run_module(host_facts, sysroot=str(root), **arguments)
        assert result["changed"] is False
        return result["ansible_facts"]["gpustack_host"]

    return probe


def ids(found):
    return [entry["id"] for entry in found["findings"]]


def test_h20_host(tmp_path, facts):
    found = facts(made_h20(made_host(tmp_path)))
    assert [card["address"][5:7] for card in found["accelerators"]] == ["18", "2a", "3a", "5d", "9a", "ab", "ba", "db"]
    assert found["accelerators"][0] == {
        "vendor": "nvidia",
        "profile": "nvidia_h20_3e",
        "pci_id": "10de:232c",
        "address": "0000:18:00.0",
        "memory_bytes": 151397597184,
        **UNTOLD,
    }
    assert len(found["switches"]) == 4
    assert found["switches"][0] == {"name": "NVSwitch", "pci_id": "10de:22a3", "address": "0000:03:00.0"}
    assert ids(found) == ["nvidia_driver_missing"]


def test_910b_host_counts_no_management_vga_and_no_network_controller(tmp_path, facts):
    found = facts(made_910b(made_host(tmp_path)))
    assert [card["profile"] for card in found["accelerators"]] == ["ascend_910b"] * 8
    assert {card["vendor"] for card in found["accelerators"]} == {"ascend"}
    assert ids(found) == ["ascend_driver_missing"]


def test_host_without_accelerator(tmp_path, facts):
    root = made_host(tmp_path)
    made_pci(root, "0000:00:02.0", "1234", "1111", "030000")
    found = facts(root)
    assert found["accelerators"] == []
    assert found["findings"] == []


def test_virtual_functions_and_further_functions_are_not_counted(tmp_path, facts):
    root = made_host(tmp_path)
    made_pci(root, "0000:18:00.0", "10de", "232c", "030200")
    made_pci(root, "0000:18:00.1", "10de", "232c", "030200")
    made_pci(root, "0000:18:00.4", "10de", "232c", "030200")
    made_pci(root, "0000:18:02.0", "10de", "232c", "030200")
    (root / "sys/bus/pci/devices/0000:18:02.0/physfn").symlink_to("../0000:18:00.0")
    assert [card["address"] for card in facts(root)["accelerators"]] == ["0000:18:00.0"]


def test_unlisted_card_is_reported_with_an_empty_profile(tmp_path, facts):
    root = made_host(tmp_path)
    made_pci(root, "0000:18:00.0", "10de", "2330", "030200")
    found = facts(root)
    assert found["accelerators"] == [
        {
            "vendor": "nvidia",
            "profile": "",
            "pci_id": "10de:2330",
            "address": "0000:18:00.0",
            "memory_bytes": None,
            **UNTOLD,
        }
    ]
    assert ids(found) == ["accelerator_unlisted", "nvidia_driver_missing"]
    assert "0000:18:00.0 (10de:2330, class 0302)" in found["findings"][0]["found"]


def test_garbage_in_the_pci_tree_is_named(tmp_path, facts):
    root = made_h20(made_host(tmp_path))
    write(root, "sys/bus/pci/devices/0000:18:00.0/vendor", b"\xff\xfe\x00")
    (root / "sys/bus/pci/devices/0000:2a:00.0/class").unlink()
    (root / "sys/bus/pci/devices/lost+found").mkdir()
    found = facts(root)
    assert len(found["accelerators"]) == 6
    assert ids(found) == ["pci_unreadable", "nvidia_driver_missing"]
    assert found["findings"][0]["found"].endswith("0000:18:00.0, 0000:2a:00.0, lost+found")


def test_identity_of_a_host(tmp_path, facts):
    found = facts(made_host(tmp_path))
    assert found["os"] == {
        "id": "debian",
        "version_id": "12",
        "major": 12,
        "family": "debian",
        "pretty": "Debian GNU/Linux 12 (bookworm)",
    }
    assert (found["architecture"], found["kernel"]) == ("x86_64", "6.1.0-28-amd64")
    assert found["machine_id"] == MACHINE_ID
    assert found["memory_bytes"] == 2147483648


@pytest.mark.parametrize(
    ("os_release", "family", "major"),
    [
        ('ID=ubuntu\nID_LIKE=debian\nVERSION_ID="24.04"\n', "debian", 24),
        ('ID="rocky"\nID_LIKE="rhel centos fedora"\nVERSION_ID="9.4"\n', "redhat", 9),
        ('ID="anolis"\nID_LIKE="rhel fedora centos"\nVERSION_ID="8.9"\n', "redhat", 8),
        ('ID="opensuse-leap"\nID_LIKE="suse opensuse"\nVERSION_ID="15.6"\n', "suse", 15),
        ('ID="openEuler"\nVERSION_ID="22.03"\n', "openeuler", 22),
        ('ID="kylin"\nVERSION_ID="V10"\n', "openeuler", 10),
        ("ID=kylin\nID_LIKE=debian\nVERSION_ID=v10\n", "debian", 10),
        ("ID=arch\n", "unknown", None),
        (f"ID=debian\nVERSION_ID={'9' * 5000}.1\n", "debian", None),
    ],
)
def test_family(tmp_path, facts, os_release, family, major):
    found = facts(made_host(tmp_path, os_release))
    assert (found["os"]["family"], found["os"]["major"]) == (family, major)
    assert ids(found) == (["os_family_unknown"] if family == "unknown" else [])


def test_empty_tree_gives_findings_and_no_failure(tmp_path, facts):
    root = tmp_path / "empty"
    root.mkdir()
    found = facts(root)
    assert ids(found) == ["os_unidentified", "machine_id_invalid", "memory_unknown", "ports_unreadable"]
    assert found["accelerators"] == found["ports"] == found["manifest"]["entries"] == []
    assert found["engine"]["present"] is False
    assert found["memory_bytes"] is None


def test_garbage_everywhere_gives_findings_and_no_failure(tmp_path, facts):
    root = tmp_path / "garbage"
    for path in ("etc/os-release", "etc/machine-id", "proc/meminfo", "proc/net/tcp", "proc/net/tcp6"):
        write(root, path, b"\x00\xff ID='unclosed\nID= \x80\n")
    manifest = tmp_path / "manifest.json"
    manifest.write_text("[]")
    found = facts(root, manifest=str(manifest))
    assert ids(found) == [
        "os_unidentified",
        "machine_id_invalid",
        "memory_unknown",
        "ports_unreadable",
        "manifest_broken",
    ]
    assert manifest.read_text() == "[]"


def test_every_finding_has_the_common_shape(tmp_path, facts):
    root = tmp_path / "empty"
    root.mkdir()
    for entry in facts(root)["findings"]:
        assert list(entry) == ["id", "severity", "where", "found", "expected", "fix", "source"]
        assert entry["severity"] in ("error", "warning", "note")
        assert entry["fix"]


def test_tree_may_link_what_it_does_not_record(tmp_path, facts):
    recorded, real = tmp_path / "recorded", made_host(tmp_path / "real")
    made_h20(recorded)
    (recorded / "proc").symlink_to(real / "proc")
    (recorded / "etc").symlink_to(real / "etc")
    found = facts(recorded)
    assert (len(found["accelerators"]), found["os"]["id"]) == (8, "debian")


def test_wsl_hides_the_card(tmp_path, facts):
    root = made_host(tmp_path)
    write(root, "proc/sys/kernel/osrelease", "5.15.167.4-microsoft-standard-WSL2\n")
    assert ids(facts(root)) == ["accelerator_hidden_by_wsl"]


def test_manifest_entries_are_facts(tmp_path, facts):
    entry = {"kind": "container", "name": "gpustack-worker", "by": "worker"}
    manifest = tmp_path / "manifest.json"
    manifest.write_text(json.dumps({"version": 1, "entries": [entry]}))
    assert facts(made_host(tmp_path / "host"), manifest=str(manifest))["manifest"] == {"entries": [entry]}


@pytest.mark.parametrize(("name", "expected"), [("json", True), ("no_such_module", False), ("no_such.module", False)])
def test_module_of_the_interpreter(name, expected):
    assert _host.importable(name) is expected


def test_requests_is_the_module_that_is_looked_up(tmp_path, facts, monkeypatch):
    monkeypatch.setattr(_host, "importable", lambda name: name == "requests")
    assert facts(made_host(tmp_path))["python_modules"] == {"requests": True}


def test_engine_and_ports_meet_in_one_run(tmp_path, facts):
    root = made_host(tmp_path / "host")
    made_listener(root, "00000000", 80, 11)
    made_process(root, 812, "docker-proxy", [11])
    with made_engine(tmp_path / "engine.sock", ANSWERS):
        found = facts(root, engine_socket=str(tmp_path / "engine.sock"))
    assert found["engine"]["version"] == "28.1.1"
    assert found["ports"] == [
        {"port": 80, "address": "0.0.0.0", "process": "docker-proxy", "pid": 812, "container": "gpustack-server"},
        {"port": 5000, "address": "127.0.0.1", "process": "", "pid": None, "container": "registry"},
    ]


@pytest.mark.parametrize(
    ("answers", "requests", "manageable"), [(True, True, True), (True, False, False), (False, True, False)]
)
def test_an_engine_is_manageable_when_it_answers_and_python_can_ask(
    tmp_path, facts, monkeypatch, answers, requests, manageable
):
    monkeypatch.setattr(_host, "importable", lambda name: requests)
    with made_engine(tmp_path / "engine.sock", ANSWERS):
        socket = tmp_path / ("engine.sock" if answers else "no.sock")
        found = facts(made_host(tmp_path / "host"), engine_socket=str(socket))
    assert found["engine"]["manageable"] is manageable


def test_check_mode_reads_all_the_same(tmp_path, run_module):
    result = run_module(
        host_facts,
        check=True,
        sysroot=str(made_h20(made_host(tmp_path))),
        engine_socket="/nonexistent",
        devices=DEVICES,
    )
    assert len(result["ansible_facts"]["gpustack_host"]["accelerators"]) == 8


def test_checkpoints_are_read_and_not_judged(tmp_path, facts):
    model, gone = tmp_path / "model", str(tmp_path / "gone")
    write(model, "config.json", '{"model_type": "qwen3", "num_hidden_layers": 36}')
    write(model, "model.safetensors.index.json", '{"weight_map": {"a": "model-1.safetensors"}}')
    found = facts(made_host(tmp_path / "host"), checkpoints=[str(model), gone])
    assert list(found["checkpoints"]) == [str(model), gone]
    assert found["checkpoints"][str(model)]["config"] == {"model_type": "qwen3", "num_hidden_layers": 36}
    assert found["checkpoints"][str(model)]["tensors"] == 1
    assert found["checkpoints"][gone]["problem"] == f"{gone}: No such file or directory"
    assert found["findings"] == []


def test_no_checkpoint_is_read_unasked(tmp_path, facts):
    assert facts(made_host(tmp_path))["checkpoints"] == {}
