"""There is room for one lab on a Docker Engine, and a second checkout is told so in one line."""

from __future__ import annotations

import os
import subprocess

from lab_site import INVENTORY, ROOT


def test_demo_in_a_second_checkout_ends_in_one_clear_line(tmp_path):
    # Without one, the second checkout would build its own.
    assert (INVENTORY / "lab.yml").exists(), "no lab of this checkout runs: make lab"
    second = tmp_path / "second"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(second)], check=True)
    # The same Python environment: what is tested is the lab, not pip.
    os.symlink(os.environ["VIRTUAL_ENV"], second / ".venv")
    demo = subprocess.run(["make", "demo"], cwd=second, capture_output=True, text=True, timeout=120, check=False)
    lines = [line for line in (demo.stdout + demo.stderr).splitlines() if str(ROOT) in line]
    assert demo.returncode != 0
    assert len(lines) == 1, demo.stdout + demo.stderr
    assert "runs on this Docker Engine" in lines[0]
    assert "make clean" in lines[0]
    assert not (second / ".lab").exists()
