# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The one line `dspark: true` as the engine's --speculative-config."""

from __future__ import annotations

import json

FLAG = "speculative-config"
LAYER = "dspark switch"
METHOD = "dspark"


def wanted(layers, model):
    """What the layers and the model say about DSpark, and where each part comes from."""
    parts, sources = {}, {}
    for layer in layers:
        for key, value in layer.get("dspark").items():
            parts[key] = value
            sources[key] = layer.source(f"dspark.{key}") or layer.source("dspark") or layer.name
    options = model.get("dspark_options") if isinstance(model.get("dspark_options"), dict) else {}
    for key in ("tokens", "sampling"):
        if options.get(key) is not None:
            parts[key], sources[key] = options[key], "inventory: dspark_options"
    return parts, sources


def config(parts, draft_path):
    """The value of --speculative-config, in the order people write it."""
    value = {"method": METHOD, "num_speculative_tokens": parts.get("tokens")}
    if parts.get("sampling"):
        value["draft_sample_method"] = parts["sampling"]
    value.update(parts.get("extra") or {})
    # Only a draft of its own is named; a fused checkpoint is target and draft in one directory.
    if draft_path:
        value["model"] = draft_path
    return value


def given(arguments):
    """What the engine gets as --speculative-config, a mapping; people may write it as JSON."""
    value = arguments.get(FLAG)
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return {}
    return value if isinstance(value, dict) else {}


def source(sources):
    """Where the parts come from, in one line; parts of one source are told together."""
    named = {"tokens": "num_speculative_tokens", "sampling": "draft_sample_method", "extra": "the rest"}
    parts = {}
    for key in named:
        parts.setdefault(sources.get(key), []).append(named[key])
    if len(parts) == 1:
        return next(iter(parts)) or ""
    return "; ".join(f"{', '.join(names)}: {origin}" for origin, names in parts.items() if origin)
