# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Was this collection tested with what runs it?"""

from __future__ import annotations

import re

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _data
from ansible_collections.inferops.gpustack.plugins.plugin_utils._findings import warning


def check(site):
    support, controller = _data.load("support.yml"), site.controller
    core, python = support["ansible_core"]["tested"], support["controller_python"]["tested"]
    yield from _release("ansible_core_untested", "ansible-core", controller.get("ansible_core"), core)
    yield from _release("python_untested", "Python", controller.get("python"), python)


def _release(kind, product, release, tested):
    first, last = tested
    if release and not _minor(first) <= _minor(release) <= _minor(last):
        yield warning(
            kind,
            "the controller",
            f"{product} {release}",
            f"{product} {first} to {last}",
            "run the playbooks with a tested release, or try this one on a test site first",
        )


def _minor(release):
    """`2.19.1` and `2.19` alike."""
    return tuple(int(number) for number in re.findall(r"\d+", release)[:2])
