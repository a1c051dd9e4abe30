# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which packages make Docker Engine on a host, from where, and in which version."""

from __future__ import annotations

import re

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _data, _packages
from ansible_collections.inferops.gpustack.plugins.plugin_utils._packages import PackagesError, numbers

DATA = "docker_packages.yml"
MIRROR = "https://download.docker.com"
#: A version pin above the 500 of any repository and below the 1000 that would downgrade.
HELD = 990
NEVER = -1
OWN_ENGINE = "Or install Docker Engine and the Python module requests yourself: a healthy engine is used as it is."
VERSION = re.compile(r"^\d+(\.\d+){0,2}\Z")


def packages(os_facts, vendors=(), source="docker-ce", version="", mirror=MIRROR):
    data = _data.load(DATA)
    if source not in data["sources_of_packages"]:
        known = ", ".join(data["sources_of_packages"])
        raise PackagesError(f"gpustack_docker_source is {source!r}; there are: {known}.")
    system = _packages.system(data, os_facts, "Docker", OWN_ENGINE)
    place = system.get(source)
    if place is None:
        raise PackagesError(
            f"{system['name']} has no Docker Engine of its own. Set gpustack_docker_source: docker-ce. {OWN_ENGINE}"
        )
    _judge_wish(data, version, vendors, source, place)
    wanted = _wanted(data, version, vendors, place) if source == "docker-ce" else ""
    kind, manager = data["sources_of_packages"][source], system["manager"]
    names = kind.get("packages") or place["packages"]
    versioned = kind.get("versioned", [])
    return {
        "system": system["name"],
        "source": source,
        "manager": manager,
        "names": list(names),
        "packages": [_spec(data, manager, name, wanted if name in versioned else "") for name in names],
        "python_packages": list(data["python_packages"]),
        "conflicts": list(kind["conflicts"][manager]),
        "repository": _repository(manager, place, mirror) if source == "docker-ce" else None,
        "pins": _pins(data, versioned, wanted) if manager == "apt" else [],
        "excluded": _excluded(data, versioned, vendors) if manager == "dnf" else [],
    }


def refused_by(version, vendors):
    """The limits of every vendor whose hosts do not take this Docker."""
    return [limits for limits in _ranges(_data.load(DATA), vendors) if version and not _within(version, limits)]


def ways_to(limits):
    """How a Docker that is there becomes one within the limits."""
    pin = limits["install"]
    packages = f"docker-ce=5:{pin}.* docker-ce-cli=5:{pin}.*"
    return (
        f"Install Docker {pin} (with apt: apt-get install --allow-downgrades {packages}), or remove Docker and run "
        f"this again to have {pin} installed and held"
    )


def _need(limits):
    need = f"{limits['name']} hosts need Docker {limits['from']} or later and earlier than {limits['below']}"
    return f"{need}: {limits['why']}"


def _ranges(data, vendors):
    return [data["ranges"][vendor] for vendor in sorted(set(vendors)) if vendor in data["ranges"]]


def _within(version, limits):
    parts = numbers(version)
    # "29" as a wish is every release of 29, "18" the newest of 18.
    return numbers(limits["from"])[: len(parts)] <= parts and parts < numbers(limits["below"])


def _judge_wish(data, version, vendors, source, place):
    if not version:
        return
    wish = f"gpustack_docker_version is {version}"
    if not VERSION.match(version):
        raise PackagesError(f"{wish}; it is a release of Docker or its first parts, such as 28 or 28.5.2.")
    if source != "docker-ce":
        raise PackagesError(
            f"{wish}, and the distribution has the one version that it has. Leave the version out, or set "
            "gpustack_docker_source: docker-ce."
        )
    for limits in _ranges(data, vendors):
        if not _within(version, limits):
            raise PackagesError(f"{wish}; {_need(limits)}. Leave it out to have {limits['install']}.")
    if ".".join(version.split(".")[:2]) in data["avoided"]["releases"]:
        releases = ", ".join(data["avoided"]["releases"])
        raise PackagesError(f"{wish}; {releases} are not installed: {data['avoided']['why']}.")
    newest = place.get("newest")
    if newest and numbers(version) > numbers(newest)[: len(numbers(version))] and not version.startswith(newest + "."):
        raise PackagesError(f"{wish}; Docker's packages for this system end with {newest}. Leave it out to have that.")


def _wanted(data, version, vendors, place):
    if version or "newest" in place:
        return version or place["newest"]
    return next((limits["install"] for limits in _ranges(data, vendors)), "")


def _pattern(version):
    """28 and 28.5 are any release of theirs; 28.5.2 is itself, which packages before 23 follow with a tilde."""
    if version.count(".") < 2:
        return version + ".*"
    return version + ("~*" if numbers(version)[0] < 23 else "-*")


def _spec(data, manager, name, version):
    if not version:
        return name
    if manager == "apt":
        return f"{name}={data['apt_epoch']}{_pattern(version)}"
    return f"{name}-{_pattern(version).replace('~', '-')}"


def _repository(manager, place, mirror):
    tree = f"{mirror.rstrip('/')}/{place['tree']}"
    key = f"{tree}/gpg"
    if manager == "apt":
        return {"url": tree, "suite": place["suite"], "component": "stable", "key": key}
    return {"url": f"{tree}/{place['release']}/$basearch/stable", "key": key}


def _pins(data, versioned, wanted):
    """What apt is told for later upgrades: stay with the release that is wanted, and skip the avoided ones."""
    if not versioned:
        return []
    pin = {"packages": " ".join(versioned)}
    if wanted:
        return [dict(pin, version=data["apt_epoch"] + _pattern(wanted), priority=HELD)]
    return [dict(pin, version=f"{data['apt_epoch']}{one}.*", priority=NEVER) for one in data["avoided"]["releases"]]


def _excluded(data, versioned, vendors):
    """What dnf never takes from the repository: the avoided releases, and those beyond a range."""
    endings = [f"{one}.*" for one in data["avoided"]["releases"]]
    for limits in _ranges(data, vendors):
        # Two digits will do for a while.
        endings = [f"{limits['below']}.*", "[3-9]?.*"]
    return [f"{name}-{ending}" for name in versioned for ending in endings]
