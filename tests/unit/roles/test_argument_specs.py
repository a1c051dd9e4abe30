# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every role says what it takes: argument specs and defaults name the same options with the same values."""

from __future__ import annotations

import pytest
import yaml
from unit import ansible_run
from unit.ansible_run import REPOSITORY

ROLES = sorted(path.name for path in (REPOSITORY / "roles").iterdir() if path.is_dir())
SECRET_WORDS = ("password", "token", "secret", "api_key")


def read(role, path):
    return yaml.safe_load((REPOSITORY / "roles" / role / path).read_text(encoding="utf-8")) or {}


def options(role):
    return read(role, "meta/argument_specs.yml")["argument_specs"]["main"]["options"]


def is_expression(value):
    return "{{" in str(value) or "{%" in str(value)


def test_there_are_roles():
    assert len(ROLES) >= 10


@pytest.mark.parametrize("role", ROLES)
def test_specs_and_defaults_name_the_same_options(role):
    assert list(options(role)) == list(read(role, "defaults/main.yml"))


@pytest.mark.parametrize("role", ROLES)
def test_a_default_is_told_exactly_when_it_is_a_literal(role):
    literals = {name: value for name, value in read(role, "defaults/main.yml").items() if not is_expression(value)}
    told = {name: spec["default"] for name, spec in options(role).items() if "default" in spec}
    assert told == literals


@pytest.mark.parametrize("role", ROLES)
def test_every_option_has_type_and_description(role):
    for name, spec in options(role).items():
        assert spec["type"] in ("str", "int", "bool", "dict", "list", "path"), name
        assert ("elements" in spec) == (spec["type"] == "list"), name
        assert spec["description"].strip().endswith("."), name
        if name.endswith("_timeout"):
            assert "seconds" in spec["description"], f"{name} does not tell its unit"


@pytest.mark.parametrize("role", ROLES)
def test_an_option_whose_value_is_an_expression_tells_where_it_comes_from(role):
    for name, spec in options(role).items():
        if "default" not in spec:
            assert "Taken from" in spec["description"] or "under the inventory variable" in spec["description"], name


@pytest.mark.parametrize("role", ROLES)
def test_secrets_are_kept_out_of_messages(role):
    for name, spec in options(role).items():
        if any(word in name for word in SECRET_WORDS) or name.endswith("_config"):
            assert spec.get("no_log") is True, name


@pytest.mark.parametrize("role", ROLES)
def test_every_role_tells_who_made_it_and_where_it_runs(role):
    meta = read(role, "meta/main.yml")
    collection = yaml.safe_load((REPOSITORY / "galaxy.yml").read_text(encoding="utf-8"))
    about = meta["galaxy_info"]
    assert about["author"] in collection["authors"]
    assert about["license"] in collection["license"]
    assert about["min_ansible_version"] == "2.19"
    assert {"name": "Debian", "versions": ["bookworm"]} in about["platforms"]
    assert about["description"] == read(role, "meta/argument_specs.yml")["argument_specs"]["main"]["short_description"]


def validate(directory, inventory_file, *arguments):
    """Runs the site without preflight, with no task but the validation of options (it always runs), unconnected."""
    plays = yaml.safe_load((REPOSITORY / "playbooks" / "site.yml").read_text(encoding="utf-8"))
    playbook = directory / "site.yml"
    playbook.write_text(yaml.safe_dump([play for play in plays if "hosts" in play]), encoding="utf-8")
    (directory / "ssh").write_text("#!/bin/sh\necho 'connected to a host' >&2\nexit 1\n", encoding="utf-8")
    (directory / "ssh").chmod(0o755)
    variables = directory / "variables.yml"
    variables.write_text("gpustack_admin_password: Not-a-real-1\n", encoding="utf-8")
    options = ["--tags", "no_task_has_this_tag", "-e", f"@{variables}"]
    options += ["-e", f"ansible_ssh_executable={directory / 'ssh'}"]
    return ansible_run.playbook("-i", inventory_file, playbook, *options, *arguments)


@pytest.fixture(scope="module")
def lab_inventory(tmp_path_factory):
    """The lab's own inventory without what creating a lab adds to it."""
    directory = tmp_path_factory.mktemp("inventory")
    source = REPOSITORY / "inventories" / "lab"
    (directory / "hosts.yml").write_text((source / "hosts.yml").read_text(encoding="utf-8"), encoding="utf-8")
    (directory / "host_vars").symlink_to(source / "host_vars")
    return directory / "hosts.yml"


def test_specs_accept_a_site_on_every_host_and_connect_to_none(lab_inventory, tmp_path):
    done = validate(tmp_path, lab_inventory)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "connected to a host" not in done.stdout + done.stderr
    for role in ROLES:
        # Without options there is nothing to validate; the action of a plan validates its own; reboots are another
        # playbook's, and for hosts that need one only.
        if role not in ("preflight", "plan", "host_reboot"):
            assert f"inferops.gpustack.{role} : Validating arguments" in done.stdout, role


def test_specs_refuse_a_wrong_type_and_show_no_secret(lab_inventory, tmp_path):
    broken = '{"gpustack_server_start_timeout": "soon", "gpustack_server_config": "Very-secret-1"}'
    done = validate(tmp_path, lab_inventory, "-e", broken)
    assert done.returncode != 0
    assert "argument 'gpustack_server_start_timeout' is of type str and we were unable to convert to int" in done.stdout
    assert "Very-secret-1" not in done.stdout + done.stderr
