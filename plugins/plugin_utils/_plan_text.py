# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A plan as text for a terminal: each deployment, each value with the layer that set it, what fits into the cache."""

from __future__ import annotations

import textwrap

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _findings
from ansible_collections.inferops.gpustack.plugins.plugin_utils._report import written

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
        values = [value for value in planned["values"] if value["kind"] == kind]
        if values:
            lines.append(f"  {heading}")
            lines += [line for value in values for line in _value(value)]
    lines.append("  capacity of one instance")
    lines += [f"    {line}" for line in _capacity(planned["capacity"])]
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
    line = f"    {written(value)}"
    origin = _origin(value)
    lines = [f"{line:<{_COLUMN}}  {origin}"] if len(line) <= _COLUMN else [line, f"{'':<{_COLUMN}}  {origin}"]
    for old in reversed(value["replaced"]):
        instead = written({**value, "value": old["value"]})
        lines.append(f"{'':<{_COLUMN}}    instead of {instead}, {_origin(old)}")
    return lines


def _origin(value):
    if not value["source"]:
        return value["layer"]
    return f"{value['layer']} ({textwrap.shorten(value['source'], _SOURCE_WIDTH, placeholder=' ...')})"


def _capacity(capacity):
    memory, inputs, context = capacity["memory"], capacity["inputs"], capacity["context"]
    if capacity["reason"]:
        return [f"not modelled: {capacity['reason']}"]
    estimate = "" if memory["exact"] else ", an estimate"
    lines = [
        f"{capacity['tokens']:,} tokens in {memory['gib']} GiB of each card{estimate}",
        f"  {memory['from']}",
        f"{capacity['admission_concurrency']} requests of {inputs['max_model_len']:,} tokens at once, as the engine "
        "prints it at start",
        f"{capacity['steady_concurrency']} once their prompts are read",
        f"{capacity['minimum_gib']} GiB of each card are needed to start",
    ]
    if context and not context["reason"]:
        halved = ", ".join(f"{name} halved: {number}" for name, number in context["halved"].items())
        lines.append(f"{context['max_model_len']:,} tokens is the longest request that fits")
        lines.append(f"for more requests at once, lower {context['lever']} first ({halved})")
    return lines
