# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The way between server and workers: addresses and the server's URL."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import urlsplit

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _findings, _shown
from ansible_collections.inferops.gpustack.plugins.plugin_utils._findings import error, warning
from ansible_collections.inferops.gpustack.plugins.plugin_utils._site import listed

_ADDRESS = "gpustack_worker_address"
_DIGITS = re.compile(r"[0-9.]+", re.ASCII)
_BARE = re.compile(r"[\w.-]+(:[0-9]+)?", re.ASCII)
_LOCALHOST = ("localhost", "localhost.localdomain", "ip6-localhost")


def check(site):
    yield from _addresses(site)
    yield from _server_url(site)


def dialled(site):
    """The names and addresses by which server and workers reach each other, but for those with a finding."""
    for url, hosts in site.variants("gpustack_server_url"):
        if isinstance(url, str) and not _findings.has_errors(_one_server_url(site, "", url.strip(), hosts, "")):
            yield urlsplit(url.strip()).hostname
    for host in site.workers:
        address = _ip(site.text(host, _ADDRESS))
        if address and not any(_reachable(site, host, "", address)):
            yield str(address)


def is_local(host):
    if host.lower() in _LOCALHOST:
        return True
    address = _ip(host)
    return bool(address) and (address.is_loopback or address.is_unspecified)


def _ip(text):
    try:
        address = ipaddress.ip_address(text or "")
    except ValueError:
        return None
    # ::ffff:127.0.0.1 is 127.0.0.1 in other words.
    return getattr(address, "ipv4_mapped", None) or address


def _of_no_host(address):
    """What keeps other hosts from reaching a host at this address, or an empty string."""
    kinds = {
        "a multicast address": address.is_multicast,
        "a link-local address": address.is_link_local,
        "a reserved address": address.is_reserved,
    }
    return next((kind for kind, holds in kinds.items() if holds), "")


def _addresses(site):
    seen = {}
    servers = _server_addresses(site)
    for host in site.workers:
        where = f"{_ADDRESS} on {host}"
        value = site.hosts[host].get(_ADDRESS)
        if site.missing(host, _ADDRESS):
            yield error(
                "worker_address_missing",
                where,
                "nothing",
                "an IP address the server can reach",
                f'set {_ADDRESS}: "{{{{ ansible_host }}}}" for all workers, or the address itself',
            )
        if not isinstance(value, str) or not value.strip():
            continue
        address = _ip(value)
        if not address:
            yield error(
                "worker_address_not_ip",
                where,
                repr(_shown.without_account(value)),
                "an IP address (GPUStack refuses names here)",
                f"write the IP address that {_shown.without_account(value)} stands for",
            )
            continue
        yield from _reachable(site, host, where, address)
        if address in servers and host not in site.servers:
            yield error(
                "worker_address_duplicate",
                where,
                f"{address}, which is the server's in gpustack_server_url",
                "an address of its own for each host",
                "correct one of the two; a worker on the server's host is the same host in both groups",
            )
        if address in seen:
            yield error(
                "worker_address_duplicate",
                where,
                f"{address}, which {seen[address]} has too",
                "an address of its own for each worker",
                "correct one of the two",
            )
        seen.setdefault(address, host)


def _reachable(site, host, where, address):
    # The server's container has a network of its own: a worker on the same host is not at its localhost either.
    kind = _of_no_host(address)
    if kind or address.is_unspecified or address.is_loopback:
        yield error(
            "worker_address_unreachable",
            where,
            f"{address}, {kind}" if kind else str(address),
            "an IP address the server can reach",
            "write the host's address on the network it shares with the server",
        )
    elif address.is_global and site.of(host, "gpustack_allow_public_addresses") is not True:
        yield error(
            "worker_address_public",
            where,
            str(address),
            "a private address",
            "use the private network, or set gpustack_allow_public_addresses: true and protect the worker's ports",
        )


def _server_addresses(site):
    """The addresses at which workers dial the server itself: behind https may stand a proxy on any host."""
    if not site.servers:
        return set()
    urls = [url.strip() for url, unused in site.variants("gpustack_server_url") if isinstance(url, str)]
    direct = [url for url in urls if url.startswith("http://") and "@" not in url]
    return {address for address in map(_ip, map(_host, direct)) if address}


def _host(url):
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def _server_url(site):
    name = "gpustack_server_url"
    expected = "http://<address> or https://<name>, as workers dial it"
    needing = site.workers or site.servers
    without = [host for host in needing if site.missing(host, name)]
    if without:
        fix = f"set {name} once, in group_vars/all.yml"
        yield error("server_url_missing", f"{name} on {listed(without)}", "nothing", expected, fix)
    for value, hosts in site.variants(name):
        if isinstance(value, str) and value.strip():
            yield from _one_server_url(site, f"{name} on {listed(hosts)}", value, hosts, expected)


def _one_server_url(site, where, value, hosts, expected):
    try:
        url = urlsplit(value)
        host, port = url.hostname, url.port
    except ValueError:
        url, host, port = None, None, None
    if not host or port == 0 or url.scheme not in ("http", "https") or re.search(r"\s", value):
        fix = (
            f"write http://{value}" if _BARE.fullmatch(value) else "write http:// or https://, the address and the port"
        )
        yield error("server_url_invalid", where, repr(_shown.without_account(value)), expected, fix)
        return
    if "@" in value or url.path.strip("/") or url.query or url.fragment:
        # With an @ further on, what seems to be the address is part of a password.
        plain = "<address>" if "@" in url.path + url.query + url.fragment else url.netloc.rpartition("@")[2]
        fix = f"write {url.scheme}://{plain}: no account, and nothing after the address and port"
        yield error("server_url_invalid", where, repr(_shown.without_account(value)), expected, fix)
        return
    address = _ip(host)
    if not address and _DIGITS.fullmatch(host):
        fix = "write the server's IP address, four numbers from 0 to 255"
        yield error("server_url_invalid", where, f"{host}, which is no IP address", expected, fix)
        return
    if address and _of_no_host(address):
        fix = "write the server's address on the network it shares with the workers"
        yield error("server_url_invalid", where, f"{host}, {_of_no_host(address)}", expected, fix)
        return
    remote = [worker for worker in hosts if worker in set(site.workers) - set(site.servers)]
    if is_local(host) and remote:
        yield error(
            "server_url_localhost",
            where,
            f"{host}, but workers run on other hosts: {listed(remote)}",
            "an address the workers can reach",
            "write the server's address on the network it shares with the workers",
        )
    yield from _port(site, where, url.scheme, port)


def _port(site, where, scheme, port):
    listening = site.value("gpustack_server_port")
    # Behind https stands a proxy or the gateway, whose port is its own business.
    if scheme == "http" and isinstance(listening, int) and (port or 80) != listening:
        yield warning(
            "server_url_port",
            where,
            f"port {port or 80}",
            f"gpustack_server_port, which is {listening}",
            f"write port {listening} in the URL, or set gpustack_server_port: {port or 80}; "
            "accept it if a proxy stands between them",
        )
