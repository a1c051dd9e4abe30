# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One finding, everywhere: what is wrong, where, and what to do about it."""

from __future__ import annotations

import dataclasses
import textwrap

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _shown

SEVERITIES = ("error", "warning", "note")
_WIDTH = 110


@dataclasses.dataclass(frozen=True)
class Finding:
    id: str
    severity: str
    where: str
    found: str
    expected: str
    fix: str
    source: str = ""
    # The reason a site gave for leaving it so.
    accepted: str = ""

    def __post_init__(self):
        if self.severity not in SEVERITIES:
            raise ValueError(f"severity must be one of {', '.join(SEVERITIES)}, not {self.severity!r}")

    def as_dict(self):
        return dataclasses.asdict(self)


def error(id, where, found, expected, fix, source=""):
    return Finding(id, "error", where, found, expected, fix, source)


def warning(id, where, found, expected, fix, source=""):
    return Finding(id, "warning", where, found, expected, fix, source)


def note(id, where, found, expected, fix, source=""):
    return Finding(id, "note", where, found, expected, fix, source)


def without_accounts(finding):
    """Whatever a check quotes, no message shows the account of a URL."""
    texts = {key: _shown.urls(getattr(finding, key)) for key in ("where", "found", "expected", "fix")}
    return dataclasses.replace(finding, **texts)


def has_errors(findings):
    return any(finding.severity == "error" for finding in findings)


def ordered(findings):
    """Errors first, then warnings, then notes; the order of discovery within each."""
    return sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity))


def counted(number, word):
    """`1 error`, `2 errors`."""
    return f"{number} {word}{'' if number == 1 else 's'}"


def one_of(names):
    """`one of a, b`, or the only one."""
    names = [str(name) for name in names]
    return names[0] if len(names) == 1 else "one of " + ", ".join(names)


def summary(findings):
    """`2 errors, 1 warning, 1 accepted`, or `no findings`."""
    parts = []
    for severity in SEVERITIES:
        count = sum(finding.severity == severity and not finding.accepted for finding in findings)
        if count:
            parts.append(counted(count, severity))
    accepted = sum(bool(finding.accepted) for finding in findings)
    if accepted:
        parts.append(f"{accepted} accepted")
    return ", ".join(parts) or "no findings"


def line(finding):
    """One finding in one line, where there is no room for the table."""
    return f"{finding.id}: {finding.where}: {finding.found}; expected {finding.expected}; {finding.fix}"


def _row(label, text):
    return textwrap.fill(
        str(text),
        width=_WIDTH,
        initial_indent=f"  {label:<9} ",
        subsequent_indent=" " * 12,
        break_long_words=False,
        break_on_hyphens=False,
    )


def table(findings):
    """The findings as plain text, one block each."""
    blocks = []
    for finding in ordered(findings):
        lines = [f"{finding.severity.upper()} {finding.id}", _row("where", finding.where)]
        for label in ("found", "expected", "fix", "source", "accepted"):
            text = getattr(finding, label)
            if text:
                lines.append(_row(label, text))
        blocks.append("\n".join(lines))
    blocks.append(summary(findings))
    return "\n\n".join(blocks)
