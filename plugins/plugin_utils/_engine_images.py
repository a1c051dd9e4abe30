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
        if _images.parse(written).canonical == name.canonical and isinstance(declaration, dict):
            return _of_site(entry["image"], declaration, version)
    known = _known(name, version)
    if known:
        return dataclasses.replace(known, name=entry["image"])
    if version:
        # Written beside the image, it says what is in it.
        return EngineImage(entry["image"], _engines()[0], version)
    return EngineImage(entry["image"], undeclared_release=_is_of_an_engine(name))


def _of_artefact(key, version):
    entry = _artefact(key)
    same = version in (None, entry["engine_version"])
    return EngineImage(
        _images.artefact(key, version),
        entry["engine"],
        version or entry["engine_version"],
        entry["platform"],
        _runtime(entry) if same else _runtime_of(entry, version),
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
    for entry in sorted(_of_engines(), key=lambda one: -len(_template(one))):
        if _images.parse(f"{entry['repository']}:x").repository != image.repository:
            continue
        if entry.get("moving") and image.tag == entry["tag"]:
            release = version or entry["engine_version"]
            return EngineImage("", entry["engine"], release, entry["platform"], _runtime(entry))
        # v0.25.1rc1-a3 and v0.25.0-cu129 say what they are made for after the release.
        tag = re.escape(_template(entry)).replace(re.escape("{version}"), r"(?P<version>\d[\w.+]*)")
        found = re.fullmatch(tag + r"(?P<suffix>-[\w.-]+)?", image.tag) if "{version}" in _template(entry) else None
        if found:
            release = found.group("version")
            runtime = {} if found.group("suffix") else _runtime_of(entry, release)
            return EngineImage("", entry["engine"], release, entry["platform"], runtime)
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
