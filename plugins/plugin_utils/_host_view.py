# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One host that was looked at: what was found there beside what the inventory says of it."""

from __future__ import annotations

import functools

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _data, _site_plan


def views(site):
    """Every host with facts, in the order of the inventory."""
    plans = {}
    for planned in _site_plan.of_site(site):
        plans.setdefault(planned.plan["accelerator"], []).append(planned.plan)
    return [HostView(site, name, plans) for name in site.hosts if name in site.facts]


class HostView:
    def __init__(self, site, name, plans):
        self.site, self.name = site, name
        self.facts = site.facts[name]
        self._plans = plans

    @functools.cached_property
    def accelerator(self):
        """What a worker declares, or None: a name that is not known has its finding in the inventory."""
        declared = self.site.text(self.name, "gpustack_accelerator") if self.name in self.site.workers else None
        return declared if declared in self.site.profiles.accelerators() else None

    @functools.cached_property
    def profile(self):
        return self.site.profiles.accelerator(self.accelerator) if self.accelerator else {}

    @property
    def plans(self):
        """The deployments that may run here."""
        return self._plans.get(self.accelerator, [])

    @property
    def cards(self):
        return self.rows("accelerators")

    @property
    def own_cards(self):
        """The cards that are what the host declares."""
        pci_ids = self.profile.get("pci_ids") or ()
        return [card for card in self.cards if card.get("profile") == self.accelerator or card.get("pci_id") in pci_ids]

    @functools.cached_property
    def vendors(self):
        """Of the cards that are there, which the roles go by; what the inventory declares may contradict them."""
        return sorted({str(card.get("vendor")) for card in self.cards})

    @property
    def replaces_podman(self):
        """Whether container_engine may put Docker in the place of podman-docker here."""
        wanted = self.site.of(self.name, "gpustack_docker_remove_conflicting")
        return wanted is True and self.fact("engine", "kind") == "podman"

    @property
    def driver_mode(self):
        """present, check or skip."""
        return self.site.text(self.name, "gpustack_driver") or "check"

    @property
    def runtime_mode(self):
        """The same of the vendor's container runtime."""
        return self.site.text(self.name, "gpustack_container_runtime") or self.driver_mode

    def texts(self, names):
        """{option: text} of the variables that the inventory sets, from {option: variable}."""
        given = {option: self.site.text(self.name, name) for option, name in names.items()}
        return {option: value for option, value in given.items() if value}

    def rows(self, *keys):
        return self.fact(*keys) or []

    def fact(self, *keys):
        """A fact by its path; None where it is not known, or was not asked for by an older release."""
        found = self.facts
        for key in keys:
            found = _data.mapping(found).get(key)
        return found
