# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from ansible.plugins.action import ActionBase
from ansible_collections.inferops.gpustack.plugins.plugin_utils import (
    _findings,
    _inventory_reader,
    _output,
    _preflight,
)


class ActionModule(ActionBase):
    """Reads the variables of all hosts, hands them over as plain data, reports what is wrong with them."""

    TRANSFERS_FILES = False
    _requires_connection = False
    _VALID_ARGS = frozenset()

    def run(self, tmp=None, task_vars=None):
        result = super().run(tmp, task_vars)
        inventory = _inventory_reader.read(self._loader, task_vars or {})
        findings = _preflight.check(inventory)
        hosts = _findings.counted(len(inventory["hosts"]), "host")
        summary = f"{hosts} checked, {_findings.summary(findings)}"
        result["changed"] = False
        failed = result["failed"] = _findings.has_errors(findings)
        report = _findings.table(findings)
        printed = failed and _output.for_people()
        if printed:
            # As text, whatever form the configuration gives to results.
            self._display.display(f"\n{report}\n")
        if failed:
            result["msg"] = f"{summary}. No host was touched."
        else:
            result["msg"] = summary
            # A passing task prints nothing by itself. Notes, accepted findings among them, are in the report.
            result["warnings"] = [_findings.line(each) for each in findings if each.severity == "warning"]
        if not printed or self._display.verbosity:
            # Ansible prints the whole result of a failed task, after a report that has said it all.
            result["report"] = report
            result["findings"] = [finding.as_dict() for finding in findings]
        return result
