# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The facts of a host in the shape that the judgement counts on.

They come from another machine. What has a shape that no probe gives counts as unknown: one host with broken facts must
not end the judgement of all.
"""

from __future__ import annotations

_NUMBER = (int, float)
_EACH = "*"

# Key to shape: a type, [shape of each entry] or a mapping like this one. What is not named here may be anything.
_FACTS = {
    "os": {"id": str, "version_id": str, "major": int, "family": str, "pretty": str},
    "machine_id": str,
    "clock": {"synchronised": bool, "offset_seconds": _NUMBER},
    "accelerators": [
        {
            "vendor": str,
            "profile": str,
            "pci_id": str,
            "memory_bytes": int,
            "chips": int,
            "name": str,
            "health": str,
        }
    ],
    "drivers": {
        "nvidia": {"loaded": str, "installed": str, "userspace": str, "flavour": str, "cuda": str},
        "ascend": {"driver": str, "tool": str},
    },
    "engine": {
        "kind": str,
        "version": str,
        "runtimes": [str],
        "configured_runtimes": [str],
        "image_store": str,
        "data_root": str,
        "containerd_root": str,
        "images": [str],
        "containers": [{"name": str, "owner": str}],
    },
    "ports": [{"port": int, "process": str, "container": str}],
    "disks": [{"path": str, "free_bytes": int}],
    "checkpoints": {
        _EACH: {
            "readable": bool,
            "config": dict,
            "tensors": int,
            "weight_bytes": int,
            "draft": {"stages": [int], "tensors": int},
        }
    },
    "findings": [{}],
}


def fitting(facts):
    """The facts with None in the place of everything that does not fit; None when they are no mapping at all."""
    return _fitting(facts, _FACTS)


def _fitting(value, shape):
    if isinstance(shape, dict):
        return _mapping(value, shape) if isinstance(value, dict) else None
    if isinstance(shape, list):
        return _list(value, shape[0]) if isinstance(value, list) else None
    # To Python a boolean is a number, too.
    return value if isinstance(value, shape) and isinstance(value, bool) == (shape is bool) else None


def _mapping(value, shapes):
    named = {key: shapes.get(key, shapes.get(_EACH)) for key in value}
    return {key: item if named[key] is None else _fitting(item, named[key]) for key, item in value.items()}


def _list(values, shape):
    fitted = (_fitting(value, shape) for value in values)
    return [value for value in fitted if value is not None]
