"""The collection as Galaxy would give it: installed, without the checkout and its ansible.cfg, on the converged lab."""

from __future__ import annotations

import re
import subprocess
import sys

import lab_site
import working_tree
from lab_site import HOSTS, INVENTORY


def test_the_installed_site_finds_everything_done(lab, tmp_path, monkeypatch):
    galaxy = [sys.executable, "-m", "ansible", "galaxy", "collection"]
    tree = tmp_path / "tree"
    working_tree.copy_to(tree)
    subprocess.run([*galaxy, "build", "--output-path", tmp_path], cwd=tree, check=True)
    (tarball,) = tmp_path.glob("*.tar.gz")
    place, empty = tmp_path / "installed", tmp_path / "empty"
    empty.mkdir()
    # Neither this checkout's configuration nor the person's.
    (empty / "ansible.cfg").touch()
    monkeypatch.setenv("ANSIBLE_CONFIG", str(empty / "ansible.cfg"))
    subprocess.run([*galaxy, "install", tarball, "--offline", "-p", place], cwd=empty, check=True)

    monkeypatch.setenv("ANSIBLE_COLLECTIONS_PATH", str(place))
    before = {host: lab.running(host) for host in HOSTS}
    run = lab_site.playbook("inferops.gpustack.site", "-i", str(INVENTORY), "-vv", log="installed.log", cwd=empty)
    assert run.code == 0, run.tail()
    assert set(run.recap()) == set(HOSTS)
    assert run.changed() == 0
    assert {host: lab.running(host) for host in HOSTS} == before
    paths = re.findall(r"^task path: (\S+)", run.output, re.MULTILINE)
    collection = place / "ansible_collections" / "inferops" / "gpustack"
    assert len(paths) >= 20
    assert [path for path in paths if not path.startswith(f"{collection}/")] == []
