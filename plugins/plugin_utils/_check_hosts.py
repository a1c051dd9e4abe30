# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Who is who: the server, the workers, their addresses and accelerators, the way between them."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import urlsplit

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _profiles
from ansible_collections.inferops.gpustack.plugins.plugin_utils._findings import error, warning
from ansible_collections.inferops.gpustack.plugins.plugin_utils._site import SERVER_GROUP, WORKER_GROUP, listed

_PASSWORD = "gpustack_admin_password"
_PASSWORD_LENGTH = 10
_PASSWORD_SYMBOLS = "!@#$%^&*_+."
_PLACEHOLDERS = ("admin", "administrator", "changeme", "changeit", "example", "gpustack", "password", "secret")
# What the worker's role writes into its configuration file itself, and from where.
_SET_BY_ROLE = {
    "server_url": "gpustack_server_url",
    "worker_name": "gpustack_worker_name",
    "worker_ip": "gpustack_worker_address",
    "token": "the registration token of the cluster",
}
_LOCALHOST = ("localhost", "localhost.localdomain", "ip6-localhost")


def check(site):
    yield from _servers(site)
    yield from _workers(site)
    yield from _accelerators(site)
    yield from _addresses(site)
    yield from _server_url(site)
    yield from _password(site)


def _servers(site):
    expected = f"exactly one host in group {SERVER_GROUP}"
    if not site.servers:
        fix = _group_fix(site, SERVER_GROUP, "put the server host there")
        yield error("server_missing", f"group {SERVER_GROUP}", "no host", expected, fix)
    elif len(site.servers) > 1:
        yield error(
            "server_several",
            f"group {SERVER_GROUP}",
            f"{len(site.servers)} hosts: {listed(site.servers)}",
            expected,
            "leave one host there; a second server would be a second, separate cluster",
        )


def _group_fix(site, name, fix):
    similar = site.similar_group(name)
    return f"rename group {similar} to {name}" if similar else fix


def _workers(site):
    similar = not site.workers and site.similar_group(WORKER_GROUP)
    if similar:
        yield error(
            "worker_group_misnamed",
            f"group {WORKER_GROUP}",
            f"no host, but a group {similar}",
            f"the workers in group {WORKER_GROUP}",
            f"rename group {similar} to {WORKER_GROUP}",
        )
    seen = {}
    for host in site.workers:
        name = site.text(host, "gpustack_worker_name") or host
        if name in seen:
            yield error(
                "worker_name_duplicate",
                f"gpustack_worker_name on {host}",
                f"{name!r}, as {seen[name]}",
                "a name of its own for each worker",
                "take gpustack_worker_name out (the inventory name is used then), or correct one of the two",
            )
        seen.setdefault(name, host)
        config = site.of(host, "gpustack_worker_config")
        taken = [key for key in _SET_BY_ROLE if key in config] if isinstance(config, dict) else []
        if taken:
            yield error(
                "worker_config_reserved",
                f"gpustack_worker_config on {host}",
                ", ".join(taken),
                "keys that no other variable sets",
                "take them out: " + "; ".join(f"{key} comes from {_SET_BY_ROLE[key]}" for key in taken),
            )


def _accelerators(site):
    name, known = "gpustack_accelerator", _profiles.accelerators()
    expected = "one of " + ", ".join(known)
    without = [host for host in site.workers if site.missing(host, name)]
    if without:
        yield error(
            "accelerator_missing",
            f"{name} on {listed(without)}",
            "nothing",
            expected,
            f"declare {name} on the host or on its group",
        )
    for value, hosts in site.variants(name):
        if isinstance(value, str) and value.strip() and value not in known:
            yield unknown_accelerator(f"{name} on {listed(hosts)}", value)


def unknown_accelerator(where, value):
    known = _profiles.accelerators()
    close = _profiles.nearest(value, known)
    return error(
        "accelerator_unknown",
        where,
        repr(value),
        "one of " + ", ".join(known),
        f"did you mean {close}?" if close else "use a known accelerator profile",
    )


def _addresses(site):
    name = "gpustack_worker_address"
    seen = {}
    for host in site.workers:
        where = f"{name} on {host}"
        value = site.text(host, name)
        if site.missing(host, name):
            yield error(
                "worker_address_missing",
                where,
                "nothing",
                "an IP address the server can reach",
                f'set {name}: "{{{{ ansible_host }}}}" for all workers, or the address itself',
            )
        if not value:
            continue
        try:
            address = ipaddress.ip_address(value)
        except ValueError:
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
    if address.is_unspecified or (address.is_loopback and host not in site.servers):
        yield error(
            "worker_address_unreachable",
            where,
            str(address),
            "an IP address the server can reach",
            "write the address of the interface that faces the server",
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
        fix = "write the scheme, the address and, where it is not 80 or 443, the port"
        yield error("server_url_invalid", where, _without_credentials(value), expected, fix)
        return
    if url.username is not None or url.path.strip("/") or url.query or url.fragment:
        fix = "write nothing after the address and port; the account is admin with gpustack_admin_password"
        yield error("server_url_invalid", where, _without_credentials(value), expected, fix)
        return
    remote = [worker for worker in hosts if worker in set(site.workers) - set(site.servers)]
    if _is_local(host) and remote:
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
            "make the two agree, unless a proxy stands between them",
        )


def _without_credentials(url):
    return repr(re.sub(r"//[^/@]*@", "//***@", url))


def _is_local(host):
    if host.lower() in _LOCALHOST:
        return True
    try:
        address = ipaddress.ip_address(host)
        return address.is_loopback or address.is_unspecified
    except ValueError:
        return False


def _password(site):
    """The value never reaches a message."""
    for host in site.servers[:1]:
        if site.missing(host, _PASSWORD):
            yield _password_finding("missing", "nothing", host)
        value = site.text(host, _PASSWORD)
        if not value:
            continue
        letters = re.sub(r"[^a-z]", "", value.lower())
        if site.hosts[host][_PASSWORD] != value:
            yield _password_finding("weak", "white space before or after the password (a line break, for one)", host)
        elif letters in _PLACEHOLDERS or re.search(r"<[^>]*>", value):
            yield _password_finding("placeholder", "a placeholder (not shown)", host)
        elif _weaknesses(value):
            yield _password_finding("weak", "a password without " + ", ".join(_weaknesses(value)), host)


def _weaknesses(password):
    wanted = {
        f"{_PASSWORD_LENGTH} characters": len(password) >= _PASSWORD_LENGTH,
        "an upper-case letter": re.search(r"[A-Z]", password),
        "a lower-case letter": re.search(r"[a-z]", password),
        "a digit": re.search(r"[0-9]", password),
        f"one of {_PASSWORD_SYMBOLS}": any(symbol in password for symbol in _PASSWORD_SYMBOLS),
    }
    return [what for what, met in wanted.items() if not met]


def _password_finding(kind, found, host):
    return error(
        f"admin_password_{kind}",
        f"{_PASSWORD} on {host}",
        found,
        f"at least {_PASSWORD_LENGTH} characters with upper, lower, digit and one of {_PASSWORD_SYMBOLS}",
        "put a password of your own into an ansible-vault file",
        "GPUStack 2.3.0 password policy; the length is this collection's",
    )
