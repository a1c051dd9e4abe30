# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Names of container images: the canonical name, and the one reference a site uses for it."""

from __future__ import annotations

import dataclasses
import re

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _data, _shown

DEFAULT_REGISTRY = "docker.io"
DIGEST = re.compile(r"^sha256:[0-9a-f]{64}\Z")
_DOCKER_HUB_ALIASES = ("index.docker.io", "registry-1.docker.io")
_COMPONENT = r"[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*"
_REPOSITORY = re.compile(rf"^{_COMPONENT}(?:/{_COMPONENT})*\Z")
_TAG = re.compile(r"^\w[\w.-]{0,127}\Z", re.ASCII)
_MOVING_TAG = re.compile(r"^(latest|main|nightly(-.*)?)\Z")
_RUNTIME_REPOSITORY = "gpustack/runtime"


class ImageError(ValueError):
    """An image name or an artefact that cannot be used, with the reason."""


@dataclasses.dataclass(frozen=True)
class Image:
    registry: str
    repository: str
    tag: str
    digest: str = ""

    @property
    def canonical(self):
        return f"{self.registry}/{self.repository}:{self.tag}"


def parse(name):
    """Split an image name the way Docker reads it."""
    if not isinstance(name, str) or not name or re.search(r"\s", name):
        shown = _shown.without_account(name)
        raise ImageError(f"not an image name: {shown!r}; write <registry>/<repository>:<tag>")
    shown = _shown.without_account(name)
    rest, unused, digest = name.partition("@")
    if "://" in rest:
        raise ImageError(f"image name {shown!r} carries a URL scheme; write <registry>/<repository>:<tag>")
    head, slash, tail = rest.partition("/")
    # Docker takes the first component for a registry only when it looks like a host.
    if slash and ("." in head or ":" in head or head == "localhost"):
        registry, path = head, tail
    else:
        registry, path = DEFAULT_REGISTRY, rest
    if registry in _DOCKER_HUB_ALIASES:
        registry = DEFAULT_REGISTRY
    directory, slash, last = path.rpartition("/")
    last, unused, tag = last.partition(":")
    repository = directory + slash + last
    if not last:
        raise ImageError(f"image name {shown!r} has no repository; write <registry>/<repository>:<tag>")
    if registry == DEFAULT_REGISTRY and "/" not in repository:
        repository = f"library/{repository}"
    if not _REPOSITORY.match(repository) or (tag and not _TAG.match(tag)):
        raise ImageError(f"image name {shown!r}: repositories are lower-case, tags of letters, digits and _ . -")
    if "@" in name and not DIGEST.match(digest):
        raise ImageError(f"image name {shown!r}: a digest is sha256: and 64 hexadecimal digits")
    return Image(registry, repository, tag or "latest", digest)


def canonical(name):
    return parse(name).canonical


def moving_tag(name):
    """True when the content behind this name may change."""
    image = parse(name)
    if image.digest:
        return False
    return bool(_MOVING_TAG.match(image.tag)) or image.repository == _RUNTIME_REPOSITORY


def reference(name, rewrites=None, lock=None):
    """The one string that is pulled, compared, given to GPUStack and expected in a running container."""
    image = parse(name)
    prefix = (rewrites or {}).get(image.registry, image.registry).rstrip("/")
    digest = image.digest or (lock or {}).get(image.canonical)
    suffix = f"@{digest}" if digest else f":{image.tag}"
    return f"{prefix}/{image.repository}{suffix}"


def artefact(key, version=None):
    """Canonical name of an image of `data/artefacts.yml`, in the given version or the default one."""
    images = _data.load("artefacts.yml")["images"]
    if key not in images:
        raise ImageError(f"unknown artefact {key!r}; known: {', '.join(sorted(images))}")
    entry = images[key]
    template = entry.get("version_tag", entry["tag"]) if version else entry["tag"]
    if version and "{version}" not in template:
        raise ImageError(f"artefact {key!r} has no versions, but version {version!r} was asked for")
    return f"{entry['repository']}:{template.format(version=version or entry.get('version'))}"


def missing(references, present):
    """The references that none of the names a container engine lists stands for, in order, each once."""
    there = {_identity(name) for name in present if _is_name(name)}
    return [name for name in dict.fromkeys(references) if _identity(name) not in there]


def _is_name(name):
    """False for what an engine lists and nobody can ask for, such as <none>:<none>."""
    try:
        return bool(parse(name))
    except ImageError:
        return False


def _identity(name):
    image = parse(name)
    # With a digest the tag says nothing more: engines list repository@digest.
    return f"{image.registry}/{image.repository}@{image.digest}" if image.digest else image.canonical
