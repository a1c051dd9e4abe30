# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Does the Docker of a host know the runtime of its cards, or will it, and the one that is to be its default?"""

from __future__ import annotations

from ansible_collections.inferops.gpustack.plugins.module_utils import _container_runtimes
from ansible_collections.inferops.gpustack.plugins.plugin_utils import _check_runtime_work, _data
from ansible_collections.inferops.gpustack.plugins.plugin_utils._findings import error

_WHERE = "Docker Engine"
_DEFAULT, _SETTINGS = "gpustack_docker_default_runtime", "gpustack_docker_settings"


def check(host):
    # Without an answer of the engine nobody can tell. Facts of an older release say nothing of runtimes.
    answers = host.fact("engine", "answers") and host.fact("engine", "kind") == "docker"
    comes = host.fact("engine", "present") is False or host.replaces_podman
    if host.fact("engine", "runtimes") is None or not (answers or comes):
        return
    told = host.rows("engine", "runtimes") if answers else []
    known = {*told, *_to_be_known(host)}
    found = f"container runtimes {', '.join(told) or 'none'}"
    if host.runtime_mode == "present":
        yield from _check_runtime_work.of(host, known, found)
    elif host.runtime_mode != "skip" and answers:
        yield from _missing(host, known, found)
    yield from _default_runtime(host, known)


def _to_be_known(host):
    """What this run has Docker take up: what stands in daemon.json already, and what the site writes there."""
    return [*(host.fact("engine", "configured_runtimes") or ()), *_data.mapping(_settings(host).get("runtimes"))]


def _settings(host):
    return _data.mapping(host.site.of(host.name, _SETTINGS))


def _missing(host, known, found):
    wanted = _data.mapping(host.profile.get("container")).get("runtime")
    if not wanted or wanted in known:
        return
    product = _check_runtime_work.PRODUCT.get(host.profile.get("vendor"), "container runtime of the cards' vendor")
    yield error(
        "container_runtime_missing",
        _WHERE,
        found,
        f"{wanted}, which {host.accelerator} needs",
        f"install the {product} and enter {wanted} into runtimes of /etc/docker/daemon.json, or set "
        "gpustack_container_runtime: present to have that done",
    )


def _default_runtime(host, known):
    """dockerd does not start with a default that it does not know, and dockerd --validate does not see it."""
    own = _check_runtime_work.names(host)
    # Written by the roles of the vendors' runtimes. Where these are not to bring one, its lack is another finding.
    if own and host.runtime_mode != "skip":
        yield from _unknown(_DEFAULT, host.site.text(host.name, _DEFAULT), {*known, *own})
    # Written before that.
    yield from _unknown(f"{_SETTINGS}.default-runtime", _settings(host).get("default-runtime"), known, own)


def _unknown(where, wanted, known, later=()):
    if not isinstance(wanted, str) or not wanted or _container_runtimes.is_known(wanted, known):
        return
    expected = (
        f"one that Docker will know: {_container_runtimes.listed(known)}, or a shim of containerd (io.containerd.*)"
    )
    fix = f"correct it, or enter {wanted} into runtimes of {_SETTINGS}; with another one dockerd does not start"
    if wanted in later:
        fix = f"write it into {_DEFAULT} instead, which is set once Docker knows {wanted}"
    yield error("default_runtime_unknown", where, wanted, expected, fix)
