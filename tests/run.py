#!/usr/bin/env python3
"""Runs the test suites in order, prints what ran and how long it took, and stops by itself when time is up.

Usage: run.py [--full] [--only SUITE ...]
"""

from __future__ import annotations

import argparse
import contextlib
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
#: name -> commands. `check_mode` and `first_run` need the lab's bare hosts, those after them the site that `first_run`
#: made. `lab`, `prod` and `single_node` end that site.
SUITES = {
    "lint": LINT,
    "unit": [[*PYTEST, "tests/unit"]],
    "preflight_corpus": [[*PYTEST, "-s", "tests/preflight_corpus"]],
    "artefact": [[*PYTEST, "tests/artefact"]],
    "sanity": [[sys.executable, "tests/sanity/run.py", "--quick"]],
    "lab": [[*PLAYBOOK, "lab/reset.yml"], [*PLAYBOOK, "lab/create.yml"]],
    "check_mode": [[*PYTEST, f"{E2E}/test_check_mode.py"]],
    "first_run": [[*PYTEST, "-s", f"{E2E}/test_first_run.py"]],
    "check_mode_again": [[*PYTEST, f"{E2E}/test_check_mode_again.py"]],
    "proofs": [[*PYTEST, "-s", f"{E2E}/test_proofs.py"]],
    "installed": [[*PYTEST, f"{E2E}/test_installed.py"]],
    "python38": [[*PYTEST, f"{E2E}/test_python38.py"]],
    "limit": [[*PYTEST, f"{E2E}/test_limit.py"]],
    "molecule": [["molecule", "test", "-s", "default", "-s", "cluster", "--shared-state", "--destroy=never"]],
    "server": [[*PYTEST, f"{E2E}/test_server.py"]],
    "worker_down": [[*PYTEST, "-s", f"{E2E}/test_worker_down.py"]],
    "api": [[*PYTEST, "tests/integration", "--gpustack", os.environ.get("GPUSTACK", "2.3.0")]],
    "prod": [[*PLAYBOOK, "lab/reset.yml"], [*PLAYBOOK, "lab/create.yml"], [*PYTEST, f"{E2E}/test_prod.py"]],
    # Reset, or Molecule remembers an earlier run and leaves its `prepare` out.
    "single_node": [
        ["molecule", "reset", "-s", "single_node"],
        ["molecule", "test", "-s", "single_node", "--destroy=never"],
    ],
    "second_checkout": [[*PYTEST, f"{E2E}/test_second_checkout.py"]],
}
#: A suite that runs beside others -> the one it starts with. The lab is built while linters and unit tests need one
#: core; the tests of the API need one while tests on the lab's hosts wait.
BESIDE = {"lab": "lint", "api": "limit"}
FULL = {
    "api_versions": [[*PYTEST, "tests/integration", "--gpustack", "2.2.3,2.1.2"]],
    "sanity_full": [[sys.executable, "tests/sanity/run.py"]],
    "kill_each": [[*PYTEST, f"{E2E}/test_kill_each.py"]],
}


class Beside(threading.Thread):
    """A suite that runs beside others and shows its output in its turn."""

    def __init__(self, name, deadline):
        super().__init__(daemon=True)
        OUTPUT.mkdir(exist_ok=True)
        self.suite, self.deadline = name, deadline
        self.log = OUTPUT / f"{name}.log"
        self.code, self.seconds = 0, 0.0
        self.start()

    def run(self):
        started = time.monotonic()
        with open(self.log, "w") as log:
            self.code = run_suite(self.suite, self.deadline, log)
        self.seconds = time.monotonic() - started

    def finish(self):
        self.join()
        print(self.log.read_text(), flush=True)
        return self.code


def run_suite(name, deadline, output=None):
    """Exit code of the first command that fails, else 0."""
    for command in {**SUITES, **FULL}[name]:
        code = run(command, max(1, deadline - time.monotonic()), output)
        if code:
            return code
    return 0


def run(command, seconds, output=None):
    """Exit code; 124 when the time was up. The command gets a moment to end what it has started itself."""
    print(f"+ {' '.join(command)}", file=output, flush=True)
    process = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=output, start_new_session=True)
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(30)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return 124
    except KeyboardInterrupt:
        os.killpg(process.pid, signal.SIGTERM)
        raise


def table(rows):
    lines = [f"{'suite':<18} {'result':<10} {'seconds':>8}", "-" * 38]
    lines += [f"{name:<18} {result:<10} {seconds:>8.0f}" for name, result, seconds in rows]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="also the suites that take longer than a test run may")
    parser.add_argument("--only", nargs="+", metavar="SUITE", choices=[*SUITES, *FULL])
    options = parser.parse_args()
    suites = dict(SUITES, **FULL) if options.full or options.only else SUITES
    chosen = [name for name in suites if not options.only or name in options.only]
    os.environ.setdefault("VIRTUAL_ENV", sys.prefix)
    os.environ["PATH"] = f"{Path(sys.prefix) / 'bin'}:{os.environ['PATH']}"
    begin = time.monotonic()
    deadline = begin + (LIMIT_S if not options.full else 4 * LIMIT_S)
    beside = {}
    rows = []
    for name in chosen:
        beside.update({one: Beside(one, deadline) for one in chosen if BESIDE.get(one) == name})
        started = time.monotonic()
        code = beside[name].finish() if name in beside else run_suite(name, deadline)
        result = {0: "passed", NOTHING_RAN: "skipped", 124: "timed out"}.get(code, "failed")
        rows.append((name, result, beside[name].seconds if name in beside else time.monotonic() - started))
        if result == "timed out" or (result == "failed" and name == "lab"):
            rows += [(rest, "not run", 0) for rest in chosen[len(rows) :]]
            break
    overlap = "; ".join(f"{one} runs beside {other} and what follows" for one, other in BESIDE.items())
    print(f"\n{table(rows)}\n\n{time.monotonic() - begin:.0f} s in all; {overlap}.", flush=True)
    skipped = sum(result == "skipped" for _, result, _ in rows)
    failed = sum(result not in ("passed", "skipped") for _, result, _ in rows)
    print(f"suites: {len(rows) - failed - skipped} passed, {failed} failed, {skipped} skipped", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
