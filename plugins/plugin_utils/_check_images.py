# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every image the site will use: is it certain what is behind its name?"""

from __future__ import annotations

import re

from ansible_collections.inferops.gpustack.plugins.plugin_utils import (
    _images,
    _placeholders,
    _plan,
    _schema,
    _shown,
)
from ansible_collections.inferops.gpustack.plugins.plugin_utils._findings import error, warning
from ansible_collections.inferops.gpustack.plugins.plugin_utils._site import option

_LOCK = "gpustack_artefacts_lock"
_REWRITES = "gpustack_registry_rewrites"
_HOST = re.compile(r"^(localhost|[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+|[A-Za-z0-9.-]+(?=:)|\[[0-9a-f:]+\](?=:))(:[0-9]+)?\Z")
_FORM, _EXAMPLE = "<registry>/<repository>:<tag>", "docker.io/vllm/vllm-openai:v0.25.0"
_READ_DIGEST = "docker buildx imagetools inspect <image>, or skopeo inspect docker://<image>"


def check(site):
    lock = site.value(_LOCK)
    lock = lock if isinstance(lock, dict) else {}
    yield from _lock_entries(lock)
    yield from _rewrites(site.value(_REWRITES))
    judged = set()
    for where, name in _used(site):
        try:
            image = _images.parse(name)
        except _images.ImageError as reason:
            yield error("image_invalid", where, str(reason), _FORM, f"write {_FORM}, such as {_EXAMPLE}")
            continue
        if _placeholders.is_digest(image.digest):
            yield _fake_digest(where, image.digest)
        if image.canonical not in judged and not image.digest and image.canonical not in lock:
            yield _unlocked(where, image.canonical)
        judged.add(image.canonical)


def _used(site):
    """(where it comes from, image name) of everything that will run."""
    version = site.value("gpustack_version")
    if site.hosts and _schema.fits(version, option("gpustack_version")):
        yield "gpustack_version", _images.artefact("gpustack", version)
    if site.workers:
        yield "every worker", _images.artefact("runtime_pause")
        yield "every worker", _images.artefact("runtime_health")
    for where, model, entry in site.deployments():
        yield from _engine(site, model, entry, where)


def _engine(site, model, entry, where):
    if entry.get("image") is not None:
        if isinstance(entry["image"], str):
            yield f"{where}.image", entry["image"]
        return
    # What keeps a deployment from being planned has its own finding.
    family, accelerator, version = model.get("family"), entry.get("accelerator"), entry.get("engine_version")
    if family not in site.profiles.families() or accelerator not in site.profiles.accelerators():
        return
    if version is None or _schema.fits(version, option("gpustack_models.deployments.engine_version")):
        try:
            yield where, _plan.engine_image(entry, site.profiles.layers(family, accelerator)).name
        except _images.ImageError:
            return


def _unlocked(where, name):
    fix = (
        f"pin it: read its digest from the registry the hosts pull from ({_READ_DIGEST}), "
        f"and add to {_LOCK}: {name}: sha256:<digest>"
    )
    if _images.moving_tag(name):
        return error(
            "image_moving_unlocked",
            where,
            f"{name}, whose content changes under the same tag",
            f"its digest in {_LOCK}",
            fix,
        )
    return warning("image_unlocked", where, name, f"its digest in {_LOCK}", fix)


def _fake_digest(where, digest):
    return error(
        "lock_digest_fake",
        where,
        f"{digest!r}, the digest of an example; no registry gives it",
        "the digest of this image, as the registry gives it",
        f"read the digest from the registry ({_READ_DIGEST}), or take it out until you know it",
    )


def _lock_entries(lock):
    for name, digest in lock.items():
        shown = _shown.without_account(name)
        where = f"{_LOCK}.{shown}"
        if isinstance(digest, str) and _placeholders.is_digest(digest):
            yield _fake_digest(where, digest)
        elif not isinstance(digest, str) or not _images.DIGEST.match(digest):
            yield error(
                "lock_digest_invalid",
                where,
                _schema.describe(digest),
                "sha256: and 64 hexadecimal digits, as the registry gives them",
                f"read the digest again: {_READ_DIGEST}",
            )
        try:
            canonical = _images.canonical(name)
        except _images.ImageError:
            canonical = None
        if canonical != name:
            yield error(
                "lock_name_invalid",
                where,
                f"{shown!r}, which matches no image",
                "<registry host>/<repository>:<tag>",
                f"write {canonical}" if canonical else f"write a name such as {_EXAMPLE}",
            )


def _same_host(registry):
    """False for another name of Docker Hub, which no image name keeps."""
    return _images.parse(f"{registry}/a/b").registry == registry


def _is_prefix(prefix):
    host, slash, path = prefix.partition("/")
    if not _HOST.match(host) or (slash and not path):
        return False
    try:
        return _images.parse(f"{prefix}/a/b:c").registry in (host, _images.DEFAULT_REGISTRY)
    except _images.ImageError:
        return False


def _rewrites(rewrites):
    if not isinstance(rewrites, dict):
        return
    for registry, prefix in rewrites.items():
        where = f"{_REWRITES}.{_shown.without_account(registry)}"
        if not isinstance(registry, str) or not _HOST.match(registry) or not _same_host(registry):
            fix = "write docker.io" if "docker.io" in str(registry) else "write the host (and port) as in image names"
            yield error("rewrite_invalid", where, "no registry host", "<host>[:port]", fix)
        if not isinstance(prefix, str) or not _is_prefix(prefix):
            yield error(
                "rewrite_invalid",
                where,
                _schema.describe(prefix),
                "<host>[:port][/path], as it stands in image names",
                "write it like 10.0.0.5:5000 or r.example.com/docker.io: no scheme, capitals, spaces or final slash",
            )
