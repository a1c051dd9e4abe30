"""Preflight on a large site stays within its budget of CPU."""

from __future__ import annotations

import importlib.util
import pathlib

BENCHMARK = pathlib.Path(__file__).resolve().parents[2] / "benchmarks" / "preflight.py"


def test_500_hosts_and_20_models(tmp_path):
    spec = importlib.util.spec_from_file_location("preflight_benchmark", BENCHMARK)
    benchmark = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(benchmark)
    whole, start = benchmark.measure(tmp_path, hosts=500, models=20)
    print(benchmark.report(whole, start))
    assert whole - start < benchmark.BUDGET_S
