# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is known about accelerators, model families and the two together."""

from __future__ import annotations

import difflib

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _data


class ProfileError(ValueError):
    """A name nobody has a profile for, with the nearest known ones."""


def accelerators():
    return _data.names("accelerators")


def families():
    return _data.names("families")


def accelerator(name):
    """The profile of one accelerator, its own key included."""
    return dict(_load("accelerators", name, "accelerator"), profile=str(name))


def family(name):
    return _load("families", name, "model family")


def has_pair(family_name, accelerator_name):
    return f"{family_name}__{accelerator_name}" in _data.names("pairs")


def served_by(family_name):
    """The accelerators the family has a launch profile for."""
    return [name.split("__", 1)[1] for name in _data.names("pairs") if name.startswith(f"{family_name}__")]


def pair(family_name, accelerator_name):
    """Launch arguments, environment and image of one family on one accelerator."""
    if not has_pair(family_name, accelerator_name):
        raise ProfileError(
            f"family {family_name!r} has no launch profile for accelerator {accelerator_name!r}; "
            f"it has one for: {', '.join(served_by(family_name)) or 'none'}"
        )
    return _data.load(f"pairs/{family_name}__{accelerator_name}.yml")


def pci_profiles():
    """Every known card as {pci_id, vendor, profile, memory_bytes, name}; profile is None where there is none yet."""
    known = []
    for name in accelerators():
        entry = accelerator(name)
        known.append(
            {
                "pci_id": entry["pci_id"],
                "vendor": entry["vendor"],
                "profile": name,
                "memory_bytes": entry["memory_bytes"],
                "name": entry["name"],
            }
        )
    for vendor, cards in _data.load("pci_ids.yml").items():
        known.extend(
            {"pci_id": pci_id, "vendor": vendor, "profile": None, "memory_bytes": None, "name": name}
            for pci_id, name in cards.items()
        )
    return sorted(known, key=lambda card: card["pci_id"])


def nearest(name, known, cutoff=0.6):
    """The known name most like this one, upper or lower case, or an empty string."""
    by_lower = {str(each).lower(): each for each in known}
    close = difflib.get_close_matches(str(name).lower(), list(by_lower), n=1, cutoff=cutoff)
    return by_lower[close[0]] if close else ""


def _load(directory, name, what):
    known = _data.names(directory)
    if name not in known:
        raise ProfileError(f"unknown {what} {name!r}; known: {', '.join(known)}")
    return _data.load(f"{directory}/{name}.yml")
