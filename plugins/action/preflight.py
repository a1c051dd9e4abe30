# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import os

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible_collections.inferops.gpustack.plugins.plugin_utils import (
    _check_host_facts,
    _findings,
    _inventory_reader,
    _output,
    _preflight,
    _probe_text,
    _report_files,
)
from ansible_collections.inferops.gpustack.plugins.plugin_utils._site import Site

_OPTIONS = {
    "of": {"type": "str", "default": "inventory", "choices": ["inventory", "hosts"]},
    "overview": {"type": "bool", "default": False},
    "again": {"type": "bool", "default": False},
    "dest": {"type": "path", "default": ""},
}
_FILE = "probe.json"
_NOBODY = "no host could be read; Ansible says why, above"


class ActionModule(ActionBase):
    """Reads what is known of all hosts, hands it over as plain data, reports what is wrong with it."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp=None, task_vars=None):
        result = super().run(tmp, task_vars)
        unused, options = self.validate_argument_spec(_OPTIONS)
        of_hosts = options["of"] == "hosts"
        inventory = _inventory_reader.read(self._loader, task_vars or {}, with_facts=of_hosts)
        told = self._hosts(inventory, task_vars, options) if of_hosts else self._inventory(inventory)
        return {**result, **told, "of": options["of"]}

    def _inventory(self, inventory):
        findings = _preflight.check(inventory)
        hosts = _findings.counted(len(inventory["hosts"]), "host")
        failed = _findings.has_errors(findings)
        report = _findings.table(findings)
        summary = f"{hosts} checked, {_findings.summary(findings)}"
        printed = failed and self._print(report)
        return {
            "msg": f"{summary}. No host was touched." if failed else summary,
            "changed": False,
            **self._told(failed, findings, findings, report, printed),
        }

    def _hosts(self, inventory, task_vars, options):
        # A cache of facts may know hosts that nobody looked at in this run.
        asked = (task_vars or {}).get("ansible_play_hosts_all") or inventory["facts"]
        facts = {host: found for host, found in inventory["facts"].items() if host in asked}
        site = Site({**inventory, "facts": facts})
        pairs = _check_host_facts.check(site)
        merged = _check_host_facts.merged(pairs)
        expected = {*site.servers, *site.workers} & set(asked)
        # Before a change, Ansible itself has failed the hosts out of reach.
        nobody = options["overview"] and expected and not site.facts
        failed = bool(nobody) or _findings.has_errors(merged)
        report = _probe_text.text(site, pairs) if options["overview"] else _findings.table(merged)
        printed = (failed or options["overview"]) and self._print(report)
        written = self._write(_probe_text.document(site, pairs), options["dest"]) if options["dest"] else {}
        sentence = written.pop("sentence", "")
        if printed and sentence and not failed:
            # Ansible shows the message of a task that failed, and of no other.
            self._display.display(f"{sentence}\n")
        looked_at = _looked_at(len(site.facts), len(expected | set(site.facts)))
        summary = _NOBODY if nobody else f"{looked_at}, {_findings.summary(merged)}"
        summary = "; ".join(filter(None, [summary, sentence]))
        told = self._told(failed, merged, _check_host_facts.each(pairs), report, printed)
        if options["again"]:
            # They were told before.
            told.pop("warnings", None)
        # Who asks for an overview only looks.
        stopped = "Nothing after the reboots was begun." if options["again"] else "No host was changed."
        return {
            "msg": f"{summary}. {stopped}" if failed and not options["overview"] else summary,
            "changed": False,
            "overview": options["overview"],
            "again": options["again"],
            **written,
            **told,
        }

    def _print(self, report):
        if not _output.for_people():
            return False
        # As text, whatever form the configuration gives to results.
        self._display.display(f"\n{report}\n")
        return True

    def _told(self, failed, findings, as_data, report, printed):
        """How the task ends, and what its result says beside the report."""
        told = {"failed": failed}
        if not failed and not printed:
            # A passing task prints nothing by itself. Notes, accepted findings among them, are in the report.
            told["warnings"] = [_findings.line(each) for each in findings if each.severity == "warning"]
        if not (printed and failed) or self._display.verbosity:
            # Ansible prints the whole result of a failed task, after a report that has said it all.
            told.update(report=report, findings=[finding.as_dict() for finding in as_data])
        return told

    def _write(self, document, directory):
        # Relative to the directory ansible-playbook was started in: the controller's process never leaves it.
        path = os.path.join(os.path.abspath(directory), _FILE)
        before, text = _report_files.read(path), json.dumps(document, indent=2, ensure_ascii=False) + "\n"
        changed = _stable(before) != _probe_text.stable(document)
        files = {path: text}
        if changed and not self._task.check_mode:
            try:
                _report_files.write(directory, files, _FILE)
            except _report_files.ReportError as error:
                raise AnsibleActionFail(str(error)) from None
        sentence = _report_files.written(files, [path] if changed else [], self._task.check_mode)
        result = {"changed": changed, "files": [path], "sentence": sentence}
        if self._task.diff and changed:
            result["diff"] = [_report_files.difference(path, before, text)]
        return result


def _looked_at(read, expected):
    some = f"{read} of " if read < expected else ""
    return f"{some}{_findings.counted(expected, 'host')} looked at"


def _stable(text):
    """What is to be compared of an earlier report; None where there is none."""
    try:
        return _probe_text.stable(json.loads(text))
    except (TypeError, ValueError, AttributeError):
        return None
