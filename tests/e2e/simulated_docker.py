"""A simulated engine on /var/run/docker.sock of a host without one: its release and, as JSON, its /info are arguments.

It answers what a probe asks and runs nothing.
"""

import json
import os
import sys
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingUnixStreamServer

SOCKET = "/var/run/docker.sock"
VERSION, INFO = sys.argv[1], json.loads(sys.argv[2])


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        path = self.path.split("?")[0]
        answer = {"/version": {"Version": VERSION}, "/info": INFO}.get(path, [])
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def address_string(self):
        return "a probe"

    def log_message(self, *words):
        pass


if os.fork() == 0:
    os.setsid()
    if os.path.exists(SOCKET):
        os.unlink(SOCKET)
    ThreadingUnixStreamServer(SOCKET, Handler).serve_forever()
