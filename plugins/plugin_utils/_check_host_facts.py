# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The judgement of all hosts that were looked at, beside what the inventory says of them.

A finding of a host is a pair (name of the host, finding): many hosts have the same one.
"""

from __future__ import annotations

import dataclasses

from ansible_collections.inferops.gpustack.plugins.plugin_utils import (
    _accept,
    _check_host_facts_cards,
    _check_host_facts_disks,
    _check_host_facts_drivers,
    _check_host_facts_engine,
    _check_host_facts_module,
    _check_host_facts_ports,
    _check_host_facts_runtimes,
    _check_host_facts_system,
    _findings,
    _host_view,
)
from ansible_collections.inferops.gpustack.plugins.plugin_utils._site import listed

_PARTS = (
    _check_host_facts_cards,
    _check_host_facts_drivers,
    _check_host_facts_engine,
    _check_host_facts_runtimes,
    _check_host_facts_ports,
    _check_host_facts_disks,
    _check_host_facts_system,
)
# Values that differ between hosts with the same problem.
_MOST_VALUES = 4


def check(site):
    """Every pair, in the order of the hosts."""
    hosts = _host_view.views(site)
    twins = {}
    for host, finding in _check_host_facts_system.duplicates(hosts):
        twins.setdefault(host.name, []).append(finding)
    pairs = []
    for host in hosts:
        judged = [finding for part in _PARTS for finding in part.check(host)] + twins.get(host.name, [])
        own = _check_host_facts_module.findings(host, {finding.id for finding in judged})
        pairs += [(host.name, _findings.without_accounts(finding)) for finding in [*judged, *own]]
    accepted = _accept.accepted([finding for unused, finding in pairs], site)
    return [(name, finding) for (name, unused), finding in zip(pairs, accepted)]


def each(pairs):
    """One finding for each host, for programs."""
    return _findings.ordered(dataclasses.replace(finding, where=f"{name}: {finding.where}") for name, finding in pairs)


def merged(pairs):
    """One finding for all hosts that have it, for people."""
    groups = {}
    for name, finding in pairs:
        groups.setdefault(dataclasses.replace(finding, found=""), []).append((name, finding.found))
    return _findings.ordered(
        dataclasses.replace(
            finding,
            where=f"{listed(dict.fromkeys(name for name, unused in found))}: {finding.where}",
            found=_values(found),
        )
        for finding, found in groups.items()
    )


def _values(found):
    """What was found, and on which hosts where that differs."""
    hosts = {}
    for name, value in found:
        hosts.setdefault(value, []).append(name)
    if len(hosts) == 1:
        return found[0][1]
    parts = [f"{value} on {listed(names)}" for value, names in list(hosts.items())[:_MOST_VALUES]]
    more = len(hosts) - len(parts)
    return "; ".join([*parts, f"and {more} more values"] if more else parts)
