from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

MAKE = Path(__file__).parents[2] / "fixtures" / "checkpoints" / "make.py"


@pytest.fixture(scope="session")
def make():
    spec = importlib.util.spec_from_file_location("make_checkpoints", MAKE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def checkpoint(make, tmp_path_factory):
    """The directory of a fixture, made once. Tests only read it."""
    root = tmp_path_factory.mktemp("checkpoints")

    def made(name):
        return str(root / name if (root / name).exists() else make.make(root, name))

    return made
