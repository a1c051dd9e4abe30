# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The one report page: sections with data in, one self-contained HTML file out."""

from __future__ import annotations

import functools
import os

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
    unknown = set(sections) - set(SECTIONS)
    if unknown:
        raise ValueError(f"unknown section {', '.join(sorted(unknown))}; known: {', '.join(SECTIONS)}")
    rendered = _template().render(
        texts=texts,
        sections={name: sections[name] for name in SECTIONS if name in sections},
        layer=functools.partial(layer, texts=texts["layers"]),
        titles=titles(language),
        written=written,
        severities=_findings.SEVERITIES,
    )
    return rendered.lstrip()


def written(value):
    """A value of the plan as the engine gets it: `--flag=value` or `NAME=value`."""
    if value["kind"] == "argument":
        return render(value["name"], value["value"])
    return f"{value['name']}={value['value']}"


def layer(text, texts):
    """Who set a value, in words of the page's language; the names in it stay."""
    site, of_site, rest = text.partition("site: ")
    if of_site and not site:
        return texts["site"].format(layer=layer(rest, texts))
    if text in texts:
        return texts[text]
    word, unused, name = text.partition(" ")
    if word == "family" and " on " in name:
        family, unused, platform = name.partition(" on ")
        return texts["family_on"].format(name=family, platform=platform)
    return texts[word].format(name=name) if word in ("platform", "accelerator", "family", "pair") else text


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
