# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from ansible_collections.inferops.gpustack.plugins.filter.driver_minimum import driver_minimum

DEPLOYMENTS = [
    {"accelerator": "nvidia_h20", "runtime": {"cuda": "12.9"}},
    {"accelerator": "nvidia_h20", "runtime": {"cuda": "13.0"}},
    {"accelerator": "nvidia_l40s", "runtime": {"cuda": "12.9"}},
    {"accelerator": "nvidia_a100", "runtime": {}},
]


def test_the_newest_of_what_is_planned_for_the_accelerator_counts():
    # docs.nvidia.com/cuda/cuda-toolkit-release-notes, CUDA Toolkit and Corresponding Driver Versions.
    assert driver_minimum(DEPLOYMENTS, "nvidia_h20") == "580.65.06"
    assert driver_minimum(DEPLOYMENTS, "nvidia_l40s") == "575.51.03"
    assert driver_minimum(DEPLOYMENTS, "nvidia_a100") == "570.26"
    assert driver_minimum(DEPLOYMENTS) == "570.26"
    assert driver_minimum([]) == "570.26"
