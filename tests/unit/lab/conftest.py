"""The simulated engine is no installed package: tests import it from, and start it in, its image folder."""

from __future__ import annotations

import subprocess
import sys

import pytest
from engine_process import ENGINE_FOLDER, RunningEngine, clean_environment, free_port, write_model

sys.path.insert(0, str(ENGINE_FOLDER))


@pytest.fixture(scope="session")
def model_directory(tmp_path_factory):
    folder = tmp_path_factory.mktemp("DeepSeek-V4-Flash-0731")
    write_model(folder)
    return folder


@pytest.fixture(scope="module")
def start_engine(model_directory):
    """Start engines that end with the module's tests."""
    started = []

    def start(*arguments, model=None, environment=None, ready=True):
        engine = RunningEngine([str(model or model_directory), *arguments], environment or {})
        started.append(engine)
        return engine.wait_for("Application startup complete.") if ready else engine

    yield start
    for engine in started:
        if engine.process.poll() is None:
            engine.process.kill()
        engine.process.wait()
        engine.process.stdout.close()


@pytest.fixture
def launch_and_fail(model_directory):
    """Run a launch that must end by itself; exit status and output."""

    def run(*arguments, model=None, environment=None):
        command = [str(ENGINE_FOLDER / "vllm"), "serve", str(model or model_directory), *arguments]
        ended = subprocess.run(
            [*command, "--host", "127.0.0.1", "--port", str(free_port())],
            env=clean_environment(environment or {}),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=10,
            check=False,
        )
        return ended.returncode, ended.stdout

    return run
