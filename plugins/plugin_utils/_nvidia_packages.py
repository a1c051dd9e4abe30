# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which packages make NVIDIA's driver on a host, from where, in which version and with which kernel module."""

from __future__ import annotations

import re

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _data, _driver_needs, _nvidia_module, _packages
from ansible_collections.inferops.gpustack.plugins.plugin_utils._driver_needs import is_below
from ansible_collections.inferops.gpustack.plugins.plugin_utils._packages import PackagesError

DATA = "nvidia_packages.yml"
MIRROR = "https://developer.download.nvidia.com"
MODULES = ("auto", *_nvidia_module.BOTH)
SOURCES = ("nvidia", "distribution")
#: A version pin above the 500 of any repository and below the 1000 that would downgrade.
HELD = 990
VERSION = re.compile(r"^\d{3,4}(\.\d+){1,2}\Z")
BRANCH = re.compile(r"^\d{3,4}\Z")
UBUNTU_KERNEL = re.compile(r"^(\d+\.\d+)\.\d+-\d+-(\w[\w-]*)\Z")
OWN_DRIVER = "Or install the driver yourself and leave gpustack_driver at check: one that will do is left as it is."


def packages(host, branch="", version="", module="auto", source="nvidia", mirror=MIRROR, minimum="", keyring_sha256=""):
    """host: ansible_facts.gpustack_host. minimum: the oldest driver that will do."""
    data = _data.load(DATA)
    _judge_options(branch, version, module, source)
    if host.get("wsl"):
        raise PackagesError(
            "WSL uses the NVIDIA driver of Windows. Install or update it there; a driver for Linux would break it."
        )
    system = _packages.system(data, host.get("os") or {}, "NVIDIA", OWN_DRIVER)
    architecture = _architecture(data, host, system)
    kind = data["kinds"][system["kind"]]
    _judge_source(system, kind, source)
    cards = [card for card in host.get("accelerators") or [] if card.get("vendor") == "nvidia"]
    wanted_module, why = _module(cards, module)
    known = _branches(data, system, source, cards)
    chosen = _branch(data, known, branch, version, minimum or _driver_needs.minimum())
    names = next(one for one in _names(kind, source) if chosen <= one.get("until", chosen))
    fill = {"branch": chosen, "version": version or chosen, **_kernel(host, system, kind, source)}

    def filled(templates):
        return [template.format(**fill) for template in templates]

    driver = filled(names[wanted_module] + names["more"])
    modules = filled(names.get("modules", {}).get(wanted_module, []))
    pinning = filled([names["pinning"]]) if "pinning" in names else []
    switched = _needs_fabric(data, host, cards)
    fabric = filled(names["fabric"]) if switched else []
    nvlink5 = data["nvlink5"]["packages"] if switched == "nvlink5" else []
    return {
        "system": system["name"],
        "source": source,
        "manager": kind["manager"],
        "branch": str(chosen),
        "version": version,
        "module": wanted_module,
        "module_reason": why,
        "names": driver + modules,
        "packages": [_spec(kind, name, chosen, version) for name in driver] + modules,
        "headers": [] if source == "distribution" else [kind["headers"].format(**fill)],
        "pinning": pinning,
        "pins": _pins(version) if kind["manager"] == "apt" and not pinning and version else [],
        "stream": names["streams"][wanted_module].format(**fill) if "streams" in names else "",
        "epel": system.get("epel", ""),
        "fabric_names": fabric + nvlink5,
        "fabric_packages": [_spec(kind, name, chosen, version) for name in fabric] + nvlink5,
        "guarded": list(data["guarded"]) if kind["manager"] == "apt" else [],
        "repository": _repository(data, system, kind, architecture, mirror, keyring_sha256)
        if source == "nvidia"
        else None,
    }


def _judge_options(branch, version, module, source):
    for name, value, choices in (
        ("gpustack_driver_module", module, MODULES),
        ("gpustack_driver_source", source, SOURCES),
    ):
        if value not in choices:
            raise PackagesError(f"{name} is {value!r}; there are: {', '.join(choices)}.")
    if branch and not BRANCH.match(branch):
        raise PackagesError(f'gpustack_driver_branch is {branch!r}; it is a branch such as "580".')
    if version and not VERSION.match(version):
        raise PackagesError(f'gpustack_driver_version is {version!r}; it is a release such as "580.95.05".')
    if version and branch and branch != version.split(".")[0]:
        raise PackagesError(
            f"gpustack_driver_version is {version} and gpustack_driver_branch is {branch}. Leave one of them out: the "
            "version tells the branch."
        )


def _architecture(data, host, system):
    there = host.get("architecture") or ""
    if there not in data["architectures"]:
        known = ", ".join(data["architectures"])
        raise PackagesError(
            f"NVIDIA has no driver packages for {there or 'an unknown architecture'} on {system['name']}; there are "
            f"some for {known}. {OWN_DRIVER}"
        )
    return data["architectures"][there]


def _judge_source(system, kind, source):
    if source == "distribution" and source not in kind:
        raise PackagesError(
            f"{system['name']} has no driver of its own that GPUStack's images run on; only Ubuntu does. Set "
            "gpustack_driver_source: nvidia."
        )


def _names(kind, source):
    return kind["names"] if source == "nvidia" else kind["distribution"]


def _module(cards, wish):
    """(module, why)."""
    only, unknown = _nvidia_module.for_cards(cards)
    if len(only) == 2:
        raise PackagesError(
            f"{', '.join(only['proprietary'])} takes the proprietary kernel module only and {', '.join(only['open'])} "
            "the open one only, and a host has one of them. Put the cards into different hosts."
        )
    for needed, names in only.items():
        if wish not in ("auto", needed):
            raise PackagesError(
                f"gpustack_driver_module is {wish}, and {', '.join(names)} takes the {needed} kernel module only. Set "
                f"gpustack_driver_module: {needed} or leave it out."
            )
        return needed, f"{', '.join(names)} takes no other"
    if wish != "auto":
        return wish, "gpustack_driver_module"
    if unknown:
        return (
            "open",
            f"it is NVIDIA's default, for every card from Turing on; nothing is known of {', '.join(unknown)}",
        )
    return "open", "it is NVIDIA's default, and the cards take both"


def _branches(data, system, source, cards):
    """{branches: list, place: where they are}."""
    branches = data["branches"][source]
    place = "Ubuntu's archive"
    if source == "nvidia":
        branches = [one for one in branches if one >= system.get("from", 0)]
        place = f"NVIDIA's repository for {system['name']}"
    old = _nvidia_module.for_cards(cards)[0].get("proprietary")
    if not old:
        return {"branches": branches, "place": place}
    last = data["last_proprietary_branch"]
    place += f" for {', '.join(old)} (their last branch is {last})"
    return {"branches": [one for one in branches if one <= last], "place": place}


def _branch(data, known, branch, version, minimum):
    wish, lowest = int(branch or version.split(".")[0] or 0), int(minimum.split(".")[0])
    branches, place = known["branches"], known["place"]
    if wish and (wish < lowest or (version and is_below(version, minimum))):
        name, least = ("version", minimum) if version else ("branch", lowest)
        raise PackagesError(
            f"gpustack_driver_{name} is {version or branch}, and what is planned for this host needs driver {minimum} "
            f'or later. Set gpustack_driver_{name}: "{least}" or leave it out.'
        )
    if not any(one >= lowest for one in branches):
        raise PackagesError(
            f"What is planned for this host needs driver {minimum} or later, and {place} has "
            f"{_listed(branches)}. {OWN_DRIVER}"
        )
    if not wish:
        preferred = [_data.load("host_needs.yml")["driver_branch"], *data["later"], *branches]
        return next(one for one in preferred if one in branches and one >= lowest)
    if wish not in branches:
        nearest = min((one for one in branches if one >= lowest), key=lambda one: abs(one - wish))
        raise PackagesError(
            f"Branch {wish} of the driver is not known in {place}, which has {_listed(branches)}. The nearest is "
            f'{nearest}: set gpustack_driver_branch: "{nearest}" or leave it out.'
        )
    return wish


def _listed(branches):
    return ", ".join(map(str, branches)) or "none"


def _kernel(host, system, kind, source):
    """What the names of packages for a kernel are made of."""
    release = host.get("kernel") or ""
    if source == "distribution":
        found = UBUNTU_KERNEL.match(release)
        if not found:
            raise PackagesError(
                f"Ubuntu has no signed modules for the running kernel {release or '(unknown)'}. Start a kernel of "
                "Ubuntu, or set gpustack_driver_source: nvidia."
            )
        # From another kernel than the release came out with, it is one of hardware enablement.
        enabled = "" if found[1] == system["kernel"] or found[2] != "generic" else f"-hwe-{system['version']}"
        return {"kernel": release, "flavour": found[2] + enabled, "variant": ""}
    if kind["manager"] == "apt":
        return {"kernel": release, "flavour": "", "variant": ""}
    # 5.14.0-503.el9.aarch64+64k is of kernel-64k.
    kernel, unused, variant = release.partition("+")
    return {"kernel": kernel, "flavour": "", "variant": f"-{variant}" if variant else ""}


def _needs_fabric(data, host, cards):
    """How: "" for not at all, "switches" or "nvlink5"."""
    if any(card.get("pci_id") in data["nvlink5"]["pci_ids"] for card in cards):
        return "nvlink5"
    return "switches" if host.get("switches") else ""


def _spec(kind, name, branch, version):
    if kind["manager"] == "apt":
        return f"{name}={version}-*" if version else name
    return f"{name}-{version}-*" if version else f"{name}-{branch}.*"


def _pins(version):
    """What keeps apt from taking newer parts for the packages asked for."""
    return [{"packages": "cuda-drivers* libnvidia-* nvidia-*", "version": f"{version}-*", "priority": HELD}]


def _repository(data, system, kind, architecture, mirror, keyring_sha256):
    directory = f"{system['repository']}/{architecture}"
    tree = f"{mirror.rstrip('/')}/compute/cuda/repos/{directory}"
    name = f"cuda-{system['repository']}"
    if kind["manager"] == "dnf":
        return {"url": f"{tree}/", "key": f"{tree}/{data['rpm_key']}", "name": f"{name}-{architecture}", "file": name}
    keyring = data["keyring"]
    sha256 = keyring_sha256 or keyring["sha256"].get(directory, "")
    if not sha256:
        raise PackagesError(
            f"The SHA-256 of NVIDIA's keyring for {system['name']} on {architecture} is not known. Set "
            f"gpustack_nvidia_keyring_sha256 to that of {tree}/{keyring['file']}, once you trust the file."
        )
    list_file = f"/etc/apt/sources.list.d/{name}-{architecture}.list"
    return {
        "url": f"{tree}/",
        "keyring": f"{tree}/{keyring['file']}",
        "keyring_package": keyring["package"],
        "sha256": sha256,
        "list": list_file,
        "line": f"deb [signed-by={keyring['key']}] {tree}/ /",
    }
