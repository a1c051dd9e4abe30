# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Arguments and environment that people give the engine of a deployment."""

from __future__ import annotations

import re

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _arguments, _knobs, _plan
from ansible_collections.inferops.gpustack.plugins.plugin_utils._findings import error
from ansible_collections.inferops.gpustack.plugins.plugin_utils._schema import kind_of

_FLAG = re.compile(r"^(--)?[A-Za-z][A-Za-z0-9_.-]*$")
_VARIABLE = re.compile(r"^[A-Za-z_][A-Za-z0-9_]*$")


def check(site):
    for where, _model, entry in site.deployments():
        if isinstance(entry.get("args"), dict):
            yield from _args(entry, f"{where}.args")
        if isinstance(entry.get("env"), dict):
            yield from _env(entry["env"], f"{where}.env")


def _args(entry, where):
    seen = {}
    if entry.get("max_model_len") is not None:
        seen["max-model-len"] = "max_model_len"
    for flag, value in entry["args"].items():
        name = _arguments.identity(flag)
        knob = _knobs.finding(flag, "args", f"{where}.{flag}")
        if knob:
            yield knob
        if not _FLAG.match(str(flag)):
            yield error(
                "argument_name_invalid",
                f"{where}.{flag}",
                f"the name {flag!r}",
                "the flag alone: letters, digits and - _ .",
                "write flag: value, for example max-num-seqs: 32",
            )
        if name in seen:
            yield error(
                "argument_twice",
                f"{where}.{flag}",
                f"also set by {seen[name]}",
                "one value for each argument",
                "take one of the two out",
            )
        seen.setdefault(name, flag)
        if name in _plan.RESERVED_FLAGS:
            yield error(
                "argument_reserved",
                f"{where}.{flag}",
                "an argument GPUStack sets itself",
                "any argument but " + ", ".join(_plan.RESERVED_FLAGS),
                "take it out",
                "GPUStack 2.3.0 answers 400 to it",
            )
        if isinstance(value, str) and _splits(value):
            yield error(
                "argument_unsafe",
                f"{where}.{flag}",
                repr(value),
                "text without spaces, quotes or backslashes",
                "take these characters out (rename the file, for example); write JSON as a YAML mapping or list",
                "GPUStack 2.3.0 splits arguments like a shell",
            )


def _splits(value):
    return not value.startswith(("{", "[")) and re.search(r"""[\s"'\\]""", value)


def _env(env, where):
    for variable, value in env.items():
        knob = _knobs.finding(variable, "env", f"{where}.{variable}")
        if knob:
            yield knob
        if not _VARIABLE.match(str(variable)):
            yield error(
                "env_name_invalid",
                f"{where}.{variable}",
                f"the name {variable!r}",
                "letters, digits and _, no digit first",
                "write NAME: value, for example HF_HUB_OFFLINE: 1",
            )
        if variable == _plan.READY_TIMEOUT_MISNAMED:
            yield error(
                "env_ready_timeout",
                f"{where}.{variable}",
                "a variable no engine reads",
                _plan.READY_TIMEOUT,
                f"write {_plan.READY_TIMEOUT}: with the wrong name the limit stays at 600 s",
                "vLLM 0.25.0 envs.py:748; vllm-ascend docs DeepSeek-V4-Pro.md:158",
            )
        if isinstance(value, (bool, dict, list)):
            yield error(
                "env_value",
                f"{where}.{variable}",
                f"{kind_of(value)}, not text",
                "text or a number",
                'write in quotes the text the engine expects, such as "1" or "true"',
            )
