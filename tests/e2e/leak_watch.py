"""Looks for canary secrets where they must not be, while a run goes on and after it."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

INTERVAL = 0.05
#: A process may still exec after its first look; it is read again for this many rounds.
ROUNDS = 20
#: The simulated engines run in GPUStack's own containers, whose environment GPUStack writes.
ENGINE = b"vllm\0serve"


class ProcessWatch(threading.Thread):
    """Polls the command line and environment of every process of this machine, the lab's hosts included."""

    def __init__(self, canaries):
        super().__init__(daemon=True)
        self.canaries = [canary.encode() for canary in canaries]
        self.hits = set()
        self.scans = 0
        self.seen = {}
        self.stopping = threading.Event()

    def run(self):
        while not self.stopping.is_set():
            started = time.monotonic()
            self.scan()
            self.scans += 1
            self.stopping.wait(max(0, INTERVAL - (time.monotonic() - started)))

    def scan(self):
        alive = [name for name in os.listdir("/proc") if name.isdigit()]
        self.seen = {pid: self.seen.get(pid, 0) + 1 for pid in alive}
        for pid, rounds in self.seen.items():
            if rounds <= ROUNDS:
                self.look(pid)

    def look(self, pid):
        try:
            command = Path("/proc", pid, "cmdline").read_bytes()
            environment = Path("/proc", pid, "environ").read_bytes()
        except OSError:
            return  # gone, or a kernel thread
        if ENGINE in command:
            return
        for canary in self.canaries:
            if canary in command:
                self.hits.add(("cmdline", command.replace(b"\0", b" ")[:200]))
            if canary in environment:
                self.hits.add(("environ", command.replace(b"\0", b" ")[:200]))

    def stop(self):
        self.stopping.set()
        self.join()
        return self.hits


def in_text(canaries, text):
    """Lines that hold a canary."""
    return [line[:300] for line in text.splitlines() if any(canary in line for canary in canaries)]


def in_inspections(lab, host, canaries):
    """Containers of a host's engine whose inspection holds a canary."""
    return in_text(canaries, lab.sh(host, "docker ps -aq | xargs -r docker inspect"))


def readable_files(lab, host, canaries):
    """Files of a host that hold a canary and may be read by anyone but their owner."""
    patterns = " ".join(f"-e '{canary}'" for canary in canaries)
    places = "/etc /root /tmp /home /var/log /var/tmp /run/log /var/lib/docker/volumes /var/lib/docker/containers"
    found = lab.sh(host, f"grep -rlsF {patterns} {places} | xargs -r stat -c '%a %n'", check=False).splitlines()
    return [line for line in found if int(line.split()[0], 8) & 0o077]


def in_journal(lab, host, canaries):
    return in_text(canaries, lab.sh(host, "journalctl --no-pager -o cat"))
