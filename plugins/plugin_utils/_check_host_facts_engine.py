# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Does the Docker of a host suit its cards, and can it be installed where there is none?"""

from __future__ import annotations

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _docker_packages
from ansible_collections.inferops.gpustack.plugins.plugin_utils._findings import error

_WHERE = "Docker Engine"


def check(host):
    # Facts of an older release say nothing of its kind, and what is no Docker has a finding of its own.
    if host.fact("engine", "answers"):
        if host.fact("engine", "kind") == "docker":
            yield from _release(host)
    elif host.fact("engine", "present") is False:
        yield from _installable(host)


def _vendors(host):
    return sorted({str(card.get("vendor")) for card in host.cards})


def _release(host):
    version = host.fact("engine", "version")
    for limits in _docker_packages.refused_by(version, _vendors(host)):
        yield error(
            "engine_version_unsupported",
            _WHERE,
            version,
            f"{limits['from']} or later and earlier than {limits['below']} on {limits['name']} hosts: {limits['why']}",
            _docker_packages.ways_to(limits),
            limits["source"],
        )


def _installable(host):
    os_facts = host.fact("os")
    if not os_facts:
        return
    source = host.site.of(host.name, "gpustack_docker_source")
    # Its default is said in words.
    version = host.site.text(host.name, "gpustack_docker_version") or ""
    try:
        _docker_packages.packages(os_facts, _vendors(host), source, version)
    except _docker_packages.DockerPackagesError as problem:
        expected = "an engine, or packages of one for this host"
        yield error("engine_not_installable", _WHERE, "none", expected, str(problem))
