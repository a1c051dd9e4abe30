# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""roles/*/README.md are what their generator makes of the meta files now."""

from __future__ import annotations

import importlib.util
import pathlib
import shutil

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
TOOL = REPOSITORY / "tools" / "role_readmes.py"


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("role_readmes", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_pages_are_up_to_date(tool):
    assert tool.main(["--check"]) == 0, "run tools/role_readmes.py and commit roles/*/README.md"


def test_every_role_has_a_page():
    roles = [path for path in (REPOSITORY / "roles").iterdir() if path.is_dir()]
    assert [role.name for role in roles if not (role / "README.md").exists()] == []


def test_check_notices_a_difference_and_writes_nothing(tool, tmp_path, capsys):
    roles = tmp_path / "roles"
    shutil.copytree(REPOSITORY / "roles" / "verify", roles / "verify")
    page = roles / "verify" / "README.md"
    assert tool.main(["--check"], roles) == 0
    edited = page.read_text(encoding="utf-8").replace("`verify_timeout`", "`verify_patience`")
    page.write_text(edited, encoding="utf-8")
    assert tool.main(["--check"], roles) == 1
    assert "roles/verify/README.md" in capsys.readouterr().err
    assert page.read_text(encoding="utf-8") == edited
    assert tool.main([], roles) == 0
    assert "`verify_timeout`" in page.read_text(encoding="utf-8")


def test_a_page_tells_type_default_and_secrecy(tool):
    lines = tool.render(REPOSITORY / "roles" / "gpustack_server").splitlines()
    (timeout,) = [line for line in lines if "`gpustack_server_start_timeout`" in line]
    assert timeout.startswith("| `gpustack_server_start_timeout` | int | `180` |")
    (password,) = [line for line in lines if line.startswith("| `gpustack_server_password`")]
    assert password.endswith("*Secret.* |")
    assert "`inferops.gpustack.site_plan`" in lines
