# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The whole inventory as preflight sees it: plain values, by host and by variable."""

from __future__ import annotations

import functools

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _data, _facts_shape, _schema
from ansible_collections.inferops.gpustack.plugins.plugin_utils._profiles import Profiles, nearest, similar

PREFIX = "gpustack_"
SERVER_GROUP = "gpustack_server"
WORKER_GROUP = "gpustack_worker"
WINDOWS_GROUP = "gpustack_worker_windows"
SITE_GROUPS = (SERVER_GROUP, WORKER_GROUP, WINDOWS_GROUP)
# Set by the probe and by the inventory plugin, not by people. Ansible puts facts among the variables where its
# configuration asks for that.
FACTS = ("gpustack_host", "gpustack_worker")


def known_variables():
    return _data.load("variables.yml")


@functools.lru_cache(maxsize=None)
def role_prefixes():
    """`verify_` and so on to the role's own options, which an inventory may set as well."""
    return {f"{role}_": options for role, options in _data.role_options().items()}


def role_option(name):
    """The argument spec of a role's option, or None."""
    return next((options[name] for options in role_prefixes().values() if name in options), None)


def option(path):
    """The description of a nested key: `gpustack_models.deployments.path`."""
    name, *keys = path.split(".")
    spec = known_variables()[name]
    for key in keys:
        spec = spec["options"][key]
    return spec


def is_ours(name):
    """Whether a variable's name claims to belong to this collection."""
    return name.startswith((PREFIX, *role_prefixes()))


def listed(hosts, limit=4):
    """`a, b, c, d and 496 more`."""
    hosts = list(hosts)
    text = ", ".join(hosts[:limit])
    return f"{text} and {len(hosts) - limit} more" if len(hosts) > limit else text


def deployments(model):
    """The deployments of a model that are mappings, with their index."""
    entries = model.get("deployments")
    if not isinstance(entries, list):
        return []
    return [(number, entry) for number, entry in enumerate(entries) if isinstance(entry, dict)]


def _fingerprint(value):
    """Text that is the same for equal values, whatever the order and the types of their keys."""
    if isinstance(value, dict):
        return f"{{{','.join(sorted(f'{key!r}:{_fingerprint(item)}' for key, item in value.items()))}}}"
    if isinstance(value, (list, tuple)):
        return f"[{','.join(_fingerprint(item) for item in value)}]"
    return repr(value)


class Site:
    """`inventory` is {groups: {name: [host]}, hosts: {host: {name: value}}} and, where known,

    unreadable: {host: {name: reason}}, extra_vars: [name given with -e], sources: {path: text},
    asked: [inventory source as it was given],
    controller: {ansible_core: release, python: release},
    facts: {host: what the probe gave, None where it was asked and gave nothing},
    checkpoints: {path: what was read of the model directory there}.
    """

    def __init__(self, inventory):
        self.hosts = inventory["hosts"]
        self.unreadable = inventory.get("unreadable") or {}
        self.extra_vars = inventory.get("extra_vars") or ()
        self.sources = inventory.get("sources") or {}
        self.controller = inventory.get("controller") or {}
        self.asked = inventory.get("asked") or ()
        groups = self._groups = inventory.get("groups") or {}
        self.has_hosts = any(groups.values())
        self.servers = [host for host in groups.get(SERVER_GROUP, []) if host in self.hosts]
        self.workers = [host for host in groups.get(WORKER_GROUP, []) if host in self.hosts]
        self.windows = set(groups.get(WINDOWS_GROUP, []))
        asked = inventory.get("facts") or {}
        fitted = {host: _facts_shape.fitting(facts) for host, facts in asked.items()}
        self.facts = {host: facts for host, facts in fitted.items() if facts}
        self.not_read = [host for host in self.workers if host in asked and host not in self.facts]
        self.checkpoints = inventory.get("checkpoints") or {}
        self._variants = {}

    @functools.cached_property
    def profiles(self):
        """The collection's profiles with the site's own over them."""
        return Profiles(self.value("gpustack_profiles"))

    def cards_of(self, host, accelerator=None):
        """Cards of a worker host, of the accelerator that it declares or may have."""
        count = self.hosts[host].get("gpustack_accelerator_count")
        if count is not None and _schema.fits(count, option("gpustack_accelerator_count")):
            return count
        return self.profiles.accelerator(accelerator or self.text(host, "gpustack_accelerator"))["cards_per_host"]

    def value(self, name):
        """The site's value of a variable: the server's, else the first host's, else the default."""
        for host in self.servers[:1] + list(self.hosts):
            if self.hosts[host].get(name) is not None:
                return self.hosts[host][name]
        return known_variables()[name].get("default")

    def of(self, host, name):
        value = self.hosts[host].get(name)
        return known_variables()[name].get("default") if value is None else value

    def text(self, host, name):
        """The host's value where it is text, else None: wrong types are reported once, by the check of types."""
        value = self.hosts[host].get(name)
        return value.strip() if isinstance(value, str) else None

    def missing(self, host, name):
        """Nothing was written. A value that cannot be resolved is not missing: it has its own finding."""
        value = self.hosts[host].get(name)
        if name in self.unreadable.get(host, {}):
            return False
        return value is None or (isinstance(value, str) and not value.strip())

    def without(self, name):
        """The hosts of server and workers for which nobody set a variable."""
        ours = {*self.servers, *self.workers}
        return [
            host
            for host, values in self.hosts.items()
            if values.get(name) is None
            and name not in self.unreadable.get(host, {})
            and (host in ours or host not in self.windows)
        ]

    def variants(self, name):
        """Each different value of a variable with the hosts that have it, in inventory order."""
        if name not in self._variants:
            self._variants[name] = self._group(name)
        return self._variants[name]

    def _group(self, name):
        keys, groups = {}, {}
        for host, values in self.hosts.items():
            value = values.get(name)
            if value is None:
                continue
            # Hosts share one object for a group's value; comparing it once keeps 500 hosts cheap.
            key = keys.get(id(value))
            if key is None:
                key = keys[id(value)] = _fingerprint(value)
            groups.setdefault(key, (value, []))[1].append(host)
        return list(groups.values())

    def similar_group(self, name):
        """A group with hosts whose name is close to this one's, or an empty string."""
        return nearest(name, [group for group in self._groups if group not in SITE_GROUPS and self._groups[group]], 0.9)

    def may_have(self, accelerator):
        """The workers that do not say which accelerator they have, or seem to mean this one and misspell it."""
        known = self.profiles.accelerators()
        declared = {host: self.text(host, "gpustack_accelerator") for host in self.workers}
        return [
            host
            for host, name in declared.items()
            if not name or (name not in known and accelerator in similar(name, known))
        ]

    def accelerator_hosts(self):
        """Accelerator to the number of worker hosts that declare it; None while a declaration cannot be read."""
        if any("gpustack_accelerator" in self.unreadable.get(host, {}) for host in self.workers):
            return None
        counts = {}
        for host in self.workers:
            accelerator = self.text(host, "gpustack_accelerator")
            if accelerator:
                counts[accelerator] = counts.get(accelerator, 0) + 1
        return counts

    def models(self):
        """The models that are mappings, with their index; anything else is reported by the check of types."""
        models = self.value("gpustack_models")
        if not isinstance(models, list):
            return []
        return [(index, model) for index, model in enumerate(models) if isinstance(model, dict)]

    def deployments(self):
        """Where each deployment is written, its model and the deployment itself."""
        for index, model in self.models():
            for number, entry in deployments(model):
                yield f"gpustack_models[{index}] ({model.get('name')}).deployments[{number}]", model, entry
