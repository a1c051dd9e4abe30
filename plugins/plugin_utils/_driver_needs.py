# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which NVIDIA driver GPUStack and the images of a plan run on."""

from __future__ import annotations

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _data, _rules

SOURCE = "docs.nvidia.com/cuda/cuda-toolkit-release-notes (data/cuda_drivers.yml)"


def minimum():
    """The oldest driver with which a worker joins."""
    return _table()[_data.load("host_needs.yml")["cuda_minimum"]]


def needed(plan):
    """The oldest driver for the CUDA in a deployment's image; None where nobody declared which that is."""
    return _table().get(plan["runtime"].get("cuda"))


def oldest(plans):
    """The oldest driver for all these deployments, and for GPUStack itself."""
    wanted = minimum()
    for release in filter(None, map(needed, plans)):
        wanted = release if is_below(wanted, release) else wanted
    return wanted


def branch(plans):
    """The branch to install for them."""
    return max(int(oldest(plans).partition(".")[0]), _data.load("host_needs.yml")["driver_branch"])


def is_below(there, wanted):
    return bool(wanted) and _rules.is_release(there, f"<{wanted}")


def _table():
    return _data.load("cuda_drivers.yml")["linux"]
