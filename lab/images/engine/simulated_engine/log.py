"""Log lines in the shape of vLLM 0.25: `(Process pid=1) LEVEL mm-dd HH:MM:SS [file.py:line] message`."""

from __future__ import annotations

import os
import sys
import threading
import time

_lock = threading.Lock()


def line(message: str, source: str, process: str = "APIServer", level: str = "INFO") -> None:
    stamp = time.strftime("%m-%d %H:%M:%S")
    user_prefix = os.environ.get("VLLM_LOGGING_PREFIX", "")
    raw(f"{user_prefix}{level} {stamp} [{source}] {message}", process)


def debug(message: str, source: str, process: str = "APIServer") -> None:
    if os.environ.get("VLLM_LOGGING_LEVEL", "INFO").upper() == "DEBUG":
        line(message, source, process, "DEBUG")


def raw(text: str, process: str = "APIServer") -> None:
    prefix = f"({process} pid={os.getpid()}) " if process else ""
    with _lock:
        sys.stdout.write("".join(f"{prefix}{part}\n" for part in text.splitlines()))
        sys.stdout.flush()


def failure(error) -> None:
    """The traceback's first and last line, and for a dead engine process what the API server then says."""
    if error.process == "APIServer":
        raw(f"Traceback (most recent call last):\n{error.kind}: {error.message}")
        return
    if error.process != "EngineCore":
        line("WorkerProc failed to start.", "multiproc_executor.py:898", error.process, "ERROR")
        line(f"{error.kind}: {error.message}", "multiproc_executor.py:898", error.process, "ERROR")
    line("EngineCore failed to start.", "core.py:1231", "EngineCore", "ERROR")
    cause = (
        f"{error.kind}: {error.message}"
        if error.process == "EngineCore"
        else (
            "Exception: WorkerProc initialization failed due to an exception in a background process. "
            "See stack trace for root cause."
        )
    )
    line(cause, "core.py:1231", "EngineCore", "ERROR")
    raw(
        "Traceback (most recent call last):\nRuntimeError: Engine core initialization failed. "
        "See root cause above. Failed core proc(s): {'EngineCore': 1}"
    )
