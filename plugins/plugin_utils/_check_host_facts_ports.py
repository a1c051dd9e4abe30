# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Are the ports that server and worker will listen on free, or held by themselves?"""

from __future__ import annotations

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _check_ports
from ansible_collections.inferops.gpustack.plugins.plugin_utils._findings import counted, error, note
from ansible_collections.inferops.gpustack.plugins.plugin_utils._site import listed

_OURS = ("ours", "gpustack")
_PREFIX = "gpustack-"


def check(host):
    # Without an answer of the engine nobody can tell whose containers these are.
    if host.fact("engine", "present") and not host.fact("engine", "answers"):
        return
    others = _others(host)
    for name, (first, last) in _check_ports.of_host(host.site, host.name).items():
        taken = {port: rows for port, rows in others.items() if first <= port <= last}
        if not taken:
            continue
        if first == last:
            yield error(
                "port_taken",
                f"port {first}",
                listed(taken[first]),
                f"free for {name}",
                f"stop what listens there, or write another port into {name}",
            )
        else:
            yield note(
                "port_range_taken",
                f"ports {first}-{last}",
                "; ".join(f"{port}: {listed(rows)}" for port, rows in list(taken.items())[:4]),
                f"free for {name}; {counted(last - first + 1 - len(taken), 'port')} of it are left",
                f"nothing, GPUStack takes the others; or write another range into {name}",
                "GPUStack 2.3.0, utils/network.py (get_free_port)",
            )


def _others(host):
    """Port to the words for each that holds it and is not ours."""
    owners = {row.get("name"): row.get("owner") for row in host.rows("engine", "containers")}
    others = {}
    for row in host.rows("ports"):
        port, container = row.get("port"), row.get("container")
        owner = owners.get(container)
        if port is None or owner in _OURS or (owner is None and str(container or "").startswith(_PREFIX)):
            continue
        holders = others.setdefault(port, [])
        words = _words(row)
        if words not in holders:
            holders.append(words)
    return others


def _words(row):
    if row.get("container"):
        return f"container {row['container']}"
    return f"{row.get('process') or 'a process'} (pid {row.get('pid') or 'unknown'})"
