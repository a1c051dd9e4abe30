# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Are the cards that the inventory declares in the host, all of them and no others?"""

from __future__ import annotations

import collections

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _data
from ansible_collections.inferops.gpustack.plugins.plugin_utils._findings import counted, error, warning

_WHERE = "gpustack_accelerator"
_COUNT = "gpustack_accelerator_count"


def check(host):
    if not host.accelerator:
        return
    cards, own = host.cards, host.own_cards
    if not cards:
        yield _none(host)
    elif not own:
        yield _differs(host, cards)
    else:
        if len(own) < len(cards):
            yield _mixed(host, cards)
        yield from _counted(host, own)


def described(cards):
    """`4 x nvidia_rtx_4090, 1 x 10de:2204`"""
    names = collections.Counter(card.get("profile") or _name(card) for card in cards)
    return ", ".join(f"{count} x {name}" for name, count in names.items())


def _name(card):
    """By its PCI id: a vendor's tool may call a card by the name of another one."""
    known = _data.load("pci_ids.yml").get(card.get("vendor"), {})
    return known.get(card.get("pci_id")) or card.get("name") or card.get("pci_id")


def processors(cards):
    """GPUStack and the engines count processors: a card with two is two of them."""
    return sum(card.get("chips") or 1 for card in cards)


def _none(host):
    return error(
        "accelerator_not_found",
        _WHERE,
        "no accelerator in the host",
        f"{host.site.cards_of(host.name)} x {host.accelerator}",
        "see what lspci -nn shows; correct gpustack_accelerator, or take the host out of gpustack_worker. Accept it "
        "where gpustack_worker_config tells GPUStack the devices (resources)",
    )


def _differs(host, cards):
    profiles = {card.get("profile") for card in cards}
    known = profiles.pop() if len(profiles) == 1 else None
    pci_ids = sorted({str(card.get("pci_id")) for card in cards})
    if known:
        fix = f"write gpustack_accelerator: {known} for this host"
    else:
        fix = f"write a profile with pci_ids: {pci_ids} into gpustack_profiles and name it in gpustack_accelerator"
        fix += ", or take the host out of gpustack_worker"
    return error(
        "accelerator_differs",
        _WHERE,
        f"{described(cards)} (PCI {', '.join(pci_ids)})",
        f"{host.accelerator}, as the inventory says",
        fix,
    )


def _mixed(host, cards):
    return error(
        "accelerators_mixed",
        _WHERE,
        described(cards),
        f"{host.accelerator} only: GPUStack may put an instance on any card of the host",
        "take the other cards out of the host, or accept it if every deployment fits each of them",
        "GPUStack 2.3.0, a worker's labels choose the host, not its cards",
    )


def _counted(host, own):
    # The instances of a card that is split are what counts, and the site says how many there are.
    if any(card.get("mig") for card in own):
        return
    there, expected = processors(own), host.site.cards_of(host.name)
    said = f"write {_COUNT}: {there} for this host"
    if there < expected:
        largest = max((plan["devices_per_instance"] for plan in host.plans), default=0)
        needs = f"; one instance needs {largest}" if largest > there else ""
        yield error(
            "accelerator_count_fewer",
            _COUNT,
            f"{there} x {host.accelerator}",
            f"{expected}, as the inventory or the profile says{needs}",
            f"{said} if it has no more; else look for the missing {counted(expected - there, 'card')} with lspci",
        )
    elif there > expected:
        yield warning(
            "accelerator_count_more",
            _COUNT,
            f"{there} x {host.accelerator}",
            f"{expected}, as the inventory or the profile says: the plan leaves the others out",
            said,
        )
