# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a simulated worker says about its machine: 8 accelerators and room for everything."""

from __future__ import annotations

GIB = 1 << 30
H20 = {
    "name": "NVIDIA H20-3e",
    "vendor": "nvidia",
    "type": "cuda",
    "compute_capability": "9.0",
    "arch_family": "Hopper",
    "driver_version": "580.95.05",
    "runtime_version": "13.0",
}
ASCEND = {"name": "910B3", "vendor": "ascend", "type": "cann", "arch_family": "910B", "runtime_version": "8.2"}
SYSTEM = {
    "cpu": {"total": 64},
    "memory": {"total": 1024 * GIB, "used": 8 * GIB, "is_unified_memory": False},
    "swap": {"total": GIB},
    "filesystem": [{"name": "root", "mount_point": "/", "mount_from": "/dev/vda1", "total": 2048 * GIB}],
    "os": {"name": "Debian GNU/Linux", "version": "12"},
    "kernel": {"name": "Linux", "release": "6.1.0", "version": "1", "architecture": "x86_64"},
    "uptime": {"uptime": 3600, "boot_time": "2026-01-01T00:00:00Z"},
}


def status(card=H20, count=8, memory=140 * GIB):
    devices = [
        {**card, "index": n, "device_index": n, "device_chip_index": 0, "uuid": f"GPU-{n}"}
        | {"memory": {"total": memory, "used": 0}, "core": {"total": 0}}
        for n in range(count)
    ]
    return {**SYSTEM, "gpu_devices": devices}
