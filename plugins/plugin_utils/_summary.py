# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a run did, host by host, as text. Knows nothing of Ansible's objects."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import re
import textwrap
import unicodedata

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _findings

SITE = "(site)"
_HEADER = ("HOST", "RESULT", "CHANGED")
_MESSAGE_LINES = 3
_NARROWEST_WHY = 40
_NAMES = 5
# Messages that tell only that something failed; the streams tell what.
_EMPTY_MESSAGES = ("", "non-zero return code")
# What Ansible puts before them.
_PREAMBLE = re.compile(r"^(?:(?:Task|Action|Module) failed: )+")
_TRACEBACK = "Traceback (most recent call last)"

_claimed = None


def claim(playbook):
    """True for the first who asks for this playbook. Callbacks cannot see each other."""
    global _claimed
    first = _claimed is not playbook
    _claimed = playbook
    return first


@dataclasses.dataclass(frozen=True)
class Failure:
    """The task a host ended with. `everyone`: the task ran once on behalf of all hosts, so no host is to blame.

    `stops`: the hosts had more to do after it.
    """

    task: str
    message: str = ""
    result: str = "failed"
    everyone: bool = False
    stops: bool = True


@dataclasses.dataclass(frozen=True)
class Row:
    host: str
    result: str
    changed: int | None = None
    why: str = ""
    message: str = ""

    @property
    def again(self):
        return self.result in ("failed", "unreachable", "not finished")


@dataclasses.dataclass
class Run:
    """`hosts`: all to report on; `present`: those the limit left; `touched`: those that had a task of their own.

    `idle`: those no play has a task for. `not_read`: those the plays went on without, and why.
    """

    hosts: list
    present: set
    touched: set
    failures: dict
    changed: dict
    stopped_by: str = ""
    idle: set = dataclasses.field(default_factory=set)
    not_read: dict = dataclasses.field(default_factory=dict)

    def rows(self):
        """For the site as a whole where something failed there, then for each host."""
        shared = [failure for failure in self.failures.values() if failure.everyone]
        site = [Row(SITE, failure.result, None, failure.task, failure.message) for failure in shared]
        return site + ([self._row(host) for host in self.hosts] if self.touched else [])

    def _row(self, host):
        failure = self.failures.get(host)
        changed = self.changed.get(host, 0)
        if failure and not failure.everyone:
            return Row(host, failure.result, changed, failure.task, failure.message)
        if host not in self.present:
            return Row(host, "skipped", None, "not in this run")
        if self.stopped_by and host not in self.idle:
            return Row(host, "not finished", changed, f"the run stopped at: {self.stopped_by}")
        if host not in self.touched:
            return Row(host, "skipped", None, "no task for this host")
        if host in self.not_read:
            return Row(host, "not read", changed, self.not_read[host].task, self.not_read[host].message)
        return Row(host, "done", changed)


def hosts_again(rows):
    """The hosts a second run is needed for; empty for every host that took part (and when nothing failed)."""
    again = [row.host for row in rows if row.again]
    took_part = [row.host for row in rows if row.again or row.result == "done"]
    return [] if SITE in again or again == took_part else again


def message(result):
    """The first line of a failed task's result that tells something."""
    if "censored" in result:
        return "(message hidden by no_log)"
    items = [item for item in result.get("results") or [] if isinstance(item, dict) and item.get("failed")]
    if items:
        return message(items[0])
    findings = _counted(result)
    if _findings.has_errors(findings):
        return _findings.summary(findings)
    text = _PREAMBLE.sub("", _first_line(result.get("msg")))
    if text in _EMPTY_MESSAGES or text.startswith("MODULE FAILURE"):
        streams = (result.get(name) for name in ("stderr", "module_stderr", "stdout", "module_stdout"))
        text = next(filter(None, map(_telling_line, streams)), text)
    return text


def _first_line(text):
    if isinstance(text, list):
        text = "\n".join(map(str, text))
    return next((" ".join(line.split()) for line in str(text or "").splitlines() if line.strip()), "")


def _telling_line(text):
    lines = [line for line in str(text or "").splitlines() if line.strip()]
    if any(_TRACEBACK in line for line in lines):
        lines = lines[-1:]
    return _first_line("\n".join(lines))


def read_findings(content):
    """Those of a result's findings that have the shape of one."""
    fields = dataclasses.fields(_findings.Finding)
    names = {field.name for field in fields}
    needed = {field.name for field in fields if field.default is dataclasses.MISSING}
    found = []
    for item in content if isinstance(content, list) else []:
        if isinstance(item, dict) and needed <= set(item) and item["severity"] in _findings.SEVERITIES:
            found.append(_findings.Finding(**{name: str(item[name]) for name in names & set(item)}))
    return found


def _counted(result):
    """The findings of a result as a report of the hosts counts them: one that many hosts have is one."""
    findings = read_findings(result.get("findings"))
    if result.get("of") != "hosts":
        return findings
    return list(
        dict.fromkeys(
            dataclasses.replace(finding, where=finding.where.partition(": ")[2], found="") for finding in findings
        )
    )


def since(judged, findings):
    """`{host: findings}` without what was there when the hosts were judged, which had its say about that."""
    before = {host: {(finding.id, finding.where) for finding in found} for host, found in judged.items()}
    return {
        host: [finding for finding in found if (finding.id, finding.where) not in before.get(host, ())]
        for host, found in findings.items()
    }


def on_hosts(findings):
    """`{host: findings}` to findings that name their hosts, the same one of many hosts once."""
    hosts = collections.defaultdict(list)
    for host in sorted(findings):
        for finding in dict.fromkeys(findings[host]):
            hosts[finding].append(host)
    return [
        dataclasses.replace(finding, where=f"{finding.where} on {_several(names)}") for finding, names in hosts.items()
    ]


def _several(names):
    more = len(names) - _NAMES
    return ", ".join(names) if more <= 0 else f"{', '.join(names[:_NAMES])} and {more} more"


def in_short(result):
    """One line for a result of preflight, whose warnings were told in full before and whose notes were not."""
    findings = _counted(result)
    notes = [finding for finding in findings if finding.severity == "note"]
    told = [finding for finding in findings if finding.severity != "note"]
    parts = [f"{_findings.summary(told)}, see above ({_kinds(told)})"] if told else []
    for some in ([one for one in notes if not one.accepted], [one for one in notes if one.accepted]):
        parts += [f"{_findings.summary(some)} ({_kinds(some)})"] if some else []
    looked_at = _first_line(result.get("msg")).partition(", ")[0]
    return f"{looked_at}, {'; '.join(parts) or _findings.summary([])}"


def _kinds(findings):
    return ", ".join(dict.fromkeys(finding.id for finding in _findings.ordered(findings)))


def text(rows, findings, proposal, command, seconds, width, before=()):
    """The whole summary. `before`: what was told before, one line for each."""
    parts = [_table(rows, width)] if rows else []
    # What a site has accepted is settled.
    unique = _findings.ordered(dict.fromkeys(finding for finding in findings if not finding.accepted))
    if before:
        parts.append("\n".join(before))
    if unique:
        lines = [f"  {finding.severity.upper():<7} {_findings.line(finding)}" for finding in unique]
        parts.append("\n".join(["Findings that remain:", *lines]))
    if command:
        parts.append(f"{proposal}\n  {command}")
    parts.append(f"Duration: {datetime.timedelta(seconds=round(seconds))}")
    return "\n\n".join(parts)


def _table(rows, width):
    cells = [(row.host, row.result, "" if row.changed is None else str(row.changed)) for row in rows]
    sizes = [max(map(_columns, column)) for column in zip(_HEADER, *cells)]
    indent = " " * (sum(sizes) + 2 * len(sizes))
    room = max(width - len(indent), _NARROWEST_WHY)
    lines = [_line(_HEADER, sizes, "WHY" if any(row.why for row in rows) else "")]
    for row, cell in zip(rows, cells):
        lines.append(_line(cell, sizes, _shortened(row.why, room, 1)))
        lines += [indent + line for line in _shortened(row.message, room, _MESSAGE_LINES).splitlines()]
    return "\n".join(lines)


def _line(cells, sizes, why):
    host, result, changed = cells
    host += " " * (sizes[0] - _columns(host))
    return f"{host}  {result:<{sizes[1]}}  {changed:>{sizes[2]}}  {why}".rstrip()


def _columns(text):
    """The width of a text in a terminal, where a Chinese character takes two columns."""
    return sum(2 if unicodedata.east_asian_width(character) in "FW" else 1 for character in text)


def _shortened(text, width, lines):
    return textwrap.fill(text, width, max_lines=lines, placeholder=" ...")
