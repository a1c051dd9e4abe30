# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A plan as text for a terminal: each deployment, each value with the layer that set it, what fits into the cache."""

from __future__ import annotations

import itertools
import textwrap

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _findings
from ansible_collections.inferops.gpustack.plugins.plugin_utils._arguments import identity
from ansible_collections.inferops.gpustack.plugins.plugin_utils._report import replaced, taken_out, written

# Longer values (JSON, most often) have their layer on the line below.
_COLUMN = 48
# Sources are read on the page; here a line should stay one line.
_SOURCE_WIDTH = 60


def text(document, findings):
    """`document` is what `_site_plan.document` gives; the findings come once, at the end."""
    blocks = [_deployment(each) for each in document["deployments"]] or ["No deployments."]
    return "\n\n".join([*blocks, _findings.table(findings)])


def _deployment(planned):
    lines = [planned["name"]]
    lines += _rows(
        [
            ("model", f"{planned['model']}, family {planned['family']}{_dspark(planned)}"),
            ("image", planned["image"]),
            ("engine", _engine(planned)),
            ("cards", _cards(planned)),
            *(("path", path) for path in planned["directories"]),
        ]
    )
    for kind, heading in (("argument", "arguments"), ("variable", "environment")):
        values = [_value(value) for value in planned["values"] if value["kind"] == kind]
        values += [_taken_out(old, value) for old, value in taken_out(planned, kind)]
        if values:
            lines += [f"  {heading}", *itertools.chain.from_iterable(values)]
    lines.append("  capacity of one instance")
    lines += [f"    {line}" for line in _capacity(planned)]
    return "\n".join(lines)


def _rows(rows):
    return [f"  {label:<8}{value}" for label, value in rows]


def _dspark(planned):
    if planned["baseline"]:
        return ", without DSpark for comparison"
    return ", DSpark" if planned["dspark"] else ""


def _engine(planned):
    release = f" {planned['engine_version']}" if planned["engine_version"] else ", release not declared"
    runtime = "".join(f", {name.upper()} {version}" for name, version in planned["runtime"].items())
    return f"{planned['engine']}{release}{runtime}"


def _cards(planned):
    instances = _findings.counted(planned["replicas"], "instance")
    return f"{instances} of {_findings.counted(planned['devices_per_instance'], 'card')}, {planned['accelerator']}"


def _value(value):
    lines = _columns(written(value), _origin(value))
    lines += [f"{'':<{_COLUMN}}    instead of {written(old)}, {_origin(old)}" for old in replaced(value)]
    return lines


def _taken_out(old, value):
    return _columns(f"taken out: {written(old)} ({old['layer']})", _origin(value))


def _columns(text, origin):
    line = f"    {text}"
    return [f"{line:<{_COLUMN}}  {origin}"] if len(line) <= _COLUMN else [line, f"{'':<{_COLUMN}}  {origin}"]


def _origin(value):
    if not value["source"]:
        return value["layer"]
    return f"{value['layer']} ({textwrap.shorten(str(value['source']), _SOURCE_WIDTH, placeholder=' ...')})"


def _capacity(planned):
    capacity = planned["capacity"]
    memory, inputs, context = capacity["memory"], capacity["inputs"], capacity["context"]
    if capacity["reason"]:
        return [f"not modelled: {capacity['reason']}"]
    estimate = "" if memory["exact"] else ", an estimate"
    lines = [
        f"{capacity['tokens']:,} tokens in {memory['gib']} GiB of each card{estimate}",
        f"  {memory['from']}",
        f"{capacity['admission_concurrency']} requests of {inputs['max_model_len']:,} tokens at once, as the engine "
        "prints it at start",
        f"  {_batched(planned, inputs['max_num_batched_tokens'])}",
        f"{capacity['steady_concurrency']} once their prompts are read",
        f"{capacity['minimum_gib']} GiB of each card are needed to start",
    ]
    if context and not context["reason"]:
        halved = ", ".join(f"{name} halved: {number}" for name, number in context["halved"].items())
        lines.append(f"{context['max_model_len']:,} tokens is the longest request that fits")
        lines.append(f"for more requests at once, lower {context['lever']} first ({halved})")
    return lines


def _batched(planned, tokens):
    written_here = any(identity(each["name"]) == "max-num-batched-tokens" for each in planned["values"])
    assumed = "" if written_here else ", the engine's default: nothing sets it"
    return f"with max_num_batched_tokens {tokens:,}{assumed}"
