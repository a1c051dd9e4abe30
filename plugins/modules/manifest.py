#!/usr/bin/python
# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: manifest
short_description: Remember what was made on a host
version_added: 0.1.0
description:
  - Keeps the list of files, containers, images and packages that this collection made on a host, so that it can
    be told from what others put there.
  - Record before you create; a run that is interrupted then leaves nothing unknown behind.
  - An entry is found by its kind and name. It belongs to the role that recorded it first; another role that records
    the same thing changes nothing.
  - The file is replaced in one step and holds one entry per line, sorted.
author:
  - InferOps contributors (@inferops)
attributes:
  check_mode:
    support: full
    description: Reports the change without writing.
  diff_mode:
    support: full
    description: Shows the lines that come and go.
options:
  path:
    description: The manifest. A missing directory is created with mode 0755, the file has mode 0644.
    type: path
    default: /etc/gpustack/manifest.json
  entries:
    description: What to record, or to forget.
    type: list
    elements: dict
    required: true
    suboptions:
      kind:
        description: What the thing is.
        type: str
        required: true
        choices: [file, directory, container, image, package, volume, network, maintenance]
      name:
        description: Its absolute path, container name, image reference or package name; of a maintenance, the worker.
        type: str
        required: true
      by:
        description: The role that makes it. Required with O(state=present).
        type: str
      note:
        description: A remark for people.
        type: str
  state:
    description:
      - With V(present) the entries are recorded, with V(absent) they are forgotten.
      - With V(absent) only kind and name count.
    type: str
    choices: [present, absent]
    default: present
seealso:
  - module: inferops.gpustack.host_facts
  - plugin: inferops.gpustack.unrecorded
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Record what this role is about to make
  inferops.gpustack.manifest:
    entries: "{{ __gpustack_server_made | inferops.gpustack.unrecorded(ansible_facts.gpustack_host.manifest.entries)
      }}"
  when: >-
    __gpustack_server_made | inferops.gpustack.unrecorded(ansible_facts.gpustack_host.manifest.entries) | length > 0
  vars:
    __gpustack_server_made:
      - {kind: directory, name: /etc/gpustack, by: server}
      - {kind: container, name: gpustack-server, by: server}

- name: Forget a container that was removed
  inferops.gpustack.manifest:
    entries:
      - {kind: container, name: gpustack-server}
    state: absent
"""

RETURN = r"""
entries:
  description: All entries of the manifest after the change, or as they would be in check mode.
  returned: success
  type: list
  elements: dict
  sample: [{kind: container, name: gpustack-server, by: server}]
path:
  description: The manifest.
  returned: success
  type: str
  sample: /etc/gpustack/manifest.json
"""

import os

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.inferops.gpustack.plugins.module_utils import _atomic_file, _manifest

MODE = 0o644

ENTRY_OPTIONS = {
    "kind": {"type": "str", "required": True, "choices": list(_manifest.KINDS)},
    "name": {"type": "str", "required": True},
    "by": {"type": "str"},
    "note": {"type": "str"},
}


def written(entries):
    """The entries as the user wrote them: options that were left out do not overwrite what is recorded."""
    return [{name: value for name, value in entry.items() if value is not None} for entry in entries]


def change(path, wanted, state, check_mode):
    """(entries before, entries after); written when they differ and this is no check."""
    before = _manifest.load(path)
    update = _manifest.recorded_with if state == "present" else _manifest.recorded_without
    after = update(before, wanted)
    if after != before and not check_mode:
        _atomic_file.remove_leftovers(path)
        with _atomic_file.candidate(path, _manifest.render(after), MODE) as name:
            _atomic_file.commit(name, path)
    return before, after


def run(module):
    path = module.params["path"]
    wanted = written(module.params["entries"])
    anonymous = [entry["name"] for entry in wanted if module.params["state"] == "present" and not entry.get("by")]
    if anonymous:
        module.fail_json(msg="say in 'by' which role makes the entry; it is missing for: " + ", ".join(anonymous))
    if not _manifest.is_replaceable(path):
        module.fail_json(msg=f"{path} is not a regular file; put the manifest's own file there, or give another path")

    directory = os.path.dirname(path)
    if not os.path.isdir(directory) and (module.check_mode or module.params["state"] == "absent"):
        before, after = change(path, wanted, module.params["state"], check_mode=True)
    else:
        _atomic_file.make_directory(directory)
        with _atomic_file.locked_directory(directory):
            before, after = change(path, wanted, module.params["state"], module.check_mode)
    module.exit_json(
        changed=before != after,
        path=path,
        entries=after,
        diff={
            "before_header": path,
            "after_header": path,
            "before": _manifest.render(before) if before else "",
            "after": _manifest.render(after) if after or before else "",
        },
    )


def main():
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "default": "/etc/gpustack/manifest.json"},
            "entries": {"type": "list", "elements": "dict", "required": True, "options": ENTRY_OPTIONS},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        },
        supports_check_mode=True,
    )
    try:
        run(module)
    except _manifest.ManifestError as error:
        module.fail_json(msg=f"{error}. Nothing was written. Repair the file, or move it away to start a new manifest")
    except _atomic_file.LockTimeout as error:
        module.fail_json(msg=f"{error}. Nothing was written. Look who holds it with: lsof {module.params['path']}")
    except OSError as error:
        module.fail_json(msg=f"{error.filename or module.params['path']} cannot be written: {error.strerror or error}")


if __name__ == "__main__":
    main()
