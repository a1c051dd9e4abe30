# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Everything about a host in one dictionary. Needs neither Ansible nor anything outside the standard library."""

from __future__ import annotations

import importlib.util
import time

from ansible_collections.inferops.gpustack.plugins.module_utils import _checkpoint, _manifest, _pci
from ansible_collections.inferops.gpustack.plugins.module_utils import _platform as platform
from ansible_collections.inferops.gpustack.plugins.module_utils._ascend import read_ascend
from ansible_collections.inferops.gpustack.plugins.module_utils._clock import read_clock
from ansible_collections.inferops.gpustack.plugins.module_utils._disks import read_disks
from ansible_collections.inferops.gpustack.plugins.module_utils._docker_engine import read_engine
from ansible_collections.inferops.gpustack.plugins.module_utils._dockerd import DEFAULT_ROOT
from ansible_collections.inferops.gpustack.plugins.module_utils._host_finding import finding
from ansible_collections.inferops.gpustack.plugins.module_utils._nvidia import read_nvidia
from ansible_collections.inferops.gpustack.plugins.module_utils._os_release import read_os
from ansible_collections.inferops.gpustack.plugins.module_utils._ports import read_ports
from ansible_collections.inferops.gpustack.plugins.module_utils._sysroot import Sysroot
from ansible_collections.inferops.gpustack.plugins.module_utils._tools import Tools


def gather(params):
    """params: the options of host_facts, all of them."""
    now = time.time()  # before the tools, which may take long
    sysroot = Sysroot(params["sysroot"])
    findings = []

    def noting(answer):
        """What a reader found, with its findings (the last of its answer) put to the others."""
        findings.extend(answer[-1])
        return answer[0] if len(answer) == 2 else answer[:-1]

    names = platform.processes(sysroot)
    architecture, kernel = platform.read_kernel(sysroot)
    os_facts = noting(read_os(sysroot))
    machine_id = noting(platform.read_machine_id(sysroot))
    memory_bytes = noting(platform.read_memory(sysroot))
    known = _pci.known_devices(params["devices"])
    accelerators, switches = noting(_pci.scan(sysroot, known))
    tools = Tools(sysroot, params["timeout"])
    nvidia = noting(read_nvidia(sysroot, tools, accelerators, switches, known, names))
    ascend = noting(read_ascend(sysroot, tools, accelerators))
    wsl = platform.is_wsl(kernel)
    if wsl and not accelerators:
        findings.append(_hidden_by_wsl(kernel))
    engine, containers = noting(read_engine(sysroot, params["engine_socket"], params["timeout"]))
    python_modules = {"requests": importable("requests")}
    storage = [engine["data_root"] or DEFAULT_ROOT, engine["containerd_root"]]
    return {
        "os": os_facts,
        "architecture": architecture,
        "kernel": kernel,
        "machine_id": machine_id,
        "memory_bytes": memory_bytes,
        "page_size": platform.read_page_size(sysroot),
        "wsl": wsl,
        "secure_boot": platform.read_secure_boot(sysroot),
        "kernel_headers": platform.has_kernel_headers(sysroot, kernel),
        "clock": noting(read_clock(sysroot, names, params["controller_time"], now)),
        "firewall": platform.read_firewall(sysroot, names),
        "accelerators": accelerators,
        "switches": switches,
        "drivers": {"nvidia": nvidia, "ascend": ascend},
        "engine": dict(engine, manageable=_manageable(engine, python_modules)),
        "python_modules": python_modules,
        "ports": noting(read_ports(sysroot, containers)),
        "disks": read_disks(storage + params["paths"]),
        "manifest": {"entries": noting(read_manifest(params["manifest"]))},
        "checkpoints": {path: _checkpoint.read(path) for path in params["checkpoints"]},
        "reboot": noting(platform.read_reboot(sysroot, nvidia)),
        "findings": findings,
    }


def _manageable(engine, python_modules):
    return engine["answers"] and engine["kind"] == "docker" and python_modules["requests"]


def read_manifest(path):
    try:
        return _manifest.load(path), []
    except _manifest.ManifestError as error:
        return [], [
            finding(
                "manifest_broken",
                "error",
                path,
                error,
                "the manifest as this collection wrote it",
                "repair it, or move it away: what it listed is then no longer removed by this collection",
            )
        ]


def _hidden_by_wsl(kernel):
    return finding(
        "accelerator_hidden_by_wsl",
        "note",
        "PCI tree",
        f"no accelerator, kernel {kernel}",
        "WSL shows its GPU as /dev/dxg, without a PCI device; nvidia-smi tells of it",
        "install NVIDIA's driver in Windows if nvidia-smi fails here; the declared gpustack_accelerator counts",
    )


def importable(name):
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False
