# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table module x version x result."""

from __future__ import annotations

from collections import Counter
from pathlib import Path


def table(results):
    """`results`: (test file, version or None, outcome) of every test."""
    modules, versions = {}, {}
    for path, version, outcome in results:
        name = Path(path).stem.removeprefix("test_")
        versions[version or "-"] = True
        modules.setdefault(name, {}).setdefault(version or "-", Counter())[outcome] += 1
    columns = sorted(versions, reverse=True)
    lines = [f"{'module':<26}" + "".join(f"{version:<28}" for version in columns).rstrip()]
    for name in sorted(modules):
        cells = (_cell(modules[name].get(version, {})) for version in columns)
        lines.append(f"{name:<26}" + "".join(f"{cell:<28}" for cell in cells).rstrip())
    return lines


def _cell(counts):
    return ", ".join(f"{counts[one]} {one}" for one in ("passed", "failed", "skipped") if counts.get(one))
