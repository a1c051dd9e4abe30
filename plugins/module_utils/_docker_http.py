# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Docker Engine's HTTP over its unix socket; neither the docker command nor a Python SDK is needed."""

from __future__ import annotations

import errno
import http.client
import json
import socket
import time


class EngineError(Exception):
    """The engine gave no usable answer. kind: silent, refused, denied, not-an-engine, gone or failed."""

    def __init__(self, kind, message):
        super().__init__(message)
        self.kind = kind


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Engine:
    """All requests together end by one deadline: a hanging engine costs the time-out once."""

    def __init__(self, path, timeout):
        self.path = path
        self.timeout = timeout
        self.deadline = time.monotonic() + timeout

    def get(self, endpoint):
        connection = UnixConnection(self.path, self._remaining())
        try:
            connection.request("GET", endpoint, headers={"Host": "docker"})
            # A response that ends with the connection takes the socket over from http.client.
            channel = connection.sock
            response = connection.getresponse()
            body = self._read(channel, response)
        except (socket.timeout, BlockingIOError) as error:  # the latter: connect() to a socket with a full backlog
            raise self._silent(endpoint) from error
        except PermissionError as error:
            raise EngineError("denied", f"no permission to use {self.path}") from error
        except OSError as error:
            kind = "refused" if error.errno in (errno.ECONNREFUSED, errno.ENOENT) else "failed"
            raise EngineError(kind, f"{endpoint}: {error.strerror or error}") from error
        except http.client.HTTPException as error:
            raise EngineError("not-an-engine", f"{endpoint}: the answer is not HTTP ({error!r})") from error
        finally:
            connection.close()
        return self._decoded(endpoint, response.status, body)

    def _remaining(self):
        remaining = self.deadline - time.monotonic()
        if remaining <= 0:
            raise self._silent("the next request")
        return remaining

    def _read(self, channel, response):
        chunks = []
        while not response.isclosed():
            channel.settimeout(self._remaining())
            chunk = response.read1(65536)
            if not chunk:
                break
            chunks.append(chunk)
        return b"".join(chunks)

    def _silent(self, endpoint):
        return EngineError("silent", f"no complete answer to {endpoint} within {self.timeout} s")

    @staticmethod
    def _decoded(endpoint, status, body):
        text = body.decode("utf-8", "replace")
        try:
            document = json.loads(text)
        except ValueError as error:
            raise EngineError(
                "not-an-engine", f"{endpoint}: status {status} with a body that is not JSON: {text[:120]!r}"
            ) from error
        if status != 200:
            message = document.get("message", text[:120]) if isinstance(document, dict) else text[:120]
            raise EngineError("gone" if status == 404 else "failed", f"{endpoint}: status {status}, {message}")
        return document


def of_type(document, kind, endpoint):
    if not isinstance(document, kind):
        raise EngineError("not-an-engine", f"{endpoint}: a JSON {type(document).__name__} instead of a {kind.__name__}")
    return document
