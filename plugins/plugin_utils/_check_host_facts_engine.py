# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Does the Docker of a host suit its cards, and can it be installed where there is none?"""

from __future__ import annotations

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _docker_packages, _packages
from ansible_collections.inferops.gpustack.plugins.plugin_utils._findings import error

_WHERE = "Docker Engine"
_WISHES = {"source": "gpustack_docker_source", "version": "gpustack_docker_version"}


def check(host):
    # Facts of an older release say nothing of its kind, and what is no Docker has a finding of its own.
    if host.fact("engine", "answers"):
        if host.fact("engine", "kind") == "docker":
            yield from _release(host)
        elif host.replaces_podman:
            yield from _installable(host, "Podman in its place")
    elif host.fact("engine", "present") is False:
        yield from _installable(host, "none")


def _release(host):
    version = host.fact("engine", "version")
    for limits in _docker_packages.refused_by(version, host.vendors):
        yield error(
            "engine_version_unsupported",
            _WHERE,
            version,
            f"{limits['from']} or later and earlier than {limits['below']} on {limits['name']} hosts: {limits['why']}",
            _docker_packages.ways_to(limits),
            limits["source"],
        )


def _installable(host, found):
    os_facts = host.fact("os")
    if not os_facts:
        return
    plan = _packages.or_problem(_docker_packages.packages, os_facts, host.vendors, **host.texts(_WISHES))
    if plan["problem"]:
        expected = "an engine, or packages of one for this host"
        yield error("engine_not_installable", _WHERE, found, expected, plan["problem"])
