# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A GPUStack object as a table of fields, from which argument spec, payload, comparison and diff are derived.

Every resource module has the same shape: a `Resource` with its `Field`s, `desired()` to read the options, a lookup,
and `sync()`. One rule holds for every field: an option that is not set is not managed, an empty value clears.

PUT replaces more than it should (T26-T29 of the API traps), so `sync` never sends what the user wrote alone: it lays
it over the current object. Fields the server writes by itself are neither compared nor sent.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Callable

from ansible_collections.inferops.gpustack.plugins.module_utils._errors import ApiError
from ansible_collections.inferops.gpustack.plugins.module_utils._secrets import MASK, masked

EMPTY = ("", [], {}, None)


@dataclass(frozen=True)
class Field:
    """One option of a module and the API field it stands for.

    `default_none`: the API stores null where the user writes an empty value, and both mean the same.
    `compare`: `(desired, current) -> equal`; plain equality when unset.
    `create_only`: sent when the object is made, never compared.
    `server_owned`: the server writes it, so it is never sent.
    """

    name: str
    type: str = "str"
    api_name: str = ""
    default_none: bool = False
    compare: Callable[[Any, Any], bool] | None = None
    create_only: bool = False
    server_owned: bool = False
    secret: bool = False
    spec: dict = field(default_factory=dict)

    @property
    def key(self):
        return self.api_name or self.name

    def to_api(self, value):
        return None if self.default_none and value in EMPTY else value

    def equal(self, desired, current):
        if self.default_none and desired in EMPTY and current in EMPTY:
            return True
        return self.compare(desired, current) if self.compare else desired == current


@dataclass(frozen=True)
class Resource:
    """`echo` names the API fields a PUT must send back even though no option stands for them.

    `prepare(payload, desired, current)` adapts a payload to rules between fields; `current` is None on creation.
    """

    kind: str
    path: str
    fields: tuple[Field, ...]
    lookup: str = "name"
    echo: tuple[str, ...] = ()
    prepare: Callable[[dict, dict, dict | None], dict] | None = None

    def writable(self):
        return [one for one in self.fields if not one.server_owned]


def argument_spec(resource):
    spec = {}
    for one in resource.writable():
        spec[one.name] = dict({"type": one.type}, **one.spec)
        if one.secret:
            spec[one.name]["no_log"] = True
    return spec


def desired(resource, params):
    """What the user wrote: options that are set, by option name."""
    return {one.name: params[one.name] for one in resource.writable() if params.get(one.name) is not None}


def find(client, resource, name):
    """The object of this name, or None. The API ignores `name=` on some lists (T13), so the name is checked here."""
    for item in client.list_all(resource.path, **{resource.lookup: name}):
        if item.get("name") == name:
            return item
    return None


def differences(resource, wanted, current):
    """`{option: (before, after)}` of the managed fields that differ."""
    found = {}
    for one in resource.writable():
        if one.create_only or one.name not in wanted:
            continue
        before = current.get(one.key)
        if not one.equal(wanted[one.name], before):
            found[one.name] = (before, wanted[one.name])
    return found


def create_payload(resource, wanted):
    payload = {one.key: one.to_api(wanted[one.name]) for one in resource.writable() if one.name in wanted}
    return resource.prepare(payload, wanted, None) if resource.prepare else payload


def update_payload(resource, wanted, current):
    """The current object, as far as it may be written, overlaid with what the user wrote."""
    managed = [one for one in resource.writable() if not one.create_only]
    keys = [one.key for one in managed] + list(resource.echo)
    payload = {key: current[key] for key in keys if key in current}
    payload.update({one.key: one.to_api(wanted[one.name]) for one in managed if one.name in wanted})
    return resource.prepare(payload, wanted, current) if resource.prepare else payload


def diff_of(resource, wanted, current):
    """Ansible's diff of the managed fields. Secrets show only that they change."""
    header = f"{resource.kind} {(wanted or current or {}).get('name', '')}".strip()
    fields = [one for one in resource.writable() if current is None or not one.create_only]
    before = {one.name: current.get(one.key) for one in fields} if current else {}
    after = dict(before, **{one.name: wanted[one.name] for one in fields if one.name in wanted}) if wanted else {}
    for one in resource.writable():
        if one.secret:
            changes = before.get(one.name) != after.get(one.name)
            for side, word in ((before, "before"), (after, "after")):
                if one.name in side:
                    side[one.name] = f"{MASK} ({word})" if changes else MASK
    return {"before_header": header, "after_header": header, "before": masked(before), "after": masked(after)}


def sync(client, resource, wanted, current, check_mode):
    """Make the object what the user wrote (`wanted` None: absent). `{changed, diff, actions, object}`."""
    if wanted is None:
        if current is None:
            return _result(False, {}, [], None)
        if not check_mode:
            delete(client, f"{resource.path}/{current['id']}")
        return _result(True, diff_of(resource, None, current), [f"delete {resource.kind}"], None)

    if current is None:
        payload = create_payload(resource, wanted)
        made = dict(payload, id=None) if check_mode else client.post(resource.path, payload)
        return _result(True, diff_of(resource, wanted, None), [f"create {resource.kind}"], made)

    changes = differences(resource, wanted, current)
    if not changes:
        return _result(False, {}, [], current)
    payload = update_payload(resource, wanted, current)
    changed = dict(current, **payload) if check_mode else client.put(f"{resource.path}/{current['id']}", payload)
    action = f"update {resource.kind}: {', '.join(sorted(changes))}"
    return _result(True, diff_of(resource, wanted, current), [action], changed)


def delete(client, path):
    """Delete, where already gone is as good (T25)."""
    try:
        client.delete(path)
    except ApiError as error:
        if error.status != 404:
            raise


def _result(changed, diff, actions, thing):
    return {"changed": changed, "diff": diff, "actions": actions, "object": thing}
