# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the planners of packages have in common: the row of an operating system, and why there is nothing to install."""

from __future__ import annotations

import re

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _data


class PackagesError(ValueError):
    """What was asked for cannot be installed on this host, with the reason."""


def or_problem(planner, *arguments, **options):
    """What the planner gives, with an empty `problem`; else the reason, and nothing beside it."""
    try:
        return dict(planner(*_data.plain(list(arguments)), **_data.plain(options)), problem="")
    except PackagesError as error:
        return {"problem": str(error)}


def system(data, os_facts, product, advice):
    """The row of data["systems"] for an operating system. advice: what else to do where there is none."""
    named = [row for row in data["systems"] if row["id"] == os_facts.get("id")]
    versions = (os_facts.get("version_id"), str(os_facts.get("major")))
    for row in named:
        if row["version"] in versions:
            return row
    near = data["nearest_id"].get(os_facts.get("id")) or data["nearest_family"].get(os_facts.get("family"))
    candidates = named or [row for row in data["systems"] if row["id"] == near]
    if candidates:
        known = "The nearest known system is " + min(candidates, key=lambda row: _distance(row, os_facts))["name"]
    else:
        known = "They are known for " + ", ".join(row["name"] for row in data["systems"])
    it = os_facts.get("pretty") or " ".join(filter(None, (os_facts.get("id"), os_facts.get("version_id"))))
    raise PackagesError(f"{product}'s packages are not known for {it or 'this system'}. {known}. {advice}")


def numbers(version):
    """[28, 5, 2] of 28.5.2, [10] of V10; nothing of what is no version."""
    found = re.match(r"\D?([0-9]{1,9}(?:\.[0-9]{1,9})*)(?![0-9])", version or "")
    return [int(part) for part in found.group(1).split(".")] if found else []


def _distance(row, os_facts):
    known, there = numbers(row["version"]), numbers(os_facts.get("version_id")) or [os_facts.get("major") or 0]
    return [abs(a - b) for a, b in zip(known + [0, 0], there + [0, 0])]
