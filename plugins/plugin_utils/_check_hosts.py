# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Who is who: the server, the workers and their accelerators."""

from __future__ import annotations

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _profiles
from ansible_collections.inferops.gpustack.plugins.plugin_utils._findings import error, one_of
from ansible_collections.inferops.gpustack.plugins.plugin_utils._site import (
    SERVER_GROUP,
    WINDOWS_GROUP,
    WORKER_GROUP,
    listed,
)

# What the worker's role writes into its configuration file itself, and from where.
_SET_BY_ROLE = {
    "server_url": "gpustack_server_url",
    "worker_name": "gpustack_worker_name",
    "worker_ip": "gpustack_worker_address",
    "token": "the registration token of the cluster",
}


def check(site):
    yield from _clashes(site)
    yield from _servers(site)
    yield from _workers(site)
    yield from _accelerators(site)


def _clashes(site):
    """Server and worker on one host is legal: both are containers of a Linux host."""
    for group, hosts in ((SERVER_GROUP, site.servers), (WORKER_GROUP, site.workers)):
        both = [host for host in hosts if host in site.windows]
        if both:
            yield error(
                "group_clash",
                f"groups {group} and {WINDOWS_GROUP}",
                f"in both: {listed(both)}",
                f"Windows machines in {WINDOWS_GROUP}, Linux hosts in {group}",
                "take the host out of one group; a Windows machine with WSL is two hosts, its Linux half is "
                f"for example {both[0]}-wsl",
            )


def _servers(site):
    expected = f"exactly one host in group {SERVER_GROUP}"
    if not site.servers:
        fix = _group_fix(site, SERVER_GROUP, "put the server host there")
        if not site.has_hosts:
            asked = ", ".join(site.asked) or "any inventory"
            fix = f"no host was read from {asked}; see Ansible's warnings above, and the path after -i"
        yield error("server_missing", f"group {SERVER_GROUP}", "no host", expected, fix)
    elif len(site.servers) > 1:
        yield error(
            "server_several",
            f"group {SERVER_GROUP}",
            f"{len(site.servers)} hosts: {listed(site.servers)}",
            expected,
            "leave one host there; a second server would be a second cluster, apart from the first",
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
                f"{name!r}, which {seen[name]} has too",
                "a name of its own for each worker",
                "correct one of the two, or take gpustack_worker_name out: the worker then has its inventory name",
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
    name, known = "gpustack_accelerator", site.profiles.accelerators()
    expected = one_of(known)
    without = [host for host in site.workers if site.missing(host, name)]
    if without:
        yield error(
            "accelerator_missing",
            f"{name} on {listed(without)}",
            "nothing",
            expected,
            f"set {name} on the host or on its group",
        )
    for value, hosts in site.variants(name):
        if isinstance(value, str) and value.strip() and value not in known:
            yield unknown_accelerator(f"{name} on {listed(hosts)}", value, known)


def unknown_accelerator(where, value, known):
    close = _profiles.nearest(value, known)
    return error(
        "accelerator_unknown",
        where,
        repr(value),
        one_of(known),
        f"did you mean {close}?" if close else "use a known accelerator profile",
    )
