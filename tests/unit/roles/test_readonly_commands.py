# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A task that calls itself unchanged must be known to only read, and no task hides a change or a failure."""

from __future__ import annotations

import pathlib

import yaml

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
TASKS = ("roles", "playbooks", "lab")
EVERYWHERE = (*TASKS, "molecule", "tests")
LIST = "tests/readonly_commands.yml"


class Loader(yaml.SafeLoader):
    """Reads Ansible's own tags (a vaulted text, for one) as plain nodes."""


Loader.add_multi_constructor("!", lambda loader, suffix, node: None)


def word(value):
    """`false` for false, "no", "{{ false }}" and the like; `true` likewise; else the value as text."""
    text = str(value).strip().removeprefix("{{").removesuffix("}}").strip().lower()
    return {"no": "false", "0": "false", "off": "false", "yes": "true", "1": "true", "on": "true"}.get(text, text)


def mappings(content):
    if isinstance(content, dict):
        yield content
        for value in content.values():
            yield from mappings(value)
    elif isinstance(content, list):
        for value in content:
            yield from mappings(value)


def keyword(content, name):
    """Each use of a keyword in one file's content as (the task's name, the value's word)."""
    return [(task.get("name", "a task without a name"), word(task[name])) for task in mappings(content) if name in task]


def files(folders):
    for folder in folders:
        for path in sorted((REPOSITORY / folder).rglob("*")):
            if path.suffix in (".yml", ".yaml") and path.is_file():
                yield path
    yield from sorted(REPOSITORY.glob("*.yml"))


def uses(folders, name):
    for path in files(folders):
        for content in yaml.load_all(path.read_text(encoding="utf-8"), Loader=Loader):
            for task, value in keyword(content, name):
                yield path.relative_to(REPOSITORY).as_posix(), task, value


def test_the_tasks_that_call_themselves_unchanged_are_the_listed_ones():
    listed = yaml.safe_load((REPOSITORY / LIST).read_text(encoding="utf-8"))
    assert all(set(entry) == {"file", "task", "why"} and entry["why"].strip() for entry in listed)
    found = sorted((file, task) for file, task, value in uses(TASKS, "changed_when") if value == "false")
    assert found == sorted((entry["file"], entry["task"]) for entry in listed), f"{LIST} and the tasks differ"


def test_no_task_calls_itself_changed_whatever_it_did():
    assert [use for use in uses(EVERYWHERE, "changed_when") if use[2] == "true"] == []


def test_no_task_ignores_its_failure():
    assert [use for use in uses(EVERYWHERE, "ignore_errors") if use[2] != "false"] == []


def test_the_scan_sees_what_it_looks_for():
    text = """
    - hosts: all
      tasks:
        - {name: a, block: [{name: b, changed_when: no}, {name: c, changed_when: "{{ false }}"}]}
        - {name: d, changed_when: "'x' in out.stdout", ignore_errors: yes}
        - {name: e, changed_when: true, vars: {secret: !vault x}}
    """
    content = yaml.load(text, Loader=Loader)
    assert keyword(content, "changed_when") == [
        ("b", "false"),
        ("c", "false"),
        ("d", "'x' in out.stdout"),
        ("e", "true"),
    ]
    assert keyword(content, "ignore_errors") == [("d", "true")]
