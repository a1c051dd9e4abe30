# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""gpustack_accept: findings a site takes on itself, one kind at a time and with a reason, become notes."""

from __future__ import annotations

import dataclasses

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _kinds, _schema
from ansible_collections.inferops.gpustack.plugins.plugin_utils._findings import error, warning
from ansible_collections.inferops.gpustack.plugins.plugin_utils._profiles import nearest
from ansible_collections.inferops.gpustack.plugins.plugin_utils._site import option

_NAME = "gpustack_accept"
# A few are what is left after a repair.
_MOST_UNUSED = 3


def apply(findings, site):
    """The findings with the accepted ones as notes, and what is wrong with the acceptance itself."""
    known = _kinds.kinds()
    present = {finding.id for finding in findings}
    first, unused, own = {}, [], []
    for index, kind, _reason in _entries(site):
        where = f"{_NAME}[{index}].id"
        if kind not in known:
            own.append(_unknown(where, kind, known))
        elif not known[kind]["acceptable"]:
            own.append(_refused(where, kind, known))
        elif kind in first:
            own.append(_twice(where, kind, first[kind]))
        else:
            first[kind] = index
            # What only a look at the hosts can find is not missed here.
            if kind not in present and not known[kind].get("of_hosts"):
                unused.append((where, kind))
    if len(unused) > _MOST_UNUSED:
        own.append(_many_unused([kind for where, kind in unused]))
    else:
        own.extend(_unused(where, kind) for where, kind in unused)
    return accepted(findings, site) + own


def accepted(findings, site):
    """The findings with the accepted ones as notes."""
    known, reasons = _kinds.kinds(), {}
    for _index, kind, reason in _entries(site):
        if known.get(kind, {}).get("acceptable"):
            reasons.setdefault(kind, reason)
    return [
        dataclasses.replace(finding, severity="note", accepted=reasons[finding.id])
        if finding.id in reasons
        else finding
        for finding in findings
    ]


def _entries(site):
    """The entries that say which kind and why; the others have findings of the check of types."""
    entries = site.value(_NAME)
    for index, entry in enumerate(entries) if isinstance(entries, list) else ():
        if not isinstance(entry, dict):
            continue
        kind, reason = entry.get("id"), entry.get("reason")
        if isinstance(kind, str) and _schema.fits(reason, option(f"{_NAME}.reason")):
            yield index, kind, reason.strip()


def _unknown(where, kind, known):
    close = nearest(kind, known)
    fix = f"did you mean {close}?" if close else "write it as preflight prints it; docs/findings.md lists all"
    return error("accept_unknown", where, repr(kind), "a kind of finding", fix)


def _unused(where, kind):
    found = f"{kind}, which was not found"
    return warning("accept_unused", where, found, "only kinds that are found on this site", f"take it out of {_NAME}")


def _many_unused(kinds):
    return error(
        "accept_many_unused",
        _NAME,
        f"{len(kinds)} kinds that were not found: {', '.join(kinds)}",
        "only kinds that are found on this site; a list that covers everything hides what is new",
        "take them out",
    )


def _twice(where, kind, first):
    found = f"{kind}, which {_NAME}[{first}] has too"
    return error("accept_twice", where, found, "each kind once, with one reason", "take one of the two out")


def _refused(where, kind, known):
    return error(
        "accept_refused",
        where,
        f"{kind} ({known[kind]['title'].lower()})",
        "a kind that can be accepted; what this one reports is wrong on every site",
        f"take it out of {_NAME}, and correct what {kind} reports",
    )
