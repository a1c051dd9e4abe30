# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ansible-playbook as a user of this checkout starts it."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


def playbook(*arguments, cwd=REPOSITORY, timeout=None, **environment):
    """The ended process with its output as text. `environment` comes over this process's own."""
    return subprocess.run(
        [sys.executable, "-m", "ansible", "playbook", *map(str, arguments)],
        cwd=cwd,
        env={
            **os.environ,
            "ANSIBLE_CONFIG": str(REPOSITORY / "ansible.cfg"),
            "ANSIBLE_COLLECTIONS_PATH": str(REPOSITORY / "collections"),
            "ANSIBLE_NOCOLOR": "1",
            **environment,
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout,
    )
