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
  - Reads accelerators from the PCI tree and from their vendor's tool, drivers, the container engine from its API,
    listening ports, disks, clock, firewall, the manifest and what identifies the host, and returns them as the fact
    C(gpustack_host).
  - Changes nothing. A missing or damaged source never fails the module; it becomes an entry of
    RV(ansible_facts.gpustack_host.findings).
  - Needs neither C(lspci) nor the C(docker) command. Run it as root; owners of sockets and the kernel's log are unknown
    otherwise.
  - C(docs/host-facts.schema.json) of this collection describes the result.
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
      - It stands for every file that is read and for the vendors' tools, which are run from there. What other options
        name is not below it. Links inside it are followed, so a tree that records only C(/sys) may link C(proc) and
        C(etc) to the real directories.
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
  paths:
    description:
      - Directories whose disk is measured, besides those where the engine keeps images. Not below O(sysroot).
      - What does not exist yet is measured at its nearest parent.
    type: list
    elements: path
    default: []
  controller_time:
    description: The time of the controller in seconds since 1970, to compare the host's clock with.
    type: float
  timeout:
    description:
      - Seconds that all questions to the engine may take together, and again the vendors' tools together. A tool that
        takes longer is stopped with everything it started.
      - C(nvidia-smi) takes about a second for each card where the driver's persistence mode is off.
    type: int
    default: 30
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

- name: Compare the clocks, and measure where models will lie
  inferops.gpustack.host_facts:
    paths: [/srv/models]
    controller_time: "{{ now().timestamp() }}"

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
        page_size:
          description: Size of a page of memory in bytes, null when unknown.
          type: int
          sample: 4096
        wsl:
          description: Whether the kernel is that of WSL.
          type: bool
        secure_boot:
          description: Whether Secure Boot is on, null on a machine without EFI.
          type: bool
        kernel_headers:
          description: Whether a module can be built for the running kernel.
          type: bool
        clock:
          description:
            - C(synchronised) is what the kernel says, null when it does not tell. C(service) is C(chronyd),
              C(systemd-timesyncd), C(ntpd) or empty.
            - C(offset_seconds) is the host's time minus O(controller_time), the time the module took to start included.
          type: dict
          sample: {synchronised: true, service: chronyd, offset_seconds: 0.8}
        firewall:
          description: C(kind) is C(firewalld), C(ufw) or empty; C(active) tells whether it filters.
          type: dict
          sample: {kind: ufw, active: false}
        accelerators:
          description:
            - One entry per accelerator in the order of addresses. Virtual functions and further functions of a card are
              left out. Under WSL, which has no such PCI devices, they are those of C(nvidia-smi).
            - C(memory_bytes) is what the vendor's tool says, else the device table. C(chips) counts the processors
              behind one PCI function. C(name), C(uuid) and C(card) are the tool's; C(card) is its number.
            - C(health) is C(ok), C(warning), C(error) or C(unknown), of a card with several chips that of its worst.
              C(error) stands for Alarm, Critical and UNKNOWN of C(npu-smi). C(mig) is null where it does not apply.
            - Of an Ascend card, C(card) is the NPU id of C(npu-smi), which may have gaps. Both chips of an Atlas A3 NPU
              have an entry and the same C(card). An Atlas 300I Duo has one entry with C(chips=2), and C(memory_bytes)
              is the memory of one chip, of the smaller one where they differ.
          type: list
          elements: dict
          sample: [{vendor: nvidia, profile: nvidia_h20_3e, pci_id: "10de:232c", address: "0000:18:00.0",
            memory_bytes: 150754820096, chips: 1, name: NVIDIA H20-3e, uuid: GPU-1f0e..., card: 0, health: ok,
            mig: false}]
        switches:
          description: One entry per PCI function of a device listed with C(kind=switch).
          type: list
          elements: dict
          sample: [{name: NVSwitch, pci_id: "10de:22a3", address: "0000:07:00.0"}]
        drivers:
          description:
            - C(nvidia) is null on a host without card, module and tool. C(loaded) is the version of the running module,
              C(installed) of the one on disk, C(userspace) of the libraries, C(cuda) the newest CUDA they serve.
              C(flavour) is C(open), C(proprietary) or empty; C(run_file) tells of an installation without packages.
            - C(fabric_manager) is needed with NVSwitches; C(state) is C(completed) when all cards have joined. C(xids)
              are the driver's fault numbers in the kernel's log, each once.
            - C(ascend) is null without an Ascend card, a driver and C(npu-smi). C(driver) and C(firmware) are from the
              files C(version.info), else from a board; C(firmware_installed) says whether the firmware has that file
              or is the factory's. C(tool) is the version of C(npu-smi). C(compatibility) is what the boards say about
              driver and firmware together, C(ok) or the first other answer (C(NOK), C(UNKNOWN)).
            - Every text is empty when unknown.
          type: dict
          sample:
            nvidia:
              loaded: 580.95.05
              installed: 580.95.05
              userspace: 580.95.05
              flavour: open
              cuda: "13.0"
              persistence: true
              nouveau: false
              run_file: false
              fabric_manager: {needed: true, version: 580.95.05, running: true, state: completed}
              xids: []
            ascend: null
        engine:
          description:
            - The container engine. C(present) means that its socket or C(dockerd) exists, C(answers) that it replied,
              C(manageable) that C(community.docker) can work with it, which also needs the Python module requests.
            - C(kind) is C(docker), or what a worker of GPUStack cannot use, C(desktop) (Docker Desktop), C(rootless),
              C(snap) and C(podman). Empty when unknown.
            - C(os_packaged) is the package it came from, C(docker-ce) (Docker's) or C(docker.io) (Debian's and
              Ubuntu's). Empty for others and when unknown; on a system with rpm, C(docker-ce) is known only while the
              engine answers.
            - C(image_store) is C(containerd) or C(classic), empty when unknown. With C(containerd), images lie in
              C(containerd_root), which is read from C(/etc/containerd/config.toml); with C(classic) below C(data_root).
            - C(storage_driver), C(cgroup_driver), C(cgroup_version), C(logging_driver), C(live_restore) and
              C(cdi_spec_dirs) are as the engine runs, not as its configuration says. C(live_restore) is null and the
              others are empty when it does not answer.
            - C(registry_mirrors) are URLs without their accounts.
            - C(images) holds every tag and every digest, and images are named C(host/repository:tag) in full,
              docker.io included.
            - C(owner) of a container is C(ours) when its name starts with C(gpustack-server) or C(gpustack-worker),
              C(gpustack) when GPUStack started it, such as a model instance, and else empty.
            - C(restart_count) and C(started_at) are null for containers whose name does not start with C(gpustack).
          type: dict
          sample:
            present: true
            answers: true
            manageable: true
            kind: docker
            version: 28.1.1
            os_packaged: docker-ce
            runtimes: [nvidia, runc]
            configured_runtimes: [nvidia]
            default_runtime: runc
            data_root: /var/lib/docker
            storage_driver: overlay2
            image_store: classic
            containerd_root: /var/lib/containerd
            cgroup_driver: systemd
            cgroup_version: "2"
            live_restore: true
            logging_driver: json-file
            registry_mirrors: ["https://mirror.example.com/"]
            insecure_registries: ["10.0.0.5:5000", 127.0.0.0/8]
            cdi_spec_dirs: [/etc/cdi, /var/run/cdi]
            images: ["docker.io/gpustack/gpustack:v2.3.0"]
            containers:
              - name: gpustack-worker
                owner: ours
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
          description: Space in bytes where the engine and containerd keep images and where O(paths) lie.
          type: list
          elements: dict
          sample: [{path: /var/lib/docker, total_bytes: 499963174912, free_bytes: 300647710720, mount: /}]
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
        reboot:
          description: Why a reboot is due. C(reasons) are this collection's, C(system) is the distribution's wish.
          type: dict
          sample: {reasons: ["NVIDIA driver 580.82.07 is loaded, 580.95.05 is installed"], system: false}
        findings:
          description: Problems, each with C(id), C(severity) (C(error), C(warning) or C(note)), C(where), C(found),
            C(expected), C(fix) and C(source).
          type: list
          elements: dict
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.inferops.gpustack.plugins.module_utils._host import gather

DEVICE_OPTIONS = {
    "pci_id": {"type": "str", "required": True},
    "vendor": {"type": "str", "required": True},
    "profile": {"type": "str", "default": ""},
    "memory_bytes": {"type": "int"},
    "name": {"type": "str", "default": ""},
    "kind": {"type": "str", "choices": ["accelerator", "switch"], "default": "accelerator"},
}


def main():
    module = AnsibleModule(
        argument_spec={
            "sysroot": {"type": "path", "default": "/"},
            "devices": {"type": "list", "elements": "dict", "default": [], "options": DEVICE_OPTIONS},
            "engine_socket": {"type": "path", "default": "/var/run/docker.sock"},
            "manifest": {"type": "path", "default": "/etc/gpustack/manifest.json"},
            "checkpoints": {"type": "list", "elements": "path", "default": []},
            "paths": {"type": "list", "elements": "path", "default": []},
            "controller_time": {"type": "float"},
            "timeout": {"type": "int", "default": 30},
        },
        supports_check_mode=True,
    )
    module.exit_json(changed=False, ansible_facts={"gpustack_host": gather(module.params)})


if __name__ == "__main__":
    main()
