# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A GPUStack object as a table of fields, from which argument spec, payload, comparison and diff are derived.

Every resource module has the same shape: a `Resource` with its `Field`s, `desired()` to read the options, `locate()`,
`settled()` and `sync()`; `_resource_module` does all of them in turn. One rule holds for every field: an option that is
not set is not managed, an empty value clears.

PUT replaces more than it should (T26-T29 of the API traps), so `sync` never sends what the user wrote alone: it lays
it over the current object. Fields the server writes by itself are neither compared nor sent.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Callable

from ansible_collections.inferops.gpustack.plugins.module_utils._errors import ApiError, GpustackError
from ansible_collections.inferops.gpustack.plugins.module_utils._secrets import MASK, masked

EMPTY = ("", [], {}, None)
#: The lists and dictionaries of a field may have members the user did not name.
MORE_ALLOWED = "allow_more_present"
COMPARISONS = ("strict", "ignore", MORE_ALLOWED)


@dataclass(frozen=True)
class Field:
    """One option of a module and the API field it stands for.

    `default_none`: the API stores null where the user writes an empty value, and both mean the same.
    `compare`: `(desired, current) -> equal`; plain equality when unset.
    `comparison`: the one of `COMPARISONS` that holds unless the user asks for another.
    `create_only`: sent when the object is made, never compared, because the API does not tell its value.
    `write_once`: sent when the object is made; another value later is an error, because the API ignores it silently.
    `needed`: the object cannot be made without it.
    `server_owned`: the server writes it, so it is never sent.
    `server_fills`: the server chooses a value where the user leaves it empty, so an empty one is no wish to change it.
    """

    name: str
    type: str = "str"
    api_name: str = ""
    default_none: bool = False
    compare: Callable[[Any, Any], bool] | None = None
    comparison: str = "strict"
    create_only: bool = False
    write_once: bool = False
    needed: bool = False
    server_owned: bool = False
    server_fills: bool = False
    secret: bool = False
    spec: dict = field(default_factory=dict)

    @property
    def key(self):
        return self.api_name or self.name

    @property
    def made_once(self):
        return self.create_only or self.write_once

    def to_api(self, value):
        return None if self.default_none and value in EMPTY else value

    def equal(self, desired, current):
        if self.server_fills and desired in EMPTY:
            return True
        if self.default_none and desired in EMPTY and current in EMPTY:
            return True
        return self.compare(desired, current) if self.compare else desired == current


@dataclass(frozen=True)
class Resource:
    """`identity` is the option that names an object, and `lookup` the filter of its list that narrows it down.

    `rename`: whether the API can change that name.
    `echo` names the API fields a PUT must send back even though no option stands for them.
    `prepare(payload, desired, current)` adapts a payload to rules between fields; `current` is None on creation.
    `update(client, path, payload)` takes the place of a plain PUT, and returns the object.
    `view(object)` is what modules return of an object, under the name `result`.
    """

    kind: str
    path: str
    fields: tuple[Field, ...]
    identity: str = "name"
    lookup: str = "name"
    rename: bool = False
    echo: tuple[str, ...] = ()
    prepare: Callable[[dict, dict, dict | None], dict] | None = None
    update: Callable[[Any, str, dict], dict] | None = None
    view: Callable[[dict], dict] = dict
    result: str = ""

    def writable(self):
        return [one for one in self.fields if not one.server_owned]

    def field(self, name):
        return next(one for one in self.fields if one.name == name)

    @property
    def identity_key(self):
        return self.field(self.identity).key

    @property
    def result_name(self):
        return self.result or self.kind.replace(" ", "_")


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


def same_members(one, other):
    """For a field whose order does not matter."""
    return sorted(one or []) == sorted(other or [])


def find(client, resource, name):
    """The object of this name, or None. The API ignores `name=` on some lists (T13), so the name is checked here."""
    key = resource.identity_key
    found = [one for one in client.list_all(resource.path, **{resource.lookup: name}) if one.get(key) == name]
    if len(found) > 1:
        raise ambiguous(f"{resource.kind} {name}", found)
    return found[0] if found else None


def ambiguous(what, found):
    """Names are unique within an organization, and an administrator sees all of them."""
    ids = ", ".join(str(one["id"]) for one in found)
    return GpustackError(
        f"There are {len(found)} of {what}, in different organizations: id {ids}.",
        reason="Ambiguous",
        hint="Connect as a user who sees one of them only.",
    )


def locate(client, resource, name, new_name=None):
    """The object of this name, or the one that already has the name it shall get."""
    current = find(client, resource, name)
    if not new_name or new_name == name:
        return current
    renamed = find(client, resource, new_name)
    if current and renamed:
        raise GpustackError(
            f"{resource.kind} {name} shall be renamed to {new_name}, but both exist.",
            reason="AlreadyExists",
            hint="Choose another new_name, or remove one of the two.",
        )
    return current or renamed


def checked_comparisons(resource, comparisons):
    """The comparison of each field, after what the user asked for; `*` is every field that can have it."""
    chosen = {one.name: one.comparison for one in resource.writable()}
    asked = dict(comparisons or {})
    for name, how in sorted(asked.items(), key=lambda item: item[0] != "*"):
        problem = _comparison_problem(resource, name, how)
        if problem:
            raise GpustackError(f"comparisons has {name}: {how!r}. {problem}", reason="Invalid")
        names = [name] if name != "*" else [one.name for one in resource.writable() if _fits(one, how)]
        chosen.update(dict.fromkeys(names, how))
    # What identifies an object cannot be ignored.
    chosen[resource.identity] = "strict"
    return chosen


def _comparison_problem(resource, name, how):
    if how not in COMPARISONS:
        return f"It must be one of {', '.join(COMPARISONS)}."
    known = {one.name: one for one in resource.writable() if not one.made_once and one.name != resource.identity}
    if name != "*" and name not in known:
        return f"It must name an option that is compared: {', '.join(sorted(known))}, or * for all."
    if name != "*" and not _fits(known[name], how):
        return f"Only lists and dictionaries can {how.replace('_', ' ')}."
    return None


def _fits(one, how):
    return how != MORE_ALLOWED or one.type in ("list", "dict")


def settled(resource, wanted, current, comparisons=None):
    """What the user wrote, as far as it is to be compared with the current object."""
    if current is None:
        return wanted
    chosen = checked_comparisons(resource, comparisons)
    result = {}
    for name, value in wanted.items():
        if chosen[name] == "ignore":
            continue
        if chosen[name] == MORE_ALLOWED:
            value = _with_present(value, current.get(resource.field(name).key))
        result[name] = value
    return result


def _with_present(value, present):
    if isinstance(value, dict):
        return dict(present or {}, **value)
    return list(present or []) + [one for one in value if one not in (present or [])]


def differences(resource, wanted, current):
    """`{option: (before, after)}` of the managed fields that differ."""
    found = {}
    for one in resource.writable():
        if one.made_once or one.name not in wanted:
            continue
        before = current.get(one.key)
        if not one.equal(wanted[one.name], before):
            found[one.name] = (before, wanted[one.name])
    return found


def check_made_once(resource, wanted, current):
    """The API takes another value for such a field, keeps the old one and says nothing (T11, T38)."""
    for one in resource.writable():
        if not one.write_once or one.name not in wanted or one.equal(wanted[one.name], current.get(one.key)):
            continue
        name = current.get(resource.identity_key)
        found = "" if one.secret else f": it is {current.get(one.key)!r}, and {wanted[one.name]!r} is asked for"
        raise GpustackError(
            f"{one.name} of {resource.kind} {name} cannot change{found}.",
            reason="WriteOnce",
            hint=f"Leave {one.name} as it is, or delete the {resource.kind} and make it again.",
        )


def check_complete(resource, wanted):
    missing = [one.name for one in resource.writable() if one.needed and wanted.get(one.name) in EMPTY]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        raise GpustackError(
            f"{resource.kind} {wanted[resource.identity]} does not exist, and {', '.join(missing)} {verb} not set.",
            reason="Invalid",
            hint="They are needed to make it." if len(missing) > 1 else "It is needed to make it.",
        )


def create_payload(resource, wanted):
    payload = {one.key: one.to_api(wanted[one.name]) for one in resource.writable() if one.name in wanted}
    return resource.prepare(payload, wanted, None) if resource.prepare else payload


def update_payload(resource, wanted, current):
    """The current object, as far as it may be written, overlaid with what the user wrote."""
    managed = [one for one in resource.writable() if not one.made_once]
    keys = [one.key for one in managed] + list(resource.echo)
    payload = {key: current[key] for key in keys if key in current}
    payload.update({one.key: one.to_api(wanted[one.name]) for one in managed if _is_said(one, wanted)})
    return resource.prepare(payload, wanted, current) if resource.prepare else payload


def _is_said(one, wanted):
    return one.name in wanted and not (one.server_fills and wanted[one.name] in EMPTY)


def diff_of(resource, wanted, current):
    """Ansible's diff of the managed fields. Secrets show only that they change."""
    name = (wanted or {}).get(resource.identity) or (current or {}).get(resource.identity_key) or ""
    header = f"{resource.kind} {name}".strip()
    # What cannot change says nothing in a change, and a lot in a deletion.
    hidden = [one.name for one in resource.writable() if one.create_only or (one.write_once and wanted is not None)]
    fields = [one for one in resource.writable() if current is None or one.name not in hidden]
    before = {one.name: current.get(one.key) for one in fields} if current else {}
    after = dict(before, **{one.name: wanted[one.name] for one in fields if _is_said(one, wanted)}) if wanted else {}
    shown = {"before": masked(before), "after": masked(after)}
    for one in resource.writable():
        if one.secret:
            changes = before.get(one.name) != after.get(one.name)
            for word, side in shown.items():
                if one.name in side:
                    side[one.name] = f"{MASK} ({word})" if changes else MASK
    return dict(shown, before_header=header, after_header=header)


def sync(client, resource, wanted, current, check_mode):
    """Make the object what the user wrote (`wanted` None: absent). `{changed, diff, actions, object}`."""
    if wanted is None:
        if current is None:
            return unchanged(None)
        if not check_mode:
            delete(client, f"{resource.path}/{current['id']}")
        return _result(True, diff_of(resource, None, current), [f"delete {resource.kind}"], None)

    if current is None:
        check_complete(resource, wanted)
        payload = create_payload(resource, wanted)
        made = dict(payload, id=None) if check_mode else client.post(resource.path, payload)
        return _result(True, diff_of(resource, wanted, None), [f"create {resource.kind}"], made)

    check_made_once(resource, wanted, current)
    changes = differences(resource, wanted, current)
    if not changes:
        return unchanged(current)
    payload = update_payload(resource, wanted, current)
    changed = dict(current, **payload) if check_mode else put(client, resource, current["id"], payload)
    action = f"update {resource.kind}: {', '.join(sorted(changes))}"
    return _result(True, diff_of(resource, wanted, current), [action], changed)


def put(client, resource, number, payload):
    path = f"{resource.path}/{number}"
    return resource.update(client, path, payload) if resource.update else client.put(path, payload)


def delete(client, path):
    """Delete, where already gone is as good (T25)."""
    try:
        client.delete(path)
    except ApiError as error:
        if error.status != 404:
            raise


def unchanged(thing):
    return _result(False, {}, [], thing)


def _result(changed, diff, actions, thing):
    return {"changed": changed, "diff": diff, "actions": actions, "object": thing}
