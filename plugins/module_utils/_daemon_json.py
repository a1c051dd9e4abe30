# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Docker's daemon.json: merge by key, because the vendors' runtime installers write it as well."""

from __future__ import annotations

import copy
import json

# Lists that several writers add to; any other list is one writer's value as a whole.
UNION_LISTS = ("insecure-registries", "registry-mirrors")

RELOADABLE = frozenset(
    (
        "allow-nondistributable-artifacts",
        "authorization-plugins",
        "debug",
        "default-runtime",
        "features",
        "insecure-registries",
        "labels",
        "live-restore",
        "max-concurrent-downloads",
        "max-concurrent-uploads",
        "max-download-attempts",
        "registry-mirrors",
        "runtimes",
        "shutdown-timeout",
    )
)
RELOADABLE_PREFIX = "cluster-"
# dockerd accepts these on reload and acts on them only when it starts.
START_ONLY_FEATURES = ("cdi", "containerd-snapshotter")


class DaemonJsonError(Exception):
    """The file cannot be merged without losing something; the message says what to do."""


KINDS = (
    (bool, "boolean"),  # before the number, which a Python bool is too
    ((int, float), "number"),
    (str, "string"),
    (list, "list"),
    (dict, "object"),
)


def _kind(value):
    return next((name for kind, name in KINDS if isinstance(value, kind)), "null")


def _pairs(pairs):
    names = [name for name, _value in pairs]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DaemonJsonError("the same key is there twice, keep one of them: " + ", ".join(twice))
    return dict(pairs)


def _constant(text):
    raise DaemonJsonError(f"{text} is not a JSON number; correct it")


def parse(raw):
    """The object in the bytes of a daemon.json; {} for an empty file, as dockerd reads it."""
    if not raw.strip():
        return {}
    try:
        document = json.loads(raw.decode("utf-8-sig"), object_pairs_hook=_pairs, parse_constant=_constant)
    except ValueError as error:
        raise DaemonJsonError(f"it is not JSON ({error}); correct it, or move it away to start anew") from error
    if not isinstance(document, dict):
        raise DaemonJsonError(
            f"it holds a JSON {_kind(document)} where an object is expected; correct it, or move it away to start anew"
        )
    return document


def render(document):
    return json.dumps(document, indent=4, ensure_ascii=False) + "\n"


def canonical(value):
    """Text to compare by: to Python 1 equals True, to dockerd it does not."""
    return json.dumps(value, sort_keys=True)


def without(document, owned):
    """A copy without the owned keys. "runtimes/x" is the key x of the object runtimes, which goes once it is empty."""
    result = copy.deepcopy(document)
    for name in owned:
        outer, _slash, inner = name.partition("/")
        if not inner:
            result.pop(outer, None)
        elif isinstance(result.get(outer), dict):
            result[outer].pop(inner, None)
            if not result[outer]:
                del result[outer]
    return result


def merged(document, settings, trail=""):
    """A copy of the document with the settings merged in; keys that only the document has stay as they are."""
    result = dict(document)
    for name, wanted in settings.items():
        path = trail + name
        present = result.get(name)
        if present is not None and _kind(present) != _kind(wanted):
            raise DaemonJsonError(
                f"{path} is a {_kind(present)} there and a {_kind(wanted)} in the settings; correct the wrong one"
            )
        if isinstance(wanted, dict):
            result[name] = merged(present or {}, wanted, path + ".")
        elif path in UNION_LISTS and present:
            result[name] = present + [item for item in wanted if item not in present]
        else:
            result[name] = copy.deepcopy(wanted)
    return result


def changed_keys(before, after):
    return sorted(
        name
        for name in set(before) | set(after)
        if (name in before) != (name in after) or canonical(before.get(name)) != canonical(after.get(name))
    )


def action_for(before, after):
    """What makes dockerd take the change: none, reload or restart."""
    names = changed_keys(before, after)
    if not names:
        return "none"
    if all(name in RELOADABLE or name.startswith(RELOADABLE_PREFIX) for name in names):
        old, new = before.get("features") or {}, after.get("features") or {}
        if not any(canonical(old.get(name)) != canonical(new.get(name)) for name in START_ONLY_FEATURES):
            return "reload"
    return "restart"
