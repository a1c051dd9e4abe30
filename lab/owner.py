#!/usr/bin/env python3
"""Says in one line when the Docker Engine of this machine holds a lab of another name or checkout, and exits 1.

Usage: owner.py NAME CHECKOUT. No engine, or no lab on it, is fine. Standard library only: it runs before anything is
installed.
"""

import http.client
import json
import socket
import sys

SOCKET = "/var/run/docker.sock"
LAB, CHECKOUT = "inferops.gpustack.lab", "inferops.gpustack.checkout"


class Engine(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(10)
        self.sock.connect(SOCKET)


def networks():
    engine = Engine("localhost")
    try:
        engine.request("GET", "/networks")
        answer = json.load(engine.getresponse())
        return answer if isinstance(answer, list) else []
    except (OSError, ValueError):
        return []
    finally:
        engine.close()


def main(name, checkout):
    for network in networks():
        labels = network.get("Labels") or {}
        if LAB in labels and (labels[LAB], labels[CHECKOUT]) != (name, checkout):
            sys.exit(
                f"The lab '{labels[LAB]}' of {labels[CHECKOUT]} runs on this Docker Engine, and there is room for one: "
                f"run 'make clean LAB={labels[LAB]}' there first."
            )


main(*sys.argv[1:])
