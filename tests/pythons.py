"""Interpreters of this machine by version, those of pyenv included (its shims run the selected versions only)."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path


def find(version):
    """The path of `python<version>`, such as 3.8; None when there is none."""
    if sys.version_info[:2] == tuple(map(int, version.split("."))):
        return Path(sys.executable)
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    for directory in sorted(root.glob(f"versions/{version}.*/bin")):
        return directory / f"python{version}"
    directories = os.get_exec_path()
    found = shutil.which(f"python{version}", path=os.pathsep.join(d for d in directories if Path(d).name != "shims"))
    return Path(found) if found else None
