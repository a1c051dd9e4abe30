# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is to be done about the Ascend driver and firmware of a host, in which order, and why."""

from __future__ import annotations

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _ascend_package, _progress
from ansible_collections.inferops.gpustack.plugins.plugin_utils._ascend_package import AscendPackageError, is_older

PARTS = ("driver", "firmware")
RUNS = "the installer of {what} ran, and what it installed works after a reboot"


def action(host, driver=None, firmware=None):
    """host: ansible_facts.gpustack_host. driver, firmware: the .run files that the inventory names."""
    there, wishes = _Host(host), {"driver": driver, "firmware": firmware}
    found = _judge(there, wishes)
    left = [part for part in PARTS if _ascend_package.given(wishes[part]) and not _is_there(there, part, wishes[part])]
    died = [part for part in PARTS if there.progress[part]["state"] == "running"]
    return dict(found, left=left, died=died, summary=_summary(found))


def _judge(there, wishes):
    if not there.pci_ids or there.wsl:
        return _answer("none")
    try:
        steps, reasons = _steps(there, wishes)
        if not steps:
            return _answer("none", reasons)
        needs = _packages(there)
        _judge_models(there)
    except AscendPackageError as problem:
        return _answer("refuse", refusal=str(problem))
    installs = any(step["verb"] == "install" for step in steps)
    return _answer(
        "install" if installs else "upgrade",
        reasons + _headers(there, needs),
        steps=[dict(step, reboot_reason=RUNS.format(what=step["what"])) for step in steps],
        **needs,
    )


def _answer(name, reasons=(), refusal="", steps=(), manager="", packages=(), epel="", headers=""):
    packages = list(packages) + ([headers] if headers else [])
    return {
        "action": name,
        "reasons": list(reasons),
        "refusal": refusal,
        "steps": list(steps),
        "manager": manager,
        "packages": packages,
        "epel": epel,
        "account": _ascend_package.data()["account"] if steps else "",
        "reboot_reasons": [{"id": f"ascend-{one['part']}", "reason": one["reboot_reason"]} for one in steps],
    }


def _summary(found):
    """One line for people, empty where there is nothing to do and nothing to say."""
    if found["action"] == "refuse":
        return "the Ascend driver is not changed"
    if not found["steps"]:
        return "; ".join(found["reasons"])
    steps = ", then ".join(f"{one['verb']} {one['what']} from {one['name']}" for one in found["steps"])
    return (
        f"{steps}, which takes {', '.join(found['packages'])}, because {'; '.join(found['reasons'])}. A reboot is "
        "needed afterwards"
    )


class _Host:
    """What the probe found, with nothing missing."""

    def __init__(self, host):
        facts = (host.get("drivers") or {}).get("ascend") or {}
        self.facts, self.wsl = host, bool(host.get("wsl"))
        cards = [card for card in host.get("accelerators") or [] if card.get("vendor") == "ascend"]
        self.pci_ids = [card.get("pci_id") or "" for card in cards]
        # npu-smi has the driver's release.
        driver, firmware = facts.get("driver") or facts.get("tool") or "", facts.get("firmware") or ""
        self.versions = {"driver": driver, "firmware": firmware}
        # A card has a firmware from the factory, which no package brought.
        self.packaged = {"driver": bool(driver), "firmware": facts.get("firmware_installed", bool(firmware))}
        about = _ascend_package.data()["parts"]
        self.progress = {part: _progress.of(host, about[part]["path"]) for part in PARTS}
        containers = (host.get("engine") or {}).get("containers") or []
        self.models = [one["name"] for one in containers if one.get("owner") == "gpustack" and one.get("running")]


def _steps(there, wishes):
    """([what to run, in this order], [why])."""
    _judge_wishes(there, wishes)
    begun = there.progress["driver"]
    first = not there.versions["driver"] or (begun["state"] == "running" and not begun["over"])
    steps, reasons, kept = [], [], []
    for part in _ascend_package.data()["order"]["first" if first else "later"]:
        step, why = _step(there, part, wishes[part])
        if step:
            steps.append(step)
            reasons.append(why)
        elif why:
            kept.append(why)
    if steps and kept:
        raise AscendPackageError(
            f"{'; '.join(kept)}, and {steps[0]['what']} may not go with it. Name a driver and a firmware that belong "
            "together and are no older than those of the host, or leave both out."
        )
    return steps, reasons + kept


def _judge_wishes(there, wishes):
    about = _ascend_package.data()["parts"]
    lacking = [part for part in PARTS if not there.versions[part] and not _ascend_package.given(wishes[part])]
    if there.versions["driver"] or not lacking:
        return
    cards = f"{len(there.pci_ids)} Ascend {'cards' if there.pci_ids[1:] else 'card'}"
    examples = " and ".join(about[part]["example"] for part in lacking)
    raise AscendPackageError(
        f"There is no driver for {cards}, and nothing says which {' and '.join(lacking)} to install. Set "
        f"{' and '.join(about[part]['variable'] for part in lacking)} (file or url, and sha256) to the vendor's .run "
        f"files, such as {examples}; or install them yourself and set gpustack_driver: check."
    )


def _is_there(there, part, wish):
    """Whether the file's release is there, as far as the version files tell."""
    found, version = there.versions[part], _ascend_package.Package(part, wish).version
    return bool(found and version and _ascend_package.is_same(found, version))


def _step(there, part, wish):
    """(how to run it or None, why)."""
    found, begun = there.versions[part], there.progress[part]
    if not _ascend_package.given(wish):
        return None, ""
    package = _ascend_package.Package(part, wish)
    died = begun["state"] == "running" and _ascend_package.is_same(begun["release"], package.version)
    if _is_there(there, part, wish) and not died:
        return None, ""
    if found and package.version and not died and is_older(package.version, found):
        return None, f"{part} {found} stays, though {package.version} is asked for: none is downgraded"
    package.judge(there.facts, there.pci_ids)
    if not found:
        other = "driver" if part == "firmware" else "firmware"
        half = f"{other} {there.versions[other]} is there and the {part} is not" if there.versions[other] else ""
        return package.step("install"), half or f"there is no {part}"
    if _is_there(there, part, wish):
        why = f"the installer of {part} {begun['release']} was started and nobody saw it end well"
        # As it was begun.
        return package.step("upgrade" if begun["over"] else "install", begun["over"]), why
    why = f"{part} {found} is older than {package.version}, which is asked for"
    if not there.packaged[part]:
        return package.step("install"), f"{why}, and no package brought it"
    return package.step("upgrade", found), why


def _judge_models(there):
    driver = there.versions["driver"]
    if driver and there.models:
        raise AscendPackageError(
            f"{', '.join(there.models)} run on the driver {driver}, which the vendor wants unused while it is changed. "
            "Stop the models of this host (put its worker into maintenance and stop them) and run this again."
        )


def _packages(there):
    """What the installers call, and the manager that brings it."""
    known, system = _ascend_package.data(), there.facts.get("os") or {}
    manager = known["managers"].get(system.get("family"))
    if manager is None:
        raise AscendPackageError(
            "The packages that the vendor's installers need are not known for "
            f"{system.get('pretty') or 'this system'}; they are for the families {', '.join(known['managers'])}. "
            "Install driver and firmware there yourself and set gpustack_driver: check."
        )
    headers = known["headers"][manager].format(kernel=there.facts.get("kernel") or "")
    return {
        "manager": manager,
        "packages": known["packages"][manager],
        "epel": known["epel"].get(system.get("id"), "") if manager == "dnf" else "",
        "headers": "" if there.facts.get("kernel_headers") else headers,
    }


def _headers(there, needs):
    if not needs["headers"]:
        return []
    gone = "; where it is gone from the repositories, update the kernel and restart first"
    return [
        f"the module is built with {needs['headers']}, which is installed as well"
        + (gone if needs["manager"] == "dnf" else "")
    ]
