"""A simulated mirror with a fault, before the lab's packages. Runs on a host; standard library only.

Usage: simulated_mirror.py PORT UPSTREAM FAULT. cut: a package ends in its middle. foreign: what it serves was signed by
somebody else.
"""

import sys
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PORT, UPSTREAM, FAULT = int(sys.argv[1]), sys.argv[2], sys.argv[3]
FOREIGN = "/docker-ce/linux/debian/dists/bookworm"


class Mirror(BaseHTTPRequestHandler):
    def do_GET(self):
        path = self.path
        if FAULT == "foreign" and path.endswith("/InRelease"):
            path = f"{FOREIGN}/InRelease"
        try:
            with urllib.request.urlopen(UPSTREAM + path, timeout=30) as answer:
                body = answer.read()
        except urllib.error.HTTPError as error:
            self.send_error(error.code)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        is_cut = FAULT == "cut" and path.endswith(".deb") and "keyring" not in path
        self.wfile.write(body[: len(body) // 2] if is_cut else body)
        self.close_connection = True

    def log_message(self, *arguments):
        pass


ThreadingHTTPServer(("127.0.0.1", PORT), Mirror).serve_forever()
