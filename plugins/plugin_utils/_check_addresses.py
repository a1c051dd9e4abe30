# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The way between server and workers: addresses and the server's URL."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import urlsplit

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _findings
from ansible_collections.inferops.gpustack.plugins.plugin_utils._findings import error, warning
from ansible_collections.inferops.gpustack.plugins.plugin_utils._site import listed

_ADDRESS = "gpustack_worker_address"
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
        return ipaddress.ip_address(text or "")
    except ValueError:
        return None


def _addresses(site):
    seen = {}
    for host in site.workers:
        where = f"{_ADDRESS} on {host}"
        value = site.text(host, _ADDRESS)
        if site.missing(host, _ADDRESS):
            yield error(
                "worker_address_missing",
                where,
                "nothing",
                "an IP address the server can reach",
                f'set {_ADDRESS}: "{{{{ ansible_host }}}}" for all workers, or the address itself',
            )
        if not value:
            continue
        address = _ip(value)
        if not address:
            yield error(
                "worker_address_not_ip",
                where,
                repr(value),
                "an IP address (GPUStack refuses names here)",
                f"write the IP address that {value} stands for",
            )
            continue
        yield from _reachable(site, host, where, address)
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
    if address.is_unspecified or address.is_loopback:
        yield error(
            "worker_address_unreachable",
            where,
            str(address),
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
            yield from _one_server_url(site, f"{name} on {listed(hosts)}", value.strip(), hosts, expected)


def _one_server_url(site, where, value, hosts, expected):
    try:
        url = urlsplit(value)
        host, port = url.hostname, url.port
    except ValueError:
        url, host, port = None, None, None
    if not host or url.scheme not in ("http", "https") or re.search(r"\s", value):
        fix = (
            f"write http://{value}" if _BARE.fullmatch(value) else "write http:// or https://, the address and the port"
        )
        yield error("server_url_invalid", where, _without_credentials(value), expected, fix)
        return
    if url.username is not None or url.path.strip("/") or url.query or url.fragment:
        fix = (
            f"write {url.scheme}://{url.netloc.rpartition('@')[2]}: no account, and nothing after the address and port"
        )
        yield error("server_url_invalid", where, _without_credentials(value), expected, fix)
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


def _without_credentials(url):
    return repr(re.sub(r"//[^/@]*@", "//***@", url))
