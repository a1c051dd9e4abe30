# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check mode on a bare host: a task that needs the engine must know when there is none to ask."""

from __future__ import annotations

import pathlib

import yaml

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
NEED_THE_ENGINE = ("community.docker.", "ansible.builtin.systemd_service")
# Runs only after a server answered 502, so there is one.
RESCUED = "Restart the server once"


def tasks(items):
    for item in items or []:
        yield item
        for part in ("block", "rescue", "always"):
            yield from tasks(item.get(part))


def test_every_task_that_needs_the_engine_asks_for_it():
    found = []
    for path in sorted((REPOSITORY / "roles").glob("*/tasks/*.yml")):
        for task in tasks(yaml.safe_load(path.read_text(encoding="utf-8"))):
            if task["name"] != RESCUED and any(key.startswith(NEED_THE_ENGINE) for key in task):
                found.append(task["name"])
                assert "_there" in str(task.get("when")), f"{path.parent.parent.name}: {task['name']}"
    assert len(found) >= 5
