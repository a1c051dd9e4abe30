#!/usr/bin/env python3
"""Runs `ansible-test sanity` on what ships: the collection is built and unpacked, as Galaxy would judge it.

Usage: run.py [--core VERSION ...] [--quick]

Tests and the lab do not ship; ruff, yamllint and ansible-lint judge them. Neither Docker nor Galaxy is needed; Python
packages come from PyPI and are kept in .ansible/sanity.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CACHE = ROOT / ".ansible" / "sanity"
OUTPUT = ROOT / "tests" / "output"
sys.path.insert(0, str(ROOT / "tests"))

import pythons  # noqa: E402
import working_tree  # noqa: E402

#: ansible-core to the Python that runs it.
CORES = {"2.19": "3.11", "2.21": "3.13"}
#: Every Python of a controller or of a host; ansible-test takes those that its ansible-core supports.
VERSIONS = ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13")
#: One test for each Python, each with an environment of its own: more than half of the time of a run.
SLOW = ("import",)
#: Where ansible-test looks for get-pip.py before it fetches it from a host of its own, by version of pip.
GET_PIP = Path(".ansible", "test", "cache")
PIP_VERSIONS = ("24.2", "25.2")
RAN = re.compile(r'^Running sanity test "([^"]+)"', re.MULTILINE)
DEFECT = re.compile(r"^ERROR: (\S+:\d+:\d+: .*)", re.MULTILINE)
NOT_RUN = re.compile(r"^WARNING: ((?:Required program|Skipping).*)", re.MULTILINE)


def environment():
    """Only the interpreters we name, and a home of its own: ansible-test keeps virtual environments there."""
    home = CACHE / "home"
    (home / GET_PIP).mkdir(parents=True, exist_ok=True)
    for version in PIP_VERSIONS:
        shutil.copy(HERE / "get_pip.py", home / GET_PIP / f"get_pip_{version.replace('.', '_')}.py")
    interpreters = CACHE / "pythons"
    interpreters.mkdir(exist_ok=True)
    for version in VERSIONS:
        link = interpreters / f"python{version}"
        link.unlink(missing_ok=True)
        found = pythons.find(version)
        if found:
            link.symlink_to(found)
    settings = dict(os.environ, HOME=str(home), PATH=os.pathsep.join([str(interpreters), os.defpath]))
    # pip's own configuration stays where the person has it.
    settings.setdefault("XDG_CONFIG_HOME", str(Path.home() / ".config"))
    return settings


def prepare(core):
    """A virtual environment with that ansible-core; its ansible-test makes one more for each of its tests."""
    place = CACHE / core
    if (place / "bin" / "ansible-test").exists():
        return
    subprocess.run([pythons.find(CORES[core]), "-m", "venv", "--clear", place], check=True)
    packages = [f"ansible-core=={core}.*", "distlib"]
    subprocess.run([place / "bin" / "pip", "install", "--quiet", *packages], check=True)


def unpack(settings, directory):
    """What ships, at the path that ansible-test insists on."""
    tree = Path(directory, "tree")
    working_tree.copy_to(tree)
    build = ["ansible-galaxy", "collection", "build", "--output-path", directory]
    subprocess.run(build, cwd=tree, env=settings, check=True, stdout=subprocess.DEVNULL)
    (path,) = Path(directory).glob("*.tar.gz")
    content = Path(directory, "ansible_collections", "inferops", "gpustack")
    shutil.unpack_archive(path, content)
    return content


def judge(core, arguments):
    """`(exit code, output)` of ansible-test; the output is in tests/output as well."""
    prepare(core)
    settings = environment()
    settings["PATH"] = os.pathsep.join([str(CACHE / core / "bin"), settings["PATH"]])
    OUTPUT.mkdir(exist_ok=True)
    log = OUTPUT / f"sanity_{core}.log"
    with tempfile.TemporaryDirectory() as directory, open(log, "w") as stream:
        content = unpack(settings, directory)
        command = ["ansible-test", "sanity", "--local", "--color", "no", *arguments]
        done = subprocess.run(command, cwd=content, env=settings, stdout=stream, stderr=subprocess.STDOUT, check=False)
    return done.returncode, log.read_text()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--core", nargs="+", choices=CORES, default=list(CORES))
    parser.add_argument("--quick", action="store_true", help=f"without the slow tests: {', '.join(SLOW)}")
    options = parser.parse_args()
    arguments = [part for test in SLOW if options.quick for part in ("--skip-test", test)]
    rows, failed = [], False
    for core in options.core:
        if pythons.find(CORES[core]) is None:
            print(
                f"ansible-core {core}: not run: needs Python {CORES[core]}, neither on the path nor in pyenv",
                flush=True,
            )
            continue
        started = time.monotonic()
        code, output = judge(core, arguments)
        defects = DEFECT.findall(output)
        failed = failed or code != 0 or not RAN.search(output)
        if code:
            print(output if not defects else "\n".join(defects), flush=True)
        rows.append((core, code, len(set(RAN.findall(output))), len(defects), time.monotonic() - started))
        for reason in sorted(set(NOT_RUN.findall(output))):
            print(f"ansible-core {core}: not run: {reason}", flush=True)
    print(f"\n{'ansible-core':<14} {'result':<8} {'tests':>6} {'defects':>8} {'seconds':>8}\n{'-' * 48}")
    for core, code, tests, defects, seconds in rows:
        print(f"{core:<14} {'failed' if code or not tests else 'passed':<8} {tests:>6} {defects:>8} {seconds:>8.0f}")
    return 1 if failed or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
