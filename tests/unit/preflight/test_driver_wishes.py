# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Wishes about drivers that no host could fulfil are told before any host is looked at."""

from __future__ import annotations

import made_hosts
import pytest
from ansible_collections.inferops.gpustack.plugins.plugin_utils import _preflight

DRIVER = "/srv/Ascend-hdk-910b-npu-driver_25.5.1_linux-aarch64.run"
SHA = "0" * 64


def told(wishes, count=1):
    made = made_hosts.inventory({"inventory": wishes}, count=count)
    return [finding for finding in _preflight.check(made) if finding.id == "variable_value"]


@pytest.mark.parametrize(
    "wishes",
    [
        {"gpustack_driver_version": "580.95.05"},
        {"gpustack_driver_version": "580.95.05", "gpustack_driver_branch": "580"},
        {"gpustack_ascend_driver": {"file": DRIVER, "sha256": SHA}},
        {"gpustack_ascend_driver": {}},
    ],
)
def test_sound_wishes_are_not_mentioned(wishes):
    assert told(wishes) == []


@pytest.mark.parametrize(
    ("wishes", "where", "words"),
    [
        (
            {"gpustack_driver_version": "580.95.05", "gpustack_driver_branch": "571"},
            "gpustack_driver_version on h20-01",
            "leave one of them out",
        ),
        ({"gpustack_ascend_driver": {"file": DRIVER}}, "gpustack_ascend_driver on h20-01", "has no sha256"),
        (
            {"gpustack_ascend_firmware": {"file": "/srv/x.run", "url": "https://h/x.run", "sha256": SHA}},
            "gpustack_ascend_firmware on h20-01",
            "names both a file and a url",
        ),
        ({"gpustack_ascend_runtime": {"sha256": SHA}}, "gpustack_ascend_runtime on h20-01", "neither a file"),
        (
            {"gpustack_ascend_firmware": {"file": "/tmp", "sha256": SHA}},
            "gpustack_ascend_firmware on h20-01",
            "no .run",
        ),
    ],
)
def test_one_that_no_host_could_fulfil_is_told(wishes, where, words):
    (finding,) = told(wishes)
    assert (finding.severity, finding.where) == ("error", where)
    assert words in finding.fix


def test_hosts_with_the_same_wish_are_one_finding():
    (finding,) = told({"gpustack_ascend_driver": {"file": DRIVER}}, count=3)
    assert finding.where == "gpustack_ascend_driver on h20-01, h20-02, h20-03"
