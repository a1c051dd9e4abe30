# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What lies in a model directory: its config.json and the names of its tensors. Weights are never read."""

from __future__ import annotations

import json
import os
import re
import stat
import struct

CONFIG_LIMIT = 5 * 1000**2
INDEX_LIMIT = 100 * 1000**2
# The limit of the safetensors library.
HEADER_LIMIT = 100 * 1000**2
# A config.json of a few kilobytes is returned as it is. Larger ones list thousands of layers one by one.
LONG_CONFIG = 256 * 1024
LONG_VALUE = 1024
# ModelSlim names its files quant_model_weights.*; these come first where both exist.
INDEX, SINGLE = "model.safetensors.index.json", "model.safetensors"
DRAFT_TENSOR = re.compile(r"mtp\.([0-9]{1,3})\.(.+)", re.DOTALL)


class _Unreadable(Exception):
    """Why one part of the directory cannot be read."""


def read(directory):
    """Everything in plain JSON types. `problem` names what could not be read, `readable` is about config.json."""
    found = {
        "path": directory,
        "readable": False,
        "problem": None,
        "config": None,
        "tensors": None,
        "weight_bytes": None,
        "draft": None,
        "shards": None,
        "quant_description": False,
        "dspark_json": False,
        "dspark_config": None,
    }
    try:
        names = os.listdir(directory)
    except (OSError, ValueError) as error:
        return dict(found, problem=_reason(error, directory))
    found["quant_description"] = "quant_model_description.json" in names
    found["dspark_json"] = "dspark.json" in names
    problems = []
    for part in (_config, _weights, _dspark_json, _dspark_config):
        try:
            found.update(part(directory, names))
        except _Unreadable as problem:
            problems.append(str(problem))
        except OSError as error:
            problems.append(_reason(error, directory))
    return dict(found, problem="; ".join(problems) or None)


def _config(directory, names):
    path = os.path.join(directory, "config.json")
    text = _text(path, CONFIG_LIMIT)
    config = _json_object(path, text)
    try:
        # An escaped half of a surrogate pair is legal in JSON; nothing that carries the facts on could write it.
        json.dumps(config, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        raise _Unreadable(f"{path} holds text that is not Unicode") from error
    return {"readable": True, "config": _shortened(config) if len(text) > LONG_CONFIG else config}


def _weights(directory, names):
    index = _preferred(INDEX, [name for name in names if name.endswith(".safetensors.index.json")])
    if index:
        return _of_index(directory, os.path.join(directory, index))
    singles = [name for name in names if name.endswith(".safetensors")]
    if SINGLE in singles or len(singles) == 1:
        return _of_single(os.path.join(directory, _preferred(SINGLE, singles)))
    raise _Unreadable(
        f"{directory} has {len(singles)} files *.safetensors and no {INDEX}, so it is unknown which tensors there are"
    )


def _of_index(directory, path):
    index = _json_object(path, _text(path, INDEX_LIMIT))
    tensors = index.get("weight_map")
    if not isinstance(tensors, dict) or not tensors:
        raise _Unreadable(f"{path} has no weight_map of tensor names to files")
    if not all(isinstance(shard, str) for shard in tensors.values()):
        raise _Unreadable(f"{path}: a tensor of weight_map is in a file whose name is no text")
    shards = set(tensors.values())
    metadata = index.get("metadata")
    total = metadata.get("total_size") if isinstance(metadata, dict) else None
    return {
        "tensors": len(tensors),
        "weight_bytes": _whole(total) or _bytes_of(directory, shards),
        "draft": _draft(tensors),
        "shards": len(shards),
    }


def _of_single(path):
    size = _regular(path).st_size
    with open(path, "rb") as stream:
        start = stream.read(8)
        length = struct.unpack("<Q", start)[0] if len(start) == 8 else 0
        if not 0 < length <= min(size - 8, HEADER_LIMIT):
            raise _Unreadable(f"{path} does not start with a safetensors header")
        try:
            header = stream.read(length).decode("utf-8")
        except UnicodeDecodeError as error:
            raise _Unreadable(f"{path}: its header is not UTF-8 text") from error
    tensors = [name for name in _json_object(path, header) if name != "__metadata__"]
    return {"tensors": len(tensors), "weight_bytes": size, "draft": _draft(tensors), "shards": 1}


def _draft(tensors):
    """The tensors of the draft stages, mtp.0 to mtp.<n-1>, or None."""
    matches = [match for match in map(DRAFT_TENSOR.match, tensors) if match]
    if not matches:
        return None
    parts = {(int(match.group(1)), match.group(2).split(".")[0]) for match in matches}
    stages = sorted({stage for stage, name in parts})
    return {
        "stages": stages,
        "tensors": len(matches),
        "main_proj": (0, "main_proj") in parts,
        "main_norm": (0, "main_norm") in parts,
        "markov_head": (stages[-1], "markov_head") in parts,
    }


def _dspark_json(directory, names):
    if "dspark.json" in names:
        path = os.path.join(directory, "dspark.json")
        _json_object(path, _text(path, CONFIG_LIMIT))
    return {}


def _dspark_config(directory, names):
    path = os.path.join(directory, "dspark_config")
    if not os.path.isdir(path):
        return {}
    filled = any(files for _path, _directories, files in os.walk(path, onerror=_refuse))
    return {"dspark_config": "filled" if filled else "empty"}


def _refuse(error):
    raise error


def _preferred(name, candidates):
    return name if name in candidates else min(candidates, default=None)


def _bytes_of(directory, shards):
    """Bytes of those files that exist; None when there is none."""
    total = 0
    for shard in shards:
        try:
            total += os.stat(os.path.join(directory, shard)).st_size
        except (OSError, ValueError):
            continue
    return total or None


def _whole(value):
    """A positive whole number, which some writers store as a float; else None."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value <= 0:
        return None
    return int(value) if isinstance(value, int) or value.is_integer() else None


def _shortened(value):
    """A copy without the tail of long lists, dictionaries and texts."""
    if isinstance(value, dict):
        return {key: _shortened(item) for key, item in list(value.items())[:LONG_VALUE]}
    if isinstance(value, list):
        return [_shortened(item) for item in value[:LONG_VALUE]]
    return value[:LONG_VALUE] if isinstance(value, str) else value


def _text(path, limit):
    size = _regular(path).st_size
    if size > limit:
        raise _Unreadable(f"{path} has {size} bytes; more than {limit} are not read")
    with open(path, "rb") as stream:
        try:
            return stream.read(limit + 1).decode("utf-8")
        except UnicodeDecodeError as error:
            raise _Unreadable(f"{path} is not UTF-8 text ({error.reason} at byte {error.start})") from error


def _json_object(path, text):
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _Unreadable(f"{path} is not JSON ({error})") from error
    if not isinstance(value, dict):
        raise _Unreadable(f"{path} holds a {type(value).__name__}, where an object is needed")
    return value


def _regular(path):
    status = os.stat(path)
    # Opening a named pipe would wait for ever.
    if not stat.S_ISREG(status.st_mode):
        raise _Unreadable(f"{path} is not a regular file")
    return status


def _reason(error, directory):
    path = getattr(error, "filename", None) or directory
    if isinstance(error, FileNotFoundError) and os.path.islink(path):
        return f"{path} is a link to {os.readlink(path)}, which is not there"
    return f"{path}: {getattr(error, 'strerror', None) or error}"
