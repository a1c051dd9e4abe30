# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A proxy in front of a real server: counts every request, and answers some of them with a fault."""

from __future__ import annotations

import dataclasses
import http.client
import http.server
import io
import json
import re
import socket
import struct
import threading
import time
from urllib.parse import parse_qsl, urlsplit


@dataclasses.dataclass(frozen=True)
class Request:
    method: str
    path: str
    query: dict
    body: object


@dataclasses.dataclass
class Rule:
    method: str
    path: str
    fault: object
    left: float


class FaultProxy:
    def __init__(self, server_url):
        self.requests = []
        self._rules = []
        self._lock = threading.Lock()
        target = urlsplit(server_url).netloc
        handler = type("Handler", (_Handler,), {"proxy": self, "target": target})
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def fault(self, method, path, fault, count=1):
        """Answer the next `count` requests whose path matches the expression `path` with `fault`; None: all of them."""
        with self._lock:
            self._rules.append(Rule(method, path, fault, float("inf") if count is None else count))

    def sent(self, method=None, path=".*"):
        """The requests that came, those answered with a fault included."""
        return [one for one in self.requests if method in (None, one.method) and re.fullmatch(path, one.path)]

    def changes(self):
        """`METHOD path` of everything but reads."""
        return [f"{one.method} {one.path}" for one in self.requests if one.method != "GET"]

    def forget(self):
        with self._lock:
            self.requests, self._rules = [], []

    def close(self):
        self._server.shutdown()
        self._server.server_close()

    def came(self, request):
        """Remember it; the fault it shall have, else None."""
        with self._lock:
            self.requests.append(request)
            for rule in self._rules:
                if rule.left and rule.method == request.method and re.fullmatch(rule.path, request.path):
                    rule.left -= 1
                    return rule.fault
        return None


# Faults: what is done instead of an answer. Those that begin with the real answer let the server act first.


def status(code, body='{"code": 0, "reason": "Simulated", "message": "simulated fault"}', **headers):
    return lambda handler: handler.send(code, body.encode(), {"Content-Type": "application/json", **headers})


def too_many(retry_after):
    return status(429, **{"Retry-After": str(retry_after)})


def html(code=200):
    page = "<!DOCTYPE html><html><body><h1>Sign in</h1></body></html>"
    return status(code, page, **{"Content-Type": "text/html"})


def another_product():
    return status(404, "404 page not found", **{"Content-Type": "text/plain"})


def slow(seconds):
    def fault(handler):
        time.sleep(seconds)
        handler.send(*handler.forward())

    return fault


def truncated():
    """Half of the real answer under its full length."""

    def fault(handler):
        code, body, headers = handler.forward()
        handler.send(code, body[: len(body) // 2], headers, length=len(body))

    return fault


def reset(after_the_server=False):
    """A connection reset, before or after the server has done what was asked."""

    def fault(handler):
        if after_the_server:
            handler.forward()
        handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        # The file objects of the handler hold the socket too.
        handler.wfile.close()
        handler.rfile.close()
        handler.connection.close()
        # What still flushes is not to fail, because that would be told on stderr.
        handler.wfile = io.BytesIO()

    return fault


class _Handler(http.server.BaseHTTPRequestHandler):
    proxy = target = None

    def _handle(self):
        self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = urlsplit(self.path)
        fault = self.proxy.came(Request(self.command, parts.path, dict(parse_qsl(parts.query)), _parsed(self.body)))
        if fault:
            fault(self)
        else:
            self.send(*self.forward())

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = _handle

    def forward(self):
        """(status, body, headers) of the server's answer. The client's Host stays: the server builds URLs from it."""
        connection = http.client.HTTPConnection(self.target, timeout=60)
        try:
            headers = {name: value for name, value in self.headers.items() if name.lower() != "connection"}
            connection.request(self.command, self.path, self.body or None, headers)
            answer = connection.getresponse()
            dropped = ("connection", "content-length", "transfer-encoding", "date", "server")
            kept = {name: value for name, value in answer.getheaders() if name.lower() not in dropped}
            return answer.status, answer.read(), kept
        finally:
            connection.close()

    def send(self, code, body, headers, length=None):
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments):
        pass


def _parsed(body):
    try:
        return json.loads(body) if body else None
    except ValueError:
        return body.decode(errors="replace")
