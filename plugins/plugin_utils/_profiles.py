# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is known about accelerators, model families and the two together, and what a site adds to it."""

from __future__ import annotations

import dataclasses
import difflib

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _data, _shown

#: What a profile of a site's own needs beside what it wants to set.
REQUIRED = {
    "accelerators": (
        "name",
        "vendor",
        "pci_ids",
        "memory_bytes",
        "cards_per_host",
        "platform",
        "device_type",
        "container",
    ),
    "families": ("description", "formats"),
    "pairs": (),
}


class ProfileError(ValueError):
    """A name nobody has a profile for, with the nearest known ones."""


@dataclasses.dataclass(frozen=True)
class Layer:
    name: str
    data: dict

    def get(self, key):
        return _data.mapping(self.data.get(key))

    def source(self, name):
        sources = self.get("sources")
        return str(sources.get(name, ""))


class Profiles:
    """The collection's profiles, with those of one site (gpustack_profiles) over them."""

    def __init__(self, site=None):
        self._site = _data.mapping(site)

    def accelerators(self):
        return self._names("accelerators")

    def families(self):
        return self._names("families")

    def accelerator(self, name):
        """The profile of one accelerator, its own key included."""
        return dict(self._merged("accelerators", name, "accelerator"), profile=str(name))

    def family(self, name):
        return dict(self._merged("families", name, "model family"), name=str(name))

    def has_pair(self, family, accelerator):
        return f"{family}__{accelerator}" in self._names("pairs")

    def runs_on(self, family, accelerator, lifted=()):
        """Whether the engines of this collection run the family on the accelerator; `lifted` as in lacks_kernel."""
        profile, card = self.family(family), self.accelerator(accelerator)
        return (
            card.get("platform") in _data.mapping(profile.get("formats"))
            and self.lacks_kernel(family, accelerator, lifted) is None
            and (self.has_pair(family, accelerator) or not profile.get("needs_pair"))
        )

    def lacks_kernel(self, family, accelerator, lifted=()):
        """The compute capability that is missing, or None. `lifted`: first parts that an image adds."""
        capability = self.accelerator(accelerator).get("compute_capability")
        needed = _data.mapping(self.family(family).get("compute_capabilities"))
        if not capability or not needed:
            return None
        major = int(str(capability).partition(".")[0])
        return None if major in (*needed["majors"], *lifted) else needed

    def served_by(self, family):
        return [name for name in self.accelerators() if self.runs_on(family, name)]

    def runs(self, accelerator):
        """The families that run on an accelerator, those that are more than `generic` first."""
        names = [name for name in self.families() if self.runs_on(name, accelerator)]
        return sorted(names, key=lambda name: name == "generic")

    def layers(self, family, accelerator):
        """The layers of a launch, the first is the lowest. All that a site writes is above all that is built in."""
        platform = self.accelerator(accelerator)["platform"]
        self.family(family)  # raises for an unknown one
        layers = [Layer(f"platform {platform}", _data.load(f"platforms/{platform}.yml"))]
        for prefix, read in (("", _built_in), ("site: ", self._of_site)):
            family_data = read("families", family)
            layers += [
                Layer(f"{prefix}accelerator {accelerator}", read("accelerators", accelerator)),
                Layer(f"{prefix}family {family}", family_data),
                Layer(
                    f"{prefix}family {family} on {platform}",
                    _data.mapping(_data.mapping(family_data.get("platforms")).get(platform)),
                ),
                Layer(f"{prefix}pair {family} x {accelerator}", read("pairs", f"{family}__{accelerator}")),
            ]
        return layers

    def own_layers(self):
        """(where in gpustack_profiles, layer) of all that the site wrote."""
        for kind in REQUIRED:
            for name, entry in _data.mapping(self._site.get(kind)).items():
                where = f"{kind}.{_shown.name(name)}"
                yield where, Layer(where, _data.mapping(entry))
                for platform, data in _data.mapping(_data.mapping(entry).get("platforms")).items():
                    below = f"{where}.platforms.{_shown.name(platform)}"
                    yield below, Layer(below, _data.mapping(data))

    def platform(self, name):
        return _data.load(f"platforms/{name}.yml")

    def pci_profiles(self):
        """Every known card as {pci_id, vendor, profile, memory_bytes, name}; profile is None where there is none."""
        known = {}
        for vendor, cards in _data.load("pci_ids.yml").items():
            for pci_id, name in cards.items():
                known[pci_id] = {"vendor": vendor, "profile": None, "memory_bytes": None, "name": name}
        for name in self.accelerators():
            entry = self.accelerator(name)
            card = {key: entry.get(key) for key in ("vendor", "profile", "memory_bytes", "name")}
            known.update((pci_id, card) for pci_id in entry.get("pci_ids") or ())
        return [dict(known[pci_id], pci_id=pci_id) for pci_id in sorted(known)]

    def _names(self, kind):
        return tuple(sorted({*_data.names(kind), *self._own(kind)}))

    def _own(self, kind):
        """Names the site added, as far as they are complete."""
        entries = _data.mapping(self._site.get(kind))
        return [str(name) for name, entry in entries.items() if name in _data.names(kind) or not lacking(kind, entry)]

    def _of_site(self, kind, name):
        return _data.mapping(_data.mapping(self._site.get(kind)).get(name))

    def _merged(self, kind, name, what):
        known = self._names(kind)
        if name not in known:
            raise ProfileError(f"unknown {what} {name!r}; known: {', '.join(known)}")
        own = self._of_site(kind, name)
        # Nothing can do without these: null over one counts as not written.
        return {**_built_in(kind, name), **{key: own[key] for key in own if key not in taken_out(kind, own)}}


def lacking(kind, entry):
    """The keys that a profile of a site's own still needs."""
    return [key for key in REQUIRED[kind] if _data.mapping(entry).get(key) is None]


def taken_out(kind, entry):
    """The keys that every profile needs and that a site has set to null."""
    return [key for key in lacking(kind, entry) if key in _data.mapping(entry)]


def _built_in(kind, name):
    return _data.load(f"{kind}/{name}.yml") if name in _data.names(kind) else {}


def nearest(name, known, cutoff=0.6):
    """The known name most like this one, upper or lower case, or an empty string."""
    return next(iter(similar(name, known, cutoff, most=1)), "")


def similar(name, known, cutoff=0.8, most=3):
    """The known names this one may stand for, the most like it first."""
    by_lower = {str(each).lower(): each for each in known}
    return [by_lower[each] for each in difflib.get_close_matches(str(name).lower(), list(by_lower), most, cutoff)]
