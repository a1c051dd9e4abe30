"""npu-smi's layouts, with values that are made up; the sources of the layouts are in fixtures/machines/ascend.py."""

from __future__ import annotations

import time

import pytest
from ansible_collections.inferops.gpustack.plugins.module_utils import _npu_smi
from ansible_collections.inferops.gpustack.plugins.module_utils._ascend import read_ascend
from ansible_collections.inferops.gpustack.plugins.module_utils._pci import scan
from ansible_collections.inferops.gpustack.plugins.module_utils._sysroot import Sysroot
from ansible_collections.inferops.gpustack.plugins.module_utils._tools import Tools
from fixtures.machines.make import MACHINES

A2 = """
+------------------------------------------------------------------------------------------------+
| npu-smi 25.5.1                   Version: 25.5.1                                               |
+---------------------------+---------------+----------------------------------------------------+
| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |
+===========================+===============+====================================================+
| 0     910B3               | OK            | 91.5        40                0    / 0             |
| 0                         | 0000:C1:00.0  | 0           0    / 0          3001 / 65536         |
+===========================+===============+====================================================+
| 5     910B4-1             | Warning       | 90.5        40                0    / 0             |
| 0                         | 0000:02:00.0  | 12          0    / 0          60001/ 65536         |
+===========================+===============+====================================================+
+---------------------------+---------------+----------------------------------------------------+
| NPU     Chip              | Process id    | Process name             | Process memory(MB)      |
+===========================+===============+====================================================+
| No running processes found in NPU 0                                                            |
+===========================+===============+====================================================+
| 5       0                 | 1234567       | VLLMEngineCore           | 56000                   |
+===========================+===============+====================================================+
"""
A3 = """
| npu-smi 24.1.rc3.7               Version: 24.1.rc3.7                                           |
| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
| Chip  Phy-ID              | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |
| 0     Ascend910           | OK            | 170.5       40                0    / 0             |
| 0     0                   | 0000:9D:00.0  | 0           0    / 0          3001 / 65536         |
+------------------------------------------------------------------------------------------------+
| 0     Ascend910           | Critical      | -           40                0    / 0             |
| 1     1                   | 0000:9F:00.0  | 0           0    / 0          3002 / 65536         |
"""
INFERENCE_310P = """
| npu-smi 24.1.rc2                                 Version: 24.1.rc2                                     |
| NPU     Name                  | Health          | Power(W)     Temp(C)           Hugepages-Usage(page) |
| Chip    Device                | Bus-Id          | AICore(%)    Memory-Usage(MB)                        |
| 1       310P3                 | OK              | NA           40                0     / 0             |
| 0       0                     | 0000:01:00.0    | 0            1001 / 44280                            |
+===============================+=================+======================================================+
| 32768   310P3                 | OK              | NA           40                8000  / 8000          |
| 0       2                     | 0000:81:00.0    | 0            19001/ 21527                            |
"""
FIRST_910 = """
| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
| Chip  Device              | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |
| 0     910ProB             | OK            | 70.5        40                15   / 15            |
| 0     0                   | 0000:61:00.0  | 0           2001 / 15137      0    / 32768         |
"""
ASCEND_950 = """
| npu-smi 25.7.rc1.6                               Version: 25.7.rc1.6                            |
+--------+------------------+---------------+-----------------------------------------------------+
| NPU ID | Name             | Health        | Power(W)    Temp(C)           Hugepages-Usage(page) |
|        |                  | Bus-Id        | NPU Util(%) Memory-Usage(MB)  HBM-Usage(MB)         |
+========+==================+===============+=====================================================+
| 0      | Ascend950PR      | OK            | 190.5       40                0     / 0             |
|        |                  | 0000:61:00.0  | 0           0    / 0          5001  / 131072        |
"""
NOT_READY = "dcmi module initialize failed. ret is -8005\n"


def chip(npu, name, address, memory_mb, health="OK"):
    return {"npu": npu, "name": name, "health": health, "address": address, "memory_mb": memory_mb}


@pytest.mark.parametrize(
    ("text", "version", "chips"),
    [
        (
            A2,
            "25.5.1",
            [
                chip(0, "910B3", "0000:c1:00.0", 65536),
                chip(5, "910B4-1", "0000:02:00.0", 65536, "Warning"),
            ],
        ),
        (
            A3,
            "24.1.rc3.7",
            [
                chip(0, "Ascend910", "0000:9d:00.0", 65536),
                chip(0, "Ascend910", "0000:9f:00.0", 65536, "Critical"),
            ],
        ),
        (
            INFERENCE_310P,
            "24.1.rc2",
            [chip(1, "310P3", "0000:01:00.0", 44280), chip(32768, "310P3", "0000:81:00.0", 21527)],
        ),
        (FIRST_910, "", [chip(0, "910ProB", "0000:61:00.0", 32768)]),
        (ASCEND_950, "25.7.rc1.6", [chip(0, "Ascend950PR", "0000:61:00.0", 131072)]),
        (NOT_READY, "", []),
        ("", "", []),
    ],
)
def test_table(text, version, chips):
    assert _npu_smi.tool_version(text) == version
    assert _npu_smi.chips(text) == chips


@pytest.mark.parametrize(
    "rows",
    [
        "| 0                         | 0000:C1:00.0  | 0           0    / 0          3001 / 65536         |",
        "| NPU   Name                | Health        |\n| 0    | 0000:C1:00.0  | 0    0 / 0    3001 / 65536 |",
        "| 0     910B3               |\n| 0    | 0000:C1:00.0  | 0    0 / 0    3001 / 65536 |",
        "| 0     910B3               | OK            | 91.5        40                0    / 0             |",
    ],
)
def test_half_a_chip_is_none(rows):
    assert _npu_smi.chips(rows) == []


def test_chip_without_a_usage_has_no_memory():
    rows = "| 0     910B3 | UNKNOWN | NA |\n| 0     | 0000:C1:00.0 | NA  NA / NA  NA / NA |"
    assert _npu_smi.chips(rows) == [chip(0, "910B3", "0000:c1:00.0", None, "UNKNOWN")]


MAPPINGS = {
    # Columns of many blanks, with a microcontroller on each card.
    """
\tNPU ID                         Chip ID                        Chip Logic ID                  Chip Name
\t0                              0                              0                              Ascend 910B3
\t0                              1                              -                              Mcu
\t8                              0                              1                              Ascend 910B3
""": [(0, 0, "Ascend 910B3"), (8, 0, "Ascend 910B3")],
    "NPU ID  Chip ID  Chip Logic ID  Chip Phy-ID  Chip Name\n0 0 0 0 Ascend910\n0 1 1 1 Ascend910\n0 2 - - Mcu\n": [
        (0, 0, "Ascend910"),
        (0, 1, "Ascend910"),
    ],
    "NPU ID  Chip ID  Chip Logic ID  Chip Name\n-1  0  0  Ascend 310P3\n1  0  N/A  310P3\n": [(1, 0, "310P3")],
    NOT_READY: [],
}


@pytest.mark.parametrize("text", MAPPINGS)
def test_mapping(text):
    assert [(row["npu"], row["chip"], row["name"]) for row in _npu_smi.mapping(text)] == MAPPINGS[text]


def test_numbers_too_long_to_be_true_are_unknown():
    digits = "9" * 5000
    place = "| 0     | 0000:C1:00.0 | 0 0/0 1/{} |"
    assert _npu_smi.chips(f"| {digits} 910B3 | OK | 90 |\n{place.format(65536)}") == []
    assert _npu_smi.chips(f"| 0 910B3 | OK | 90 |\n{place.format(digits)}") == [chip(0, "910B3", "0000:c1:00.0", None)]
    assert _npu_smi.mapping(f"{digits} 0 0 Ascend 910B3\n0 {digits} 0 Ascend 910B3\n") == []


@pytest.mark.parametrize("text", ["A" + " " * 1_000_000 + "B", "0 0 0 A" + " " * 1_000_000 + "B", "9" * 1_000_000])
def test_megabytes_of_garbage_take_no_time(text):
    started = time.monotonic()
    assert (_npu_smi.board(text), _npu_smi.chips(f"| {text} | 0000:C1:00.0 | {text} |")) == ({}, [])
    assert len(_npu_smi.mapping(text)) <= 1
    assert time.monotonic() - started < 1


def test_board():
    text = "        NPU ID                : 3\n        PCIe Bus Info         : 0000:C1:00.0\n\nno field\n"
    assert _npu_smi.board(text) == {"NPU ID": "3", "PCIe Bus Info": "0000:C1:00.0"}


DEVICES = {
    f"19e5:{device}": {"pci_id": f"19e5:{device}", "vendor": "ascend", "memory_bytes": 1}
    for device in ("d500", "d801", "d802", "d803")
}


def look(root, seconds=10):
    """(driver facts, accelerators, findings by id)."""
    sysroot = Sysroot(str(root))
    accelerators = scan(sysroot, DEVICES)[0]
    facts, findings = read_ascend(sysroot, Tools(sysroot, seconds), accelerators)
    assert len({entry["id"] for entry in findings}) == len(findings)
    return facts, accelerators, {entry["id"]: entry for entry in findings}


def answer(tree, arguments, text, code=None):
    stem = "usr/share/made-tools/npu-smi/" + arguments.replace(" ", "_")
    tree.write(stem + ".out", text)
    if code is not None:
        tree.write(stem + ".rc", str(code))


@pytest.fixture
def tree(tmp_path):
    return MACHINES["ascend_910b_8"](tmp_path)


def remove(tree, path):
    (tree.root / path).unlink()


def test_host_without_anything_of_ascend(tmp_path):
    assert look(tmp_path) == (None, [], {})


def test_driver_of_a_host_without_cards_worries_nobody(tmp_path, tree):
    for address in list((tmp_path / "sys/bus/pci/devices").iterdir()):
        address.rename(tmp_path / address.name)
    answer(tree, "info", NOT_READY, 1)
    assert look(tmp_path) == (
        {
            "driver": "25.2.0",
            "firmware": "7.7.0.6.236",
            "firmware_installed": True,
            "tool": "",
            "compatibility": "",
        },
        [],
        {},
    )


def test_cards_without_a_driver(tmp_path, tree):
    remove(tree, "usr/local/bin/npu-smi")
    for package in ("driver", "firmware"):
        remove(tree, f"usr/local/Ascend/{package}/version.info")
    facts, cards, findings = look(tmp_path)
    assert facts.pop("firmware_installed") is False
    assert set(facts.values()) == {""}
    assert {(card["memory_bytes"], card["health"]) for card in cards} == {(1, "unknown")}
    assert findings["ascend_driver_missing"]["found"].startswith("8 Ascend cards")
    assert len(findings) == 1


def test_driver_without_its_tool(tmp_path, tree):
    remove(tree, "usr/local/bin/npu-smi")
    facts, cards, findings = look(tmp_path)
    assert (facts["driver"], facts["tool"]) == ("25.2.0", "")
    assert (len(cards), list(findings)) == (8, ["vendor_tool_missing"])


def test_driver_that_was_moved(tmp_path, tree):
    tree.write("etc/ascend_install.info", "Driver_Install_Path_Param=/opt/ascend\n")
    tree.write("opt/ascend/driver/version.info", "Version=24.1.0\n")
    assert look(tmp_path)[0]["driver"] == "24.1.0"


def test_versions_of_the_board_where_there_are_no_files(tmp_path, tree):
    for package in ("driver", "firmware"):
        remove(tree, f"usr/local/Ascend/{package}/version.info")
    facts, _cards, findings = look(tmp_path)
    assert (facts["driver"], facts["firmware"], findings) == ("25.2.0", "7.7.0.6.236", {})
    # The factory's.
    assert facts["firmware_installed"] is False


def test_lost_card(tmp_path, tree):
    tree.pci("0000:b1:00.0", "19e5", "d802", "120000")
    _facts, cards, findings = look(tmp_path)
    assert list(findings) == ["ascend_card_lost"]
    assert findings["ascend_card_lost"]["found"] == "not listed: 0000:b1:00.0"
    assert [card["card"] for card in cards if card["health"] == "unknown"] == [None]


def test_npu_that_is_not_on_the_bus(tmp_path, tree):
    (tmp_path / "sys/bus/pci/devices/0000:c2:00.0").rename(tmp_path / "gone")
    _facts, cards, findings = look(tmp_path)
    assert len(cards) == 7
    assert list(findings) == ["ascend_card_unexpected"]
    assert findings["ascend_card_unexpected"]["found"] == "nothing at 0000:c2:00.0 (NPU 1, 910B3)"


UNHEALTHY = ("ascend_card_unhealthy", "error")
DEGRADED = ("ascend_card_degraded", "warning")


@pytest.mark.parametrize(
    ("words", "health", "ids"),
    [
        (["Warning"], ["warning"], [DEGRADED]),
        (["Alarm"], ["error"], [UNHEALTHY]),
        (["Critical", "Warning"], ["error", "warning"], [UNHEALTHY, DEGRADED]),
        (["UNKNOWN"], ["error"], [UNHEALTHY]),
        (["Broken"], ["error"], [UNHEALTHY]),
        (["NA"], ["unknown"], []),
    ],
)
def test_health(tmp_path, tree, words, health, ids):
    text = (tmp_path / "usr/share/made-tools/npu-smi/info.out").read_text()
    for npu, word in enumerate(words):
        text = text.replace(f"| {npu}     910B3               | OK  ", f"| {npu}     910B3               | {word}  ")
    answer(tree, "info", text)
    _facts, cards, findings = look(tmp_path)
    by_npu = {card["card"]: card["health"] for card in cards}
    assert [by_npu[npu] for npu in range(len(words))] == health
    assert by_npu[7] == "ok"
    assert [(entry["id"], entry["severity"]) for entry in findings.values()] == ids


def test_worst_chip_of_a_card_counts(tmp_path):
    tree = MACHINES["ascend_310p_duo"](tmp_path)
    text = (tmp_path / "usr/share/made-tools/npu-smi/info.out").read_text()
    answer(tree, "info", text.replace("OK", "Warning", 1))
    card = look(tmp_path)[1][0]
    assert (card["chips"], card["health"], card["memory_bytes"]) == (2, "warning", 43693 * 1024 * 1024)


@pytest.mark.parametrize(
    ("answers", "compatibility", "ids"),
    [
        ({3: "NOK"}, "NOK", [("ascend_firmware_incompatible", "error")]),
        ({3: "UNKNOWN", 4: "NOK"}, "UNKNOWN", [("ascend_compatibility_unknown", "warning")]),
        ({3: "NOT SUPPORT"}, "ok", []),
        (dict.fromkeys(range(8), "NA"), "", []),
    ],
)
def test_compatibility(tmp_path, tree, answers, compatibility, ids):
    for npu, word in answers.items():
        answer(tree, f"info -t board -i {npu}", f"Software Version : 25.2.0\nCompatibility : {word}\n")
    facts, _cards, findings = look(tmp_path)
    assert facts["compatibility"] == compatibility
    assert [(entry["id"], entry["severity"]) for entry in findings.values()] == ids
    for entry in findings.values():
        assert entry["where"] == "NPU 3"


def test_table_of_a_tool_that_fails_counts(tmp_path, tree):
    tree.write("usr/share/made-tools/npu-smi/info.rc", "1")
    _facts, cards, findings = look(tmp_path)
    assert {card["health"] for card in cards} == {"ok"}
    assert list(findings) == ["vendor_tool_fails"]


@pytest.mark.parametrize("code", [0, 255])
def test_driver_that_waits_for_a_reboot(tmp_path, tree, code):
    answer(tree, "info", NOT_READY, code)
    answer(tree, "info -m", NOT_READY, code)
    facts, cards, findings = look(tmp_path)
    assert (facts["tool"], facts["compatibility"], len(cards)) == ("", "", 8)
    (entry,) = findings.values()
    assert entry["id"] == ("vendor_tool_fails" if code else "vendor_tool_garbled")
    assert "-8005" in entry["found"]
    assert entry["fix"].startswith("reboot")


def test_table_of_another_layout_still_gives_the_compatibility(tmp_path, tree):
    answer(tree, "info", "| npu-smi 99.0 Version: 99.0 |\n0 910B3 OK\n")
    facts, cards, findings = look(tmp_path)
    assert (facts["tool"], facts["compatibility"]) == ("99.0", "ok")
    assert {card["health"] for card in cards} == {"unknown"}
    assert list(findings) == ["vendor_tool_garbled"]


def test_hanging_tool_costs_the_time_limit_once(tmp_path, tree):
    tree.write("usr/share/made-tools/npu-smi/info.sleep", "30")
    started = time.monotonic()
    facts, cards, findings = look(tmp_path, seconds=1)
    assert time.monotonic() - started < 4
    assert (facts["driver"], len(cards), list(findings)) == ("25.2.0", 8, ["vendor_tool_hangs"])


def test_hanging_board_keeps_what_the_others_said(tmp_path, tree):
    tree.write("usr/share/made-tools/npu-smi/info_-t_board_-i_2.sleep", "30")
    facts, cards, findings = look(tmp_path, seconds=2)
    assert (facts["compatibility"], list(findings)) == ("ok", ["vendor_tool_hangs"])
    assert {card["health"] for card in cards} == {"ok"}
