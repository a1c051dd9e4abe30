# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The port of a simulated worker: what the server asks a worker for."""

from __future__ import annotations

import http.server
import json
import posixpath
import re
import threading
from urllib.parse import parse_qs, urlsplit

import simulated_engine


class WorkerApi:
    def __init__(self, worker):
        handler = type("Handler", (_Handler,), {"worker": worker})
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()


class _Handler(http.server.BaseHTTPRequestHandler):
    worker = None

    def do_GET(self):
        path, query = self._asked()
        if path == "/healthz":
            return self._send(200, '"ok"')
        # 2.1 asks for logs without a token.
        if found := re.fullmatch(r"/serveLogs/(\d+)", path):
            return self._logs(int(found[1]), int(query.get("tail", -1)))
        if not self._authorised():
            return self._missing(401, "Invalid authentication credentials")
        if path.startswith("/files/"):
            return self._file(path.removeprefix("/files/"), query.get("path", ""))
        if re.fullmatch(r"/serveLogOptions/\d+", path):
            return self._json({"restarts": [{"previous": False, "started_at": None, "containers": ["default"]}]})
        return self._missing(404, "Not Found")

    def do_POST(self):
        path, _ = self._asked()
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if not self._authorised():
            return self._missing(401, "Invalid authentication credentials")
        # 2.1 puts /proxy before the path and names the port, later servers name the instance.
        if path.removeprefix("/proxy") == "/v1/chat/completions":
            return self._chat(json.loads(body))
        if path == "/files/parse-gguf":
            return self._json({"success": False, "error": "a simulated worker has no GGUF files"})
        return self._missing(404, "Not Found")

    def _chat(self, request):
        target = self.headers.get("X-GPUStack-Model-Instance", "")
        found = re.match(r"model-\d+-(\d+)", target)
        instance = self.worker.running_instance(
            int(found[1]) if found else None, int(self.headers.get("X-Target-Port") or 0)
        )
        if instance is None:
            return self._missing(404, f"No running model instance found for model name: {target}")
        status = self.worker.chat(instance, request)
        kind, text = simulated_engine.chat(request) if status == 200 else simulated_engine.failure(status)
        return self._send(status, text, kind)

    def _file(self, what, path):
        files = self.worker.paths
        if what == "file-exists":
            return self._json({"exists": path in files, "path": path, "is_file": False, "is_dir": path in files})
        if what == "model-config" and posixpath.basename(path) == "config.json" and posixpath.dirname(path) in files:
            return self._json(files[posixpath.dirname(path)].config)
        if what == "model-weight-size" and path in files:
            return self._json({"size": files[path].size})
        return self._json({"detail": f"File not found: {path}"}, 404)

    def _logs(self, instance_id, tail):
        lines = self.worker.log_of(instance_id)
        if lines is None:
            return self._missing(404, "Log file not found")
        lines = lines[-tail:] if tail > 0 else lines
        return self._send(200, "".join(f"{line}\n" for line in lines), "application/octet-stream")

    def _authorised(self):
        return self.headers.get("Authorization") in {f"Bearer {token}" for token in self.worker.tokens}

    def _asked(self):
        parts = urlsplit(self.path)
        return parts.path, {key: values[-1] for key, values in parse_qs(parts.query).items()}

    def _missing(self, status, message):
        self._json({"code": status, "reason": "NotFound", "message": message}, status)

    def _json(self, value, status=200):
        self._send(status, json.dumps(value))

    def _send(self, status, text, kind="application/json"):
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        # The server changes what it streams, and passes a length on as it is.
        if kind != "text/event-stream":
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_arguments):
        pass
