# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an inventory says of drivers that no host could make right: wishes that contradict each other, half a file."""

from __future__ import annotations

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _ascend_package, _data
from ansible_collections.inferops.gpustack.plugins.plugin_utils._findings import error
from ansible_collections.inferops.gpustack.plugins.plugin_utils._site import listed

_PARTS = ("driver", "firmware", "runtime")


def check(site):
    for (where, found, expected, fix), hosts in _grouped(site).items():
        yield error("variable_value", f"{where} on {listed(hosts)}", found, expected, fix)


def _grouped(site):
    """{what is wrong: the hosts that have it}"""
    wrong = {}
    for host in site.workers:
        for problem in (*_branch(site, host), *_installers(site, host)):
            wrong.setdefault(problem, []).append(host)
    return wrong


def _branch(site, host):
    branch, version = (site.text(host, f"gpustack_driver_{name}") for name in ("branch", "version"))
    if branch and version and version.partition(".")[0] != branch:
        yield (
            "gpustack_driver_version",
            f"{version}, and gpustack_driver_branch {branch}",
            "a release of that branch",
            "leave one of them out: the version tells the branch",
        )


def _installers(site, host):
    for part in _PARTS:
        wish = _data.mapping(site.of(host, f"gpustack_ascend_{part}"))
        if not _ascend_package.given(wish):
            continue
        package = _ascend_package.Package(part, wish)
        try:
            package.judge_wish()
        except _ascend_package.AscendPackageError as problem:
            keys = listed(sorted(_ascend_package.given(wish)))
            yield package.variable, keys, "the vendor's .run file: either file or url, and sha256", str(problem)
