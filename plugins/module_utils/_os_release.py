# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What /etc/os-release says, and which family of package managers that means."""

from __future__ import annotations

import re
import shlex

from ansible_collections.inferops.gpustack.plugins.module_utils._host_finding import finding

PATHS = ("etc/os-release", "usr/lib/os-release")

FAMILY_OF_ID = {
    "debian": "debian",
    "ubuntu": "debian",
    "rhel": "redhat",
    "centos": "redhat",
    "fedora": "redhat",
    "rocky": "redhat",
    "almalinux": "redhat",
    "ol": "redhat",
    "suse": "suse",
    "sles": "suse",
    "opensuse": "suse",
    "opensuse-leap": "suse",
    "opensuse-tumbleweed": "suse",
    "openeuler": "openeuler",
    "euleros": "openeuler",
    "hce": "openeuler",
}
# The server edition of Kylin descends from openEuler, the desktop edition from Ubuntu and says so in ID_LIKE.
FAMILY_WITHOUT_ID_LIKE = {"kylin": "openeuler"}

IDENTIFIER = re.compile(r"^[A-Za-z0-9._-]+$")
MAJOR = re.compile(r"^[^0-9]*([0-9]{1,9})(?![0-9])")
ASSIGNMENT = re.compile(r"^([A-Z][A-Z0-9_]*)=(.*)$")


def parse(text):
    values = {}
    for line in text.splitlines():
        match = ASSIGNMENT.match(line.strip())
        if not match:
            continue
        try:
            words = shlex.split(match.group(2))
        except ValueError:
            continue
        values[match.group(1)] = words[0] if words else ""
    return values


def family_of(os_id, id_like):
    for name in [os_id] + id_like.split():
        if name.lower() in FAMILY_OF_ID:
            return FAMILY_OF_ID[name.lower()]
    return FAMILY_WITHOUT_ID_LIKE.get(os_id.lower(), "unknown")


def read_os(sysroot):
    """(os facts, findings)."""
    text = next((text for text in (sysroot.read(path) for path in PATHS) if text is not None), None)
    values = parse(text or "")
    os_id = values.get("ID", "") if IDENTIFIER.match(values.get("ID", "")) else ""
    version = values.get("VERSION_ID", "")
    major = MAJOR.match(version)
    facts = {
        "id": os_id,
        "version_id": version,
        "major": int(major.group(1)) if major else None,
        "family": family_of(os_id, values.get("ID_LIKE", "")),
        "pretty": values.get("PRETTY_NAME", ""),
    }
    findings = []
    if not os_id:
        findings.append(
            finding(
                "os_unidentified",
                "error",
                sysroot.path(PATHS[0]),
                "no such file" if text is None else "a file without a usable ID= line",
                "ID= and VERSION_ID= as described by os-release(5)",
                "restore the file from the distribution's base package",
            )
        )
    elif facts["family"] == "unknown":
        findings.append(
            finding(
                "os_family_unknown",
                "warning",
                sysroot.path(PATHS[0]),
                f"ID={os_id} ID_LIKE={values.get('ID_LIKE', '')}",
                "a member of the Debian, Red Hat, SUSE or openEuler family",
                "install drivers and container engine by hand, or use a supported distribution",
            )
        )
    return facts, findings
