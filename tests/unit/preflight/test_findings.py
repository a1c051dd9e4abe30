from __future__ import annotations

import pytest
from ansible_collections.inferops.gpustack.plugins.plugin_utils import _findings

WARNING = _findings.warning("w", "there", "b", "a", "do it")
ERROR = _findings.error("e", "here", "x", "y", "change it", "a page")


def test_exit_rule():
    assert _findings.has_errors([WARNING, ERROR])
    assert not _findings.has_errors([WARNING])
    assert not _findings.has_errors([])


def test_only_known_severities():
    with pytest.raises(ValueError, match="severity"):
        _findings.Finding("a", "fatal", "b", "c", "d", "e")


def test_as_dict():
    assert WARNING.as_dict() == {
        "id": "w",
        "severity": "warning",
        "where": "there",
        "found": "b",
        "expected": "a",
        "fix": "do it",
        "source": "",
        "accepted": "",
    }


def test_table_shows_errors_first_and_every_field():
    assert _findings.table([WARNING, ERROR]) == (
        "ERROR e\n"
        "  where     here\n"
        "  found     x\n"
        "  expected  y\n"
        "  fix       change it\n"
        "  source    a page\n"
        "\n"
        "WARNING w\n"
        "  where     there\n"
        "  found     b\n"
        "  expected  a\n"
        "  fix       do it\n"
        "\n"
        "1 error, 1 warning"
    )


def test_table_of_nothing():
    assert _findings.table([]) == "no findings"


def test_counted():
    assert [_findings.counted(number, "host") for number in (0, 1, 2)] == ["0 hosts", "1 host", "2 hosts"]
