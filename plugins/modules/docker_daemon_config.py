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
  - A missing or empty file counts as an empty object. A file that is not one JSON object, that has a key twice, or
    that holds another type where settings are to be merged, is refused and left untouched. So is a link, and a file
    or directory that somebody else than root could change. One message names all of these.
  - The new content is judged by C(dockerd --validate) before it replaces the file, when C(dockerd) is of version 23
    or later.
  - A key that C(dockerd) has as a flag as well is refused, because C(dockerd) does not start with both. The flags are
    those of the running C(dockerd), and where none runs those of its systemd unit. So is C(live-restore) on a member
    of a swarm, and a C(default-runtime) that is neither C(runc) nor C(io.containerd.*) and that nobody enters.
  - The module does not touch the daemon; RV(action) says what it needs. Until O(taken_up) says that it was done, a
    file beside O(path), C(.daemon.json.gpustack-pending), keeps it. So a run that is killed after it wrote the file,
    and one that was told not to restart the daemon, leave word for the next.
  - Accounts in URLs (C(http://user:password@proxy)) and values under names such as C(splunk-token) are masked in the
    result and kept out of the host's system log. A file that holds one, and a copy of it, is readable for its owner
    only.
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
  defaults:
    description:
      - Keys of C(daemon.json) to set only where neither the file nor O(settings) has them. A key that is there is not
        merged with its default.
      - A default for C(log-opts) counts only where there is no C(log-driver) either, as its options are its own.
    type: dict
    default: {}
  validate:
    description: Whether C(dockerd --validate) judges the new content.
    type: bool
    default: true
  taken_up:
    description:
      - Says that the daemon did what RV(action) asked for, and does nothing else.
      - Cannot be combined with O(settings), O(defaults) and O(state_of).
    type: bool
    default: false
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
    defaults:
      log-driver: json-file
      log-opts: {max-size: 100m, max-file: "3"}
  register: __container_engine_config

- name: Let the daemon take the change
  ansible.builtin.systemd_service:
    name: docker
    state: "{{ __container_engine_config.action }}ed"
  when: __container_engine_config.action != 'none'

- name: Remember that it did
  inferops.gpustack.docker_daemon_config:
    taken_up: true
  when: __container_engine_config.action != 'none'

- name: Take a runtime out again
  inferops.gpustack.docker_daemon_config:
    state_of: [runtimes/nvidia, default-runtime]
"""

RETURN = r"""
action:
  description:
    - What the daemon needs to take the change, and one of an earlier run that it has not taken up yet.
    - V(reload) when every changed key can be reloaded.
  returned: success
  type: str
  choices: [none, reload, restart]
  sample: reload
pending:
  description:
    - What an earlier run left to be done, and V(none) where it left nothing. It counts in RV(action), whether or not
      the file changes now.
    - A daemon that was started after the file changed has taken it up.
  returned: success
  type: str
  choices: [none, reload, restart]
  sample: none
pending_keys:
  description: Top-level keys that an earlier run changed and that the daemon has not taken up.
  returned: success
  type: list
  elements: str
  sample: [data-root]
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

import contextlib
import os
import re
import shutil
import stat
import subprocess
import tempfile
import time

from ansible_collections.inferops.gpustack.plugins.module_utils import (
    _atomic_file,
    _container_runtimes,
    _daemon_json,
    _daemon_secrets,
    _dockerd,
    _pending_change,
    _trusted_path,
)
from ansible_collections.inferops.gpustack.plugins.module_utils._host_finding import finding
from ansible_collections.inferops.gpustack.plugins.module_utils._sysroot import Sysroot
from ansible_collections.inferops.gpustack.plugins.module_utils._unlogged import UnloggedModule

NEW_FILE_MODE = 0o644
OWNER_ONLY = 0o600
VALIDATES_SINCE = 23
DOCKERD_SECONDS = 30
# docs.docker.com/engine/daemon/proxy: an older dockerd does not start with a key that it does not know.
KNOWN_SINCE = {"proxies": 23}


def read(path):
    """(bytes, stat) of the file, (b"", None) when there is none."""
    try:
        with open(path, "rb") as handle:
            return handle.read(), os.fstat(handle.fileno())
    except FileNotFoundError:
        return b"", None


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


def validate(dockerd, candidate, path, keys):
    """Findings; raises DaemonJsonError when dockerd refuses the candidate."""
    if not dockerd:
        return []
    major = dockerd_major(dockerd)
    unknown = sorted(key for key in keys if major is not None and major < KNOWN_SINCE.get(key, 0))
    if unknown:
        raise _daemon_json.DaemonJsonError(
            f"{', '.join(unknown)} would keep Docker {major} from starting: it knows that key from "
            f"{max(KNOWN_SINCE[key] for key in unknown)} on; take it out of the settings, or install a later Docker"
        )
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


def back_up(change):
    path, status = change.path, change.status
    name = base = "{}.{}~".format(path, time.strftime("%Y%m%dT%H%M%S"))
    count = 0
    while os.path.lexists(name):
        count += 1
        name = f"{base[:-1]}.{count}~"
    # Nobody reads it before it has its mode.
    with open(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY), "wb") as copy:
        copy.write(change.raw)
    shutil.copystat(path, name)
    os.chown(name, status.st_uid, status.st_gid)
    if _daemon_secrets.secrets(change.before):
        os.chmod(name, stat.S_IMODE(status.st_mode) & OWNER_ONLY)
    return name


def hide(module, secrets):
    module.no_log_values.update(_daemon_secrets.long_enough(secrets))


class Change:
    """What the file holds and what it is to hold."""

    def __init__(self, module, sysroot):
        self.path = module.params["path"]
        # Masked in everything the module returns, a refusal by dockerd included.
        for given in ("settings", "defaults"):
            hide(module, _daemon_secrets.secrets(module.params[given]))
        problems = _trusted_path.problems(self.path)
        try:
            self.raw, self.status = read(self.path)
            self.before = _daemon_json.parse(self.raw)
            hide(module, _daemon_secrets.secrets(self.before))
            self.after = self._wanted(module.params)
            self.secrets = _daemon_secrets.secrets(self.before) | _daemon_secrets.secrets(self.after)
            problems += self._clashes(sysroot)
        except _daemon_json.DaemonJsonError as error:
            problems += error.problems
        except OSError:
            # A directory where the file belongs, for one, has its sentence already.
            if not problems:
                raise
        if problems:
            raise _daemon_json.DaemonJsonError(problems)
        self.text = _daemon_json.render(self.after)
        self.mode = self._wanted_mode()
        self.keys = _daemon_json.changed_keys(self.before, self.after)
        self.pending, self.pending_keys = _pending_change.outstanding(sysroot, self.path)
        self.action = _daemon_json.stronger(self.pending, _daemon_json.action_for(self.before, self.after))

    def _wanted(self, params):
        kept = _daemon_json.without(self.before, params["state_of"])
        return _daemon_json.merged(kept, _daemon_json.completed(kept, params["settings"], params["defaults"]))

    def _wanted_mode(self):
        mode = stat.S_IMODE(self.status.st_mode) if self.status else NEW_FILE_MODE
        return mode & OWNER_ONLY if _daemon_secrets.secrets(self.after) else mode

    def shown(self, text):
        return _daemon_secrets.shown(text, self.secrets)

    @property
    def is_readable_for_too_many(self):
        return bool(self.status) and self.mode != stat.S_IMODE(self.status.st_mode)

    def _clashes(self, sysroot):
        """What would keep dockerd from starting with the new content, and --validate does not see."""
        if not _daemon_json.changed_keys(self.before, self.after):
            return []
        found = []
        clashes = [_daemon_secrets.hidden(clash) for clash in _dockerd.conflicts(sysroot, self.path, self.after)]
        if clashes:
            found.append(
                f"dockerd has these as flags and does not start with the same key in the file: {', '.join(clashes)}; "
                "take the flag out of the service (systemctl cat docker), or the key out of the file and the settings"
            )
        others = _dockerd.read_instead(sysroot, self.path)
        if others:
            found.append(
                f"dockerd reads {', '.join(others)} and not this file: give that as path, or take --config-file out of "
                "the service (systemctl cat docker)"
            )
        if self.after.get("live-restore") is True and _dockerd.in_swarm(sysroot, self.after):
            found.append(
                "dockerd is a member of a swarm and does not start with live-restore: leave the swarm (docker swarm "
                "leave), or set live-restore to false"
            )
        return found + self._unknown_runtime(sysroot)

    def _unknown_runtime(self, sysroot):
        wanted, entered = self.after.get("default-runtime"), self.after.get("runtimes")
        known = {*_dockerd.added_runtimes(sysroot), *(entered if isinstance(entered, dict) else ())}
        if not isinstance(wanted, str) or not wanted or _container_runtimes.is_known(wanted, known):
            return []
        return [
            f"dockerd would not start with default-runtime {wanted}: it would know "
            f"{_container_runtimes.listed(known)}; enter {wanted} into runtimes, or correct default-runtime "
            "(gpustack_docker_default_runtime, gpustack_docker_settings)"
        ]


def judged(module, change, name):
    if not module.params["validate"]:
        return []
    dockerd = module.get_bin_path("dockerd", opt_dirs=["/usr/sbin", "/usr/local/bin"])
    return validate(dockerd, name, change.path, set(change.after) - set(change.before))


def try_out(module, change):
    """Findings. The candidate is only judged, outside the file's directory."""
    with _atomic_file.candidate(os.path.join(tempfile.gettempdir(), "daemon.json"), change.text, 0o600) as name:
        return judged(module, change, name)


def write(module, change):
    """(backup file, findings). Call it with the directory locked."""
    path, status = change.path, change.status
    _atomic_file.remove_leftovers(path, keep=(_pending_change.mark_of(path),))
    owner = (status.st_uid, status.st_gid) if status else None
    with _atomic_file.candidate(path, change.text, change.mode, owner) as name:
        findings = judged(module, change, name)
        backup_file = back_up(change) if status else ""
        _pending_change.leave(path, change.action, sorted({*change.pending_keys, *change.keys}))
        _atomic_file.commit(name, path)
    module.set_default_selinux_context(path, False)
    return backup_file, findings


@contextlib.contextmanager
def held(path):
    _atomic_file.make_directory(os.path.dirname(path))
    with _atomic_file.locked_directory(os.path.dirname(path)):
        yield


def clear_old_mark(path, sysroot):
    """Of a change that a later start of the daemon took up."""
    if os.path.exists(_pending_change.mark_of(path)):
        with held(path):
            if _pending_change.outstanding(sysroot, path)[0] == "none":
                _pending_change.take_away(path)


def run(module):
    sysroot = Sysroot()
    change = Change(module, sysroot)
    backup_file, findings = "", []
    if change.keys and module.check_mode:
        findings = try_out(module, change)
    elif change.keys:
        with held(change.path):
            # Another writer may have been here before the lock was.
            change = Change(module, sysroot)
            if change.keys:
                backup_file, findings = write(module, change)
    elif change.is_readable_for_too_many and not module.check_mode:
        os.chmod(change.path, change.mode)
    elif change.pending == "none" and not module.check_mode:
        clear_old_mark(change.path, sysroot)
    module.exit_json(
        changed=bool(change.keys) or change.is_readable_for_too_many,
        action=change.action,
        pending=change.pending,
        pending_keys=change.pending_keys,
        changed_keys=change.keys,
        backup_file=backup_file,
        findings=findings,
        diff={
            "before_header": change.path,
            "after_header": change.path,
            # Both sides in one layout: the diff shows what changes for dockerd, not how somebody indented the file.
            "before": change.shown(_daemon_json.render(change.before)) if change.before else "",
            "after": change.shown(change.text) if change.after or change.before else "",
        },
    )


def forget(module):
    """The daemon took up the file."""
    path = module.params["path"]
    if any(module.params[name] for name in ("settings", "defaults", "state_of")):
        raise _daemon_json.DaemonJsonError("taken_up says that a change is done and goes without settings")
    there = os.path.exists(_pending_change.mark_of(path))
    if there and not module.check_mode:
        _pending_change.take_away(path)
    module.exit_json(
        changed=there, action="none", pending="none", pending_keys=[], changed_keys=[], backup_file="", findings=[]
    )


def message(path, problems):
    intro = f"{path} was left as it is"
    if len(problems) == 1:
        return f"{intro}: {problems[0]}"
    return "\n".join([f"{intro}, for {len(problems)} reasons:", *(f"- {problem}" for problem in problems)])


def main():
    module = UnloggedModule(
        argument_spec={
            "path": {"type": "path", "default": "/etc/docker/daemon.json"},
            "settings": {"type": "dict", "default": {}},
            "state_of": {"type": "list", "elements": "str", "default": []},
            "defaults": {"type": "dict", "default": {}},
            "validate": {"type": "bool", "default": True},
            "taken_up": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    path = module.params["path"]
    try:
        if module.params["taken_up"]:
            forget(module)
        else:
            run(module)
    except _daemon_json.DaemonJsonError as error:
        module.fail_json(msg=message(path, error.problems))
    except RecursionError:
        module.fail_json(msg=message(path, ["it is nested too deeply; move the file away to start anew"]))
    except _atomic_file.LockTimeout as error:
        module.fail_json(msg=message(path, [f"{error}; look who holds it with: lsof {os.path.dirname(path)}"]))
    except OSError as error:
        module.fail_json(msg=message(path, [f"{error.filename or path}: {error.strerror or error}"]))


if __name__ == "__main__":
    main()
