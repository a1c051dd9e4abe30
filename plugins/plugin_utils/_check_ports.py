# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ports of a host: the worker uses the host's network, and the server's ports are published there."""

from __future__ import annotations

import itertools
import re

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _data, _findings
from ansible_collections.inferops.gpustack.plugins.plugin_utils._findings import error
from ansible_collections.inferops.gpustack.plugins.plugin_utils._schema import describe
from ansible_collections.inferops.gpustack.plugins.plugin_utils._site import listed

_CONFIG = "gpustack_worker_config"
_RANGE = re.compile(r"([0-9]{1,5})-([0-9]{1,5})", re.ASCII)
_LAST = 65535


def check(site):
    for config, hosts in _configs(site):
        where = f"on {listed(hosts)}"
        yield from _invalid(config, where)
        yield from _overlaps(itertools.combinations(worker_ports(config).items(), 2), where)
    for host in site.servers:
        server = _server_ports(site, host)
        worker = worker_ports(_config(site, host)) if host in site.workers else {}
        yield from _overlaps(itertools.product(worker.items(), server.items()), f"on {host}")


def of_host(site, host):
    """What server and worker of a host listen on: the variable that says so to its first and last port."""
    spans = _server_ports(site, host) if host in site.servers else {}
    if host in site.workers:
        spans.update((_name(key), span) for key, span in worker_ports(_config(site, host)).items())
    return spans


def _configs(site):
    """Each different configuration with its workers: hosts that are alike have one mistake, not one each."""
    workers = set(site.workers)
    for config, hosts in site.variants(_CONFIG):
        ours = [host for host in hosts if host in workers]
        if ours and isinstance(config, dict):
            yield config, ours


def _config(site, host):
    config = site.of(host, _CONFIG)
    return config if isinstance(config, dict) else {}


def _keys():
    return _data.load("ports.yml")["worker"]


def worker_ports(config):
    """Key to its first and last port, where it is used and can be read."""
    ports = {}
    for key, known in _keys().items():
        value = known["default"] if config.get(key) is None else config[key]
        span = _span(value, known)
        if span and not config.get(known.get("unless")):
            ports[key] = span
    return ports


def _server_ports(site, host):
    names = ["gpustack_server_port"]
    if site.text(host, "gpustack_tls_certificate"):
        names.append("gpustack_server_tls_port")
    return {name: span for name in names if (span := _span(site.of(host, name), {}))}


def _span(value, known):
    """First and last port, or None for what GPUStack cannot read."""
    if "least" not in known:
        sound = isinstance(value, int) and not isinstance(value, bool) and 0 < value <= _LAST
        return (value, value) if sound else None
    match = isinstance(value, str) and _RANGE.fullmatch(value)
    if not match:
        return None
    first, last = int(match[1]), int(match[2])
    return (first, last) if 0 < first <= last <= _LAST and last - first + 1 >= known["least"] else None


def _invalid(config, where):
    for key, known in _keys().items():
        value = config.get(key)
        if value is None or _span(value, known):
            continue
        if "least" in known:
            expected = f'text "<first>-<last>", {_findings.counted(known["least"], "port")} or more, up to {_LAST}'
        else:
            expected = f"a whole number from 1 to {_LAST}"
        # The configuration holds secrets; what looks like a port is none.
        shown = describe(value, secret=not re.fullmatch(r"[0-9:.,-]{1,11}", str(value)))
        yield error(
            "port_range_invalid",
            f"{_CONFIG}.{key} {where}",
            shown,
            expected,
            f"write it so, or take it out: the default is {known['default']}",
            _data.load("ports.yml")["source"],
        )


def _overlaps(pairs, where):
    for (one, first), (other, second) in pairs:
        if first[0] <= second[1] and second[0] <= first[1]:
            yield error(
                "port_overlap",
                f"{_name(one)} {where}",
                f"{text(first)}, and {_name(other)} is {text(second)}",
                "ports of its own for each service of a host",
                f"give {_name(one)} or {_name(other)} other ports",
            )


def _name(key):
    return f"{_CONFIG}.{key}" if key in _keys() else key


def text(span):
    return str(span[0]) if span[0] == span[1] else f"{span[0]}-{span[1]}"
