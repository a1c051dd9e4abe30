# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Docker's daemon.json: merge by key, because the vendors' runtime installers write it as well."""

from __future__ import annotations

import copy
import json

from ansible_collections.inferops.gpustack.plugins.module_utils._daemon_secrets import hidden

# Lists that several writers add to; any other list is one writer's value as a whole.
UNION_LISTS = ("insecure-registries", "registry-mirrors")

# moby daemon/reload.go and daemon/reload_unix.go, 20.10 to 28; the other keys count when dockerd starts.
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
        "network-diagnostic-port",
        "registry-mirrors",
        "runtimes",
        "shutdown-timeout",
    )
)
# On reload dockerd forgets the old value of these only; of the others it keeps it when the key is gone.
FORGOTTEN_ON_RELOAD = frozenset(
    (
        "authorization-plugins",
        "features",
        "max-concurrent-downloads",
        "max-concurrent-uploads",
        "max-download-attempts",
        "network-diagnostic-port",
    )
)
# dockerd accepts these on reload and acts on them only when it starts.
START_ONLY_FEATURES = ("cdi", "containerd-snapshotter")
# What a log driver is told is of no use to another one, which may refuse it.
BELONGS_TO = {"log-opts": "log-driver"}

STRENGTH = ("none", "reload", "restart")
SHOWN = 100


class DaemonJsonError(Exception):
    """The file cannot be merged without losing something; each problem says what is there and what to do."""

    def __init__(self, problems):
        self.problems = [problems] if isinstance(problems, str) else list(problems)
        super().__init__("; ".join(self.problems))


KINDS = (
    (bool, "a boolean"),  # before the number, which a Python bool is too
    ((int, float), "a number"),
    (str, "a string"),
    (list, "a list"),
    (dict, "an object"),
)


def _kind(value):
    return next((name for kind, name in KINDS if isinstance(value, kind)), "null")


def _excerpt(text):
    """As much of a text as fits into a message."""
    text = hidden(text).strip()
    return text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."


def _place(text, position):
    line = text.count("\n", 0, position) + 1
    start = text.rfind("\n", 0, position) + 1
    return f"line {line}, column {position - start + 1}: {_excerpt(text[start:].partition(chr(10))[0])}"


def parse(raw):
    """The object in the bytes of a daemon.json; {} for an empty file, as dockerd reads it."""
    if not raw.strip():
        return {}
    problems = []

    def pairs(found):
        names = [name for name, _value in found]
        problems.extend(
            f"the key {name} is there {names.count(name)} times in one object, and only the last would count: keep one"
            for name in sorted(set(names))
            if names.count(name) > 1
        )
        return dict(found)

    def constant(word):
        problems.append(f"{word} is not a JSON number: correct it")

    text = _decoded(raw)
    decoder = json.JSONDecoder(object_pairs_hook=pairs, parse_constant=constant)
    try:
        document, end = decoder.raw_decode(text, len(text) - len(text.lstrip()))
    except json.JSONDecodeError as error:
        raise DaemonJsonError(
            f"it is not JSON ({error.msg}), {_place(text, error.pos)}; correct it, or move the file away to start anew"
        ) from error
    except RecursionError as error:
        raise DaemonJsonError("it is nested too deeply to be read; move the file away to start anew") from error
    except ValueError as error:
        # A number of thousands of digits.
        raise DaemonJsonError(
            f"it cannot be read ({error}); correct it, or move the file away to start anew"
        ) from error
    rest = text[end:].lstrip()
    if rest:
        what = "a second JSON document begins at" if rest[0] in "{[" else "text follows the JSON document at"
        problems.append(f"{what} {_place(text, len(text) - len(rest))}; make it one object")
    elif not isinstance(document, dict):
        problems.append(
            f"it holds {_kind(document)} where an object is expected: {_excerpt(text)}; "
            "correct it, or move the file away to start anew"
        )
    if problems:
        raise DaemonJsonError(problems)
    return document


def _decoded(raw):
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        column = error.start - raw.rfind(b"\n", 0, error.start)
        raise DaemonJsonError(
            f"it is not UTF-8 text: byte 0x{raw[error.start]:02x} at line {line}, column {column}; correct it, or move "
            "the file away to start anew"
        ) from error


def render(document):
    try:
        text = json.dumps(document, indent=4, ensure_ascii=False, allow_nan=False) + "\n"
        text.encode()
    except UnicodeError as error:
        raise DaemonJsonError(f"a text in it is no Unicode ({error.reason}): correct it") from error
    except ValueError as error:
        raise DaemonJsonError("a number in it or in the settings is too large, or no number: correct it") from error
    return text


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


def completed(document, settings, defaults):
    """The settings, and those of the defaults that neither they nor the document have something in the place of."""
    present = {name for name in (*document, *settings) if settings.get(name, document.get(name)) is not None}
    chosen = {name: value for name, value in defaults.items() if not {name, BELONGS_TO.get(name)} & present}
    return dict(chosen, **settings)


def merged(document, settings):
    """A copy of the document with the settings merged in; keys that only the document has stay as they are."""
    problems = []
    result = _merged(document, settings, "", problems)
    if problems:
        raise DaemonJsonError(problems)
    return result


def _merged(document, settings, trail, problems):
    result = dict(document)
    for name, wanted in settings.items():
        path = trail + name
        present = result.get(name)
        if present is not None and _kind(present) != _kind(wanted):
            problems.append(
                f"{path} is {_kind(present)} there, {_excerpt(json.dumps(present))}, and {_kind(wanted)} in the "
                "settings: correct the wrong one"
            )
        elif isinstance(wanted, dict):
            result[name] = _merged(present or {}, wanted, path + ".", problems)
        elif path in UNION_LISTS and isinstance(present, list):
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
    if all(_reloads(name, after) for name in names):
        old, new = before.get("features") or {}, after.get("features") or {}
        if not any(canonical(old.get(name)) != canonical(new.get(name)) for name in START_ONLY_FEATURES):
            return "reload"
    return "restart"


def _reloads(name, after):
    return name in RELOADABLE and (name in after or name in FORGOTTEN_ON_RELOAD)


def stronger(*actions):
    return max(actions, key=STRENGTH.index)
