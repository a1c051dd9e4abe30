# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from ansible_collections.inferops.gpustack.plugins.filter.device_users import device_users

WORKER = "4f" * 32
OPEN = ["/proc/4711/fd/5", "/proc/4711/fd/6", "/proc/88/fd/3", "/proc/900/fd/12", "/proc/901/fd/4", "/proc/902/fd/4"]
TOLD = [
    "/proc/4711/comm:python3",
    "/proc/4711/cgroup:0::/user.slice/user-1000.slice",
    # The kernel cuts names off.
    "/proc/88/comm:nvidia-persiste",
    "/proc/88/cgroup:0::/system.slice/nvidia-persistenced.service",
    "/proc/900/comm:gpustack",
    f"/proc/900/cgroup:0::/system.slice/docker-{WORKER}.scope",
    "/proc/901/comm:my: train",
    f"/proc/901/cgroup:12:devices:/docker/{'5e' * 32}",
]


def test_each_process_is_told_once_with_its_name():
    # 902 ended before anybody asked for its name.
    assert device_users(OPEN, TOLD) == ["88 nvidia-persiste", "900 gpustack", "901 my: train", "902", "4711 python3"]


def test_who_does_not_count_is_left_out():
    spared = ["nvidia-persistenced", "nv-fabricmanager"]
    assert device_users(OPEN, TOLD, spared, WORKER) == ["901 my: train", "902", "4711 python3"]
    assert device_users(OPEN[:2], TOLD, ["python"], "") == ["4711 python3"]


def test_nobody_holds_anything():
    assert device_users([], []) == []
