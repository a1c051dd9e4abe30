"""Modules run on hosts with Python 3.8: each is imported there as it ships."""

from __future__ import annotations

import pathlib
import subprocess

import ansible
import pytest
import pythons

PYTHON = pythons.find("3.8")


@pytest.mark.skipif(PYTHON is None, reason="no Python 3.8 here: neither on the path nor in pyenv")
def test_every_module_imports(installed, tmp_path):
    # Only ansible and this collection, as in the archive that Ansible sends to a host.
    (tmp_path / "ansible").symlink_to(pathlib.Path(ansible.__file__).parent)
    (tmp_path / "ansible_collections").symlink_to(installed.parents[1])
    modules = sorted(path.stem for path in (installed / "plugins" / "modules").glob("*.py"))
    assert len(modules) >= 12
    lines = [f"import ansible_collections.inferops.gpustack.plugins.modules.{name}" for name in modules]
    done = subprocess.run(
        [PYTHON, "-I", "-c", "\n".join(["import sys", f"sys.path.insert(0, {str(tmp_path)!r})", *lines])],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
