# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a module of the collection in this process, and watches what leaves it."""

from __future__ import annotations

import base64
import contextlib
import importlib
import io
import json
from unittest import mock
from urllib.parse import quote

import pytest
from ansible.module_utils import _internal
from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.common import warnings
from ansible.module_utils.testing import patch_module_args

MODULES = "ansible_collections.inferops.gpustack.plugins.modules."


class Secrets:
    """What must never be seen in the output of a module."""

    def __init__(self, *values):
        self._values = set(values)

    def add(self, value):
        self._values.add(value)
        return value

    def check(self, text, where):
        for value in self._values:
            spellings = (value, json.dumps(value)[1:-1], quote(value), base64.b64encode(value.encode()).decode())
            if any(spelling in text for spelling in spellings):
                # Not which one: a report is output too.
                pytest.fail(f"A secret is in the output of {where}.", pytrace=False)


def run_module(name, /, secrets, check=False, diff=True, **params):
    """The result of a module. Its output, as -vvv would show it, and its log must hold no secret."""
    module = importlib.import_module(MODULES + name)
    params = {key: value for key, value in params.items() if value is not None}
    params.update(_ansible_check_mode=check, _ansible_diff=diff, _ansible_verbosity=3)
    warnings._global_warnings.clear()
    # Threads of the rig may write to stderr meanwhile, so it is kept apart from the result.
    output, errors, logged = io.StringIO(), io.StringIO(), []
    with contextlib.ExitStack() as stack:
        # Other tests load Ansible's controller into this process; a module on a target keeps its warnings to itself.
        stack.enter_context(mock.patch.object(_internal, "is_controller", False))
        stack.enter_context(mock.patch.object(AnsibleModule, "log", lambda _self, msg, **_: logged.append(str(msg))))
        stack.enter_context(patch_module_args(params))
        stack.enter_context(contextlib.redirect_stdout(output))
        stack.enter_context(contextlib.redirect_stderr(errors))
        stack.enter_context(pytest.raises(SystemExit))
        module.main()
    secrets.check("\n".join([output.getvalue(), errors.getvalue(), *logged]), f"inferops.gpustack.{name}")
    result = json.loads(output.getvalue())
    result["warnings"] = [str(one) for one in result.get("warnings", [])]
    return result
