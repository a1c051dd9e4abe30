# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Does the driver of a host run what the plan puts on its cards?"""

from __future__ import annotations

from ansible_collections.inferops.gpustack.plugins.plugin_utils import (
    _check_driver_work,
    _data,
    _driver_needs,
    _site_plan,
)
from ansible_collections.inferops.gpustack.plugins.plugin_utils._driver_needs import is_below
from ansible_collections.inferops.gpustack.plugins.plugin_utils._findings import Finding, error
from ansible_collections.inferops.gpustack.plugins.plugin_utils._site import listed

_WHERE = {"nvidia": "NVIDIA driver", "ascend": "Ascend driver"}
# Its releases have other numbers.
_OF_WINDOWS = "NVIDIA's driver for Windows, which WSL uses"
# The plan reports it too, of a deployment and all its hosts.
_TOO_OLD = "driver_too_old"


def check(host):
    # Facts of an older release say nothing of drivers.
    if "drivers" not in host.facts or host.driver_mode == "skip":
        return
    # Under WSL the roles install nothing: the driver is that of Windows.
    if host.driver_mode == "present" and not host.fact("wsl"):
        yield from _check_driver_work.of(host)
    elif host.profile.get("vendor") in host.vendors:
        yield from {"nvidia": _nvidia, "ascend": _ascend}.get(host.profile["vendor"], lambda host: ())(host)


def _nvidia(host):
    driver = _data.mapping(host.fact("drivers", "nvidia"))
    if not any(driver.get(key) for key in ("installed", "userspace", "loaded")):
        oldest = f"{_driver_needs.oldest(host.plans)} or later"
        yield _missing(host, _OF_WINDOWS if host.fact("wsl") else oldest, _newer_branch(host))
    there = _site_plan.driver(host.facts)
    if there:
        yield from _too_old(host, there)
    yield from _wrong_module(host)


def _ascend(host):
    if not (host.fact("drivers", "ascend", "driver") or host.fact("drivers", "ascend", "tool")):
        yield _missing(
            host,
            "driver and firmware that go together, with npu-smi",
            "install the driver first, then the firmware, then restart the host; or set gpustack_driver: present with "
            "gpustack_ascend_driver and gpustack_ascend_firmware to have that done",
        )


def _missing(host, expected, fix):
    return error(
        "driver_missing",
        _WHERE[host.profile["vendor"]],
        f"no driver and no tool of the vendor for {len(host.own_cards or host.cards)} cards",
        f"{expected}{_for(host.plans)}",
        fix,
    )


def _too_old(host, there):
    minimum, oldest = _driver_needs.minimum(), _driver_needs.oldest(host.plans)
    waiting = [plan for plan in host.plans if is_below(there, _driver_needs.needed(plan))]
    if is_below(there, minimum):
        yield error(
            "driver_below_minimum",
            _WHERE["nvidia"],
            there,
            f"{oldest} or later{_for(waiting)}: GPUStack's images need {minimum} at least",
            _newer_branch(host),
            _driver_needs.SOURCE,
        )
    elif waiting:
        yield Finding(
            _TOO_OLD,
            "error",
            _WHERE["nvidia"],
            there,
            f"{oldest} or later{_for(waiting)}",
            f"{_newer_branch(host)}; or name an image with an older CUDA in image and declare it in "
            "gpustack_engine_images",
            _driver_needs.SOURCE,
        )


def _newer_branch(host):
    branch = _driver_needs.branch(host.plans)
    if host.fact("wsl"):
        return (
            f"install or update NVIDIA's driver in Windows, branch {branch} or later, then run wsl --shutdown there; "
            "inside WSL nothing is installed"
        )
    return f"install NVIDIA driver branch {branch} or later, or set gpustack_driver: present to have that done"


def _wrong_module(host):
    flavour, capability = host.fact("drivers", "nvidia", "flavour"), host.profile.get("compute_capability")
    rule = _data.load("host_needs.yml")["kernel_module"]
    if not flavour or not capability:
        return
    if flavour == "open" and is_below(capability, rule["proprietary_below"]):
        needed = "proprietary"
    elif flavour == "proprietary" and not is_below(capability, rule["open_from"]):
        needed = "open"
    else:
        return
    yield error(
        "driver_flavour",
        "NVIDIA kernel module",
        f"the {flavour} one",
        f"the {needed} one: {host.accelerator} has compute capability {capability}",
        f"install the {needed} kernel module of the same driver version, then restart the host",
        _data.load("host_needs.yml")["sources"]["kernel_module"],
    )


def _for(plans):
    """`, for CUDA 13.0 in <image> of flash-nvidia_h20`"""
    images = {}
    for plan in plans:
        runtime = " and ".join(f"{name.upper()} {release}" for name, release in plan["runtime"].items())
        what = f"{runtime} in {plan['image_name']}" if runtime else plan["image_name"]
        images.setdefault(what, []).append(plan["name"])
    return "".join(f", for {what} of {listed(names)}" for what, names in images.items())
