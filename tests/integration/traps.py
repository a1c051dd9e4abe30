# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The traps of GPUStack's API, T1 to T48: each has a row in README.md and a test, and every test is run."""

from __future__ import annotations

import re
from pathlib import Path

README = Path(__file__).parent / "README.md"
NUMBERS = range(1, 49)
_ROW = re.compile(r"^\| T(\d+) \| (.*) \| (.*) \|$", re.M)


def markers(item):
    return {number: mark.kwargs.get("not_on", {}) for mark in item.iter_markers("trap") for number in mark.args}


def rows():
    """Number -> (trap, names of tests) of the table in README.md."""
    return {int(n): (text, re.findall(r"`([^`]+)`", tests)) for n, text, tests in _ROW.findall(README.read_text())}


def tests_of(items):
    """Number -> names of the tests marked with it, without their parameters."""
    found = {}
    for item in items:
        for number in markers(item):
            found.setdefault(number, {})[f"{item.path.name}::{item.originalname}"] = True
    return {number: list(names) for number, names in found.items()}


def write(items):
    """Put the tests' names into the table."""
    tests = tests_of(items)

    def row(match):
        number, text = int(match[1]), match[2]
        return f"| T{number} | {text} | {', '.join(f'`{name}`' for name in tests.get(number, [])) or '-'} |"

    README.write_text(_ROW.sub(row, README.read_text()))


def problems(items, outcomes, versions):
    """What is missing. `outcomes`: node id -> "passed", "failed", "skipped"."""
    table, tests = rows(), tests_of(items)
    for number in NUMBERS:
        if number not in table:
            yield f"T{number} has no row in README.md"
        elif number not in tests:
            yield f"T{number} ({table[number][0]}) has no test"
        elif sorted(table[number][1]) != sorted(tests[number]):
            yield f"T{number}: README.md names other tests; write them with --write-traps"
    for item in items:
        version = version_of(item)
        for number, not_on in markers(item).items():
            outcome = outcomes.get(item.nodeid, "not run")
            if number not in NUMBERS:
                yield f"{item.nodeid} is marked with T{number}, which is none"
            elif version not in not_on and outcome != "passed":
                yield f"T{number}: {item.nodeid} is {outcome}"
            elif set(versions) <= not_on.keys() and len(versions) > 1:
                yield f"T{number}: {item.nodeid} applies to no version"


def version_of(item):
    return getattr(item, "callspec", None) and item.callspec.params.get("server")
