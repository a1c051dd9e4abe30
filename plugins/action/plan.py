# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import os

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible_collections.inferops.gpustack.plugins.plugin_utils import (
    _findings,
    _inventory_reader,
    _output,
    _plan_text,
    _preflight,
    _report,
    _report_files,
    _site_plan,
)
from ansible_collections.inferops.gpustack.plugins.plugin_utils._site import Site

_OPTIONS = {
    "plan_from": {"type": "str", "default": "inventory"},
    "dest": {"type": "path", "default": ""},
    "language": {"type": "str", "default": "en"},
}
# Option to the variable that people set, and what both may be.
_CHOICES = {
    "plan_from": ("gpustack_plan_from", ("inventory", "facts")),
    "language": ("gpustack_report_language", _report.LANGUAGES),
}


class ActionModule(ActionBase):
    """Says what the inventory becomes, as text, as JSON and as a page."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp=None, task_vars=None):
        result = super().run(tmp, task_vars)
        unused, options = self.validate_argument_spec(_OPTIONS)
        inventory = _inventory_reader.read(self._loader, task_vars or {}, with_facts=options["plan_from"] == "facts")
        findings = _preflight.check(inventory)
        options = _known(options, findings)
        document = _site_plan.document(Site(inventory), findings, options["plan_from"])
        report = _plan_text.text(document, findings)
        printed = _output.for_people()
        if printed:
            # As text, whatever form the configuration gives to results.
            self._display.display(f"\n{report}\n")
        if not printed or self._display.verbosity:
            result.update(report=report, plan=document)
        files = _files(document, options) if options["dest"] else {}
        before = {path: _report_files.read(path) for path in files}
        changed = [path for path in files if before[path] != files[path]]
        if changed and not self._task.check_mode:
            _write(options["dest"], {path: files[path] for path in changed})
        failed = _findings.has_errors(findings)
        written = _report_files.written(files, changed, self._task.check_mode)
        if printed and written and not failed:
            # Ansible shows the message of a task that failed, and of no other.
            self._display.display(f"{written}\n")
        planned = f"{_findings.counted(len(document['deployments']), 'deployment')} planned, {document['summary']}"
        result.update(
            changed=bool(changed),
            failed=failed,
            files=list(files),
            msg=f"{planned}; {written}" if written else planned,
        )
        if self._task.diff:
            result["diff"] = [
                _report_files.difference(path, before[path], files[path]) for path in changed if path.endswith(".json")
            ]
        return result


def _known(options, findings):
    """The options, with the default for a value that preflight has told people to correct: they still get the plan."""
    known = dict(options)
    for option, (variable, choices) in _CHOICES.items():
        if options[option] in choices:
            continue
        if not any(finding.where.startswith(f"{variable} on ") for finding in findings):
            raise AnsibleActionFail(
                f"{option} is {options[option]!r}; write {' or '.join(choices)} ({variable} in an inventory)"
            )
        known[option] = _OPTIONS[option]["default"]
    return known


def _files(document, options):
    """Path to content. Nothing of the moment, such as a time, is in them: the same plan is the same files."""
    # Relative to the directory ansible-playbook was started in: the controller's process never leaves it.
    directory = os.path.abspath(options["dest"])
    return {
        os.path.join(directory, "plan.json"): json.dumps(document, indent=2, ensure_ascii=False) + "\n",
        os.path.join(directory, "report.html"): _report.page({"plan": document}, options["language"]),
    }


def _write(directory, files):
    try:
        _report_files.write(directory, files, "the plan")
    except _report_files.ReportError as error:
        raise AnsibleActionFail(str(error)) from None
