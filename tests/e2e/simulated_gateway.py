"""A simulated gateway in front of a real server: 502 until the server's container was started again.

Usage: simulated_gateway.py PORT PATIENCE. It passes requests on after PATIENCE restarts, never when that is -1.
Runs on the server host; standard library only.
"""

import subprocess
import sys
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PORT, PATIENCE = int(sys.argv[1]), int(sys.argv[2])


def started_at():
    command = ["docker", "inspect", "-f", "{{.State.StartedAt}}", "gpustack-server"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


STARTS = [started_at()]


class Gateway(BaseHTTPRequestHandler):
    def answer(self):
        if started_at() != STARTS[-1]:
            STARTS.append(started_at())
        if PATIENCE < 0 or len(STARTS) <= PATIENCE:
            self.send(502, b"Bad Gateway")
            return
        size = int(self.headers.get("Content-Length") or 0)
        request = urllib.request.Request(
            f"http://127.0.0.1:80{self.path}",
            method=self.command,
            data=self.rfile.read(size) or None,
            headers={name: self.headers[name] for name in ("Authorization", "Content-Type") if self.headers[name]},
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                self.send(answer.status, answer.read())
        except urllib.error.HTTPError as error:
            self.send(error.code, error.read())
        except OSError:
            self.send(502, b"Bad Gateway")

    do_GET = do_POST = do_PUT = answer

    def send(self, status, body):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments):
        """Quiet."""


ThreadingHTTPServer(("0.0.0.0", PORT), Gateway).serve_forever()
