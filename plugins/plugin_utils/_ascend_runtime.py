# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is to be done about the Ascend Docker Runtime of a host, and why."""

from __future__ import annotations

import re

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _ascend_package, _progress
from ansible_collections.inferops.gpustack.plugins.plugin_utils._ascend_package import AscendPackageError, is_older

#: In the host's manifest, beside how far the installation came: what Docker's default runtime was before.
BEFORE = re.compile(r"default-runtime before: (\S*)")


def action(host, runtime=None, installed=None, accept_eula=False):
    """installed: the text of the installer's info file, empty where there is none, None where nobody looked yet."""
    there = _Host(host, installed)
    try:
        found = _judge(there, runtime, accept_eula)
    except AscendPackageError as problem:
        found = _answer("refuse", refusal=str(problem))
    return dict(found, **there.known(), left=_left(there, runtime), summary=_summary(found))


class _Host:
    """What the probe found, with nothing missing."""

    def __init__(self, host, installed):
        self.facts, about = host, _ascend_package.data()
        self.path, self.runtime = about["parts"]["runtime"]["path"], about["runtime"]
        self.cards = [card for card in host.get("accelerators") or [] if card.get("vendor") == "ascend"]
        engine = host.get("engine") or {}
        self.has_it = self.runtime["name"] in (engine.get("runtimes") or [])
        recorded = _progress.entry(host, "directory", self.path)
        note = (recorded or {}).get("note") or ""
        self.begun, before = _progress.read(note), BEFORE.search(note)
        finished = self.begun["release"] if self.begun["state"] == "finished" else ""
        self.unfinished = recorded is not None and not finished
        # Its installer was started, and nobody saw it end well.
        self.died = self.begun["state"] == "running"
        self.default_before = before[1] if before else None
        self.default_now = engine.get("default_runtime") or ""
        # None: not known without a look.
        self.installed = (
            _release(installed) if installed is not None else finished if finished and self.has_it else None
        )

    def known(self):
        return {
            "has_it": self.has_it,
            "unfinished": self.unfinished,
            "died": self.died,
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


def _left(there, wish):
    """Whether the release of the file is not there, as far as the info file tells."""
    version = _ascend_package.Package("runtime", wish).version
    return bool(version) and not (there.installed and _ascend_package.is_same(there.installed, version))


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
    same = bool(package.version) and not _left(there, wish)
    if same and not there.died:
        return _answer("none")
    if there.has_it and not there.installed and not there.died:
        return _answer("none", ["the runtime that Docker has does not tell its release, and stays"])
    if there.installed and package.version and is_older(package.version, there.installed):
        return _answer("none", [f"{there.installed} stays, though {package.version} is asked for: none is downgraded"])
    package.judge(there.facts, ())
    _judge_licence(package, accept_eula)
    # One that died is run as it was begun.
    over = there.begun["over"] if same else there.installed
    step = dict(package.step("upgrade" if over else "install", over), stdin="Y" if accept_eula else "N")
    why = f"there is {there.installed}" if there.installed else "there is none"
    if there.died:
        why = f"the installer of {there.begun['release']} was started and nobody saw it end well"
    return _answer(step["verb"], [why], step=_with_default(there, step))


def _with_default(there, step):
    """The notes of a first installation tell what it replaces as Docker's default runtime."""
    before = there.default_before
    if before is None and step["verb"] == "install":
        before = there.default_now
    more = "" if before is None else f", default-runtime before: {before}"
    return dict(step, running=step["running"] + more, installed=_progress.installed(step["version"]) + more)


def _judge_licence(package, accepted):
    asks_from = package.about["asks_from"]
    if not accepted and not is_older(package.version, asks_from):
        raise AscendPackageError(
            f"The installer of Ascend Docker Runtime asks from {asks_from} on whether you accept the vendor's licence. "
            f"Read it ({package.name} shows it), and set gpustack_ascend_accept_eula: true if you do."
        )


def _answer(name, reasons=(), refusal="", step=None, look=False):
    return {
        "action": name,
        "reasons": list(reasons),
        "refusal": refusal,
        "step": step,
        "look": look,
    }


def _summary(found):
    """One line for people, empty where there is nothing to do and nothing to say."""
    if found["action"] == "refuse":
        return "the Ascend Docker Runtime is not changed"
    reasons = "; ".join(found["reasons"])
    if not found["step"]:
        return f"Ascend Docker Runtime: {reasons}" if reasons else ""
    return f"{found['action']} {found['step']['what']} from {found['step']['name']}, because {reasons}"
