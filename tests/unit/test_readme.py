# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The two READMEs say the same, and what any page names is there."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml
from ansible_collections.inferops.gpustack.plugins.plugin_utils import _preflight
from jsonschema import Draft202012Validator

ROOT = Path(__file__).resolve().parents[2]
ENGLISH = ROOT / "README.md"
CHINESE = ROOT / "README.zh-CN.md"
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *(page for folder in ("docs", "inventories", "lab", "roles") for page in (ROOT / folder).rglob("*.md")),
    ],
)

BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^(#+) ", re.MULTILINE)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
PLAYBOOK = re.compile(r"ansible-playbook (\S+)")
MAKE = re.compile(r"(?:^|`|&& )make ([a-z][a-z-]*)", re.MULTILINE)
# A file of this repository, as a message of a plugin or a role names it.
NAMED_FILE = re.compile(r"(?<![\w/.-])(?:docs|playbooks|lab|tools)/[\w/.-]+\.(?:md|yml|py)\b")


def text(page):
    return page.read_text(encoding="utf-8")


def blocks(page):
    return BLOCK.findall(text(page))


def prose(page):
    return BLOCK.sub("", text(page))


def headings(page):
    return [len(marks) for marks in HEADING.findall(prose(page))]


def links(page):
    return LINK.findall(prose(page))


def make_targets():
    return set(re.findall(r"^([a-z][a-z-]*):(?!=)", text(ROOT / "Makefile"), re.MULTILINE))


def test_same_headings():
    assert headings(ENGLISH) == headings(CHINESE)
    assert len(headings(ENGLISH)) > 5


def test_same_code_blocks():
    assert blocks(ENGLISH) == blocks(CHINESE)
    assert len(blocks(ENGLISH)) > 3


def test_same_links():
    assert links(ENGLISH) == links(CHINESE)


def test_same_tables():
    def rows(page):
        return [line.count("|") for line in prose(page).splitlines() if line.startswith("|")]

    assert rows(ENGLISH) == rows(CHINESE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_relative_links_lead_to_files(page):
    local = [link.split("#")[0] for link in links(page) if not re.match(r"[a-z]+:|#", link)]
    assert [link for link in local if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_make_commands_are_targets(page):
    assert set(MAKE.findall(text(page))) <= make_targets()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_playbooks_in_commands_exist(page):
    named = [name for block in blocks(page) for name in PLAYBOOK.findall(block)]
    files = [re.sub(r"^inferops\.gpustack\.(\w+)$", r"playbooks/\1.yml", name) for name in named]
    assert [name for name in files if not (ROOT / name).is_file()] == []


def test_readme_leads_with_the_commands():
    assert {"demo", "test", "clean"} <= set(MAKE.findall(text(ENGLISH)))
    assert "\nmake demo\n" in blocks(ENGLISH)[0]


def test_the_inventory_of_the_readme_lacks_only_digests():
    inventory = yaml.safe_load(next(block for block in blocks(ENGLISH) if block.startswith("```yaml"))[7:-3])
    groups = {name: list(inventory[name]["hosts"]) for name in ("gpustack_server", "gpustack_worker")}
    hosts = {}
    for group in groups:
        for host, own in inventory[group]["hosts"].items():
            hosts[host] = {**inventory["all"]["vars"], **own}
            hosts[host]["gpustack_worker_address"] = own["ansible_host"]
            hosts[host]["gpustack_admin_password"] = "River.2.ocean"
    errors = [one for one in _preflight.check({"groups": groups, "hosts": hosts}) if one.severity == "error"]
    assert {one.id for one in errors} == {"image_moving_unlocked"}
    assert len(errors) == 3


def test_the_variables_in_the_readme_fit_the_schema():
    schema = Draft202012Validator(json.loads(text(ROOT / "docs" / "inventory.schema.json")))
    (accept,) = [block for block in blocks(ENGLISH) if block.startswith("```yaml\ngpustack_accept:")]
    assert list(schema.iter_errors(yaml.safe_load(accept[7:-3]))) == []


def test_files_named_in_messages_exist():
    sources = [*(ROOT / "plugins").rglob("*.py"), *(ROOT / "roles").rglob("*.yml"), *(ROOT / "lab").rglob("*.yml")]
    named = {name for source in sources for name in NAMED_FILE.findall(text(source))}
    assert "docs/inventory.md" in named
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []
