# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What vLLM tells in its log while it starts. Prefixes and file names of the lines differ, their texts hardly do."""

from __future__ import annotations

import ast
import contextlib
import re
import time

from ansible_collections.inferops.gpustack.plugins.module_utils._errors import GpustackError

#: The start stands at the beginning of a log that may have grown for weeks.
LONGEST_START = 2 * 2**20
LONGEST_LINE = 2**16
SECONDS = 10
STARTED = "Application startup complete."

_TERMINAL_CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")

_UNKNOWN_VARIABLE = re.compile(r"Unknown vLLM environment variable detected: (\w+)")
_ARGUMENTS = re.compile(r"non-default args: (\{.*\})")
_ENGINE = re.compile(r"Initializing a V1 LLM engine \(v([^\s)]+)\)")
_DRAFT = re.compile(r"DSpark draft model loaded: ([\d,]+) params")
_MEMORY = re.compile(r"Available KV cache memory: (-?[\d.]+) GiB")
# 0.25 and 0.26 write them in two lines, 0.33 in one, and names the device in front of the first.
_SIZE = re.compile(r"KV cache size: ([\d,]+) tokens")
_CONCURRENCY = re.compile(r"Maximum concurrency for ([\d,]+) tokens per request: ([\d.]+)x")
# <CUDAGraphMode.FULL: 2>
_OBJECT = re.compile(r"<[^<>]*>")


def read(client, path, follow):
    """`(figures, problem)` of the log at `path`, read until the engine serves. Nothing else of it is kept.

    `follow` is for servers that read the log to its end before they answer, unless they are asked to follow it.
    """
    lines, problem = [], "The beginning of its log does not tell the size of a KV cache."
    try:
        for line in _beginning(client, path, follow):
            lines.append(line)
    except GpustackError as error:
        problem = _TERMINAL_CODES.sub("", error.message)
    figures = parse(lines)
    complete = figures["kv_cache_tokens"] is not None and figures["concurrency"] is not None
    return figures, None if complete else problem


def _beginning(client, path, follow):
    until, left = time.monotonic() + SECONDS, LONGEST_START
    asked = client.lines(path, timeout=SECONDS, longest=LONGEST_LINE, follow="true" if follow else None)
    with contextlib.closing(asked) as lines:
        for line in lines:
            yield line
            left -= len(line) + 1
            if STARTED in line or left <= 0 or time.monotonic() > until:
                return


def parse(lines):
    """The figures of the last start in these lines, each None where it is not told."""
    # A start does not change the environment, and some releases warn of it before anything else.
    unknown = []
    start = _Start()
    for line in lines:
        text = _TERMINAL_CODES.sub("", line)
        unknown += [name for name in _UNKNOWN_VARIABLE.findall(text) if name not in unknown]
        for stage, pattern, take in _LINES:
            found = pattern.search(text)
            if found:
                start = start if stage >= start.stage else _Start()
                start.stage = stage
                take(start, *found.groups())
    return dict(start.told, unknown_variables=unknown)


class _Start:
    """One start. Several workers and engines tell the same thing: the least of it is what the server can do."""

    def __init__(self):
        self.stage = 0
        self.told = dict.fromkeys(
            (
                "engine_version",
                "kv_cache_gib",
                "kv_cache_tokens",
                "concurrency",
                "max_model_len",
                "draft_parameters",
                "non_default_args",
            )
        )

    def arguments(self, text):
        self.told["non_default_args"] = _arguments(text)

    def engine(self, version):
        self.told["engine_version"] = version

    def draft(self, parameters):
        self._least("draft_parameters", _whole(parameters))

    def memory(self, gib):
        self._least("kv_cache_gib", float(gib))

    def size(self, tokens):
        self._least("kv_cache_tokens", _whole(tokens))

    def requests(self, length, concurrency):
        self.told["max_model_len"] = _whole(length)
        self._least("concurrency", float(concurrency))

    def _least(self, name, value):
        known = self.told[name]
        self.told[name] = value if known is None else min(known, value)


#: The stage of a start in which a line comes, what it looks like, and who takes what it tells. Stages come in order,
#: so a line of an earlier one begins another start. Those of the last come in any order where several engines run.
_LINES = (
    (1, _ARGUMENTS, _Start.arguments),
    (2, _ENGINE, _Start.engine),
    (3, _DRAFT, _Start.draft),
    (3, _MEMORY, _Start.memory),
    (3, _SIZE, _Start.size),
    (3, _CONCURRENCY, _Start.requests),
)


def _whole(text):
    return int(text.replace(",", ""))


def _arguments(text):
    """The dictionary that Python wrote, without the values that are no literals; None where it is something else."""
    try:
        tree = ast.parse(_OBJECT.sub("None", text), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if not isinstance(tree, ast.Dict):
        return None
    found = {}
    for key, value in zip(tree.keys, tree.values):
        with contextlib.suppress(ValueError, TypeError):
            found[ast.literal_eval(key)] = ast.literal_eval(value)
    return found
