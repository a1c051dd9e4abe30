# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One of the vendor's .run files for Ascend, as an inventory names it."""

from __future__ import annotations

import itertools
import os
import re
from urllib.parse import unquote, urlsplit

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _data, _progress

DATA = "ascend_packages.yml"
#: The installers take their own name apart, which a blank would break.
NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._+-]*\.run\Z")
SHA256 = re.compile(r"^[0-9a-f]{64}\Z")
RELEASE = re.compile(r"^[0-9][0-9A-Za-z.]*\Z")


class AscendPackageError(ValueError):
    """Why the file cannot be used on this host, and what to do."""


def data():
    return _data.load(DATA)


def given(wish):
    """What an inventory says of a file, without what it leaves empty."""
    return {key: str(value) for key, value in (wish or {}).items() if value not in (None, "")}


def is_older(one, other):
    """25.3.RC1.2 comes before 25.3.0, and 25.3 is 25.3.0."""
    pairs = _pairs(one, other)
    return [left for left, _right in pairs] < [right for _left, right in pairs]


def is_same(one, other):
    return all(left == right for left, right in _pairs(one, other))


def _pairs(one, other):
    return list(itertools.zip_longest(_parts(one), _parts(other), fillvalue=(1, 0)))


def _parts(release):
    parts = []
    for part in release.lower().removeprefix("v").split("."):
        candidate = re.match(r"[a-z]+(\d*)", part)
        number = candidate[1] if candidate else re.match(r"\d*", part)[0]
        parts.append((0 if candidate else 1, int(number or 0)))
    return parts


class Package:
    """The file of one part: driver, firmware or runtime."""

    def __init__(self, part, wish):
        self.part, self.about = part, data()["parts"][part]
        self.variable = self.about["variable"]
        wish = given(wish)
        self.file, self.url = wish.get("file", ""), wish.get("url", "")
        self.sha256 = wish.get("sha256", "").lower()
        self.name = os.path.basename(self.file) or os.path.basename(unquote(urlsplit(self.url).path))
        told = re.match(self.about["name"], self.name)
        self._told = told.groupdict() if told else {}
        self._wished = wish.get("version", "")
        self.version = self._wished or self._told.get("version", "")

    def judge(self, host, pci_ids):
        """Raises where this is not what the host can be given."""
        self._judge_place()
        self._judge_name()
        self._judge_card(pci_ids)
        self._judge_architecture(host.get("architecture") or "")
        self.judge_wish()

    def judge_wish(self):
        """Raises where no host could be given this."""
        self._judge_place()
        self._judge_name()
        self._judge_version()
        if not SHA256.match(self.sha256):
            raise AscendPackageError(
                f"{self.variable} has no sha256 (64 hexadecimal digits) of {self.name}, and a file that nothing "
                f"vouches for is not run as root. Set it to what the vendor's page or sha256sum {self.name} tells."
            )

    def step(self, verb, over=""):
        """How it is run. verb: install or upgrade. over: the release that is upgraded."""
        return {
            "part": self.part,
            "verb": verb,
            "what": f"{self.about['what']} {self.version}",
            "name": self.name,
            "file": self.file,
            "url": self.url,
            "sha256": self.sha256,
            "version": self.version,
            "arguments": list(self.about[verb]),
            "verify": self.about["verify"],
            "codes": list(self.about["codes"]),
            "timeout": self.about["timeout"],
            "path": self.about["path"],
            "log": self.about["log"],
            "variable": self.variable,
            "running": _progress.running(self.version, over),
            "finished": _progress.finished(self.version),
            "stdin": "",
            "reboot_reason": "",
        }

    def _judge_place(self):
        if not self.name:
            raise AscendPackageError(
                f"{self.variable} names neither a file (path on the controller) nor a url. Set one of them and sha256: "
                f"the vendor gives {self.about['example']} to registered users."
            )
        if self.file and self.url:
            raise AscendPackageError(f"{self.variable} names both a file and a url. Leave one of them out.")

    def _judge_name(self):
        if not NAME.match(self.name):
            raise AscendPackageError(
                f"{self.variable} names {self.name}, which is no .run file of the vendor. Take the .run file out of a "
                f".zip, and give it its own name back: it is like {self.about['example']}."
            )
        for part, about in data()["parts"].items():
            if part != self.part and re.match(about["name"], self.name):
                raise AscendPackageError(
                    f"{self.variable} names {self.name}, which is the {part}. That belongs into {about['variable']}; "
                    f"here goes a file like {self.about['example']}."
                )

    def _judge_card(self, pci_ids):
        prefix = self._told.get("prefix")
        if self.part == "runtime":
            return
        for pci_id in sorted(set(pci_ids)):
            product = next((one for one in data()["products"] if pci_id in one["pci_ids"]), None)
            if product is None:
                known = ", ".join(one["name"] for one in data()["products"])
                raise AscendPackageError(
                    f"The vendor's packages for the card {pci_id} are not known; there are some for {known}. Install "
                    "driver and firmware there yourself and set gpustack_driver: check."
                )
            if prefix and prefix != product["prefix"]:
                raise AscendPackageError(
                    f"{self.variable} names {self.name}, and the host has cards {product['name']} ({pci_id}), whose "
                    f"{self.part} is called {product['prefix']}-{self.part}_... Set it for this host or its group."
                )

    def _judge_architecture(self, there):
        told, known = self._told.get("architecture"), self.about.get("architectures", {})
        if told and told != known.get(there):
            raise AscendPackageError(
                f"{self.variable} names {self.name}, which is for {told}, and the host is "
                f"{there or 'of unknown kind'}. Set it to the file for {known.get(there, 'its architecture')}, for "
                "this host or its group."
            )
        if self.part == "runtime" and not told:
            # The installer looks for the architecture in its own name.
            raise AscendPackageError(
                f"{self.variable} names {self.name}, and the installer runs under its own name only. It is like "
                f"{self.about['example']}."
            )

    def _judge_version(self):
        told = self._told.get("version", "")
        if not RELEASE.match(self.version):
            raise AscendPackageError(
                f"{self.name} does not tell its release. Give the file its own name back, which is like "
                f"{self.about['example']}, or set version in {self.variable}."
            )
        if told and not is_same(told, self.version):
            raise AscendPackageError(
                f"{self.variable} says version {self.version}, and {self.name} is {told}. Leave version out, or name "
                "the other file."
            )
