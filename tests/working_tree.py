"""The working tree without what running things left in it (a lab under construction can't even be listed)."""

from __future__ import annotations

import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_LEFT = shutil.ignore_patterns("__pycache__", "output", ".*", "*.tar.gz")


def copy_to(directory):
    """Copy it to a directory that does not exist yet; `collections`, a link to the tree itself, stays behind."""
    directory.mkdir()
    for path in ROOT.iterdir():
        if path.is_dir() and not path.name.startswith(".") and path.name != "collections":
            shutil.copytree(path, directory / path.name, ignore=_LEFT, symlinks=True)
        elif path.is_file():
            shutil.copy(path, directory)
