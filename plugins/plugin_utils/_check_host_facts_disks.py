# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Is there room for the images that a host still has to pull?"""

from __future__ import annotations

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _data, _images
from ansible_collections.inferops.gpustack.plugins.plugin_utils._findings import error, warning

_GIGA = 10**9
_DATA_ROOT, _CONTAINERD_ROOT = "/var/lib/docker", "/var/lib/containerd"


def check(host):
    missing = _missing(host)
    if not missing:
        return
    needs = _data.load("host_needs.yml")
    known = [sizes for sizes in map(_sizes, missing.values()) if sizes]
    required = sum(sizes["compressed"] + sizes["unpacked"] for sizes in known)
    unpacked = sum(sizes["unpacked"] for sizes in known)
    comfortable = max(needs["disk"]["comfortable_bytes"], needs["disk"]["unpacked_factor"] * unpacked)
    purpose = f"free to pull {', '.join(missing.values())}"
    fix = "free space there (docker system df says what is in it), or move it to a larger disk"
    for where, free in _disks(host):
        found = f"{_gb(free)} free"
        if free < required:
            expected = f"{_gb(required)}, compressed and unpacked, {purpose}"
            yield error("disk_too_small", where, found, expected, fix, needs["sources"]["images"])
        elif free < comfortable:
            more = "; or accept it where the images are smaller or nothing else will be pulled"
            yield warning(
                "disk_tight", where, found, f"{_gb(comfortable)} {purpose}", fix + more, needs["sources"]["disk"]
            )


def _missing(host):
    """Reference to name of each image that this host will run and does not hold."""
    wanted = dict(_of_gpustack(host))
    wanted.update((plan["image"], plan["image_name"]) for plan in host.plans)
    present = host.fact("engine", "images") or []
    return {reference: wanted[reference] for reference in _images.missing(wanted, present)}


def _of_gpustack(host):
    site = host.site
    keys = {"gpustack": site.value("gpustack_version")}
    if host.name in site.workers:
        keys.update(runtime_pause=None, runtime_health=None)
    rewrites = _data.mapping(site.value("gpustack_registry_rewrites"))
    lock = _data.mapping(site.value("gpustack_artefacts_lock"))
    for key, version in keys.items():
        try:
            name = _images.artefact(key, version)
            yield _images.reference(name, rewrites, lock), name
        except (_images.ImageError, AttributeError, TypeError):
            # What is wrong with these values has findings of its own.
            continue


def _sizes(name):
    repository = name.partition("@")[0].rpartition(":")[0]
    return _data.load("host_needs.yml")["images"].get(repository)


def _disks(host):
    """(paths, free bytes) of the places where images will lie; those with the same space are told of once."""
    store = host.fact("engine", "image_store")
    paths = {
        # Where this run has Docker keep them goes before where it keeps them now.
        "classic": _wanted_root(host) or host.fact("engine", "data_root") or _DATA_ROOT,
        "containerd": host.fact("engine", "containerd_root") or _CONTAINERD_ROOT,
    }
    # Which store a host without an engine will get is not known.
    wanted = [paths[store]] if store in paths else list(paths.values())
    free, same = {}, {}
    for disk in host.rows("disks"):
        if disk.get("path") in wanted and isinstance(disk.get("free_bytes"), int):
            free[disk["path"]] = disk["free_bytes"]
    for path, count in free.items():
        # As it is shown: one disk, looked at twice, may have changed by a few bytes.
        same.setdefault(_gb(count), []).append(path)
    for paths in same.values():
        yield " and ".join(paths), min(free[path] for path in paths)


def _wanted_root(host):
    return _data.mapping(host.site.of(host.name, "gpustack_docker_settings")).get("data-root")


def _gb(count):
    return f"{count / _GIGA:.0f} GB"
