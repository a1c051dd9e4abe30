# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""NO_PROXY lists: they hold names and addresses; a network in one is read by nobody."""

from __future__ import annotations

import ipaddress
import re

from ansible_collections.inferops.gpustack.plugins.plugin_utils._check_addresses import dialled
from ansible_collections.inferops.gpustack.plugins.plugin_utils._findings import error
from ansible_collections.inferops.gpustack.plugins.plugin_utils._site import listed


def check(site):
    for where, _model, entry in site.deployments():
        env = entry.get("env")
        for variable, value in env.items() if isinstance(env, dict) else ():
            if str(variable).lower() == "no_proxy" and isinstance(value, str):
                networks = [part for part in re.split(r"[,\s]+", value) if _is_network(part)]
                if networks:
                    yield _finding(f"{where}.env.{variable}", networks, site)


def _is_network(text):
    if "/" not in text:
        return False
    try:
        return bool(ipaddress.ip_network(text, strict=False))
    except ValueError:
        return False


def _finding(where, networks, site):
    return error(
        "no_proxy_cidr",
        where,
        f"a network: {listed(networks)}",
        "names and addresses only: the HTTP client ignores a network, and what is in it goes through the proxy",
        "instead of the network write the names and addresses: "
        + listed(dict.fromkeys(["localhost", "127.0.0.1", *dialled(site)]), limit=6),
        "gpustack issue 3769 (aiohttp)",
    )
