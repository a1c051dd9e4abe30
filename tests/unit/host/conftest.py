from __future__ import annotations

import json

import pytest
from ansible.module_utils.testing import patch_module_args


@pytest.fixture
def run_module(capsys):
    """Run a module's main() in this process and return what it printed."""

    def run(module, check=False, **arguments):
        arguments["_ansible_check_mode"] = check
        capsys.readouterr()
        with patch_module_args(arguments), pytest.raises(SystemExit):
            module.main()
        return json.loads(capsys.readouterr().out)

    return run
