# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which of NVIDIA's kernel modules, open or proprietary, the cards of a host take."""

from __future__ import annotations

import functools

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _data
from ansible_collections.inferops.gpustack.plugins.plugin_utils._driver_needs import is_below

BOTH = ("open", "proprietary")


def for_cards(cards):
    """({module: the cards that take no other}, the cards nothing is known of)."""
    only, unknown = {}, []
    for card in cards:
        modules = taken_by(card)
        if modules is None:
            unknown.append(_name(card))
        elif len(modules) == 1:
            only.setdefault(modules[0], []).append(_name(card))
    return {module: list(dict.fromkeys(names)) for module, names in only.items()}, list(dict.fromkeys(unknown))


def taken_by(card):
    """The modules that a card takes; None where its generation is not known."""
    identifier = card.get("pci_id") or ""
    if identifier in _data.load("nvidia_packages.yml")["open_only"]:
        return ("open",)
    capability = _capabilities().get(identifier)
    if capability is None:
        return None
    rule = _data.load("host_needs.yml")["kernel_module"]
    if is_below(capability, rule["proprietary_below"]):
        return ("proprietary",)
    return BOTH if is_below(capability, rule["open_from"]) else ("open",)


@functools.lru_cache(maxsize=None)
def _capabilities():
    known = dict(_data.load("nvidia_packages.yml")["capabilities"])
    for name in _data.names("accelerators"):
        profile = _data.load(f"accelerators/{name}.yml")
        if profile["vendor"] == "nvidia":
            known.update(dict.fromkeys(profile["pci_ids"], profile["compute_capability"]))
    return known


def _name(card):
    return card.get("name") or card.get("pci_id") or "a card without an id"
