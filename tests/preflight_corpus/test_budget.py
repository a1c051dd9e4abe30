"""Preflight on a large site stays within its budget of CPU."""

from __future__ import annotations

import importlib.util
import pathlib

BENCHMARK = pathlib.Path(__file__).resolve().parents[2] / "benchmarks" / "preflight.py"


def test_500_hosts_and_20_models(tmp_path):
    spec = importlib.util.spec_from_file_location("preflight_benchmark", BENCHMARK)
    benchmark = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(benchmark)
    spent = []
    # CPU seconds grow when something else uses the other half of a core: the best of three counts.
    for attempt in range(3):
        whole, start = benchmark.measure(tmp_path / str(attempt), hosts=500, models=20)
        print(benchmark.report(whole, start))
        spent.append(whole - start)
        if spent[-1] < benchmark.BUDGET_S:
            break
    assert min(spent) < benchmark.BUDGET_S
