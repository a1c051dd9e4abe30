# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: ascend_driver_action
short_description: What is to be done about the Ascend driver and firmware of a host
version_added: 0.1.0
author: InferOps contributors (@inferops)
description:
  - Compares the driver and the firmware that a host has with the files that are named for it. What nobody names a file
    for is left alone, and so is what is there in the file's release. Nothing is ever downgraded.
  - The first installation goes from the driver to the firmware, an upgrade from the firmware to the driver. Where one
    of both is missing, it is made up for. An installer that was started and whose end nobody saw is run again; the
    host's manifest tells.
  - Under running model instances a driver or firmware that is there is never changed.
positional: _input
options:
  _input:
    description: What the host is, C(ansible_facts.gpustack_host).
    type: dict
    required: true
  driver:
    description: The driver's C(.run) file, with C(file) or C(url), C(sha256) and, where its name does not tell,
      C(version).
    type: dict
    default: {}
  firmware:
    description: The firmware's C(.run) file, likewise.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: What would be done
  ansible.builtin.debug:
    msg: "{{ ansible_facts.gpustack_host | inferops.gpustack.ascend_driver_action(driver=driver, firmware=firmware) }}"
  vars:
    driver: {file: /srv/Ascend-hdk-910b-npu-driver_25.5.1_linux-aarch64.run, sha256: "{{ driver_sha256 }}"}
    firmware: {file: /srv/Ascend-hdk-910b-npu-firmware_7.8.0.6.201.run, sha256: "{{ firmware_sha256 }}"}
"""

RETURN = r"""
_value:
  description: What to do, and why.
  type: dict
  contains:
    action:
      description: V(none), V(install) (a part is missing), V(upgrade) or V(refuse).
      type: str
    reasons:
      description: Why.
      type: list
    refusal:
      description: Why nothing is done though something should be, and what to do. Empty unless
        RV(_value.action=refuse).
      type: str
    steps:
      description: The installers to run, in this order. Each has C(part) (V(driver) or V(firmware)), C(verb), C(what),
        C(name), C(file), C(url), C(sha256), C(version), C(arguments), C(verify) (whether it can verify itself with
        C(--check)), C(codes) (exit codes of success), C(timeout) in seconds, C(path) (where it installs to), C(log),
        C(variable) (what names it in an inventory), C(running) and C(finished) (notes for the host's manifest before
        and after it), C(stdin) and C(reboot_reason).
      type: list
    left:
      description: The parts whose version files do not tell the release of the file that is named for them.
      type: list
    died:
      description: The parts whose installer was started and whose end nobody saw.
      type: list
    manager:
      description: V(apt) or V(dnf). Empty without steps.
      type: str
    packages:
      description: Packages that the installers need.
      type: list
    epel:
      description: The package that has to be installed before the others, if any.
      type: str
    account:
      description: User and group that the installers expect. Empty without steps.
      type: str
    reboot_reasons:
      description: What waits for a reboot once this is done, each with C(id) and C(reason).
      type: list
    summary:
      description: The same for people in one line, empty where there is nothing to do.
      type: str
"""

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _ascend_driver, _data


def ascend_driver_action(host, **options):
    return _ascend_driver.action(_data.plain(host), **_data.plain(options))


class FilterModule:
    def filters(self):
        return {"ascend_driver_action": ascend_driver_action}
