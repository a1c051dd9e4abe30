#!/usr/bin/env python3
"""Runs the test suites in order, prints what ran and how long it took, and stops by itself when time is up.

Usage: run.py [--full] [--only SUITE ...]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIMIT_S = 75 * 60
#: pytest's exit code when it ran no test.
NOTHING_RAN = 5
PYTEST = [sys.executable, "-m", "pytest", "-q", "--durations=3"]
PLAYBOOK = ["ansible-playbook"]
E2E = "tests/e2e"
OUTPUT = ROOT / "tests" / "output"

LINT = [
    ["ruff", "check", "."],
    ["ruff", "format", "--check", "."],
    ["yamllint", "--strict", "."],
    ["ansible-lint", "--offline", "-c", ".config/ansible-lint.yml", "-q"],
    ["antsibull-changelog", "lint"],
    ["antsibull-docs", "lint-collection-docs", ".", "--plugin-docs"],
]
#: The site's hosts anew; what they have pulled stays.
SITE = json.dumps({"lab_reset": ["gs-01", "h20-01", "npu-01", "rtx-01"], "lab_reset_images": "keep"})
BARE_AGAIN = [[*PLAYBOOK, "lab/reset.yml", "-e", SITE], [*PLAYBOOK, "lab/create.yml"]]
#: name -> commands. Two lines of work go on at the same time: suites on the lab also wait for hosts, and the others
#: need no lab or a host that belongs to them alone.
WITHOUT_LAB = {
    "lint": LINT,
    "unit": [[*PYTEST, "tests/unit"]],
    "preflight_corpus": [[*PYTEST, "-s", "tests/preflight_corpus"]],
    "artefact": [[*PYTEST, "tests/artefact"]],
    "sanity": [[sys.executable, "tests/sanity/run.py", "--quick", "--core", "2.19"]],
    "api": [[*PYTEST, "tests/integration", "--gpustack", os.environ.get("GPUSTACK", "2.3.0")]],
}
#: `host_faults`, `check_mode` and `first_run` need the lab's bare hosts, those after them the site that `first_run`
#: made. `driver_upgrade` reboots h20-01, `prod` ends that site.
ON_LAB = {
    "lab": [[*PLAYBOOK, "lab/reset.yml"], [*PLAYBOOK, "lab/create.yml"]],
    "host_faults": [[*PYTEST, f"{E2E}/test_host_faults.py"]],
    "check_mode": [[*PYTEST, f"{E2E}/test_check_mode.py"]],
    "first_run": [[*PYTEST, "-s", f"{E2E}/test_first_run.py"]],
    "check_mode_again": [[*PYTEST, f"{E2E}/test_check_mode_again.py"]],
    "proofs": [[*PYTEST, "-s", f"{E2E}/test_proofs.py"]],
    "engine": [[*PYTEST, f"{E2E}/test_engine.py"]],
    "installed": [[*PYTEST, f"{E2E}/test_installed.py"]],
    "python38": [[*PYTEST, f"{E2E}/test_python38.py"]],
    "reboot": [[*PYTEST, f"{E2E}/test_reboot.py"]],
    "driver_upgrade": [[*PYTEST, f"{E2E}/test_driver_upgrade.py"]],
    "limit": [[*PYTEST, f"{E2E}/test_limit.py"]],
    "molecule": [["molecule", "test", "-s", "default", "-s", "cluster", "--shared-state", "--destroy=never"]],
    "server": [[*PYTEST, f"{E2E}/test_server.py"]],
    "worker_down": [[*PYTEST, "-s", f"{E2E}/test_worker_down.py"]],
    "prod": [*BARE_AGAIN, [*PYTEST, f"{E2E}/test_prod.py"]],
    "second_checkout": [[*PYTEST, f"{E2E}/test_second_checkout.py"]],
}
#: What has to be over before these begin: `host_faults` plants some on solo-01 as well.
BEFORE_BESIDE = ("lab", "host_faults")
BESIDE_THE_SITE = {
    "drivers": [[*PYTEST, f"{E2E}/test_drivers.py"]],
    "ascend_drivers": [[*PYTEST, f"{E2E}/test_ascend_drivers.py"]],
    # Reset, or Molecule remembers an earlier run and leaves its `prepare` out.
    "single_node": [
        ["molecule", "reset", "-s", "single_node"],
        ["molecule", "test", "-s", "single_node", "--destroy=never"],
    ],
}
FULL_WITHOUT_LAB = {
    "api_versions": [[*PYTEST, "tests/integration", "--gpustack", "2.2.3,2.1.2"]],
    "sanity_full": [[sys.executable, "tests/sanity/run.py"]],
}
FULL_ON_LAB = {
    "kill_each": [[*PYTEST, f"{E2E}/test_kill_each.py"]],
    "reboot_killed": [[*PYTEST, f"{E2E}/test_reboot_killed.py"]],
}
ALL = {**WITHOUT_LAB, **BESIDE_THE_SITE, **FULL_WITHOUT_LAB, **ON_LAB, **FULL_ON_LAB}


class Line(threading.Thread):
    """Suites that run one after the other.

    `beside`: another line has the console and goes first where both want the processor, so what these print goes to
    files.
    lab: the line that builds the lab, where this one has suites that need it.
    """

    def __init__(self, suites, deadline, beside=False, lab=None):
        super().__init__(daemon=True)
        self.left, self.deadline, self.beside, self.lab = list(suites), deadline, beside, lab
        self.rows, self.process, self.built = {}, None, threading.Event()
        self.tell_built()

    def run(self):
        while self.left:
            name = self.left.pop(0)
            if name in BESIDE_THE_SITE and not self.lab.stands():
                self.rows[name] = "not run", 0
                continue
            started = time.monotonic()
            with open(log_of(name), "w") if self.beside else contextlib.nullcontext() as output:
                code = self.suite(name, output)
            result = {0: "passed", NOTHING_RAN: "skipped", 124: "timed out"}.get(code, "failed")
            self.rows[name] = result, time.monotonic() - started
            if result == "timed out" or (result == "failed" and name == "lab"):
                self.rows.update((rest, ("not run", 0)) for rest in self.left)
                self.left = []
            self.tell_built()

    def tell_built(self):
        if not set(BEFORE_BESIDE) & set(self.left):
            self.built.set()

    def stands(self):
        """Wait until the lab is built and free for suites beside the site, and say whether it is."""
        self.built.wait()
        return self.rows.get("lab", ("passed", 0))[0] == "passed"

    def suite(self, name, output):
        """Exit code of the first command that fails, else 0."""
        for command in ALL[name]:
            code = self.command(command, output)
            if code:
                return code
        return 0

    def command(self, command, output):
        """Exit code; 124 when the time was up. The command gets a moment to end what it has started itself."""
        print(f"+ {' '.join(command)}", file=output, flush=True)
        polite = ["nice", "-n", "5"] if self.beside else []
        self.process = subprocess.Popen(
            [*polite, *command], cwd=ROOT, stdout=output, stderr=output, start_new_session=True
        )
        try:
            return self.process.wait(max(1, self.deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(30)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            return 124

    def stop(self):
        self.left = []
        if self.process:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGTERM)


def log_of(name):
    OUTPUT.mkdir(exist_ok=True)
    return OUTPUT / f"{name}.log"


def table(rows):
    lines = [f"{'suite':<18} {'result':<10} {'seconds':>8}", "-" * 38]
    lines += [f"{name:<18} {result:<10} {seconds:>8.0f}" for name, (result, seconds) in rows.items()]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="also the suites that take longer than a test run may")
    parser.add_argument("--only", nargs="+", metavar="SUITE", choices=ALL)
    options = parser.parse_args()
    suites = ALL if options.full or options.only else {**WITHOUT_LAB, **BESIDE_THE_SITE, **ON_LAB}
    chosen = [name for name in suites if not options.only or name in options.only]
    os.environ.setdefault("VIRTUAL_ENV", sys.prefix)
    os.environ["PATH"] = f"{Path(sys.prefix) / 'bin'}:{os.environ['PATH']}"
    begin = time.monotonic()
    deadline = begin + (LIMIT_S if not options.full else 4 * LIMIT_S)
    on_lab = [name for name in chosen if name in ON_LAB or name in FULL_ON_LAB]
    without = [name for name in chosen if name not in on_lab]
    both = bool(on_lab and without)
    lab = Line(on_lab, deadline)
    lines = [lab, Line(without, deadline, beside=both, lab=lab)]
    try:
        for line in lines:
            line.start()
        for line in lines:
            line.join()
    except KeyboardInterrupt:
        for line in lines:
            line.stop()
        raise
    for name in lines[1].rows if both else ():
        print(log_of(name).read_text(), flush=True)
    found = {**lines[0].rows, **lines[1].rows}
    rows = {name: found[name] for name in chosen}
    how = "two lines at the same time" if both else "one line"
    print(f"\n{table(rows)}\n\n{time.monotonic() - begin:.0f} s in all, in {how}.", flush=True)
    skipped = sum(result == "skipped" for result, _ in rows.values())
    failed = sum(result not in ("passed", "skipped") for result, _ in rows.values())
    print(f"suites: {len(rows) - failed - skipped} passed, {failed} failed, {skipped} skipped", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
