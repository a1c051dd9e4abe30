# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A GPUStack configuration file with secrets in it: JSON text (which is YAML), mode 0600, owned by root.

GPUStack reads the file as YAML. The standard library writes no YAML, so it is written as JSON below a comment line.
"""

from __future__ import annotations

import json
import os
import stat
from datetime import datetime, timezone

from ansible_collections.inferops.gpustack.plugins.module_utils import _atomic_file
from ansible_collections.inferops.gpustack.plugins.module_utils._errors import GpustackError
from ansible_collections.inferops.gpustack.plugins.module_utils._secrets import MASK, is_secret, masked

COMMENT = "# Managed by inferops.gpustack. Changes are overwritten.\n"
MODE = 0o600
ROOT = (0, 0)

OPTIONS = {
    "dest": {"type": "path", "required": True},
    "config": {"type": "dict", "default": {}},
    "newer_than": {"type": "str"},
    "referenced_files": {"type": "list", "elements": "path", "default": []},
}


def read(dest):
    """`(content, mode, owner)`, None for a missing file. Content that is not ours to read is {}, so it is replaced."""
    if not os.path.isabs(dest):
        raise GpustackError(f"dest is {dest!r}.", reason="Invalid", hint="Give an absolute path.")
    try:
        status = os.lstat(dest)
    except FileNotFoundError:
        return None, None, None
    if not stat.S_ISREG(status.st_mode):
        raise GpustackError(
            f"{dest} is no plain file.",
            reason="Invalid",
            hint="Remove it, or set dest to another path. A directory there is often left by a container's mount.",
        )
    with open(dest, encoding="utf-8", errors="replace") as handle:
        lines = [line for line in handle if not line.startswith("#")]
    try:
        content = json.loads("".join(lines))
    except ValueError:
        content = {}
    return content if isinstance(content, dict) else {}, stat.S_IMODE(status.st_mode), (status.st_uid, status.st_gid)


def write(dest, content):
    directory = os.path.dirname(dest)
    text = COMMENT + json.dumps(content, indent=2, sort_keys=True) + "\n"
    try:
        _atomic_file.make_directory(directory, 0o700)
        with _atomic_file.locked_directory(directory):
            _atomic_file.remove_leftovers(dest)
            owner = ROOT if os.geteuid() == 0 else None
            with _atomic_file.candidate(dest, text, MODE, owner) as name:
                _atomic_file.commit(name, dest)
    except (OSError, _atomic_file.LockTimeout) as error:
        refused = isinstance(error, PermissionError)
        hint = "Run the task as root (become)." if refused else "Choose a file that can be written there."
        raise GpustackError(f"{dest} cannot be written: {error}.", reason="Refused", hint=hint) from error


def check_referenced(paths):
    """Files the configuration names have to be there; a container would find empty directories in their place."""
    for path in paths:
        try:
            status = os.stat(path)
            open_to_others = status.st_mode & stat.S_IRWXO and stat.S_ISREG(status.st_mode) and _holds_private_key(path)
        except OSError as error:
            raise GpustackError(
                f"{path} cannot be read: {error.strerror}.",
                reason="Missing",
                hint="Put the file there, or correct the variable that names it.",
            ) from error
        if not stat.S_ISREG(status.st_mode):
            raise GpustackError(
                f"{path} is no plain file.", reason="Invalid", hint="Name a file, not the directory that holds it."
            )
        if open_to_others:
            raise GpustackError(
                f"{path} holds a private key and has the mode {stat.S_IMODE(status.st_mode):04o}, "
                "so that every user of the host can use it.",
                reason="Invalid",
                hint=f"Run: chmod o= {path}",
            )


def _holds_private_key(path):
    with open(path, "rb") as handle:
        return b"PRIVATE KEY-----" in handle.read()


def newer(dest, timestamp, referenced=()):
    """Whether the file or one that it names changed after an ISO 8601 timestamp, such as a container's StartedAt."""
    try:
        written = os.stat(dest).st_mtime
    except FileNotFoundError:
        return True
    # A renewed certificate may be moved into place with an old time of writing; its inode's change tells.
    written = max([written, *(os.stat(path).st_ctime for path in referenced)])
    # Docker gives nanoseconds; Python 3.8 reads at most microseconds, and whole seconds are enough here.
    started = datetime.strptime(timestamp[:19], "%Y-%m-%dT%H:%M:%S").replace(tzinfo=timezone.utc)
    return written > started.timestamp() + 1


def finish(module, before, content, secret_keys=()):
    """Bring the file to `content` and give the module's result; secrets appear in it as stars only."""
    params = module.params
    check_referenced(params["referenced_files"])
    current, mode, owner = before
    # Only root can give a file to root.
    strange_owner = current is not None and os.geteuid() == 0 and owner != ROOT
    changed = current != content or mode != MODE or strange_owner
    if changed and not module.check_mode:
        write(params["dest"], content)
    result = {"changed": changed, "dest": params["dest"]}
    if params["newer_than"]:
        result["newer"] = changed or newer(params["dest"], params["newer_than"], params["referenced_files"])
    if changed:
        result["diff"] = difference(params["dest"], current, mode, content, secret_keys)
    return result


def difference(dest, current, mode, content, secret_keys):
    old, new = shown(current or {}, secret_keys), shown(content, secret_keys)
    for key in new:
        if new[key] == MASK and current and current.get(key) != content[key]:
            new[key] = f"{MASK} (another one)"
    return {
        "before_header": dest,
        "after_header": dest,
        "before": {"content": old, "mode": None if mode is None else f"{mode:04o}"},
        "after": {"content": new, "mode": f"{MODE:04o}"},
    }


def shown(content, secret_keys):
    return {
        key: MASK if value and (key in secret_keys or is_secret(key, value)) else masked(value)
        for key, value in content.items()
    }
