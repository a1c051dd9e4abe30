# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The data files of this collection, read once per process."""

from __future__ import annotations

import functools
import os

import yaml

_ROOT = os.path.join(os.path.dirname(__file__), "data")
_ROLES = os.path.join(os.path.dirname(__file__), "..", "..", "roles")
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@functools.lru_cache(maxsize=None)
def load(relative_path):
    """The content of `data/<relative_path>`. Shared between callers: do not change it."""
    return _read(os.path.join(_ROOT, relative_path))


@functools.lru_cache(maxsize=None)
def names(directory):
    """Names (without suffix) of the data files in one directory, sorted."""
    files = os.listdir(os.path.join(_ROOT, directory))
    return tuple(sorted(name[: -len(".yml")] for name in files if name.endswith(".yml")))


@functools.lru_cache(maxsize=None)
def role_options():
    """Role name to its options and their specs, from the argument specs of this collection's roles."""
    options = {}
    for role in sorted(os.listdir(_ROLES)):
        path = os.path.join(_ROLES, role, "meta", "argument_specs.yml")
        if os.path.exists(path):
            options[role] = _read(path)["argument_specs"]["main"]["options"]
    return options


@functools.lru_cache(maxsize=None)
def collection_version():
    """From galaxy.yml of a checkout, or from the manifest of an installed collection."""
    root = os.path.join(os.path.dirname(__file__), "..", "..")
    manifest = os.path.join(root, "MANIFEST.json")
    if os.path.exists(manifest):
        return _read(manifest)["collection_info"]["version"]
    return _read(os.path.join(root, "galaxy.yml"))["version"]


def _read(path):
    with open(path, encoding="utf-8") as stream:
        return yaml.load(stream, Loader=_LOADER)


def mapping(value):
    """The value where it is a mapping, else an empty one: a value of another type has its finding elsewhere."""
    return value if isinstance(value, dict) else {}


def plain(value):
    """A copy made of plain dict, list, str, int, float, bool and None.

    Ansible hands over lazy, tagged containers; JSON, YAML and comparisons want ordinary ones.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if hasattr(value, "items"):
        return {plain(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [plain(item) for item in value]
    return str(value)
