# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads the variables of all hosts out of a running playbook, as plain data; `_site.Site` says in which form."""

from __future__ import annotations

import os
import platform
import re

from ansible import context
from ansible.release import __version__ as ansible_core
from ansible.template import Templar
from ansible.utils.vars import load_extra_vars
from ansible_collections.inferops.gpustack.plugins.module_utils import _checkpoint
from ansible_collections.inferops.gpustack.plugins.plugin_utils import _sources
from ansible_collections.inferops.gpustack.plugins.plugin_utils._data import plain
from ansible_collections.inferops.gpustack.plugins.plugin_utils._site import (
    FACTS,
    SITE_GROUPS,
    WORKER_GROUP,
    Site,
    is_ours,
    known_variables,
    role_option,
)

_ALSO_READ = ("ansible_host", "ansible_connection")
_TEMPLATE = re.compile(r"\{[{%#]")
# A password with braces is a template to Ansible, and its parts are then in the messages of the template engine. A name
# of a vaulted variable is none of them.
_UNDEFINED = re.compile(r"^'(vault_\w+|hostvars)' is undefined", re.ASCII)
# Far more than any variable has, and few enough for every check that goes through a value.
_LEVELS = 30
# Ansible's words, at whatever depth of a value.
_UNDECRYPTABLE = "undecryptable"
_SCALARS = (str, int, float, type(None))


def read(loader, task_vars, with_facts=False):
    """The whole inventory, whatever --limit says. `with_facts`: what the probe has found on each host as well."""
    groups = {name: list(hosts) for name, hosts in (task_vars.get("groups") or {}).items()}
    reader = _Reader(loader)
    # Nobody asks a host that --limit leaves out.
    asked = task_vars.get("ansible_play_hosts_all") or groups.get(WORKER_GROUP, [])
    hosts, unreadable, found = {}, {}, {}
    # Other hosts of the inventory are none of our business. The server comes first: a value of the whole site is
    # resolved once, as the server sees it.
    for host in dict.fromkeys(host for group in SITE_GROUPS for host in groups.get(group, [])):
        variables = task_vars["hostvars"].raw_get(host)
        hosts[host], unreadable[host] = reader.read(variables)
        if with_facts:
            facts = plain((variables.get("ansible_facts") or {}).get("gpustack_host"))
            if facts or host in asked:
                found[host] = facts
    ours = [group for group, members in groups.items() if not hosts.keys().isdisjoint(members)]
    command_line = context.CLIARGS.get("extra_vars") or ()
    inventory = {
        "groups": groups,
        "hosts": hosts,
        "unreadable": unreadable,
        # Those of an @file are in the sources.
        "extra_vars": [name for name in load_extra_vars(loader) if _is_in(name, command_line)],
        "asked": list(task_vars.get("ansible_inventory_sources") or ()),
        "sources": _sources.read(loader, task_vars, ours, hosts, command_line),
        "controller": {"ansible_core": ansible_core, "python": platform.python_version()},
        "facts": found,
    }
    return {**inventory, "checkpoints": _checkpoints(Site(inventory))}


def _checkpoints(site):
    """Model directory to what is in it, of those that the controller has as well."""
    named = [entry.get(key) for unused, unused, entry in site.deployments() for key in ("path", "draft_path")]
    paths = dict.fromkeys(path for path in named if isinstance(path, str) and os.path.isdir(path))
    return {path: _checkpoint.read(path) for path in paths}


class _Reader:
    """Resolves the values people wrote, each for itself, and each definition as seldom as possible.

    Hosts of a group share one object for a value. It is resolved once when no host can make a difference: it holds no
    template, or it belongs to the whole site. (500 hosts x 20 models: seconds instead of half a minute.)
    """

    def __init__(self, loader):
        self._templar = Templar(loader=loader)
        self._shared = {}

    def read(self, variables):
        """The values of one host, and the reasons for those that cannot be read."""
        values, unreadable = {}, {}
        self._templar.available_variables = variables
        for name, raw in variables.items():
            # A number or true as a name is no variable to Ansible either.
            if not isinstance(name, str) or name in FACTS or not (is_ours(name) or name in _ALSO_READ):
                continue
            # Of an unknown name only the name matters; it may be a misspelled secret.
            known = name in known_variables() or name in _ALSO_READ or role_option(name)
            value, reason = self._resolve(name, raw) if known else (None, None)
            # A role's option may use what only the role defines.
            if reason and not role_option(name):
                unreadable[name] = reason
            else:
                values[name] = value
        return values, unreadable

    def _resolve(self, name, raw):
        # The object is kept with its result, so that its id stays its own.
        key = (name, id(raw))
        if key in self._shared and self._shared[key][0] is raw:
            return self._shared[key][1]
        constant = False
        try:
            constant = _is_constant(raw)
            value = plain(raw if constant else self._templar.template(raw))
            # Numbers of thousands of digits have no text, and no message could show them.
            repr(value)
            result = (value, None)
        except Exception as error:  # Whatever a template raises is a finding.
            result = (None, _reason(name, error))
        if constant or known_variables().get(name, {}).get("scope") == "site":
            self._shared[key] = (raw, result)
        return result


def _is_in(name, command_line):
    return any(name in option for option in command_line if not option.startswith("@"))


def _is_constant(value, levels=_LEVELS):
    """True when templating cannot change the value."""
    if not levels:
        raise RecursionError
    if isinstance(value, dict):
        return all(_is_constant(key, levels - 1) and _is_constant(item, levels - 1) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return all(_is_constant(item, levels - 1) for item in value)
    # Anything else (a vaulted value, for one) is resolved by the templar.
    return isinstance(value, _SCALARS) and not (isinstance(value, str) and _TEMPLATE.search(value))


def _holds_secret(spec):
    return bool(spec.get("secret")) or any(_holds_secret(option) for option in spec.get("options", {}).values())


def _reason(name, error):
    if isinstance(error, RecursionError):
        return f"nested in more than {_LEVELS} levels, or a YAML alias that contains itself"
    text = " ".join(str(error).split())
    if _UNDECRYPTABLE in text:
        return "cannot be decrypted"
    if _holds_secret(known_variables().get(name, {})):
        text = _without_secret(text, type(error).__name__)
    return f"cannot be resolved: {text}"


def _without_secret(text, kind):
    """What may be told of the template engine's message about a value that is secret or holds secrets."""
    named = _UNDEFINED.match(text)
    if named:
        return named.group()
    if "Missing end of comment tag" in text:
        return "Missing end of comment tag"
    what = "a variable in it is undefined" if "is undefined" in text else kind
    return f"{what} (details not shown: the value is secret or holds secrets)"
