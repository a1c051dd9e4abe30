# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What site.yml is about to do to the driver of a host, or why it cannot (gpustack_driver: present)."""

from __future__ import annotations

from ansible_collections.inferops.gpustack.plugins.plugin_utils import (
    _ascend_driver,
    _ascend_package,
    _data,
    _driver_needs,
    _installer_file,
    _nvidia_driver,
    _nvidia_packages,
    _packages,
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
_PLACE = {
    "source": "gpustack_driver_source",
    "mirror": "gpustack_nvidia_mirror",
    "keyring_sha256": "gpustack_nvidia_keyring_sha256",
}
_NVIDIA_PACKAGES = {**_NVIDIA_ACTION, **_PLACE}


def of(host):
    """Judged by the cards that are there, as the roles go by them."""
    for vendor in host.vendors:
        yield from _JUDGES.get(vendor, lambda host: ())(host)


def is_left(host):
    """Whether this run still brings a driver, without which no tool of the vendor can work."""
    return host.driver_mode == "present" and any(vendor in _LEFT and _LEFT[vendor](host) for vendor in host.vendors)


def _nvidia(host):
    minimum = _driver_needs.oldest(host.plans)
    plan, work = _nvidia_work(host, minimum)
    found = _there(host)
    fabric = _fabric_plan(host, work["fabric"]) if work["fabric"] else plan
    refusal = work["refusal"] or (work["fabric"] and fabric["problem"])
    if refusal:
        yield error("driver_not_installable", _NVIDIA, found, _asked(host) or f"{minimum} or later", refusal)
    elif work["driver"] or work["fabric"]:
        packages = (
            [*plan["packages"], *([] if host.fact("kernel_headers") else plan["headers"])] if work["driver"] else []
        )
        yield note(
            "driver_to_install",
            _NVIDIA,
            found,
            "; ".join(work["reasons"]),
            f"nothing: site.yml installs {', '.join([*packages, *fabric['fabric_packages']])} from {_place(fabric)}; "
            f"{_AFTERWARDS}",
        )
    elif work["load"] or work["start_fabric"]:
        what = "loads the module" if work["load"] else "starts Fabric Manager"
        yield note("driver_to_install", _NVIDIA, found, "a driver at work", f"nothing: site.yml {what}")
    elif work["reboot_reasons"] or host.fact("reboot", "reasons"):
        reasons = [*(one["reason"] for one in work["reboot_reasons"]), *(host.fact("reboot", "reasons") or ())]
        yield note("driver_to_install", _NVIDIA, found, "; ".join(dict.fromkeys(reasons)), f"nothing: {_AFTERWARDS}")


def _ascend(host):
    work = _ascend_work(host, host.facts)
    facts = host.fact("drivers", "ascend") or {}
    found = ", ".join(f"{part} {facts[part]}" for part in _ascend_driver.PARTS if facts.get(part)) or "none"
    # Files first: nobody stops models for one that is not there.
    idle = _ascend_work(host, {**host.facts, "engine": {}})
    refusal = " ".join(filter(None, [*map(_installer_file.problem, idle["steps"]), work["refusal"]]))
    if refusal:
        expected = ", ".join(_ascend_wishes(host)) or "driver and firmware that go together"
        yield error("driver_not_installable", _ASCEND, found, expected, refusal)
    elif work["steps"]:
        names = ", then ".join(step["name"] for step in work["steps"])
        why = "; ".join(work["reasons"])
        yield note("driver_to_install", _ASCEND, found, why, f"nothing: site.yml runs {names}; {_AFTERWARDS}")


_JUDGES = {"nvidia": _nvidia, "ascend": _ascend}


def _nvidia_work(host, minimum):
    """(the packages, what is to be done with them), as the role asks for both."""
    plan = _plan(host, minimum=minimum, **host.texts(_NVIDIA_PACKAGES))
    wishes = {"minimum": minimum, "reboot": _reboot(host), **host.texts(_NVIDIA_ACTION)}
    return plan, _nvidia_driver.action(host.facts, plan, **wishes)


def _asked(host):
    """The wish and where it stands, or nothing."""
    wishes = host.texts({"version": "gpustack_driver_version", "branch": "gpustack_driver_branch"})
    told = {"version": "{} (gpustack_driver_version)", "branch": "branch {} (gpustack_driver_branch)"}
    return ", ".join(told[name].format(wish) for name, wish in wishes.items())


def _ascend_wishes(host):
    for part, wish in _ascend_files(host).items():
        if _ascend_package.given(wish):
            package = _ascend_package.Package(part, wish)
            yield f"{part} {package.version} ({package.variable})"


def _ascend_files(host):
    return {part: _data.mapping(host.site.of(host.name, f"gpustack_ascend_{part}")) for part in _ascend_driver.PARTS}


def _ascend_work(host, facts):
    return _ascend_driver.action(facts, **_ascend_files(host))


def _loads(host):
    work = _nvidia_work(host, _driver_needs.oldest(host.plans))[1]
    return work["driver"] or work["load"]


_LEFT = {"nvidia": _loads, "ascend": lambda host: bool(_ascend_work(host, host.facts)["steps"])}


def _fabric_plan(host, release):
    """Fabric Manager in the release of the driver that is there, which may be another one than would be installed."""
    return _plan(host, version=release, **host.texts(_PLACE))


def _plan(host, **wishes):
    return _packages.or_problem(_nvidia_packages.packages, host.facts, **wishes)


def _reboot(host):
    return host.site.text(host.name, "gpustack_reboot") or "fail"


def _there(host):
    facts = host.fact("drivers", "nvidia") or {}
    release = facts.get("installed") or facts.get("userspace") or facts.get("loaded")
    return f"driver {release}" if release else "none"


def _place(plan):
    return plan["repository"]["url"] if plan["repository"] else f"the archive of {plan['system']}"
