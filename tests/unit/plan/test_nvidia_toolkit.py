# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What makes the NVIDIA Container Toolkit on a host, typed from its installation guide."""

from __future__ import annotations

import pytest
from ansible_collections.inferops.gpustack.plugins.filter import nvidia_toolkit_packages as toolkit_filter

nvidia_toolkit_packages = toolkit_filter.FilterModule().filters()["nvidia_toolkit_packages"]


def test_apt():
    found = nvidia_toolkit_packages({"id": "debian", "family": "debian"})
    assert (found["problem"], found["manager"], found["version"]) == ("", "apt", "1.20.0")
    assert found["packages"] == [
        "nvidia-container-toolkit=1.20.0-1",
        "nvidia-container-toolkit-base=1.20.0-1",
        "libnvidia-container-tools=1.20.0-1",
        "libnvidia-container1=1.20.0-1",
    ]
    assert found["repository"] == {
        "name": "nvidia-container-toolkit",
        "key": "https://nvidia.github.io/libnvidia-container/gpgkey",
        "url": "https://nvidia.github.io/libnvidia-container/stable/deb/$(ARCH)",
    }
    assert "nvidia-docker2" in found["leftovers"]["packages"]


@pytest.mark.parametrize("family", ["redhat", "openeuler"])
def test_dnf(family):
    found = nvidia_toolkit_packages({"id": "x", "family": family}, version="1.19.1", mirror="http://10.0.0.9/toolkit/")
    assert found["names"] == [
        "nvidia-container-toolkit",
        "nvidia-container-toolkit-base",
        "libnvidia-container-tools",
        "libnvidia-container1",
    ]
    assert found["packages"] == [f"{name}-1.19.1-1" for name in found["names"]]
    assert found["repository"]["url"] == "http://10.0.0.9/toolkit/stable/rpm/$basearch"
    assert found["repository"]["key"] == "http://10.0.0.9/toolkit/gpgkey"


def test_docker_is_told_what_the_vendor_s_tool_tells_it():
    found = nvidia_toolkit_packages({"family": "debian"})
    assert found["runtimes"] == {"nvidia": {"path": "nvidia-container-runtime", "args": []}}


def test_what_cannot_be_is_told_with_what_to_do():
    problem = nvidia_toolkit_packages({"id": "arch", "family": "unknown", "pretty": "Arch Linux"})["problem"]
    assert "not known for Arch Linux" in problem and "gpustack_container_runtime: check" in problem
    assert "'newest'" in nvidia_toolkit_packages({"family": "debian"}, version="newest")["problem"]
