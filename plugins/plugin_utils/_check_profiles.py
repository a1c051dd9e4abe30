# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Profiles and engine images of a site's own: are they complete, and about something that exists?"""

from __future__ import annotations

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _data, _images, _profiles, _schema, _shown, _site
from ansible_collections.inferops.gpustack.plugins.plugin_utils._findings import error, one_of

_PROFILES = "gpustack_profiles"
_IMAGES = "gpustack_engine_images"
# What goes with a vendor's cards.
_OF_VENDOR = {
    "nvidia": {"platform": "cuda", "device_type": "cuda", "container.runtime": "nvidia"},
    "ascend": {"platform": "cann", "device_type": "cann", "container.runtime": "ascend"},
}


def check(site):
    profiles = site.value(_PROFILES)
    # What has another shape has findings of its own.
    if _schema.fits(profiles, _site.known_variables()[_PROFILES]):
        for kind in _profiles.REQUIRED:
            for name, entry in (profiles.get(kind) or {}).items():
                where = f"{_PROFILES}.{kind}.{_shown.name(name)}"
                yield from _incomplete(kind, name, entry, where)
                yield from _unknown_pair(site.profiles, kind, name, where)
                yield from _another_vendor(site.profiles, kind, name, where)
        for where, layer in site.profiles.own_layers():
            yield from _unknown_image(layer.data.get("image"), f"{_PROFILES}.{where}.image")
    images = site.value(_IMAGES)
    for name in images if isinstance(images, dict) else ():
        yield from _no_image(name)


def _incomplete(kind, name, entry, where):
    if name in _data.names(kind):
        yield from _taken_out(kind, entry, where)
        return
    missing = _profiles.lacking(kind, entry)
    if not missing:
        return
    close = _profiles.nearest(name, _data.names(kind))
    fix = f"add {', '.join(missing)}"
    yield error(
        "profile_incomplete",
        where,
        f"a new name without {', '.join(missing)}",
        f"everything that a profile of {kind} needs, or the name of a built-in one",
        f"did you mean {close}? Else {fix}" if close else fix,
    )


def _taken_out(kind, entry, where):
    keys = ", ".join(_profiles.taken_out(kind, entry))
    if keys:
        yield error(
            "profile_incomplete",
            where,
            f"null for {keys}",
            f"what a profile of {kind} cannot do without",
            f"take {keys} out, and the built-in profile has it, or write a value",
        )


def _another_vendor(known, kind, name, where):
    if kind != "accelerators" or name not in known.accelerators():
        return
    card = known.accelerator(name)
    fitting = _OF_VENDOR[card["vendor"]]
    written = {key: card[key] for key in ("platform", "device_type")}
    written["container.runtime"] = card["container"]["runtime"]
    wrong = [f"{key}: {value}" for key, value in written.items() if value != fitting[key]]
    if wrong:
        right = ", ".join(f"{key}: {value}" for key, value in fitting.items())
        yield error(
            "profile_vendor_differs",
            where,
            f"{', '.join(wrong)} with vendor: {card['vendor']}",
            right,
            f"write {right}, or the vendor of the card if it is another one",
        )


def _unknown_pair(known, kind, name, where):
    if kind != "pairs":
        return
    family, unused, accelerator = str(name).partition("__")
    if family in known.families() and accelerator in known.accelerators():
        return
    close = _profiles.nearest(name, [f"{one}__{card}" for one in known.families() for card in known.accelerators()])
    yield error(
        "profile_pair_unknown",
        where,
        repr(name),
        "<family>__<accelerator>, two underscores between two known names",
        f"did you mean {close}?" if close else "write the names of a family and of an accelerator",
    )


def _unknown_image(image, where):
    known = sorted(key for key, each in _data.load("artefacts.yml")["images"].items() if "engine" in each)
    if image and image not in known:
        yield error(
            "profile_image_unknown",
            where,
            repr(image),
            one_of(known),
            "write one of these keys; an image of your own is named in the deployment (image)",
        )


def _no_image(name):
    try:
        _images.parse(name)
    except _images.ImageError as reason:
        shown = _shown.without_account(name)
        yield error(
            "image_invalid",
            f"{_IMAGES}.{shown}",
            str(reason),
            "<registry>/<repository>:<tag>",
            "write the name as the deployment's image has it",
        )
