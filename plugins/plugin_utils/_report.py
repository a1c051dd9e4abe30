# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The one report page: sections with data in, one self-contained HTML file out."""

from __future__ import annotations

import collections
import functools
import os
import re

import jinja2
from ansible_collections.inferops.gpustack.plugins.plugin_utils import _data, _findings, _kinds
from ansible_collections.inferops.gpustack.plugins.plugin_utils._arguments import render

LANGUAGES = tuple(_data.load("report_texts.yml"))
#: In the order of the page. Each has its macro in the template and its heading in the texts.
SECTIONS = ("plan",)
_TEMPLATE = os.path.join(os.path.dirname(__file__), "data", "report.html.j2")


def page(sections, language="en"):
    """`sections` is {name: data}; a plan's data is what `_site_plan.document` gives."""
    texts = _data.load("report_texts.yml")[language]
    said = functools.partial(translated, texts=texts)
    unknown = set(sections) - set(SECTIONS)
    if unknown:
        raise ValueError(f"unknown section {', '.join(sorted(unknown))}; known: {', '.join(SECTIONS)}")
    rendered = _template().render(
        texts=texts,
        sections={name: sections[name] for name in SECTIONS if name in sections},
        said=said,
        summary=functools.partial(summary, words=texts["findings"]["summary"]),
        titles=titles(language),
        written=lambda value: said(written(value)),
        replaced=replaced,
        taken_out=taken_out,
        severities=_findings.SEVERITIES,
    )
    return rendered.lstrip()


def written(value):
    """A value of the plan as the engine gets it: `--flag=value` or `NAME=value`."""
    if value["kind"] == "argument":
        return render(value["name"], value["value"])
    return f"{value['name']}={value['value']}"


def replaced(value):
    """What lower layers had written in place of a value, the highest first."""
    # A layer that had taken it out wrote nothing.
    return [
        {"name": value["name"], **old, "kind": value["kind"]}
        for old in reversed(value["replaced"])
        if old["value"] is not None
    ]


def taken_out(planned, kind):
    """(what held before, what took it out) of each value of this kind that is not there any more."""
    removed = [value for value in planned.get("removed") or () if value["kind"] == kind]
    return [(old, value) for value in removed for old in replaced(value)[:1]]


def translated(text, texts):
    """The program's own words in the page's language; names, numbers and other people's words stay."""
    own = _phrase(text, texts["phrases"])
    if own:
        return own
    head, colon, rest = text.partition(": ")
    own = colon and _phrase(head, texts["phrases"])
    return f"{own}{texts['colon']}{translated(rest, texts)}" if own else text


def _phrase(text, phrases):
    matches = ((_pattern(phrase).fullmatch(text), own) for phrase, own in phrases.items())
    return next((own.format(**match.groupdict()) for match, own in matches if match), None)


@functools.lru_cache(maxsize=None)
def _pattern(phrase):
    return re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^:]+)", re.escape(phrase)))


def summary(findings, words):
    """`errors: 2, accepted: 1`, from the findings of a document."""
    counts = collections.Counter("accepted" if each["accepted"] else each["severity"] for each in findings)
    parts = [words[kind].format(count=counts[kind]) for kind in (*_findings.SEVERITIES, "accepted") if counts[kind]]
    return words["separator"].join(parts) or words["none"]


def titles(language):
    """Kind of a finding to what it means, in the page's language where somebody has written it."""
    key = "title" if language == "en" else f"title_{language}"
    return {name: kind[key] for name, kind in _kinds.kinds().items() if kind.get(key)}


@functools.lru_cache(maxsize=None)
def _template():
    environment = jinja2.Environment(
        # Names and paths are other people's text.
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["count"] = lambda number: f"{number:,}"
    with open(_TEMPLATE, encoding="utf-8") as stream:
        return environment.from_string(stream.read())
