# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The manifest: what the roles made on this host, so that removal touches nothing else."""

from __future__ import annotations

import json
import os

VERSION = 1
KINDS = ("file", "directory", "container", "image", "package", "volume", "network", "maintenance")


class ManifestError(Exception):
    """The file is there and is not a manifest."""


def key_of(entry):
    return entry["kind"], entry["name"]


def load(path):
    """The entries of the file; none when there is no file."""
    try:
        with open(path, "rb") as handle:
            raw = handle.read()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise ManifestError(f"{path} cannot be read: {error.strerror}") from error
    try:
        document = json.loads(raw.decode("utf-8"))
    except ValueError as error:
        raise ManifestError(f"{path} is not JSON: {error}") from error
    if not isinstance(document, dict) or not isinstance(document.get("entries"), list):
        raise ManifestError(f'{path} is not an object with a list "entries"')
    if document.get("version") != VERSION:
        raise ManifestError(f"{path} has version {document.get('version')!r}; this collection reads version {VERSION}")
    for entry in document["entries"]:
        if not isinstance(entry, dict) or not all(isinstance(entry.get(name), str) for name in ("kind", "name")):
            raise ManifestError(f'{path} holds an entry without the texts "kind" and "name": {entry!r}')
    return document["entries"]


def needs_recording(recorded, entry):
    """recorded: the entry of the same kind and name, or None.

    A thing belongs to the role that recorded it first: two roles that name the same directory must not overwrite each
    other's entry at every run.
    """
    if recorded is None:
        return True
    return recorded.get("by") == entry.get("by") and any(recorded.get(name) != entry[name] for name in entry)


def recorded_with(entries, additions):
    """The entries after `additions` were recorded."""
    merged = {key_of(entry): entry for entry in entries}
    for entry in additions:
        if needs_recording(merged.get(key_of(entry)), entry):
            merged[key_of(entry)] = dict(merged.get(key_of(entry), {}), **entry)
    return in_order(merged.values())


def recorded_without(entries, removals):
    gone = {key_of(entry) for entry in removals}
    return in_order(entry for entry in entries if key_of(entry) not in gone)


def in_order(entries):
    return sorted(entries, key=key_of)


def render(entries):
    """JSON with one entry per line: differences between two versions read as lines added and removed."""
    lines = ",\n".join("    " + json.dumps(entry, ensure_ascii=False) for entry in entries)
    block = f"\n{lines}\n  " if lines else ""
    return f'{{\n  "version": {VERSION},\n  "entries": [{block}]\n}}\n'


def is_replaceable(path):
    """A link or a special file in the manifest's place is somebody else's arrangement."""
    return not os.path.lexists(path) or (os.path.isfile(path) and not os.path.islink(path))
