# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: ascend_runtime_action
short_description: What is to be done about the Ascend Docker Runtime of a host
version_added: 0.1.0
author: InferOps contributors (@inferops)
description:
  - Compares the runtime that a host has with the file that is named for it. One that Docker knows is left alone, unless
    a newer release is named. None is ever downgraded.
positional: _input
options:
  _input:
    description: What the host is, C(ansible_facts.gpustack_host).
    type: dict
    required: true
  runtime:
    description: The C(.run) file, with C(file) or C(url), C(sha256) and C(version).
    type: dict
    default: {}
  installed:
    description: What the installer's info file on the host holds, empty where there is none. Left out where nobody
      looked; then RV(_value.look) tells whether somebody has to.
    type: str
  accept_eula:
    description: Whether the user accepts the vendor's licence, which the installer asks about.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: What would be done
  ansible.builtin.debug:
    msg: "{{ ansible_facts.gpustack_host | inferops.gpustack.ascend_runtime_action(runtime=runtime, installed='') }}"
  vars:
    runtime: {file: /srv/Ascend-docker-runtime_26.1.0_linux-aarch64.run, sha256: "{{ runtime_sha256 }}"}
"""

RETURN = r"""
_value:
  description: What to do, and why.
  type: dict
  contains:
    action:
      description: V(none), V(install), V(upgrade) or V(refuse).
      type: str
    reasons:
      description: Why, and what else is worth knowing.
      type: list
    refusal:
      description: Why nothing is done though something should be, and what to do. Empty unless
        RV(_value.action=refuse).
      type: str
    look:
      description: Whether this takes a look at the info file of the installer first.
      type: bool
    step:
      description: How to run the installer, as P(inferops.gpustack.ascend_driver_action#filter) tells it, or V(none).
        C(installed) is the note for the host's manifest after it, until Docker knows the runtime.
      type: dict
    left:
      description: Whether the installer's info file does not tell the release of the file that is named.
      type: bool
    has_it:
      description: Whether Docker knows the runtime.
      type: bool
    unfinished:
      description: Whether an earlier run began and did not finish.
      type: bool
    died:
      description: Whether the installer was started and nobody saw it end well.
      type: bool
    restore:
      description: Docker's default runtime from before an unfinished installation, empty for Docker's own.
      type: str
    forget:
      description: Whether daemon.json named no default runtime before an unfinished installation.
      type: bool
    installed:
      description: The release that is there, empty where there is none, V(none) where that takes a look.
      type: str
    path:
      description: Where the runtime is installed.
      type: str
    info:
      description: Path of the installer's info file.
      type: str
    runtimes:
      description: What Docker is to be told, by the name of the runtime.
      type: dict
    summary:
      description: The same for people in one line, empty where there is nothing to do and nothing to say.
      type: str
"""

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _ascend_runtime, _data


def ascend_runtime_action(host, **options):
    return _ascend_runtime.action(_data.plain(host), **_data.plain(options))


class FilterModule:
    def filters(self):
        return {"ascend_runtime_action": ascend_runtime_action}
