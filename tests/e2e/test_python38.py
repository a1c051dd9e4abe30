"""Hosts whose Python is 3.8: every module that goes to hosts runs there, over SSH and against the real server."""

from __future__ import annotations

import re
import subprocess

import lab_site
import pytest
import pythons
from lab_site import H20, INVENTORY, ROOT

#: The modules of the action plugins that stay on the controller.
ON_THE_CONTROLLER = {"plan", "preflight"}
RAN = re.compile(r"^Using module file \S+/inferops/gpustack/plugins/modules/(\w+)\.py", re.MULTILINE)
LEFT_OUT = ("test", "__pycache__", "site-packages", "*.a")


@pytest.fixture(scope="module")
def python38(lab):
    """An interpreter of pyenv, copied to the host under the path it was built for."""
    interpreter = pythons.find("3.8")
    interpreter = interpreter and interpreter.resolve()
    prefix = interpreter and interpreter.parents[1]
    if prefix is None or prefix.parts[1] == "usr":
        pytest.skip("no Python 3.8 in a directory of its own on this machine; `pyenv install 3.8` makes one")
    container = lab.engine.containers.get(lab.containers[H20])
    command = ["tar", "-C", "/", "-c", *(f"--exclude={name}" for name in LEFT_OUT), str(prefix).lstrip("/")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as tar:
        assert container.put_archive("/", tar.stdout)
    assert tar.returncode == 0
    refusal = lab.sh(H20, f"{interpreter} -c 'import ssl, zlib' 2>&1", check=False)
    if refusal:
        lab.sh(H20, f"rm -r {prefix}")
        pytest.skip(f"this machine's Python 3.8 does not run on the lab's Debian 12: {refusal}")
    yield interpreter
    lab.sh(H20, f"rm -r {prefix}")


def test_every_module_runs_and_changes_nothing(python38):
    playbook = str(ROOT / "tests" / "e2e" / "python38.yml")
    run = lab_site.playbook(
        playbook, "-i", str(INVENTORY), "-e", f"python38={python38}", "-vvv", log="python38.log", timeout=300
    )
    assert run.code == 0, run.tail()
    assert set(run.recap()) == {H20}
    assert run.changed() == 0
    modules = {path.stem for path in (ROOT / "plugins" / "modules").glob("*.py")}
    assert set(RAN.findall(run.output)) == modules - ON_THE_CONTROLLER
