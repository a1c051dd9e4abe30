# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: apt_missing
short_description: Which packages the repositories of a host do not have
version_added: 0.1.0
author: InferOps contributors (@inferops)
description:
  - Compares packages as C(ansible.builtin.apt) takes them with what C(apt-cache madison) tells, before anything is
    changed for them.
positional: _input, offered
options:
  _input:
    description: Names of packages, with C(=) and a version or a pattern of one where it matters.
    type: list
    elements: str
    required: true
  offered:
    description: The lines of C(apt-cache madison) about these packages.
    type: list
    elements: str
    required: true
"""

EXAMPLES = r"""
- name: What cannot be installed
  ansible.builtin.debug:
    msg: "{{ ['nvidia-open-580=580.95.05-*'] | inferops.gpustack.apt_missing(madison.stdout_lines) }}"
"""

RETURN = r"""
_value:
  description: One text for each package that is missing, with the versions that there are. Empty where none is missing.
  type: list
  elements: str
  sample: ["nvidia-open-580=580.95.99-* (there are 580.95.05-1, 580.82.07-1)"]
"""

from fnmatch import fnmatchcase


def apt_missing(packages, offered):
    versions = {}
    for line in offered:
        name, _bar, rest = line.partition("|")
        versions.setdefault(name.strip(), []).append(rest.partition("|")[0].strip())
    return [
        f"{package} ({_those(versions.get(name, []))})"
        for package, name, wish in (_taken_apart(package) for package in packages)
        if not any(_is(version, wish) for version in versions.get(name, []))
    ]


def _taken_apart(package):
    name, _equals, wish = package.partition("=")
    return package, name, wish


def _is(version, wish):
    # A pattern need not know of an epoch.
    return not wish or fnmatchcase(version, wish) or fnmatchcase(version.partition(":")[2], wish)


def _those(versions):
    told = ", ".join(dict.fromkeys(versions))
    return f"there {'are' if len(versions) > 1 else 'is'} {told or 'none'}"


class FilterModule:
    def filters(self):
        return {"apt_missing": apt_missing}
