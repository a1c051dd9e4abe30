# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts of the collection that must agree with each other: version, action group, documentation, names, paths."""

from __future__ import annotations

import ast
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest
import yaml
from ansible_collections.inferops.gpustack.plugins.module_utils import _client
from ansible_collections.inferops.gpustack.plugins.plugin_utils import _data

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
COLLECTION = "inferops.gpustack"
LINK = "collections/ansible_collections/inferops/gpustack"
# Folder to what ansible-doc calls its plugins.
DOCUMENTED = {
    "callback": "callback",
    "filter": "filter",
    "inventory": "inventory",
    "lookup": "lookup",
    "modules": "module",
    "test": "test",
}
RETURNS = {"module", "filter", "lookup", "test"}
# Judged by preflight; no role acts on them.
READ_BY_PREFLIGHT_ONLY = {"gpustack_accept", "gpustack_allow_public_addresses"}
# Groups of hosts and a fact, which look like variables of an inventory.
NOT_VARIABLES = {"gpustack_server", "gpustack_worker", "gpustack_worker_windows", "gpustack_host"}


def read_yaml(path):
    return yaml.safe_load((REPOSITORY / path).read_text(encoding="utf-8"))


def tracked_files():
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    )
    paths = [REPOSITORY / name for name in listed.stdout.split("\0") if name]
    return [path for path in paths if path.is_file() and not path.is_symlink()]


def plugin_names(folder):
    return {path.stem for path in (REPOSITORY / "plugins" / folder).glob("*.py") if path.name != "__init__.py"}


def documentation(path):
    """The text of a module's DOCUMENTATION, without importing the module."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and node.targets[0].id == "DOCUMENTATION":
            return yaml.safe_load(node.value.value)
    raise AssertionError(f"{path} has no DOCUMENTATION")


def test_the_code_tells_the_version_of_the_collection():
    assert read_yaml("galaxy.yml")["version"] == _client.VERSION


def test_the_action_group_is_every_module_that_logs_in():
    modules = sorted((REPOSITORY / "plugins" / "modules").glob("*.py"))
    fragment = f"{COLLECTION}.auth"
    pages = {path.stem: documentation(path) for path in modules}
    log_in = [name for name, page in pages.items() if fragment in page.get("extends_documentation_fragment", [])]
    assert log_in
    assert sorted(read_yaml("meta/runtime.yml")["action_groups"]["gpustack"]) == log_in


@pytest.mark.parametrize("folder", [name for name in DOCUMENTED if plugin_names(name)])
def test_every_plugin_renders_its_documentation(folder):
    kind = DOCUMENTED[folder]
    wanted = {f"{COLLECTION}.{name}" for name in plugin_names(folder)}
    environment = dict(
        os.environ,
        ANSIBLE_CONFIG=str(REPOSITORY / "ansible.cfg"),
        ANSIBLE_COLLECTIONS_PATH=str(REPOSITORY / "collections"),
    )
    done = subprocess.run(
        [sys.executable, "-m", "ansible", "doc", "--json", "-t", kind, *sorted(wanted)],
        cwd=REPOSITORY,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    rendered = json.loads(done.stdout)
    assert set(rendered) == wanted, done.stderr
    for name, page in rendered.items():
        assert page["doc"]["short_description"], name
        assert page["examples"], f"{name} has no example"
        assert kind not in RETURNS or page["return"], f"{name} does not tell what it returns"


def test_every_action_plugin_has_a_module_of_its_name_for_its_documentation():
    assert plugin_names("action") <= plugin_names("modules")


def test_the_collection_is_found_under_its_name_in_a_checkout():
    assert os.readlink(REPOSITORY / LINK) == "../../.."
    staged = subprocess.run(
        ["git", "ls-files", "--stage", LINK], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    assert staged.stdout.startswith("120000 "), "the link is not committed as a link"


def test_what_is_done_once_is_done_once_whatever_strategy_is_configured():
    plays = [play for path in sorted((REPOSITORY / "playbooks").glob("*.yml")) for play in read_yaml(path)]
    by_role = ("Preflight", "Plan")
    once = [play for play in plays if play["name"] in by_role and "hosts" in play or "run_once" in str(play)]
    assert len(once) == 4
    assert [play["name"] for play in once if play.get("strategy") != "ansible.builtin.linear"] == []


def test_no_file_names_a_path_of_the_machine_it_was_written_on():
    # In two pieces, so that this file passes too.
    own = re.compile(r"(?<![\w.])/(?:wo" + r"rk/|tm" + r"p/w/)")
    found = [
        f"{path.relative_to(REPOSITORY)}: {match.group()}"
        for path in tracked_files()
        for match in own.finditer(path.read_text(encoding="utf-8", errors="replace"))
    ]
    assert found == []


def role_options():
    return {name for options in _data.role_options().values() for name in options}


def role_internals():
    """What roles compute for themselves (vars) is not a person's to set."""
    return {name for path in (REPOSITORY / "roles").glob("*/vars/*.yml") for name in yaml.safe_load(path.read_text())}


def names_read():
    """Every gpustack_* name that a template in the roles or playbooks uses."""
    names = set()
    for pattern in ("roles/*/defaults/*.yml", "roles/*/vars/*.yml", "roles/*/tasks/*.yml", "playbooks/**/*.yml"):
        for path in REPOSITORY.glob(pattern):
            for text in texts(yaml.safe_load(path.read_text(encoding="utf-8"))):
                for expression in re.findall(r"\{\{(.*?)\}\}", text, re.DOTALL):
                    # Neither an attribute nor the name of a filter or of a thing in quotes.
                    names.update(re.findall(r"(?<![\w.'\"])gpustack_\w+\b(?!['\"])", expression))
    return names


def texts(content):
    if isinstance(content, str):
        yield content
    elif isinstance(content, dict):
        for value in content.values():
            yield from texts(value)
    elif isinstance(content, list):
        for value in content:
            yield from texts(value)


def test_preflight_knows_exactly_the_names_that_are_read():
    read = names_read() - role_options() - role_internals() - NOT_VARIABLES
    assert read | READ_BY_PREFLIGHT_ONLY == set(_data.load("variables.yml"))
    assert not read & READ_BY_PREFLIGHT_ONLY


def test_no_name_is_both_an_inventory_variable_and_an_option_of_a_role():
    assert role_options() & set(_data.load("variables.yml")) == set()


def test_roles_fall_back_to_the_defaults_the_documentation_tells():
    known = _data.load("variables.yml")
    pattern = re.compile(r"\{\{ (gpustack_\w+) \| default\(([^()]*), true\) \}\}")
    told = {}
    for path in (REPOSITORY / "roles").glob("*/defaults/main.yml"):
        for name, literal in pattern.findall(path.read_text(encoding="utf-8")):
            # The empty text stands for "nothing given", which the documentation says in words.
            if literal not in ("inventory_hostname", "''"):
                told.setdefault(name, set()).add(repr(ast.literal_eval(literal)))
    assert len(told) >= 5
    assert told == {name: {repr(known[name]["default"])} for name in told}
