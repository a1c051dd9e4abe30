# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The next command: what ansible-playbook itself understood of the command line, written again."""

from __future__ import annotations

import os

import pytest
from ansible import constants
from ansible.cli.playbook import PlaybookCLI
from ansible_collections.inferops.gpustack.plugins.plugin_utils import _rerun


@pytest.fixture(autouse=True)
def on_the_path(monkeypatch):
    monkeypatch.setattr(_rerun.shutil, "which", {"ansible-playbook": "/usr/bin/ansible-playbook"}.get)


def understood(*words):
    cli = PlaybookCLI(["ansible-playbook", *words])
    cli.init_parser()
    return vars(cli.post_process_args(cli.parser.parse_args(list(words))))


def again(*words, program="/usr/bin/ansible-playbook", **changes):
    return _rerun.command(understood(*words), constants, program, **changes)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("site.yml", "site.yml"),
        ("inferops.gpustack.site -i inventories/prod", "inferops.gpustack.site -i inventories/prod"),
        ("site.yml -i a -i /etc/hosts.yml", "site.yml -i a -i /etc/hosts.yml"),
        ("site.yml -KbJk", "site.yml --ask-pass --ask-vault-pass --become --ask-become-pass"),
        ("site.yml --vault-password-file .pass", "site.yml --vault-password-file .pass"),
        ("site.yml --vault-id prod@prompt", "site.yml --vault-id prod@prompt"),
        ("site.yml -u ops --private-key /k", "site.yml --user ops --private-key /k"),
        ("site.yml --tags b,a --skip-tags c", "site.yml --tags a,b --skip-tags c"),
        ("site.yml --limit all:!h20-01", "site.yml --limit 'all:!h20-01'"),
        ("site.yml -CD -f 3", "site.yml --check --diff --forks 3"),
    ],
)
def test_the_command_is_the_one_that_was_given(words, expected):
    assert again(*words.split()) == f"ansible-playbook {expected}"


def test_words_with_blanks_are_quoted():
    assert again("my site.yml", "-i", "my hosts") == "ansible-playbook 'my site.yml' -i 'my hosts'"


def test_a_limit_and_a_check_take_the_place_of_those_of_the_run():
    assert again("site.yml", "-l", "all", limit=["a", "b"]) == "ansible-playbook site.yml --limit a,b"
    assert again("site.yml", "-l", "all", "--check", check=False) == "ansible-playbook site.yml --limit all"


def test_values_that_may_be_secret_are_named_and_not_repeated():
    words = ("site.yml", "-e", "password=hunter2", "--ssh-common-args=-o hunter2")
    assert again(*words) == "ansible-playbook site.yml"
    assert _rerun.not_repeated(understood(*words)) == ["-e", "--ssh-common-args"]
    assert _rerun.not_repeated(understood("site.yml")) == []


def test_a_program_below_this_directory_keeps_its_path():
    program = os.path.join(os.getcwd(), ".venv", "bin", "ansible-playbook")
    assert again("site.yml", program=program) == ".venv/bin/ansible-playbook site.yml"
    assert again("site.yml", program="/opt/ansible/__main__.py") == "ansible-playbook site.yml"


def test_a_program_a_shell_would_not_find_keeps_its_path():
    program = "/opt/ansible/bin/ansible-playbook"
    assert again("site.yml", program=program) == f"{program} site.yml"
