from __future__ import annotations


class LaunchError(Exception):
    """The engine refuses to start: which exception the real one raises, with which words, in which process."""

    def __init__(self, kind: str, message: str, process: str = "APIServer"):
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.process = process
