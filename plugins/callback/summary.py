# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: summary
type: aggregate
short_description: Say at the end of a run what was done, what is left, and the next command
description:
  - Prints, after the recap, one row for each host with its result, its number of changes and the reason when it is not
    done, what preflight looked at, the findings that remain, the command to run next, and the duration.
  - Of a host's own findings, those remain that its last look had. Once the hosts were judged, only what a later look
    has found beside what was judged remains.
  - Covers every host of the groups C(gpustack_server), C(gpustack_worker) and C(gpustack_worker_windows), those that
    C(--limit) left out included.
  - The next command repeats the run for the hosts that failed, were unreachable or were not finished. After a check
    without failures it is the same command without C(--check). Values of C(-e) and of C(--ssh-common-args) and its
    kin may be secret and are never repeated. The results of tasks with C(no_log) are not shown.
  - Prints nothing for playbooks in which no role or plugin of C(inferops.gpustack) runs, and nothing beside
    a machine-readable output (C(json), C(jsonl), C(null)).
  - The playbooks of this collection have it switched on. It never changes the exit code.
author:
  - InferOps contributors (@inferops)
requirements:
  - For playbooks of your own that use roles of this collection, add it to C(callbacks_enabled) in C(ansible.cfg).
"""

EXAMPLES = r"""
# ansible.cfg beside a playbook of your own
# [defaults]
# callbacks_enabled = inferops.gpustack.summary
"""

import shutil
import sys
import time

from ansible import constants, context
from ansible.plugins.callback import CallbackBase
from ansible_collections.inferops.gpustack.plugins.plugin_utils import _output, _rerun, _summary
from ansible_collections.inferops.gpustack.plugins.plugin_utils._site import SITE_GROUPS, WINDOWS_GROUP

_OURS = "inferops.gpustack."
_PREFLIGHT = "inferops.gpustack.preflight"
_LOOK = "inferops.gpustack.host_facts"
# Ansible checks the arguments of roles whatever tags are asked for, and does nothing for the host by that.
_NO_WORK = ("validate_argument_spec", "ansible.builtin.validate_argument_spec")
_WIDTH = 100


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "inferops.gpustack.summary"
    CALLBACK_NEEDS_ENABLED = False

    def __init__(self):
        super().__init__()
        self._reset()

    def _reset(self):
        self._begin = time.monotonic()
        self._is_ours = False
        self._plays = set()
        self._groups = {}
        self._present = set()
        self._touched = set()
        self._failures = {}
        self._not_read = {}
        self._preflight = {}
        self._findings = []
        self._host_findings = {}
        self._judged = {}

    def v2_playbook_on_start(self, playbook):
        # One command line may have several playbooks.
        self._reset()
        # Beside the playbook and by its full name in callbacks_enabled as well, it is loaded twice.
        first = _summary.claim(playbook)
        self.disabled = not first or not _output.for_people()
        self._plays = {play._uuid for play in playbook.get_plays()}

    def v2_playbook_on_play_start(self, play):
        self._plays.discard(play._uuid)
        variables = play.get_variable_manager().get_vars(play=play)
        self._groups = variables["groups"]
        self._present.update(variables["ansible_play_hosts_all"])

    def v2_playbook_on_task_start(self, task, is_conditional):
        self._is_ours = self._is_ours or task.get_name().startswith(_OURS) or task.action.startswith(_OURS)

    def v2_runner_on_ok(self, result):
        if result.task.action == _PREFLIGHT and not result.result.get("again"):
            # When it fails, the site's row says so.
            self._preflight[result.result.get("of")] = f"preflight: {_summary.in_short(result.result)}"
        self._note(result)

    def v2_runner_on_skipped(self, result):
        self._note(result)

    def v2_runner_on_failed(self, result, ignore_errors=False):
        self._note(result)
        if not ignore_errors:
            self._fail(result, "failed")

    def v2_runner_on_unreachable(self, result):
        self._note(result)
        self._fail(result, "unreachable")

    def v2_playbook_on_stats(self, stats):
        if not self._is_ours:
            return
        # A failure that was rescued is not among these.
        failures = {
            host: failure for host, failure in self._failures.items() if host in stats.failures or host in stats.dark
        }
        ours = [host for group in SITE_GROUPS for host in self._groups.get(group, [])]
        run = _summary.Run(
            hosts=list(dict.fromkeys([*ours, *sorted(self._touched)])),
            present=self._present,
            touched=self._touched,
            failures=failures,
            not_read=self._not_read,
            changed=stats.changed,
            stopped_by=self._stopped_by(failures),
            # Windows machines are declared and not built yet; their Linux halves are workers of their own.
            idle=set(self._groups.get(WINDOWS_GROUP, [])) - self._touched,
        )
        rows = run.rows()
        proposal, command = self._next(rows, failed=bool(failures))
        findings = self._findings + _summary.on_hosts(_summary.since(self._judged, self._host_findings))
        seconds = time.monotonic() - self._begin
        width = shutil.get_terminal_size((_WIDTH, 0)).columns
        self._display.banner("SUMMARY" + (" (check mode, nothing was changed)" if context.CLIARGS["check"] else ""))
        looks = self._preflight.values()
        self._display.display(_summary.text(rows, findings, proposal, command, seconds, width, looks))

    def _note(self, result):
        content = result.result
        if not result.task.run_once and result.task.action not in _NO_WORK:
            self._touched.add(result.host.name)
        if result.task.action == _PREFLIGHT:
            # It has told its findings in full.
            if content.get("of") == "hosts" and not content.get("again"):
                self._judged = dict(self._host_findings)
            return
        for part in [content, *(content.get("results") or [])]:
            if isinstance(part, dict):
                self._findings += _summary.read_findings(part.get("findings"))
        facts = (content.get("ansible_facts") or {}).get("gpustack_host")
        if facts:
            # A later look at the host replaces the earlier one: what a role has mended does not remain.
            self._not_read.pop(result.host.name, None)
            self._host_findings[result.host.name] = _summary.read_findings(facts.get("findings"))

    def _fail(self, result, kind):
        task = result.task
        self._failures.pop(result.host.name, None)
        failure = self._failures[result.host.name] = _summary.Failure(
            task=task.name or task.action,
            message=_summary.message(result.result),
            result=kind,
            everyone=bool(task.run_once),
            # Who asks for an overview of the hosts has read them, and changes nothing.
            stops=not result.result.get("overview"),
        )
        if task.action == _LOOK:
            self._not_read[result.host.name] = failure

    def _stopped_by(self, failures):
        """The task that kept hosts from going on that had not failed themselves."""
        shared = [failure for failure in failures.values() if failure.everyone]
        last = (shared or list(failures.values()))[-1:]
        return last[0].task if last and (self._plays or (shared and last[0].stops)) else ""

    def _next(self, rows, failed):
        again = {"arguments": context.CLIARGS, "settings": constants, "program": sys.argv[0]}
        if failed:
            proposal, command = "When that is mended:", _rerun.command(**again, limit=_summary.hosts_again(rows))
        elif context.CLIARGS["check"]:
            proposal, command = "To do it:", _rerun.command(**again, check=False)
        else:
            return "", ""
        left_out = _rerun.not_repeated(context.CLIARGS)
        return proposal[:-1] + (f" (with {', '.join(left_out)} as before):" if left_out else ":"), command
