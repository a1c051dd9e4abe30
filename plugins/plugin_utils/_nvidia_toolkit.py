# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which packages make the NVIDIA Container Toolkit on a host, from where and in which release."""

from __future__ import annotations

import re

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _data
from ansible_collections.inferops.gpustack.plugins.plugin_utils._packages import PackagesError

DATA = "nvidia_toolkit.yml"
MIRROR = "https://nvidia.github.io/libnvidia-container"
RELEASE = re.compile(r"^\d+\.\d+\.\d+\Z")
SEPARATOR = {"apt": "=", "dnf": "-"}


def packages(os_facts, version="", mirror=MIRROR):
    """os_facts: ansible_facts.gpustack_host.os."""
    data = _data.load(DATA)
    if version and not RELEASE.match(version):
        raise PackagesError(f'gpustack_toolkit_version is {version!r}; it is a release such as "{data["release"]}".')
    manager = data["managers"].get(os_facts.get("family"))
    if manager is None:
        it = os_facts.get("pretty") or os_facts.get("id") or "this system"
        raise PackagesError(
            f"The packages of the NVIDIA Container Toolkit are not known for {it}; there are some for systems with apt "
            f"or dnf, of the families {', '.join(data['managers'])}. Install it there yourself, run nvidia-ctk runtime "
            "configure --runtime=docker and set gpustack_container_runtime: check."
        )
    wanted = version or data["release"]
    repository, tree = data["repository"], mirror.rstrip("/")
    return {
        "manager": manager,
        "version": wanted,
        "names": list(data["packages"]),
        "packages": [f"{name}{SEPARATOR[manager]}{wanted}-{data['revision']}" for name in data["packages"]],
        "repository": {
            "name": repository["name"],
            "key": f"{tree}/{repository['key']}",
            "url": f"{tree}/{repository[manager]}",
        },
        "leftovers": {"packages": list(data["leftovers"]["packages"]), "contains": data["leftovers"]["contains"]},
        "runtimes": {data["runtime"]["name"]: dict(data["runtime"]["settings"])},
    }
