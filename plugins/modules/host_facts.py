#!/usr/bin/python
# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: host_facts
short_description: Everything the roles need to know about a host, in one call
version_added: 0.1.0
description:
  - Reads accelerators from the PCI tree, the container engine from its API, listening ports, the manifest and what
    identifies the host, and returns them as the fact C(gpustack_host).
  - Changes nothing. A missing or damaged source never fails the module; it becomes an entry of
    RV(ansible_facts.gpustack_host.findings).
  - Needs neither C(lspci) nor the C(docker) command. Run it as root; owners of sockets are unknown otherwise.
author:
  - InferOps contributors (@inferops)
attributes:
  check_mode:
    support: full
    description: The module only reads.
  diff_mode:
    support: none
    description: There is no change to show.
  facts:
    support: full
    description: The result is returned as facts.
options:
  sysroot:
    description:
      - Directory that is read in place of the root directory, such as a tree recorded on another machine.
      - It stands for C(/sys), C(/proc), C(/etc/os-release) and C(/etc/machine-id). Links inside it are followed, so a
        tree that records only C(/sys) may link C(proc) and C(etc) to the real directories.
    type: path
    default: /
  devices:
    description:
      - Known PCI devices, usually the accelerator table of this collection.
      - An NVIDIA or Huawei accelerator that is not listed is reported with an empty profile.
    type: list
    elements: dict
    default: []
    suboptions:
      pci_id:
        description: Vendor and device id in hexadecimal, such as V(10de:232c).
        type: str
        required: true
      vendor:
        description: Name of the vendor to report.
        type: str
        required: true
      profile:
        description: Accelerator profile, such as V(nvidia_h20_3e). Empty for a switch.
        type: str
        default: ''
      memory_bytes:
        description: Memory of one device, in bytes.
        type: int
      name:
        description: Name for people.
        type: str
        default: ''
      kind:
        description: What the device is. A switch (NVSwitch) is counted apart from accelerators, whatever its PCI
          class.
        type: str
        choices: [accelerator, switch]
        default: accelerator
  engine_socket:
    description: Unix socket of Docker Engine. Not below O(sysroot).
    type: path
    default: /var/run/docker.sock
  manifest:
    description: The manifest that M(inferops.gpustack.manifest) keeps. Not below O(sysroot).
    type: path
    default: /etc/gpustack/manifest.json
  checkpoints:
    description:
      - Model directories whose C(config.json) and names of tensors are read. Not below O(sysroot).
      - Weights are not read, so the call takes well under a second for each.
    type: list
    elements: path
    default: []
  timeout:
    description: Seconds that all questions to the engine may take together.
    type: int
    default: 10
seealso:
  - module: inferops.gpustack.manifest
"""

EXAMPLES = r"""
- name: Look at the host
  inferops.gpustack.host_facts:
    devices:
      - {pci_id: "10de:232c", vendor: nvidia, profile: nvidia_h20_3e, memory_bytes: 151397597184, name: H20-3e}
      - {pci_id: "10de:22a3", vendor: nvidia, kind: switch, name: NVSwitch}
      - {pci_id: "19e5:d802", vendor: ascend, profile: ascend_910b, memory_bytes: 68719476736, name: Ascend 910B}

- name: Count the accelerators
  ansible.builtin.debug:
    msg: "{{ ansible_facts.gpustack_host.accelerators | length }}"

- name: Look at a checkpoint
  inferops.gpustack.host_facts:
    checkpoints: [/srv/models/DeepSeek-V4-Flash-0731]

- name: Judge a tree recorded on another machine
  inferops.gpustack.host_facts:
    sysroot: /srv/recorded/h20-01
    engine_socket: /nonexistent
"""

RETURN = r"""
ansible_facts:
  description: Facts to add to the host.
  returned: always
  type: dict
  contains:
    gpustack_host:
      description: What was found.
      returned: always
      type: dict
      contains:
        os:
          description: Distribution. C(major) is an integer or null; C(family) is C(debian), C(redhat), C(suse),
            C(openeuler) or C(unknown).
          type: dict
          sample: {id: debian, version_id: "12", major: 12, family: debian, pretty: Debian GNU/Linux 12 (bookworm)}
        architecture:
          description: Machine name of the kernel. Empty when a recorded tree does not tell.
          type: str
          sample: x86_64
        kernel:
          description: Release of the kernel. Contains C(microsoft) under WSL.
          type: str
          sample: 6.1.0-28-amd64
        machine_id:
          description: Content of C(/etc/machine-id), empty when there is no valid one.
          type: str
        memory_bytes:
          description: Main memory in bytes, null when unknown.
          type: int
        accelerators:
          description: One entry per accelerator in the order of addresses. Virtual functions and further functions
            of a card are left out.
          type: list
          elements: dict
          sample: [{vendor: nvidia, profile: nvidia_h20_3e, pci_id: "10de:232c", address: "0000:18:00.0",
            memory_bytes: 151397597184}]
        switches:
          description: One entry per PCI function of a device listed with C(kind=switch).
          type: list
          elements: dict
          sample: [{name: NVSwitch, pci_id: "10de:22a3", address: "0000:07:00.0"}]
        engine:
          description:
            - The container engine. C(present) means that its socket or C(dockerd) exists, C(answers) that it replied,
              C(manageable) that C(community.docker) can work with it, which also needs the Python module requests.
            - C(images) holds every tag and every digest, and images are named C(host/repository:tag) in full,
              docker.io included.
            - C(restart_count) and C(started_at) are null for containers whose name does not start with C(gpustack).
          type: dict
          sample:
            present: true
            answers: true
            manageable: true
            version: 28.1.1
            runtimes: [nvidia, runc]
            default_runtime: runc
            data_root: /var/lib/docker
            insecure_registries: ["10.0.0.5:5000", 127.0.0.0/8]
            images: ["docker.io/gpustack/gpustack:v2.3.0"]
            containers:
              - name: gpustack-worker
                image: docker.io/gpustack/gpustack:v2.3.0
                running: true
                restart_count: 0
                started_at: "2026-01-01T00:00:00.000000000Z"
        python_modules:
          description: Whether the interpreter that ran the module can import what other modules need.
          type: dict
          sample: {requests: true}
        ports:
          description: Listening TCP ports and ports published by containers. C(pid) is null and C(process) empty
            when unknown.
          type: list
          elements: dict
          sample: [{port: 80, address: 0.0.0.0, process: docker-proxy, pid: 812, container: gpustack-server}]
        disks:
          description: Space in bytes where the engine keeps images, C(/var/lib/containerd) included when it exists.
          type: list
          elements: dict
          sample: [{path: /var/lib/docker, total_bytes: 499963174912, free_bytes: 300647710720}]
        manifest:
          description: The entries of the manifest.
          type: dict
          sample: {entries: [{kind: directory, name: /etc/gpustack, by: server}]}
        checkpoints:
          description:
            - What lies in each directory of O(checkpoints), by path. Nothing is judged here and nothing becomes a
              finding.
            - C(readable) says whether C(config.json) is a JSON object, C(problem) names everything that could not be
              read, else it is null.
            - C(config) is the content of C(config.json), null when not readable. Long lists are cut in a file above
              256 KiB.
            - C(tensors), C(shards) and C(weight_bytes) come from C(model.safetensors.index.json) or from the header
              of the only weight file; null when there is neither.
            - C(draft) tells of the tensors C(mtp.*), null when there is none. C(markov_head) is about the last stage.
            - C(quant_description) and C(dspark_json) say whether C(quant_model_description.json) and C(dspark.json)
              are there. C(dspark_config) is C(filled), C(empty) or null.
          type: dict
          sample:
            /srv/models/DeepSeek-V4-Flash-0731:
              path: /srv/models/DeepSeek-V4-Flash-0731
              readable: true
              problem: null
              config: {model_type: deepseek_v4, num_hidden_layers: 43, dspark_block_size: 5}
              tensors: 72328
              weight_bytes: 167000000000
              draft: {stages: [0, 1, 2], tensors: 4705, main_proj: true, main_norm: true, markov_head: true}
              shards: 48
              quant_description: false
              dspark_json: false
              dspark_config: null
        findings:
          description: Problems, each with C(id), C(severity) (C(error), C(warning) or C(note)), C(where), C(found),
            C(expected), C(fix) and C(source).
          type: list
          elements: dict
"""

import importlib.util
import os
import re

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.inferops.gpustack.plugins.module_utils import _checkpoint, _manifest
from ansible_collections.inferops.gpustack.plugins.module_utils._docker_engine import read_engine
from ansible_collections.inferops.gpustack.plugins.module_utils._host_finding import finding
from ansible_collections.inferops.gpustack.plugins.module_utils._os_release import read_os
from ansible_collections.inferops.gpustack.plugins.module_utils._pci import scan
from ansible_collections.inferops.gpustack.plugins.module_utils._ports import read_ports
from ansible_collections.inferops.gpustack.plugins.module_utils._sysroot import Sysroot

DEVICE_OPTIONS = {
    "pci_id": {"type": "str", "required": True},
    "vendor": {"type": "str", "required": True},
    "profile": {"type": "str", "default": ""},
    "memory_bytes": {"type": "int"},
    "name": {"type": "str", "default": ""},
    "kind": {"type": "str", "choices": ["accelerator", "switch"], "default": "accelerator"},
}
MACHINE_ID = re.compile(r"^[0-9a-f]{32}$")
# Fresh installations of Docker 29 keep images here, whatever data-root says.
CONTAINERD_ROOT = "/var/lib/containerd"


def read_kernel(sysroot):
    """(architecture, release). uname() speaks for the running machine only, not for a recorded tree."""
    uname = os.uname() if os.path.realpath(sysroot.root) == "/" else None
    release = (sysroot.read("proc/sys/kernel/osrelease") or "").strip()
    architecture = (sysroot.read("proc/sys/kernel/arch") or "").strip()
    return (uname.machine, uname.release) if uname else (architecture, release)


def read_machine_id(sysroot):
    text = sysroot.read("etc/machine-id")
    machine_id = (text or "").strip()
    if MACHINE_ID.match(machine_id):
        return machine_id, []
    return "", [
        finding(
            "machine_id_invalid",
            "error",
            sysroot.path("etc/machine-id"),
            "no such file" if text is None else repr(machine_id[:40]),
            "32 hexadecimal digits, different on every host",
            "systemd-machine-id-setup",
            "gpustack/gpustack#4578",
        )
    ]


def read_memory(sysroot):
    match = re.search(r"^MemTotal:\s+(\d+) kB$", sysroot.read("proc/meminfo") or "", re.MULTILINE)
    if match:
        return int(match.group(1)) * 1024, []
    return None, [
        finding(
            "memory_unknown",
            "warning",
            sysroot.path("proc/meminfo"),
            "no line MemTotal",
            "MemTotal: <number> kB",
            "mount /proc",
        )
    ]


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


def read_disks(paths):
    disks = []
    for path in paths:
        try:
            space = os.statvfs(path)
        except OSError:
            continue
        disks.append(
            {
                "path": path,
                "total_bytes": space.f_blocks * space.f_frsize,
                "free_bytes": space.f_bavail * space.f_frsize,
            }
        )
    return disks


def hidden_by_wsl(kernel, accelerators):
    if accelerators or "microsoft" not in kernel.lower():
        return []
    return [
        finding(
            "accelerator_hidden_by_wsl",
            "note",
            "PCI tree",
            f"no accelerator, kernel {kernel}",
            "WSL shows its GPU as /dev/dxg, without a PCI device",
            "nothing; the declared gpustack_accelerator counts",
        )
    ]


def importable(name):
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def gather(params):
    sysroot = Sysroot(params["sysroot"])
    os_facts, findings = read_os(sysroot)
    architecture, kernel = read_kernel(sysroot)
    machine_id, machine_findings = read_machine_id(sysroot)
    memory_bytes, memory_findings = read_memory(sysroot)
    accelerators, switches, pci_findings = scan(sysroot, params["devices"])
    engine, containers, engine_findings = read_engine(sysroot, params["engine_socket"], params["timeout"])
    ports, port_findings = read_ports(sysroot, containers)
    entries, manifest_findings = read_manifest(params["manifest"])
    python_modules = {"requests": importable("requests")}
    return {
        "os": os_facts,
        "architecture": architecture,
        "kernel": kernel,
        "machine_id": machine_id,
        "memory_bytes": memory_bytes,
        "accelerators": accelerators,
        "switches": switches,
        "engine": dict(engine, manageable=engine["answers"] and python_modules["requests"]),
        "python_modules": python_modules,
        "ports": ports,
        "disks": read_disks([engine["data_root"] or "/var/lib/docker", CONTAINERD_ROOT]),
        "manifest": {"entries": entries},
        "checkpoints": {path: _checkpoint.read(path) for path in params["checkpoints"]},
        "findings": findings
        + machine_findings
        + memory_findings
        + pci_findings
        + hidden_by_wsl(kernel, accelerators)
        + engine_findings
        + port_findings
        + manifest_findings,
    }


def main():
    module = AnsibleModule(
        argument_spec={
            "sysroot": {"type": "path", "default": "/"},
            "devices": {"type": "list", "elements": "dict", "default": [], "options": DEVICE_OPTIONS},
            "engine_socket": {"type": "path", "default": "/var/run/docker.sock"},
            "manifest": {"type": "path", "default": "/etc/gpustack/manifest.json"},
            "checkpoints": {"type": "list", "elements": "path", "default": []},
            "timeout": {"type": "int", "default": 10},
        },
        supports_check_mode=True,
    )
    module.exit_json(changed=False, ansible_facts={"gpustack_host": gather(module.params)})


if __name__ == "__main__":
    main()
