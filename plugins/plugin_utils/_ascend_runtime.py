# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is to be done about the Ascend Docker Runtime of a host, and why."""

from __future__ import annotations

import re

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _ascend_package
from ansible_collections.inferops.gpustack.plugins.plugin_utils._ascend_package import AscendPackageError, is_older

#: In the host's manifest: which release this collection finished, and what Docker's default runtime was before.
FINISHED = re.compile(r"finished: (\S+)")
BEFORE = re.compile(r"default-runtime before: (\S*)")


def action(host, runtime=None, installed=None, accept_eula=False):
    """installed: the text of the installer's info file, empty where there is none, None where nobody looked yet."""
    there = _Host(host, installed)
    try:
        found = _judge(there, runtime, accept_eula)
    except AscendPackageError as problem:
        found = _answer("refuse", refusal=str(problem))
    return dict(found, **there.known(), summary=_summary(found))


class _Host:
    """What the probe found, with nothing missing."""

    def __init__(self, host, installed):
        self.facts, about = host, _ascend_package.data()
        self.path, self.runtime = about["parts"]["runtime"]["path"], about["runtime"]
        self.cards = [card for card in host.get("accelerators") or [] if card.get("vendor") == "ascend"]
        engine = host.get("engine") or {}
        self.has_it = self.runtime["name"] in (engine.get("runtimes") or [])
        self.note = next(
            (
                entry.get("note") or ""
                for entry in (host.get("manifest") or {}).get("entries") or []
                if entry.get("kind") == "directory" and entry.get("name") == self.path
            ),
            None,
        )
        finished, before = FINISHED.match(self.note or ""), BEFORE.match(self.note or "")
        self.unfinished = self.note is not None and not finished
        self.default_before = before[1] if before else None
        self.default_now = engine.get("default_runtime") or ""
        # None: not known without a look.
        self.installed = (
            _release(installed) if installed is not None else finished[1] if finished and self.has_it else None
        )

    def known(self):
        return {
            "has_it": self.has_it,
            "unfinished": self.unfinished,
            # What the file had before the installer made itself the default. Docker's own needs no key.
            "restore": self.default_before if self.default_before not in (None, "runc") else "",
            "forget": self.default_before in ("", "runc"),
            "installed": self.installed,
            "path": self.path,
            "info": _ascend_package.data()["parts"]["runtime"]["info"],
            "runtimes": {self.runtime["name"]: dict(self.runtime["settings"])},
        }


def _release(info):
    told = re.search(r"^version\s*=\s*v?(\S+)", info, re.MULTILINE | re.IGNORECASE)
    return told[1] if told else ""


def _judge(there, wish, accept_eula):
    wished = bool(_ascend_package.given(wish))
    if not there.cards or there.facts.get("wsl") or (there.has_it and not wished and not there.unfinished):
        return _answer("none")
    if there.installed is None:
        return _answer("none", look=True)
    if not wished:
        if there.installed or there.has_it:
            return _answer("none")
        raise AscendPackageError(
            "There is no Ascend Docker Runtime, and nothing says which to install. Set gpustack_ascend_runtime (file "
            "or url, and sha256) to the vendor's .run file, such as "
            f"{_ascend_package.data()['parts']['runtime']['example']}; or install it yourself."
        )
    package = _ascend_package.Package("runtime", wish)
    if there.installed and package.version and _ascend_package.is_same(there.installed, package.version):
        return _answer("none")
    if there.has_it and not there.installed:
        return _answer("none", ["the runtime that Docker has does not tell its release, and stays"])
    if there.installed and package.version and is_older(package.version, there.installed):
        return _answer("none", [f"{there.installed} stays, though {package.version} is asked for: none is downgraded"])
    package.judge(there.facts, ())
    _judge_licence(package, accept_eula)
    step = dict(package.step("upgrade" if there.installed else "install"), stdin="Y" if accept_eula else "N")
    why = f"there is {there.installed}" if there.installed else "there is none"
    note = "upgrading" if there.installed else f"default-runtime before: {there.default_now}"
    return _answer(step["verb"], [why], step=step, note=there.note if there.unfinished else note)


def _judge_licence(package, accepted):
    asks_from = package.about["asks_from"]
    if not accepted and not is_older(package.version, asks_from):
        raise AscendPackageError(
            f"The installer of Ascend Docker Runtime asks from {asks_from} on whether you accept the vendor's licence. "
            f"Read it ({package.name} shows it), and set gpustack_ascend_accept_eula: true if you do."
        )


def _answer(name, reasons=(), refusal="", step=None, look=False, note=""):
    return {
        "action": name,
        "reasons": list(reasons),
        "refusal": refusal,
        "step": step,
        "look": look,
        "note": note,
    }


def _summary(found):
    """One line for people, empty where there is nothing to do and nothing to say."""
    if found["action"] == "refuse":
        return "the Ascend Docker Runtime is not changed"
    reasons = "; ".join(found["reasons"])
    if not found["step"]:
        return f"Ascend Docker Runtime: {reasons}" if reasons else ""
    return f"{found['action']} {found['step']['what']} from {found['step']['name']}, because {reasons}"
