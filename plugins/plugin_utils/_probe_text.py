# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the look at the hosts found: as a document, and as text with one line for each host."""

from __future__ import annotations

import collections
import re

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _check_host_facts, _data, _findings
from ansible_collections.inferops.gpustack.plugins.plugin_utils._check_host_facts_cards import described

_HEADINGS = ("host", "system", "cards", "driver", "engine", "free", "clock", "findings")
# 160 columns with the gaps between them.
_WIDTHS = (24, 18, 32, 21, 16, 8, 12, 15)
_GAP = "  "
# What differs between two looks at a host where nothing happened.
_VOLATILE = ("free_bytes", "offset_seconds", "pid", "restart_count", "started_at")
# `Debian GNU/Linux 12 (bookworm)` is Debian 12.
_DECORATION = re.compile(r"\s*\(.*\)|\bGNU/Linux ")


def document(site, pairs):
    """The content of probe.json: every host with what was found, every finding of each."""
    return {
        "collection": "inferops.gpustack",
        "version": _data.collection_version(),
        "inventory": [str(source) for source in site.asked],
        "hosts": [
            {
                "name": name,
                "accelerator": site.text(name, "gpustack_accelerator"),
                "read": name in site.facts,
                "facts": _for_people(site.facts.get(name)),
            }
            for name in site.hosts
        ],
        "findings": [finding.as_dict() for finding in _check_host_facts.each(pairs)],
        "summary": _findings.summary(_check_host_facts.merged(pairs)),
    }


def stable(document):
    """The document without what changes by itself: of a finding that is what was found, such as free space."""
    return {
        **_without(document, _VOLATILE),
        "findings": [_without(finding, ("found",)) for finding in document.get("findings", [])],
    }


def text(site, pairs):
    """One line for each host, then the findings."""
    counts = {}
    for name, finding in pairs:
        counts.setdefault(name, []).append(finding)
    rows = [_HEADINGS, *(_row(site, name, counts.get(name, [])) for name in site.hosts)]
    widths = [
        min(limit, max(len(row[column]) for row in rows if column < len(row))) for column, limit in enumerate(_WIDTHS)
    ]
    lines = [_GAP.join(_cell(cell, width) for cell, width in zip(row, widths)).rstrip() for row in rows]
    return "\n\n".join(["\n".join(lines), _findings.table(_check_host_facts.merged(pairs))])


def _for_people(facts):
    """The facts without the configurations of models, which are long and in the models' directories."""
    if not facts:
        return None
    checkpoints = {
        path: {key: value for key, value in (found or {}).items() if key != "config"}
        for path, found in (facts.get("checkpoints") or {}).items()
    }
    return {**facts, "checkpoints": checkpoints}


def _without(value, keys):
    if isinstance(value, dict):
        return {key: _without(item, keys) for key, item in value.items() if key not in keys}
    return [_without(item, keys) for item in value] if isinstance(value, list) else value


def _row(site, name, findings):
    facts = site.facts.get(name)
    if not facts:
        return (name, "not read")
    part = {key: _data.mapping(facts.get(key)) for key in ("os", "drivers", "engine", "clock")}
    return (
        name,
        _DECORATION.sub("", str(part["os"].get("pretty") or part["os"].get("id") or "unknown")),
        _cards(facts.get("accelerators")),
        _driver(part["drivers"]),
        _engine(part["engine"]),
        _free(facts.get("disks")),
        _clock(part["clock"]),
        _counts(findings),
    )


def _counts(findings):
    """The notes are in the table, which comes after."""
    counts = collections.Counter(finding.severity for finding in findings)
    words = {"error": "err", "warning": "warn"}
    return ", ".join(f"{counts[each]} {word}" for each, word in words.items() if counts[each]) or "none"


def _cards(cards):
    if not cards:
        return "none"
    sizes = {card.get("memory_bytes") for card in cards}
    size = sizes.pop() if len(sizes) == 1 else None
    return described(cards) + (f", {size / 2**30:.0f} GiB" if size else "")


def _driver(drivers):
    nvidia, ascend = _data.mapping(drivers.get("nvidia")), _data.mapping(drivers.get("ascend"))
    release = nvidia.get("userspace") or nvidia.get("loaded") or nvidia.get("installed") or ascend.get("driver")
    cuda = f", CUDA {nvidia['cuda']}" if nvidia.get("cuda") else ""
    return f"{release}{cuda}" if release else "none"


def _engine(engine):
    if not engine.get("present"):
        return "none"
    kind = engine.get("kind") or "docker"
    return f"{kind} {engine.get('version') or ('' if engine.get('answers') else 'silent')}".rstrip()


def _free(disks):
    """The least of the places that were measured."""
    free = [disk["free_bytes"] for disk in disks or () if disk.get("free_bytes") is not None]
    return f"{min(free) / 10**9:.0f} GB" if free else "unknown"


def _clock(clock):
    offset = clock.get("offset_seconds")
    words = [{True: "sync", False: "no sync"}.get(clock.get("synchronised"), "")]
    words += [] if offset is None else [f"{offset:+.1f} s"]
    return " ".join(filter(None, words)) or "unknown"


def _cell(text, width):
    return text.ljust(width) if len(text) <= width else f"{text[: width - 3]}..."
