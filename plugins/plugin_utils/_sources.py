# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The files Ansible reads an inventory from: those it loads, and no others."""

from __future__ import annotations

import os

from ansible.inventory.manager import IGNORED

_VAULT = "$ANSIBLE_VAULT"


def read(loader, task_vars, groups, hosts, extra_vars=()):
    """Path (relative where it is below the working directory) to text, each file once.

    `groups` and `hosts` are the names whose group_vars and host_vars matter, `extra_vars` the values of `-e`.
    """
    sources = [source for source in task_vars.get("ansible_inventory_sources") or () if os.path.exists(source)]
    directories = [source if os.path.isdir(source) else os.path.dirname(source) for source in sources]
    directories.append(task_vars.get("playbook_dir") or "")
    paths = [path for source in sources for path in _inventory_files(source)]
    for directory in dict.fromkeys(os.path.realpath(directory) for directory in directories if directory):
        paths += _vars_files(loader, os.path.join(directory, "group_vars"), groups)
        paths += _vars_files(loader, os.path.join(directory, "host_vars"), hosts)
    paths += [os.path.abspath(value[1:]) for value in extra_vars if value.startswith("@")]
    texts = {_shown(path): _text(path) for path in dict.fromkeys(paths)}
    return {path: text for path, text in texts.items() if text}


def _inventory_files(source):
    if not os.path.isdir(source):
        return [] if _is_script(source) else [source]
    names = [name for name in sorted(os.listdir(source)) if not IGNORED.search(os.fsencode(name))]
    return [path for name in names for path in _inventory_files(os.path.join(source, name))]


def _is_script(path):
    """Ansible runs these. An executable without #! is text to it, as any file of a Windows drive is in WSL."""
    if not os.access(path, os.X_OK):
        return False
    try:
        with open(path, "rb") as stream:
            return stream.read(2) == b"#!"
    except OSError:
        return True


def _vars_files(loader, directory, names):
    if not os.path.isdir(directory):
        return []
    return [path for name in names for path in loader.find_vars_files(directory, name)]


def _shown(path):
    relative = os.path.relpath(path)
    return path if relative.startswith(os.pardir) else relative


def _text(path):
    """The text, or None for what is encrypted or cannot be read: the latter is Ansible's own error."""
    try:
        with open(path, encoding="utf-8") as stream:
            text = stream.read()
    except (OSError, UnicodeDecodeError):
        return None
    return None if text.startswith(_VAULT) else text
