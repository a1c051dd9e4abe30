from __future__ import annotations

import os

import pytest
from checkout import ansible, in_use


@pytest.fixture(scope="session")
def environment(tmp_path_factory):
    """A person who has ansible and nothing else: no git, no settings, no collection but those of the package."""
    home = tmp_path_factory.mktemp("home")
    (home / "empty.cfg").touch()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "PYTHON"))}
    return dict(kept, HOME=str(home), PATH=str(home), ANSIBLE_CONFIG=str(home / "empty.cfg"), NO_COLOR="1")


@pytest.fixture(scope="session")
def tarball(tmp_path_factory, environment):
    """The collection, built from a checkout in use."""
    checkout = tmp_path_factory.mktemp("checkout") / "gpustack"
    in_use(checkout)
    out = tmp_path_factory.mktemp("built")
    built = ansible("galaxy", "collection", "build", "--output-path", out, cwd=checkout, environment=environment)
    assert built.returncode == 0, built.stderr
    (path,) = out.iterdir()
    return path


@pytest.fixture(scope="session")
def installed(tmp_path_factory, environment, tarball):
    """Where the collection is after its installation into an empty place, without a network."""
    root = tmp_path_factory.mktemp("installed")
    done = ansible(
        "galaxy", "collection", "install", tarball, "--offline", "-p", root, cwd=root, environment=environment
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return root / "ansible_collections" / "inferops" / "gpustack"


@pytest.fixture(scope="session")
def run(tmp_path_factory, environment, installed):
    """Runs `ansible-<command>` in an empty directory with the installed collection."""
    cwd = tmp_path_factory.mktemp("empty")
    settings = dict(environment, ANSIBLE_COLLECTIONS_PATH=str(installed.parents[2]))
    return lambda command, *arguments: ansible(command, *arguments, cwd=cwd, environment=settings)
