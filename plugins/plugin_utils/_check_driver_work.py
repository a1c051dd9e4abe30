# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What site.yml is about to do to the driver of a host, or why it cannot (gpustack_driver: present)."""

from __future__ import annotations

from ansible_collections.inferops.gpustack.plugins.plugin_utils import (
    _ascend_driver,
    _data,
    _driver_needs,
    _nvidia_driver,
    _nvidia_packages,
)
from ansible_collections.inferops.gpustack.plugins.plugin_utils._findings import error, note

_NVIDIA, _ASCEND = "NVIDIA driver", "Ascend driver"
_AFTERWARDS = "what needs a reboot afterwards waits for gpustack_reboot"

# Options of the filters of the same name, and what sets them in an inventory.
_NVIDIA_ACTION = {
    "branch": "gpustack_driver_branch",
    "version": "gpustack_driver_version",
    "module": "gpustack_driver_module",
}
_NVIDIA_PACKAGES = {
    **_NVIDIA_ACTION,
    "source": "gpustack_driver_source",
    "mirror": "gpustack_nvidia_mirror",
    "keyring_sha256": "gpustack_nvidia_keyring_sha256",
}


def of(host):
    yield from {"nvidia": _nvidia, "ascend": _ascend}[host.profile["vendor"]](host)


def _nvidia(host):
    minimum = _driver_needs.oldest(host.plans)
    plan = _nvidia_plan(host, minimum)
    work = _nvidia_driver.action(
        host.facts,
        plan,
        minimum=minimum,
        reboot=_wish(host, "gpustack_reboot", "fail"),
        **_wishes(host, _NVIDIA_ACTION),
    )
    found = _there(host)
    if work["refusal"]:
        yield error("driver_not_installable", _NVIDIA, found, f"{minimum} or later", work["refusal"])
    elif work["driver"] or work["fabric"]:
        packages = [*plan["packages"], *plan["headers"], *plan["fabric_packages"]]
        packages = packages if work["driver"] else plan["fabric_packages"]
        yield note(
            "driver_to_install",
            _NVIDIA,
            found,
            "; ".join(work["reasons"]),
            f"nothing: site.yml installs {', '.join(packages)} from {_place(plan)}; {_AFTERWARDS}",
        )
    elif work["load"] or work["start_fabric"]:
        what = "loads the module" if work["load"] else "starts Fabric Manager"
        yield note("driver_to_install", _NVIDIA, found, "a driver at work", f"nothing: site.yml {what}")
    elif work["reboot_reasons"] or host.fact("reboot", "reasons"):
        reasons = [*(one["reason"] for one in work["reboot_reasons"]), *(host.fact("reboot", "reasons") or ())]
        yield note("driver_to_install", _NVIDIA, found, "; ".join(dict.fromkeys(reasons)), f"nothing: {_AFTERWARDS}")


def _ascend(host):
    files = {part: _data.mapping(host.site.of(host.name, f"gpustack_ascend_{part}")) for part in ("driver", "firmware")}
    work = _ascend_driver.action(host.facts, **files)
    facts = host.fact("drivers", "ascend") or {}
    found = ", ".join(f"{part} {facts[part]}" for part in files if facts.get(part)) or "none"
    if work["refusal"]:
        yield error("driver_not_installable", _ASCEND, found, "driver and firmware that go together", work["refusal"])
    elif work["steps"]:
        names = ", then ".join(step["name"] for step in work["steps"])
        why = "; ".join(work["reasons"])
        yield note("driver_to_install", _ASCEND, found, why, f"nothing: site.yml runs {names}; {_AFTERWARDS}")


def _nvidia_plan(host, minimum):
    try:
        return {
            "problem": "",
            **_nvidia_packages.packages(host.facts, minimum=minimum, **_wishes(host, _NVIDIA_PACKAGES)),
        }
    except _nvidia_packages.NvidiaPackagesError as problem:
        return {"problem": str(problem)}


def _wishes(host, names):
    """The options of these names that the inventory sets."""
    given = {option: host.site.text(host.name, name) for option, name in names.items()}
    return {option: value for option, value in given.items() if value}


def _wish(host, name, otherwise):
    return host.site.text(host.name, name) or otherwise


def _there(host):
    facts = host.fact("drivers", "nvidia") or {}
    release = facts.get("installed") or facts.get("userspace") or facts.get("loaded")
    return f"driver {release}" if release else "none"


def _place(plan):
    return plan["repository"]["url"] if plan["repository"] else f"the archive of {plan['system']}"
