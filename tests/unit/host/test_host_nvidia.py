"""NVIDIA cards that are ill, half installed, or reported in words that are no values."""

from __future__ import annotations

import time

import pytest
from ansible_collections.inferops.gpustack.plugins.module_utils import _nvidia_smi
from made_machine import Tree, ids, nvidia, probe
from made_tree import write

L40S = {"address": "0000:01:00.0", "device": "26b9", "name": "NVIDIA L40S", "memory": 46068}
RECORD = nvidia.KERNEL_RECORD
REMAPPED = nvidia.REMAPPED


def host(directory, *cards, **driver):
    tree = Tree(directory)
    options = {"version": "580.95.05", "cuda": "13.0", **driver}
    nvidia.driver(tree, list(cards) or [nvidia.card(**L40S)], **options)
    return tree


def answering(tree, text, code=0):
    tree.tool("usr/bin/nvidia-smi", {"-q -x": text}, codes={"-q -x": code})


@pytest.mark.parametrize(
    ("told", "health", "kind"),
    [
        ({"remapped": REMAPPED.format(pending="Yes", failure="No")}, "warning", "nvidia_card_degraded"),
        ({"remapped": REMAPPED.format(pending="Yes", failure="Yes")}, "error", "nvidia_card_unhealthy"),
        ({"ecc": "3"}, "warning", "nvidia_card_degraded"),
        ({"remapped": "<gpu_recovery_action>Reset</gpu_recovery_action>"}, "error", "nvidia_card_unhealthy"),
        ({"remapped": "<gpu_recovery_action>Drain P2P</gpu_recovery_action>"}, "warning", "nvidia_card_degraded"),
        (
            {"remapped": "<gpu_reset_status><reset_required>Yes</reset_required></gpu_reset_status>"},
            "error",
            "nvidia_card_unhealthy",
        ),
    ],
)
def test_ill_cards(tmp_path, told, health, kind):
    host(tmp_path, nvidia.card(**L40S, **told), nvidia.card(**dict(L40S, address="0000:25:00.0")))
    found = probe(tmp_path)
    assert [card["health"] for card in found["accelerators"]] == [health, "ok"]
    assert kind in ids(found)
    assert all(finding["found"].startswith("0000:01:00.0: ") for finding in found["findings"])


def test_words_of_a_card_that_reports_nothing(tmp_path):
    words = {
        "ecc": "N/A",
        "remapped": "<remapped_rows>N/A</remapped_rows><gpu_recovery_action>N/A</gpu_recovery_action>"
        "<gpu_reset_status><reset_required>Requested functionality has been deprecated</reset_required>"
        "</gpu_reset_status>",
        "persistence": "[Unknown Error]",
        "mig": "[Not Supported]",
    }
    host(tmp_path, nvidia.card(**dict(L40S, name="[Unknown Error]", **words)))
    found = probe(tmp_path)
    card = found["accelerators"][0]
    assert (card["name"], card["health"], card["mig"]) == ("", "ok", False)
    assert found["drivers"]["nvidia"]["persistence"] is None
    assert ids(found) == []


def test_a_card_that_left_the_bus(tmp_path):
    tree = host(tmp_path)
    tree.pci("0000:25:00.0", "10de", "26b9", "030200")
    tree.write("dev/kmsg", RECORD.format(number=1, microseconds=1, bus="0000:25:00", xid=79))
    found = probe(tmp_path)
    assert ids(found) == ["nvidia_card_lost", "nvidia_xid"]
    assert found["findings"][0]["found"] == "1 of 2 cards are missing: 0000:25:00.0"
    assert [card["health"] for card in found["accelerators"]] == ["ok", "unknown"]
    assert found["drivers"]["nvidia"]["xids"] == [{"address": "0000:25:00", "xid": 79}]


def test_a_card_given_to_a_virtual_machine_is_not_lost(tmp_path):
    tree = host(tmp_path)
    tree.pci("0000:25:00.0", "10de", "26b9", "030200")
    (tmp_path / "sys/bus/pci/devices/0000:25:00.0/driver").symlink_to("../../../bus/pci/drivers/vfio-pci")
    assert ids(probe(tmp_path)) == []


def test_only_the_kernels_own_lines_tell_of_faults(tmp_path):
    tree = host(tmp_path)
    records = [
        RECORD.format(number=1, microseconds=1, bus="0000:01:00", xid=48),
        RECORD.format(number=2, microseconds=2, bus="0000:01:00", xid=48),
        RECORD.format(number=3, microseconds=3, bus="0000:01:00", xid=13),
        # Written by a user: the priority's upper bits say so.
        RECORD.replace("4,", "12,", 1).format(number=4, microseconds=4, bus="0000:01:00", xid=95),
        "4,5,5,-;somebody said NVRM: Xid (PCI:0000:01:00): 64\n",
        "garbage\n",
    ]
    tree.write("dev/kmsg", "".join(records))
    found = probe(tmp_path)
    assert [xid["xid"] for xid in found["drivers"]["nvidia"]["xids"]] == [13, 48]
    assert found["findings"][0]["found"] == "0000:01:00: Xid 48"
    assert found["accelerators"][0]["health"] == "warning"


@pytest.mark.parametrize(
    "text", ["", "no report", "<nvidia_smi_log><gpu></nvidia_smi_log>", "<nvidia_smi_log>", "\x00"]
)
def test_garbage_is_said_and_survived(tmp_path, text):
    answering(host(tmp_path), text)
    found = probe(tmp_path)
    assert ids(found) == ["vendor_tool_garbled"]
    assert found["accelerators"][0]["memory_bytes"] == 51539607552
    assert found["drivers"]["nvidia"]["userspace"] == ""


@pytest.mark.parametrize("word", ["<?xml ", "<!DOCTYPE ", "<nvidia_smi_log>", "</nvidia_smi_log>", "1"])
def test_megabytes_of_garbage_take_no_time(word):
    text = word * (3_000_000 // len(word))
    started = time.monotonic()
    assert _nvidia_smi.parse(text) is None
    assert len(_nvidia_smi.remarks(text)) <= 300
    assert time.monotonic() - started < 1


def test_numbers_too_long_to_be_true_are_unknown():
    digits = "9" * 5000
    (gpu,) = _nvidia_smi.parse(
        f"<nvidia_smi_log><driver_version>{digits}.1</driver_version><gpu id='0000:01:00.0'>"
        f"<fb_memory_usage><total>{digits} MiB</total></fb_memory_usage>"
        f"<ecc_errors><volatile><dram_uncorrectable>{digits}</dram_uncorrectable>"
        "<sram_uncorrectable>²</sram_uncorrectable></volatile></ecc_errors></gpu></nvidia_smi_log>"
    )["gpus"]
    assert (gpu["memory_bytes"], gpu["faults"], gpu["warnings"]) == (None, [], [])


def test_a_fault_whose_number_is_too_long_is_none(tmp_path):
    tree = host(tmp_path)
    long = RECORD.format(number=1, microseconds=1, bus="0000:01:00", xid="9" * 5000)
    known = RECORD.format(number=2, microseconds=2, bus="0000:01:00", xid=13)
    tree.write("dev/kmsg", long + "9" * 5000 + known + known)
    assert [xid["xid"] for xid in probe(tmp_path)["drivers"]["nvidia"]["xids"]] == [13]


def test_a_report_without_the_usual_tags(tmp_path):
    answering(host(tmp_path), '<nvidia_smi_log><gpu id="nonsense"><uuid>?</uuid></gpu><gpu/></nvidia_smi_log>')
    found = probe(tmp_path)
    assert ids(found) == ["nvidia_card_lost"]
    assert found["accelerators"][0]["uuid"] == ""


def test_remarks_around_the_report_do_not_hide_it(tmp_path):
    remark = "WARNING: infoROM is corrupted at gpu 0000:01:00.0"
    assert _nvidia_smi.remarks(f"one {nvidia.report([], '580.95.05', '13.0')} two") == "one two"
    tree = host(tmp_path)
    answering(tree, nvidia.report([nvidia.card(**L40S)], "580.95.05", "13.0") + remark + "\n", code=14)
    found = probe(tmp_path)
    assert found["accelerators"][0]["uuid"].startswith("GPU-")
    assert [(entry["id"], entry["severity"], entry["found"]) for entry in found["findings"]] == [
        ("vendor_tool_fails", "warning", remark)
    ]


def test_a_tool_that_fails_over_a_loaded_driver(tmp_path):
    answering(host(tmp_path), "Unable to determine the device handle for GPU0: Unknown Error\n", code=15)
    found = probe(tmp_path)
    assert ids(found) == ["vendor_tool_fails"]
    assert "exit status 15, Unable to determine" in found["findings"][0]["found"]


def test_a_driver_that_waits_for_its_first_load(tmp_path):
    tree = Tree(tmp_path)
    tree.pci("0000:01:00.0", "10de", "26b9", "030200")
    nvidia.installed(tree, "580.95.05")
    answering(tree, "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n", code=9)
    found = probe(tmp_path)
    assert ids(found) == ["nvidia_driver_not_loaded"]
    assert (found["drivers"]["nvidia"]["installed"], found["drivers"]["nvidia"]["flavour"]) == ("580.95.05", "open")
    assert found["reboot"]["reasons"] == []


def test_a_module_without_its_tools(tmp_path):
    tree = Tree(tmp_path)
    tree.pci("0000:01:00.0", "10de", "26b9", "030200")
    nvidia.loaded(tree, "580.95.05")
    assert ids(probe(tmp_path)) == ["vendor_tool_missing"]


def test_tools_of_an_image_on_a_host_without_a_card(tmp_path):
    answering(Tree(tmp_path), "No devices were found\n", code=6)
    found = probe(tmp_path)
    assert ids(found) == []
    assert found["drivers"]["nvidia"]["loaded"] == ""


@pytest.mark.parametrize(
    ("version", "running", "state", "kind"),
    [
        ("580.82.07", True, "Completed", ["nvidia_fabric_manager_version"]),
        ("580.95.05", False, "In Progress", ["nvidia_fabric_manager_stopped"]),
        ("580.95.05", True, "Not Started", ["nvidia_fabric_manager_stopped"]),
        ("580.95.05", True, "Completed", []),
    ],
)
def test_fabric_manager(tmp_path, version, running, state, kind):
    tree = host(tmp_path, *nvidia.board("2335", "NVIDIA H200", 143771, fabric=state, status="Success"))
    nvidia.switches(tree, "22a3")
    tree.tool("usr/bin/nv-fabricmanager", {"--version": f"Fabric Manager version is : {version}\n"})
    if running:
        tree.process(77, "nv-fabricmanage")
    assert ids(probe(tmp_path)) == kind


def test_one_card_outside_the_fabric_is_what_counts(tmp_path):
    cards = nvidia.board("2335", "NVIDIA H200", 143771)
    cards[5]["status"] = "Insufficient Resources"
    tree = host(tmp_path, *cards)
    nvidia.switches(tree, "22a3")
    nvidia.fabric_manager(tree, "580.95.05")
    found = probe(tmp_path)
    assert found["drivers"]["nvidia"]["fabric_manager"]["state"] == "insufficient resources"
    assert ids(found) == ["nvidia_fabric_manager_stopped"]


def test_switches_wait_for_a_driver(tmp_path):
    tree = Tree(tmp_path)
    tree.pci("0000:18:00.0", "10de", "2335", "030200")
    nvidia.switches(tree, "22a3")
    assert ids(probe(tmp_path)) == ["nvidia_driver_missing"]


def test_wsl_without_a_driver_in_windows(tmp_path):
    Tree(tmp_path, kernel="6.6.87.2-microsoft-standard-WSL2")
    found = probe(tmp_path)
    assert (found["wsl"], found["drivers"]["nvidia"], ids(found)) == (True, None, ["accelerator_hidden_by_wsl"])


def test_wsl_card_that_no_table_lists(tmp_path):
    tree = Tree(tmp_path, kernel="6.6.87.2-microsoft-standard-WSL2")
    report = nvidia.report([nvidia.geforce("0000:01:00.0", "beef", "NVIDIA GeForce", 8192)], "581.29", "13.0")
    tree.tool("usr/lib/wsl/lib/nvidia-smi", {"-q -x": report})
    found = probe(tmp_path)
    assert [(card["vendor"], card["pci_id"]) for card in found["accelerators"]] == [("nvidia", "10de:beef")]
    assert ids(found) == ["accelerator_unlisted"]


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("00000000:18:00.0", "0000:18:00.0"),
        ("0000000F:01:00.0", "000f:01:00.0"),
        ("00010000:AB:1F.0", "10000:ab:1f.0"),
        ("0000:18:00.0", "0000:18:00.0"),
        ("N/A", ""),
        ("", ""),
    ],
)
def test_addresses(text, address):
    assert _nvidia_smi.address(text) == address


def test_older_drivers_count_memory_errors_elsewhere():
    log = """<nvidia_smi_log><gpu id="00000000:01:00.0">
        <ecc_errors><volatile><double_bit><total>2</total></double_bit></volatile></ecc_errors>
        <retired_pages><pending_blacklist>Yes</pending_blacklist></retired_pages></gpu></nvidia_smi_log>"""
    assert _nvidia_smi.parse(log)["gpus"][0]["warnings"] == [
        "a memory page is retired at the next reset",
        "2 uncorrectable memory errors since the driver was loaded",
    ]


def test_a_hanging_modinfo_leaves_no_time_for_nvidia_smi(tmp_path):
    host(tmp_path)
    write(tmp_path, "usr/sbin/modinfo", "#!/bin/sh\nsleep 300\n")
    found = probe(tmp_path, timeout=1)
    assert ids(found) == ["vendor_tool_hangs", "vendor_tool_hangs"]
    assert "modinfo" in found["findings"][0]["found"] and "not started" in found["findings"][1]["found"]
