# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Does the Docker of a host suit its cards and know their runtime, and can it be installed where there is none?"""

from __future__ import annotations

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _data, _docker_packages
from ansible_collections.inferops.gpustack.plugins.plugin_utils._findings import error, note

_WHERE = "Docker Engine"
_RUNTIME_OF = {"nvidia": "NVIDIA Container Toolkit", "ascend": "Ascend Docker Runtime"}


def check(host):
    # Facts of an older release say nothing of its kind, and what is no Docker has a finding of its own.
    if host.fact("engine", "answers"):
        if host.fact("engine", "kind") == "docker":
            yield from _release(host)
            yield from _runtime(host)
        elif host.replaces_podman:
            yield from _installable(host, "Podman in its place")
    elif host.fact("engine", "present") is False:
        yield from _installable(host, "none")


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


def _runtime(host):
    wanted, known = _data.mapping(host.profile.get("container")).get("runtime"), host.fact("engine", "runtimes")
    if host.runtime_mode == "skip" or not wanted or known is None or wanted in {*known, *_to_be_known(host)}:
        return
    product = _RUNTIME_OF.get(host.profile.get("vendor"), "container runtime of the cards' vendor")
    if host.runtime_mode == "present":
        yield note(
            "container_runtime_to_install",
            _WHERE,
            f"container runtimes {', '.join(known) or 'none'}",
            f"{wanted}, which {host.accelerator} needs",
            f"nothing: site.yml installs the {product} and enters {wanted} into runtimes of /etc/docker/daemon.json",
        )
        return
    yield error(
        "container_runtime_missing",
        _WHERE,
        f"container runtimes {', '.join(known) or 'none'}",
        f"{wanted}, which {host.accelerator} needs",
        f"install the {product} and enter {wanted} into runtimes of /etc/docker/daemon.json, or set "
        "gpustack_container_runtime: present to have that done",
    )


def _to_be_known(host):
    """What this run has Docker take up: what stands in daemon.json already, and what the site writes there."""
    written = host.site.of(host.name, "gpustack_docker_settings")
    return [*(host.fact("engine", "configured_runtimes") or ()), *_data.mapping(_data.mapping(written).get("runtimes"))]


def _installable(host, found):
    os_facts = host.fact("os")
    if not os_facts:
        return
    wishes = {name: host.site.text(host.name, f"gpustack_docker_{name}") for name in ("source", "version")}
    try:
        _docker_packages.packages(os_facts, _vendors(host), **{name: wish for name, wish in wishes.items() if wish})
    except _docker_packages.DockerPackagesError as problem:
        expected = "an engine, or packages of one for this host"
        yield error("engine_not_installable", _WHERE, found, expected, str(problem))
