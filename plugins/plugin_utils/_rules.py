# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a planned deployment must be, as a table (data/rules.yml) of conditions and the findings they lead to.

A condition is a Jinja expression, true where there is something to report. `at` (the key the finding is about),
`found`, `expected`, `fix` and `source` are Jinja templates. All of them see what `_rule_facts` gives, and can ask
`version is release('>=0.25, <0.27')`, `value is above(3)` and `value is below(3)`.
"""

from __future__ import annotations

import functools
import re

import jinja2
import jinja2.sandbox
from ansible_collections.inferops.gpustack.plugins.plugin_utils import _data
from ansible_collections.inferops.gpustack.plugins.plugin_utils._findings import Finding

_NUMBERS = re.compile(r"\d+")
# No release has a number of ten digits: that is garbage of a tool, too long to be counted with.
_RELEASE = re.compile(r"(?![\d.]*\d{10})\d")
_COMPARISON = re.compile(r"\s*(>=|<=|==|<|>)\s*([\d.]+)\s*\Z")
_COMPARE = {
    ">=": lambda one, other: one >= other,
    "<=": lambda one, other: one <= other,
    "==": lambda one, other: one == other,
    ">": lambda one, other: one > other,
    "<": lambda one, other: one < other,
}


class RuleError(ValueError):
    """A rule of the table that cannot be evaluated; it names the rule."""


def findings(subject, facts, where):
    """The findings of every rule about `subject` (`deployment` or `route`)."""
    for rule in _rules(subject):
        try:
            # Inside, for a fact that is not there is told only here.
            if not rule.condition(**facts):
                continue
            told = {name: _template(text).render(**facts) for name, text in rule.texts.items()}
        except jinja2.TemplateError as error:
            raise RuleError(f"rule {rule.id}: {error}") from error
        place = told.pop("at")
        yield Finding(rule.id, rule.severity, f"{where}.{place}" if place else where, **told)


class _Rule:
    def __init__(self, entry):
        self.id, self.severity = entry["id"], entry["severity"]
        # As it is: None instead of an undefined value would be a silent "no".
        self.condition = _environment().compile_expression(_line(entry["when"]), undefined_to_none=False)
        self.texts = {name: _line(entry.get(name, "")) for name in ("at", "found", "expected", "fix", "source")}


def _line(text):
    return " ".join(text.split())


@functools.lru_cache(maxsize=None)
def _rules(subject):
    return [_Rule(entry) for entry in _data.load("rules.yml") if entry.get("of", "deployment") == subject]


@functools.lru_cache(maxsize=None)
def _template(text):
    # Compiled when a rule has something to say; most never do.
    return _environment().from_string(text)


@functools.lru_cache(maxsize=None)
def _environment():
    # A fact that is not there is an error in the rule, never a silent "no".
    environment = jinja2.sandbox.SandboxedEnvironment(undefined=jinja2.StrictUndefined)
    environment.tests["release"] = is_release
    environment.tests["above"] = lambda value, limit: _are_numbers(value, limit) and value > limit
    environment.tests["below"] = lambda value, limit: _are_numbers(value, limit) and value < limit
    environment.filters["gib"] = lambda count: f"{count / 2**30:.1f} GiB"
    environment.filters["or_list"] = lambda names: " or ".join(str(name) for name in names)
    return environment


def _are_numbers(*values):
    """People write anything; what is no number is neither above nor below one."""
    return all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)


def is_release(version, comparisons):
    """`version is release('>=0.25, <0.27')`; false for a version that is not known."""
    if not isinstance(version, str) or not _RELEASE.match(version):
        return False
    return all(_holds(_parts(version), comparison) for comparison in comparisons.split(","))


def _holds(parts, comparison):
    found = _COMPARISON.match(comparison)
    if not found:
        raise jinja2.TemplateError(f"not a comparison of releases: {comparison!r}")
    wanted = _parts(found.group(2))
    # 0.25.1 is release 0.25 to somebody who writes two numbers.
    return _COMPARE[found.group(1)](parts[: len(wanted)], wanted)


def _parts(version):
    """The numbers before a suffix: 0.25.1rc1 counts as 0.25.1."""
    release = re.match(r"[\d.]*", version).group()
    return tuple(int(part) for part in _NUMBERS.findall(release))
