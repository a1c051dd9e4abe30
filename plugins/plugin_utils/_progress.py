# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How far an installation came, as the note of its entry in a host's manifest tells the next run.

`running: 25.5.1` is written before it begins, `running: 25.5.1 over 25.2.0` where it replaces a release, and
`finished: 25.5.1` once the result was seen. So one that died is told from one that is whole, whatever its files say.
`installed: 26.1.0` is between the two, where more belongs to it than its files.
"""

from __future__ import annotations

import re

NOTE = re.compile(r"(?P<state>running|installed|finished): (?P<release>[^\s,]+)(?: over (?P<over>[^\s,]+))?")


def running(release, over=""):
    return f"running: {release} over {over}" if over else f"running: {release}"


def installed(release):
    return f"installed: {release}"


def finished(release):
    return f"finished: {release}"


def read(note):
    """{state, release, over} of a note, with empty texts where it does not tell."""
    told = NOTE.match(note or "")
    return told.groupdict(default="") if told else {"state": "", "release": "", "over": ""}


def entry(host, kind, name):
    """What the manifest of a host has of one thing, or None."""
    entries = (host.get("manifest") or {}).get("entries") or []
    return next((one for one in entries if one.get("kind") == kind and one.get("name") == name), None)


def of(host, name):
    """How far what is installed to this directory came."""
    return read((entry(host, "directory", name) or {}).get("note"))


def of_packages(entries, by):
    """How far a role came with its packages: whether it recorded any, and the releases by what their notes tell."""
    own = [one for one in entries if one.get("kind") == "package" and one.get("by") == by]
    notes = [read(one.get("note")) for one in own]
    return {
        "recorded": bool(own),
        "finished": _releases(notes, "finished", "release"),
        "running": _releases(notes, "running", "release"),
        "replaced": _releases(notes, "running", "over"),
    }


def _releases(notes, state, name):
    return sorted({note[name] for note in notes if note["state"] == state and note[name]})
