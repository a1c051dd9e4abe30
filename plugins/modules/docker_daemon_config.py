#!/usr/bin/python
# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: docker_daemon_config
short_description: Merge settings into Docker's daemon.json
version_added: 0.1.0
description:
  - Merges settings by key into C(daemon.json), which the installers of vendor runtimes write as well. Keys that are
    not mentioned stay as they are.
  - Objects are merged. The lists C(insecure-registries) and C(registry-mirrors) are joined, in the order of the file
    and then of the settings. Every other value is replaced.
  - A missing or empty file counts as an empty object. A file that is not a JSON object, or that holds another type
    where settings are to be merged, is refused and left untouched. So is a link.
  - The new content is judged by C(dockerd --validate) before it replaces the file, when C(dockerd) is of version 23
    or later.
  - A key that the running C(dockerd) has as a flag is refused, because C(dockerd) does not start with both.
  - The module does not touch the daemon; RV(action) says what it needs.
  - Passwords in URLs (C(http://user:password@proxy)) are masked in the result and kept out of the host's system log.
author:
  - InferOps contributors (@inferops)
attributes:
  check_mode:
    support: full
    description: Reports and validates the change without writing.
  diff_mode:
    support: full
    description: Shows the file before and after.
options:
  path:
    description: The file. An existing one keeps its mode and owner, a new one has mode 0644 and belongs to the user
      that runs the module.
    type: path
    default: /etc/docker/daemon.json
  settings:
    description: Keys of C(daemon.json) with the values they should have.
    type: dict
    default: {}
  state_of:
    description:
      - Keys that you set earlier and no longer want. V(runtimes/nvidia) names the key C(nvidia) of the object
        C(runtimes).
      - They are removed before O(settings) are merged; a key named in both is replaced instead of merged.
    type: list
    elements: str
    default: []
seealso:
  - name: dockerd reference
    description: Keys of daemon.json and which of them can be reloaded.
    link: https://docs.docker.com/reference/cli/dockerd/
"""

EXAMPLES = r"""
- name: Keep containers running while the daemon restarts, and trust the registry of the site
  inferops.gpustack.docker_daemon_config:
    settings:
      live-restore: true
      insecure-registries: ["10.0.0.5:5000"]
      log-driver: json-file
      log-opts: {max-size: 100m, max-file: "3"}
  register: __container_engine_config

- name: Let the daemon take the change
  ansible.builtin.systemd_service:
    name: docker
    state: "{{ __container_engine_config.action }}ed"
  when: __container_engine_config.action != 'none'

- name: Take a runtime out again
  inferops.gpustack.docker_daemon_config:
    state_of: [runtimes/nvidia, default-runtime]
"""

RETURN = r"""
action:
  description:
    - What the daemon needs to take the change.
    - V(reload) when every changed key can be reloaded.
  returned: success
  type: str
  choices: [none, reload, restart]
  sample: reload
changed_keys:
  description: Top-level keys whose value changes.
  returned: success
  type: list
  elements: str
  sample: [live-restore]
backup_file:
  description: Copy of the file before the change. Empty when nothing changed, when there was no file, and in check
    mode.
  returned: success
  type: str
  sample: /etc/docker/daemon.json.20260101T000000~
findings:
  description: Remarks, each with C(id), C(severity), C(where), C(found), C(expected), C(fix) and C(source).
  returned: success
  type: list
  elements: dict
"""

import os
import re
import shutil
import stat
import subprocess
import tempfile
import time

from ansible_collections.inferops.gpustack.plugins.module_utils import _atomic_file, _daemon_json, _dockerd
from ansible_collections.inferops.gpustack.plugins.module_utils._host_finding import finding
from ansible_collections.inferops.gpustack.plugins.module_utils._sysroot import Sysroot
from ansible_collections.inferops.gpustack.plugins.module_utils._unlogged import UnloggedModule

NEW_FILE_MODE = 0o644
VALIDATES_SINCE = 23
DOCKERD_SECONDS = 30
URL_PASSWORD = re.compile(r"://[^/@\s:\"]*:([^@/\s\"]+)@")


def read(path):
    """(bytes, stat) of the file, (b"", None) when there is none."""
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return b"", None
    if not stat.S_ISREG(status.st_mode):
        kind = f"a link to {os.readlink(path)}" if stat.S_ISLNK(status.st_mode) else "no regular file"
        raise _daemon_json.DaemonJsonError(f"it is {kind}; give the path of the file itself")
    with open(path, "rb") as handle:
        return handle.read(), status


def dockerd_major(dockerd):
    try:
        # Not run_command: it has no time limit, and a dockerd that hangs must not hang the run.
        done = subprocess.run(  # pylint: disable=ansible-bad-function
            [dockerd, "--version"], capture_output=True, timeout=DOCKERD_SECONDS, check=False, text=True
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r"version (\d+)\.", done.stdout)
    return int(match.group(1)) if match else None


def validate(dockerd, candidate, path):
    """Findings; raises DaemonJsonError when dockerd refuses the candidate."""
    if not dockerd:
        return []
    major = dockerd_major(dockerd)
    if major is None or major < VALIDATES_SINCE:
        return [
            finding(
                "daemon_json_not_validated",
                "note",
                path,
                f"dockerd {major or 'of an unknown version'}",
                f"dockerd {VALIDATES_SINCE} or later, which knows --validate",
                "nothing to do: a wrong value would show when the daemon restarts",
            )
        ]
    try:
        # Not run_command: it has no time limit, and a dockerd that hangs must not hang the run.
        done = subprocess.run(  # pylint: disable=ansible-bad-function
            [dockerd, "--validate", "--config-file", candidate],
            capture_output=True,
            timeout=DOCKERD_SECONDS,
            check=False,
            text=True,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _daemon_json.DaemonJsonError(f"dockerd --validate did not finish: {error}") from error
    if done.returncode:
        words = (done.stderr.strip() or done.stdout.strip()).replace(candidate, path)
        raise _daemon_json.DaemonJsonError(f"dockerd refuses the new content: {words}; correct the settings")
    return []


def back_up(path, status):
    name = base = "{}.{}~".format(path, time.strftime("%Y%m%dT%H%M%S"))
    count = 0
    while os.path.lexists(name):
        count += 1
        name = f"{base[:-1]}.{count}~"
    shutil.copy2(path, name)
    os.chown(name, status.st_uid, status.st_gid)
    return name


def write(module, path, text, status):
    """(backup file, findings). In check mode the candidate is only judged, outside the file's directory."""
    dockerd = module.get_bin_path("dockerd", opt_dirs=["/usr/sbin", "/usr/local/bin"])
    if module.check_mode:
        with _atomic_file.candidate(os.path.join(tempfile.gettempdir(), "daemon.json"), text, 0o600) as name:
            return "", validate(dockerd, name, path)
    _atomic_file.make_directory(os.path.dirname(path))
    with _atomic_file.locked_directory(os.path.dirname(path)):
        _atomic_file.remove_leftovers(path)
        mode = stat.S_IMODE(status.st_mode) if status else NEW_FILE_MODE
        owner = (status.st_uid, status.st_gid) if status else None
        with _atomic_file.candidate(path, text, mode, owner) as name:
            findings = validate(dockerd, name, path)
            backup_file = back_up(path, status) if status else ""
            _atomic_file.commit(name, path)
    module.set_default_selinux_context(path, False)
    return backup_file, findings


def run(module):
    path = module.params["path"]
    raw, status = read(path)
    before = _daemon_json.parse(raw)
    after = _daemon_json.merged(_daemon_json.without(before, module.params["state_of"]), module.params["settings"])
    text = _daemon_json.render(after)
    # Values registered here are masked in everything the module returns, a refusal by dockerd included.
    module.no_log_values.update(URL_PASSWORD.findall(raw.decode("utf-8", "replace") + text))

    clashes = _dockerd.conflicts(Sysroot(), path, set(after) - set(before))
    if clashes:
        raise _daemon_json.DaemonJsonError(
            f"dockerd has these as flags and does not start with the same key in the file: {', '.join(clashes)}; "
            "take the flag out of the service (systemctl cat docker), or the key out of the settings"
        )
    changed_keys = _daemon_json.changed_keys(before, after)
    backup_file, findings = write(module, path, text, status) if changed_keys else ("", [])
    module.exit_json(
        changed=bool(changed_keys),
        action=_daemon_json.action_for(before, after),
        changed_keys=changed_keys,
        backup_file=backup_file,
        findings=findings,
        diff={
            "before_header": path,
            "after_header": path,
            # Both sides in one layout: the diff shows what changes for dockerd, not how somebody indented the file.
            "before": _daemon_json.render(before) if before else "",
            "after": text if after or before else "",
        },
    )


def main():
    module = UnloggedModule(
        argument_spec={
            "path": {"type": "path", "default": "/etc/docker/daemon.json"},
            "settings": {"type": "dict", "default": {}},
            "state_of": {"type": "list", "elements": "str", "default": []},
        },
        supports_check_mode=True,
    )
    path = module.params["path"]
    try:
        run(module)
    except _daemon_json.DaemonJsonError as error:
        module.fail_json(msg=f"{path} was left as it is: {error}")
    except _atomic_file.LockTimeout as error:
        module.fail_json(msg=f"{path} was left as it is: {error}; look who holds it with: lsof {os.path.dirname(path)}")
    except OSError as error:
        module.fail_json(msg=f"{path} was left as it is: {error.filename or path}: {error.strerror or error}")


if __name__ == "__main__":
    main()
