# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A local HTTP server that plays back answers of a real GPUStack, and a way to run a module against it."""

from __future__ import annotations

import contextlib
import http.server
import importlib
import io
import json
import pathlib
import threading
import urllib.parse
from unittest import mock

import pytest
from ansible.module_utils import _internal
from ansible.module_utils.common import warnings
from ansible.module_utils.testing import patch_module_args

ANSWERS = pathlib.Path(__file__).parent / "answers"
MODULES = "ansible_collections.inferops.gpustack.plugins.modules."


def recorded(name):
    return json.loads((ANSWERS / f"recorded_{name}.json").read_text())["calls"]


def ordered(path):
    """The same request, whatever the order of its filters."""
    path, mark, query = path.partition("?")
    return path + mark + "&".join(sorted(query.split("&")))


class Playback:
    """Answers by method and path. Several answers for one request are given in turn, and the last one stays."""

    def __init__(self):
        self.answers = {}
        self.requests = []
        playback = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def sent_body(self, data):
                if self.headers.get("Content-Type") == "application/x-www-form-urlencoded":
                    return dict(urllib.parse.parse_qsl(data.decode()))
                return json.loads(data) if data else None

            def answer(self):
                length = int(self.headers.get("Content-Length") or 0)
                body = self.sent_body(self.rfile.read(length))
                playback.requests.append((self.command, self.path, body, dict(self.headers)))
                queue = playback.answers.get((self.command, ordered(self.path))) or playback.answers.get(
                    (self.command, self.path.split("?")[0])
                )
                status, answer, headers = (404, {"detail": "Not Found"}, {})
                if queue:
                    status, answer, headers = queue.pop(0) if len(queue) > 1 else queue[0]
                if callable(answer):
                    answer = answer(body)
                text = answer if isinstance(answer, str) else "" if status == 204 else json.dumps(answer)
                data = text.encode()
                self.send_response(status)
                for key, value in headers.items():
                    self.send_header(key, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_PUT = do_DELETE = answer

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def on(self, method, path, answer=None, status=200, headers=None):
        self.answers.setdefault((method, ordered(path)), []).append((status, answer, headers or {}))

    def play(self, *calls):
        for call in calls:
            text = "" if call["status"] == 204 else json.dumps(call["answer"])
            self.on(call["method"], call["path"], text, call["status"])

    def sent(self, method=None):
        """`(method, path, body)` of what was asked, reads left out unless asked for."""
        return [
            (verb, path, body) for verb, path, body, _ in self.requests if (verb == method if method else verb != "GET")
        ]

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def run_module(name, /, check=False, diff=True, **params):
    module = importlib.import_module(MODULES + name)
    params = {key: value for key, value in params.items() if value is not None}
    params.update(_ansible_check_mode=check, _ansible_diff=diff)
    warnings._global_warnings.clear()
    output = io.StringIO()
    # Other tests load Ansible's controller into this process; a module on a target keeps its warnings to itself.
    on_target = mock.patch.object(_internal, "is_controller", False)
    with on_target, patch_module_args(params), contextlib.redirect_stdout(output), pytest.raises(SystemExit):
        module.main()
    result = json.loads(output.getvalue())
    result["warnings"] = [str(one) for one in result.get("warnings", [])]
    return result
