# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The command line of a run, written again."""

from __future__ import annotations

import os
import shlex
import shutil

# What ansible-playbook calls an argument, the option, and the setting it falls back to.
_SWITCHES = (
    ("ask_pass", "--ask-pass", "DEFAULT_ASK_PASS"),
    ("ask_vault_pass", "--ask-vault-pass", "DEFAULT_ASK_VAULT_PASS"),
    ("become", "--become", "DEFAULT_BECOME"),
    ("become_ask_pass", "--ask-become-pass", "DEFAULT_BECOME_ASK_PASS"),
    ("check", "--check", None),
    ("diff", "--diff", "DIFF_ALWAYS"),
)
_VALUES = (
    ("remote_user", "--user", "DEFAULT_REMOTE_USER"),
    ("connection", "--connection", "DEFAULT_TRANSPORT"),
    ("timeout", "--timeout", None),
    ("become_method", "--become-method", "DEFAULT_BECOME_METHOD"),
    ("become_user", "--become-user", None),
    ("forks", "--forks", "DEFAULT_FORKS"),
    ("subset", "--limit", "DEFAULT_SUBSET"),
)
_PATHS = (
    ("private_key_file", "--private-key", "DEFAULT_PRIVATE_KEY_FILE"),
    ("connection_password_file", "--connection-password-file", "CONNECTION_PASSWORD_FILE"),
    ("become_password_file", "--become-password-file", "BECOME_PASSWORD_FILE"),
)
# Their values may hold secrets, so they are named and not repeated.
_NOT_REPEATED = (
    ("extra_vars", "-e"),
    ("ssh_common_args", "--ssh-common-args"),
    ("ssh_extra_args", "--ssh-extra-args"),
    ("sftp_extra_args", "--sftp-extra-args"),
    ("scp_extra_args", "--scp-extra-args"),
)


def command(arguments, settings, program, limit=(), check=None):
    """`arguments`: context.CLIARGS; `settings`: ansible.constants. `limit`, `check`: in place of those of the run."""
    changes = {"subset": ",".join(limit) or arguments.get("subset")}
    if check is not None:
        changes["check"] = check
    arguments = {**arguments, **changes}
    words = [_program(program), *map(str, arguments["args"])]
    if list(arguments.get("inventory") or []) != list(settings.DEFAULT_HOST_LIST):
        words += _each("-i", map(_short, arguments.get("inventory") or []))
    words += [option for name, option, setting in _SWITCHES if _was_given(arguments.get(name), settings, setting)]
    for table, spell in ((_VALUES, str), (_PATHS, _short)):
        for name, option, setting in table:
            if _was_given(arguments.get(name), settings, setting):
                words += [option, spell(arguments[name])]
    words += _each("--vault-id", arguments.get("vault_ids") or [])
    words += _each("--vault-password-file", map(_short, arguments.get("vault_password_files") or []))
    for name, option, default in (("tags", "--tags", ["all"]), ("skip_tags", "--skip-tags", [])):
        if sorted(arguments.get(name) or default) != default:
            words += [option, ",".join(sorted(arguments[name]))]
    return shlex.join(words)


def not_repeated(arguments):
    """The options of the run that `command` leaves out on purpose."""
    return [option for name, option in _NOT_REPEATED if arguments.get(name)]


def _was_given(value, settings, setting):
    return bool(value) and value != (getattr(settings, setting) if setting else None)


def _each(option, values):
    return [word for value in values for word in (option, str(value))]


def _short(path):
    """Ansible makes paths absolute; below the current directory the relative one will do."""
    inside = os.path.join(os.getcwd(), "")
    return str(path)[len(inside) :] if str(path).startswith(inside) else str(path)


def _program(path):
    """Its name alone where a shell finds just this program under it, else its path."""
    name = "ansible-playbook"
    return name if os.path.basename(path) != name or shutil.which(name) == path else _short(path)
