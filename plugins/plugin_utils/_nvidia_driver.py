# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is to be done about the NVIDIA driver of a host, and why."""

from __future__ import annotations

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _driver_needs, _nvidia_module, _progress
from ansible_collections.inferops.gpustack.plugins.plugin_utils._driver_needs import is_below

KEPT = "a driver is never downgraded"
NOUVEAU_WAITS = "nouveau is loaded and holds the cards; NVIDIA's driver takes them after a reboot"
#: The loaded module tells its kind, the one on disk does not.
MODULE_WAITS = "another kind of NVIDIA's kernel module is installed than is loaded"
SIGNED = "set gpustack_driver_source: distribution, whose modules are signed, or "
SECURE_BOOT = (
    "Secure Boot is on, and it takes a module that is built on the host only with a key that somebody enrols at the "
    "console while the host boots. Either {signed}switch Secure Boot off in the firmware and run this again, or "
    "install the driver and enrol its key (mokutil --import) yourself: a driver that will do is left as it is."
)


def action(host, plan, branch="", version="", module="auto", minimum="", reboot="fail"):
    """host: ansible_facts.gpustack_host. plan: what nvidia_packages gives. The others are what the inventory wishes."""
    found = _judge(host, plan, branch, version, module, minimum or _driver_needs.minimum(), reboot)
    return dict(found, summary=_summary(found, host, plan))


def _judge(host, plan, branch, version, module, minimum, reboot):
    there = _Driver(host, plan)
    if not there.cards:
        return _answer("none")
    if host.get("wsl"):
        return _answer("none", ["WSL uses the NVIDIA driver of Windows, which is installed and updated there"])
    do, reasons = _driver(there, branch, version, module, minimum)
    fabric, why = ("", []) if do else _fabric(there)
    name = do or ("install" if fabric else "none")
    refusal = _refusal(there, plan, bool(do), reboot) if name != "none" else ""
    if refusal:
        return _answer("refuse", reasons + why, refusal=refusal)
    return _answer(
        name,
        reasons + why + (_headers(host, plan) if do else []),
        driver=bool(do),
        fabric=fabric,
        load=bool(there.installed and not there.loaded and not there.nouveau and not do),
        start_fabric=not do and not fabric and _is_stopped(there),
        reboot_reasons=_reboot_reasons(there, bool(do), module),
    )


def _answer(name, reasons=(), refusal="", driver=False, fabric="", load=False, start_fabric=False, reboot_reasons=()):
    return {
        "action": name,
        "reasons": list(reasons),
        "refusal": refusal,
        "driver": driver,
        "fabric": fabric,
        "load": load,
        "start_fabric": start_fabric,
        "reboot_reasons": list(reboot_reasons),
    }


def _summary(found, host, plan):
    """One line for people, empty where there is nothing to say."""
    steps = []
    if found["action"] == "refuse":
        steps.append("the NVIDIA driver is not changed")
    if found["driver"]:
        names = plan["pinning"] + plan["packages"] + ([] if host.get("kernel_headers") else plan["headers"])
        place = plan["repository"]["url"] if plan["repository"] else f"the archive of {plan['system']}"
        steps.append(
            f"{found['action']} NVIDIA driver {plan['version'] or plan['branch']} with the {plan['module']} kernel "
            f"module ({plan['module_reason']}): {', '.join(names + plan['fabric_packages'])} from {place}"
        )
    if found["fabric"]:
        steps.append(f"install Fabric Manager {found['fabric']}")
    if found["load"]:
        steps.append("load the NVIDIA driver that is installed")
    if found["start_fabric"]:
        steps.append("start Fabric Manager")
    why = f", because {'; '.join(found['reasons'])}" if found["reasons"] else ""
    waits = "; ".join(one["reason"] for one in found["reboot_reasons"])
    if not (steps or why or waits):
        return ""
    told = "; ".join(steps) or "the NVIDIA driver is left alone"
    return told + why + (f". A reboot is needed: {waits}" if waits else "")


class _Driver:
    """What the probe found, with nothing missing."""

    def __init__(self, host, plan):
        facts = (host.get("drivers") or {}).get("nvidia") or {}
        self.cards = [card for card in host.get("accelerators") or [] if card.get("vendor") == "nvidia"]
        self.switched = bool(plan.get("fabric_names", host.get("switches")))
        self.secure_boot = bool(host.get("secure_boot"))
        self.loaded, self.installed = facts.get("loaded") or "", facts.get("installed") or ""
        self.userspace = facts.get("userspace") or ""
        # As in the plan: the one after the next restart.
        self.version = self.installed or self.userspace or self.loaded
        self.flavour = facts.get("flavour") or ""
        self.nouveau, self.run_file = bool(facts.get("nouveau")), bool(facts.get("run_file"))
        self.fabric = facts.get("fabric_manager") or {}
        self.waits_for = (host.get("reboot") or {}).get("reasons") or []
        entries = (host.get("manifest") or {}).get("entries") or []
        self.begun = _progress.of_packages(entries, "nvidia_driver")["running"]
        containers = (host.get("engine") or {}).get("containers") or []
        self.models = [one["name"] for one in containers if one.get("owner") == "gpustack" and one.get("running")]


def _driver(there, branch, version, module, minimum):
    """(install, upgrade or nothing, [why])."""
    if not there.version:
        return "install", [f"there is no driver for {len(there.cards)} NVIDIA {'cards' if there.cards[1:] else 'card'}"]
    if is_below(there.version, minimum):
        return "upgrade", [f"driver {there.version} is older than {minimum}, which is needed"]
    if not there.installed and not there.loaded:
        return "install", [f"the tools of driver {there.version} are there and its kernel module is not"]
    compared, wish = _wished(there.version, branch, version)
    if compared == "older":
        return "upgrade", [f"driver {there.version} is older than {wish}, which is asked for"]
    # Of another branch than was begun it is somebody else's.
    if any(f"{there.version}.".startswith(f"{release}.") for release in there.begun):
        return "install", [f"the installation of {there.version} was begun and not finished"]
    wrong = _wrong_module(there, module)
    if wrong and MODULE_WAITS not in there.waits_for:
        return "install", [wrong]
    return "", [f"driver {there.version} stays, though {wish} is asked for: {KEPT}"] if compared == "newer" else []


def _wished(there, branch, version):
    """(older or newer than the wish or nothing, the wish)."""
    if version:
        return "" if there == version else "older" if is_below(there, version) else "newer", version
    if branch:
        place = there.split(".")[0]
        return "" if place == branch else "older" if is_below(there, branch) else "newer", f"branch {branch}"
    return "", ""


def _wrong_module(there, wish):
    only, _unknown = _nvidia_module.for_cards(there.cards)
    # Cards that want different modules are no reason to change one for the other.
    if not there.flavour or len(only) > 1:
        return ""
    for needed, names in only.items():
        if needed != there.flavour:
            return f"{', '.join(names)} takes the {needed} kernel module only, and the {there.flavour} one is there"
    if wish not in ("auto", there.flavour) and not only:
        return f"the {there.flavour} kernel module is there, and the {wish} one is asked for"
    return ""


def _fabric(there):
    """(the version of Fabric Manager to install or nothing, [why])."""
    found = there.fabric.get("version") or ""
    if not there.switched or not there.version or found == there.version:
        return "", []
    what = f"Fabric Manager {found} is there" if found else "there is no Fabric Manager"
    return there.version, [f"{what}, and the NVSwitches need {there.version}, the driver's version to the last digit"]


def _is_stopped(there):
    # Under another driver than the installed one it starts after the restart only.
    runs = there.loaded and there.loaded == (there.installed or there.loaded) == there.fabric.get("version")
    return bool(there.switched and runs and not there.fabric.get("running"))


def _refusal(there, plan, driver, reboot):
    if plan.get("problem"):
        return plan["problem"]
    if there.run_file:
        return (
            f"Driver {there.version or '(of unknown version)'} was installed from NVIDIA's .run file, and packages "
            "would overwrite half of it. Remove it there (nvidia-uninstall) and run this again to have packages, or "
            "update it with a newer .run file and leave gpustack_driver at check."
        )
    if not driver:
        return ""
    branch = there.version.split(".")[0]
    if branch and int(plan["branch"]) < int(branch):
        return (
            f"Driver {there.version} is there, and packages of branch {plan['branch']} would be older: {KEPT}. Set "
            f'gpustack_driver_branch: "{branch}" to have it put right in its own branch.'
        )
    if there.secure_boot and plan["source"] == "nvidia":
        return SECURE_BOOT.format(signed=SIGNED if plan["system"].startswith("Ubuntu") else "")
    if there.loaded and there.models and reboot != "allow":
        return (
            f"{', '.join(there.models)} run on the driver {there.loaded}, and new containers fail between an upgrade "
            "and the reboot after it. Stop the models of this host, or set gpustack_reboot: allow to have them stopped "
            "by a reboot in this run."
        )
    return ""


def _headers(host, plan):
    if not plan.get("headers") or host.get("kernel_headers"):
        return []
    gone = "; where it is gone from the repositories, update the kernel and restart first"
    return [
        f"the module is built with {', '.join(plan['headers'])}, which is installed as well"
        + (gone if plan["manager"] == "dnf" else "")
    ]


def _reboot_reasons(there, changes, module):
    """What the probe does not tell by itself. It tells a loaded driver that is not the installed one."""
    reasons = []
    if there.nouveau and (there.installed or changes):
        reasons.append({"id": "nouveau", "reason": NOUVEAU_WAITS})
    if there.loaded and changes and _wrong_module(there, module):
        reasons.append({"id": "nvidia-module", "reason": MODULE_WAITS})
    return reasons
