# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action of every module that waits; `meta/runtime.yml` names them.

A module cannot print while it runs, and loading a large model takes up to an hour: without this action the console is
silent for all that time. It has the name of one of the modules because `ansible-test` wants one with documentation.
"""

from __future__ import annotations

import textwrap
import time

from ansible.plugins.action.normal import ActionModule as NormalAction
from ansible_collections.inferops.gpustack.plugins.plugin_utils import _output

_LONGEST_LINE = 300


class ActionModule(NormalAction):
    """Runs the module in slices and prints what it waits for in between.

    When a slice ends, and when time is over, is for the module to say (`module_utils/_wait.py`).
    """

    def run(self, tmp=None, task_vars=None):
        if self._task.async_val or self._task.check_mode:
            return super().run(tmp, task_vars)
        begun = time.monotonic()
        said, memory, slices = None, {}, []
        while True:
            given = {"elapsed": time.monotonic() - begun, "said": said, "memory": memory}
            arguments = dict(self._task.args, wait_slice=given)
            slices.append(self._execute_module(module_args=arguments, task_vars=task_vars))
            waiting = slices[-1].pop("waiting", None)
            if waiting is None:
                return _merged(slices)
            said, memory = waiting["for"], waiting["memory"]
            self._tell(task_vars["inventory_hostname"], waiting)

    def _tell(self, host, waiting):
        if self._task.no_log or not _output.for_people():
            return
        module = self._task.action.rpartition(".")[2]
        text = textwrap.shorten(waiting["for"], _LONGEST_LINE, placeholder=" ...")
        self._display.display(f"[{host}] {module}: {text}  ({waiting['spent']} s of {waiting['timeout']} s)")


def _merged(slices):
    """One result: the last one, with what the slices before it have done."""
    result = slices[-1]
    if any(one.get("changed") for one in slices):
        result["changed"] = True
    actions = [action for one in slices for action in one.get("actions") or []]
    if actions:
        result["actions"] = actions
    diffs = [one["diff"] for one in slices if one.get("diff")]
    if diffs:
        result["diff"] = diffs[0]
    for key in ("warnings", "deprecations"):
        told = []
        for one in slices:
            told += [each for each in one.get(key) or [] if each not in told]
        if told:
            result[key] = told
    return result
