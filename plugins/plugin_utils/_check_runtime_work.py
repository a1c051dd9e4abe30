# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What site.yml is about to do for the container runtime of a host's cards, or why it cannot.

It is about gpustack_container_runtime: present, and asks what the roles ask.
"""

from __future__ import annotations

from ansible_collections.inferops.gpustack.plugins.plugin_utils import (
    _ascend_package,
    _ascend_runtime,
    _check_host_facts_cards,
    _data,
    _installer_file,
    _nvidia_toolkit,
    _packages,
)
from ansible_collections.inferops.gpustack.plugins.plugin_utils._findings import error, note

PRODUCT = {"nvidia": "NVIDIA Container Toolkit", "ascend": "Ascend Docker Runtime"}
_DATA = {"nvidia": _nvidia_toolkit.DATA, "ascend": _ascend_package.DATA}
_WISHES = {"version": "gpustack_toolkit_version", "mirror": "gpustack_toolkit_mirror"}


def names(host):
    """The runtimes that the roles bring for the cards of this host."""
    return [_name(vendor) for vendor in _vendors(host)]


def of(host, known, found):
    """known: the runtimes that Docker knows without this work."""
    # Facts of an older release say nothing of the system.
    for vendor in _vendors(host) if host.fact("os") else ():
        name = _name(vendor)
        expected = f"{name}, for {_check_host_facts_cards.described(_cards(host, vendor))}"
        refusal, brings = {"nvidia": _nvidia, "ascend": _ascend}[vendor](host, name in known)
        if refusal:
            yield error("container_runtime_not_installable", PRODUCT[vendor], found, expected, refusal)
        elif brings:
            fix = f"nothing: site.yml {brings}, and enters {name} into runtimes of /etc/docker/daemon.json"
            yield note("container_runtime_to_install", PRODUCT[vendor], found, expected, fix)


def _nvidia(host, is_known):
    """(why not, what site.yml does)."""
    wishes = host.texts(_WISHES)
    # As the role: packages are asked for only where that may lead to something.
    if is_known and "version" not in wishes:
        return "", ""
    plan = _packages.or_problem(_nvidia_toolkit.packages, host.fact("os"), **wishes)
    if plan["problem"] or is_known:
        # Which release Docker's is, the role will see.
        return plan["problem"], ""
    return "", f"installs {', '.join(plan['packages'])} from {plan['repository']['url']}, unless it is there"


def _ascend(host, is_known):
    """(why not, what site.yml does)."""
    work = _ascend_runtime.action(
        host.facts,
        _data.mapping(host.site.of(host.name, "gpustack_ascend_runtime")),
        # Nobody looked. One that Docker does not know is not expected there.
        installed=None if is_known else "",
        accept_eula=host.site.of(host.name, "gpustack_ascend_accept_eula") is True,
    )
    if work["refusal"] or not work["step"]:
        return work["refusal"], ""
    return _installer_file.problem(work["step"]), f"runs {work['step']['name']}, unless that release is there"


def _vendors(host):
    # Under WSL the role of Ascend's runtime does nothing.
    return [vendor for vendor in host.vendors if vendor in PRODUCT and (vendor != "ascend" or not host.fact("wsl"))]


def _cards(host, vendor):
    return [card for card in host.cards if card.get("vendor") == vendor]


def _name(vendor):
    return _data.load(_DATA[vendor])["runtime"]["name"]
