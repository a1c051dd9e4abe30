# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Listening TCP sockets: who holds them, process and container."""

from __future__ import annotations

import re
import socket

from ansible_collections.inferops.gpustack.plugins.module_utils._host_finding import finding

TABLES = ("proc/net/tcp", "proc/net/tcp6")
LISTEN = "0A"
PORT = re.compile(r"^[0-9A-F]{4}$", re.IGNORECASE)
PID = re.compile(r"^[0-9]{1,9}$")
SOCKET_LINK = re.compile(r"^socket:\[(\d+)\]$")
CONTAINER_ID = re.compile(r"[0-9a-f]{64}")


def decode_address(text):
    """The kernel prints 32-bit words in the machine's byte order, which is little endian on x86_64 and arm64."""
    raw = bytes.fromhex(text)
    if len(raw) not in (4, 16):
        raise ValueError("an IPv4 or IPv6 address has 8 or 32 digits")
    packed = b"".join(raw[i : i + 4][::-1] for i in range(0, len(raw), 4))
    return socket.inet_ntop(socket.AF_INET if len(packed) == 4 else socket.AF_INET6, packed)


def decode_port(text):
    if not PORT.match(text):
        raise ValueError("a port has 4 hexadecimal digits")
    return int(text, 16)


def parse_table(text):
    """([(address, port, inode)], number of lines that made no sense)."""
    rows, broken = [], 0
    for line in text.splitlines():
        fields = line.split()
        if not fields or fields[0] == "sl":
            continue
        try:
            address, port = fields[1].split(":")
            if fields[3] == LISTEN:
                rows.append((decode_address(address), decode_port(port), fields[9]))
        except (IndexError, ValueError):
            broken += 1
    return rows, broken


def owners(sysroot, inodes):
    """{inode: pid}; sockets of other users stay unknown without root."""
    found = {}
    missing = set(inodes)
    for pid in sorted((name for name in sysroot.listdir("proc") if PID.match(name)), key=int):
        if not missing:
            break
        for descriptor in sysroot.listdir("proc", pid, "fd"):
            match = SOCKET_LINK.match(sysroot.readlink("proc", pid, "fd", descriptor) or "")
            if match and match.group(1) in missing:
                missing.discard(match.group(1))
                found[match.group(1)] = int(pid)
    return found


def container_of_process(sysroot, pid, names_by_id):
    """A container on the host's network publishes nothing, so its control group has to tell."""
    ids = CONTAINER_ID.findall(sysroot.read("proc", str(pid), "cgroup") or "")
    return next((names_by_id[found] for found in ids if found in names_by_id), "")


def read_ports(sysroot, containers):
    """(ports, findings). containers: rows with `id`, `name` and `published` [(address, port)]."""
    listeners, broken, tables = [], 0, 0
    for path in TABLES:
        text = sysroot.read(path)
        if text is None:
            continue
        tables += 1
        rows, bad = parse_table(text)
        listeners += rows
        broken += bad

    names_by_id = {container["id"]: container["name"] for container in containers}
    publisher = {
        (address, port): container["name"] for container in containers for address, port in container["published"]
    }
    by_inode = owners(sysroot, {inode for _address, _port, inode in listeners})
    ports = {}
    for address, port, inode in listeners:
        pid = by_inode.get(inode)
        container = publisher.get((address, port), "")
        if pid and not container:
            container = container_of_process(sysroot, pid, names_by_id)
        ports[(port, address)] = {
            "port": port,
            "address": address,
            "process": (sysroot.read("proc", str(pid), "comm") or "").strip() if pid else "",
            "pid": pid,
            "container": container,
        }
    # Without the userland proxy a published port has no listening socket, and is taken all the same.
    for (address, port), name in publisher.items():
        ports.setdefault(
            (port, address), {"port": port, "address": address, "process": "", "pid": None, "container": name}
        )
    return [ports[key] for key in sorted(ports)], _findings(sysroot, tables, broken)


def _findings(sysroot, tables, broken):
    if tables and not broken:
        return []
    return [
        finding(
            "ports_unreadable",
            "warning",
            sysroot.path(TABLES[0]),
            f"{broken} unreadable lines" if tables else "no such file",
            "the kernel's table of TCP sockets",
            "check free ports by hand with: ss -ltnp",
        )
    ]
