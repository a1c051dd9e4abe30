# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is in an engine image: engine, release, platform, CUDA or CANN. An image that nobody declared is `generic`."""

from __future__ import annotations

import dataclasses
import re

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _data, _images

GENERIC = "generic"


@dataclasses.dataclass(frozen=True)
class EngineImage:
    """`version` is None where it is not known; for a moving tag it is the release it is treated as."""

    name: str
    engine: str = GENERIC
    version: str | None = None
    platform: str | None = None
    # {"cuda": "12.9"}, {"cann": "9.1"} or nothing.
    runtime: dict = dataclasses.field(default_factory=dict)
    # First parts of compute capabilities whose kernels it has beyond those of the stock engine.
    capabilities: tuple = ()
    # Of this engine's repository, but nothing says which release it is.
    undeclared_release: bool = False


def of_deployment(entry, default, declared=None):
    """The image of one deployment. `default`: the profile's key of data/artefacts.yml; `declared`: of the site."""
    version = entry.get("engine_version")
    if not entry.get("image"):
        return _of_artefact(default, version)
    name = _images.parse(entry["image"])
    for written, declaration in (declared or {}).items():
        if _is_same(_images.parse(written), name) and isinstance(declaration, dict):
            return _of_site(entry["image"], declaration, version)
    known = _known(name, version)
    if known:
        return dataclasses.replace(known, name=entry["image"])
    if version:
        # Written beside the image, it says what is in it.
        return EngineImage(entry["image"], _engines()[0], version)
    return EngineImage(entry["image"], undeclared_release=_is_of_an_engine(name))


def cards(name, accelerator):
    """The cards that an image is made for where this accelerator needs another image, else nothing."""
    found = _recognised(_images.parse(name))
    made_for = found[0].get("cards", []) if found else []
    # A card of a site's own has what its profile says.
    told = {card for entry in _of_engines() for card in entry.get("cards", ())}
    return made_for if accelerator in told.difference(made_for) else []


def _is_same(written, image):
    """Without a tag two digests have nothing else that tells them apart."""
    return written.canonical == image.canonical and (
        not written.digest or not image.digest or written.digest == image.digest
    )


def _of_artefact(key, version):
    entry = _artefact(key)
    return EngineImage(
        _images.artefact(key, version),
        entry["engine"],
        version or entry["engine_version"],
        entry["platform"],
        _runtime_of(entry, version) if version else _runtime(entry),
    )


def _artefact(key):
    images = _data.load("artefacts.yml")["images"]
    if key not in images or "engine" not in images[key]:
        engines = sorted(name for name, entry in images.items() if "engine" in entry)
        raise _images.ImageError(f"unknown engine image {key!r}; known: {', '.join(engines)}")
    return images[key]


def _of_site(name, declaration, version):
    return EngineImage(
        name,
        str(declaration.get("engine") or GENERIC),
        version or declaration.get("engine_version"),
        declaration.get("platform"),
        _runtime(declaration),
        tuple(declaration.get("compute_capabilities") or ()),
    )


def _known(image, version):
    """An image of a repository this collection knows, where its tag says the release."""
    found = _recognised(image)
    if not found:
        return None
    entry, release, suffix = found
    if release:
        runtime = {} if suffix else _runtime_of(entry, release)
    else:
        release = version or entry["engine_version"]
        runtime = _runtime(entry) if release == entry["engine_version"] else {}
    return EngineImage("", entry["engine"], release, entry["platform"], runtime)


def _recognised(image):
    """(entry of data/artefacts.yml, release, suffix) of an image by its tag; the release of a moving tag is None."""
    for entry in sorted(_of_engines(), key=lambda one: -len(_template(one))):
        if _images.parse(f"{entry['repository']}:x").repository != image.repository:
            continue
        if entry.get("moving") and image.tag == entry["tag"]:
            return entry, None, None
        # v0.25.1rc1-a3 and v0.25.0-cu129 say what they are made for after the release.
        tag = re.escape(_template(entry)).replace(re.escape("{version}"), r"(?P<version>\d[\w.+]*)")
        found = re.fullmatch(tag + r"(?P<suffix>-[\w.-]+)?", image.tag) if "{version}" in _template(entry) else None
        if found:
            return entry, found.group("version"), found.group("suffix")
    return None


def _template(entry):
    return entry.get("version_tag", entry["tag"])


def _runtime_of(entry, version):
    """The runtime of another release of the same repository, where one is declared."""
    for other in _of_engines():
        if (
            (other["repository"], _template(other)) == (entry["repository"], _template(entry))
            and other["engine_version"] == version
            and not other.get("moving")
        ):
            return _runtime(other)
    return {}


def _is_of_an_engine(image):
    """A tag of an engine's repository that no release can be read from."""
    return any(_images.parse(f"{entry['repository']}:x").repository == image.repository for entry in _of_engines())


def _of_engines():
    return [entry for entry in _data.load("artefacts.yml")["images"].values() if "engine" in entry]


def _engines():
    return [entry["engine"] for entry in _of_engines()]


def _runtime(entry):
    return {name: str(entry[name]) for name in ("cuda", "cann") if entry.get(name)}
