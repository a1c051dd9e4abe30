# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""dockerd's command line: a key that is a flag there must not stand in daemon.json as well."""

from __future__ import annotations

import os

from ansible_collections.inferops.gpustack.plugins.module_utils import _docker_unit

DEFAULT_CONFIG = "/etc/docker/daemon.json"
DEFAULT_ROOT = "/var/lib/docker"
# moby daemon/cluster: there from joining a swarm to leaving it.
SWARM_STATE = "swarm/docker-state.json"

# Flags that go by another name in daemon.json; the others have the same one.
KEY_OF_FLAG = {
    "H": "hosts",
    "host": "hosts",
    "D": "debug",
    "G": "group",
    "l": "log-level",
    "s": "storage-driver",
    "b": "bridge",
    "g": "data-root",
    "graph": "data-root",
    "add-runtime": "runtimes",
    "authorization-plugin": "authorization-plugins",
    "cdi-spec-dir": "cdi-spec-dirs",
    "default-address-pool": "default-address-pools",
    "default-ulimit": "default-ulimits",
    "dns-opt": "dns-opts",
    "exec-opt": "exec-opts",
    "feature": "features",
    "insecure-registry": "insecure-registries",
    "label": "labels",
    "log-opt": "log-opts",
    "p": "pidfile",
    "registry-mirror": "registry-mirrors",
    "storage-opt": "storage-opts",
}


# moby daemon/config/config.go: objects that are one option; the keys of any other object are options of their own.
WHOLE_OBJECTS = (
    "builder",
    "default-network-opts",
    "default-ulimits",
    "features",
    "log-opts",
    "runtimes",
)
# The same file: dockerd takes these from both places.
IN_BOTH = ("runtimes",)


def processes(sysroot):
    """Ids of every dockerd of this host; those inside containers are not its own."""
    own = sysroot.readlink("proc/self/ns/pid")
    for pid in sysroot.listdir("proc"):
        if not pid.isdigit() or (sysroot.read("proc", pid, "comm") or "").strip() != "dockerd":
            continue
        if sysroot.readlink("proc", pid, "ns/pid") == own:
            yield pid


def command_lines(sysroot):
    """{where it is from: arguments} of every dockerd that runs; where none does, of the one systemd would start."""
    running = {
        f"process {pid}": [word for word in (sysroot.read("proc", pid, "cmdline") or "").split("\0") if word][1:]
        for pid in processes(sysroot)
    }
    if running:
        return running
    unit = _docker_unit.arguments(sysroot)
    return {} if unit is None else {_docker_unit.UNIT: unit}


def last_start(sysroot):
    """When the newest dockerd was started, in seconds since 1970; None where none runs."""
    lines = (sysroot.read("proc/stat") or "").splitlines()
    booted = next((int(line.split()[1]) for line in lines if line.startswith("btime ")), None)
    if booted is None:
        return None
    starts = []
    for pid in processes(sysroot):
        # proc_pid_stat(5): the name in parentheses may hold spaces; starttime is the 20th field after it.
        fields = (sysroot.read("proc", pid, "stat") or "").rpartition(")")[2].split()
        if len(fields) > 19:
            starts.append(booted + int(fields[19]) / os.sysconf("SC_CLK_TCK"))
    return max(starts) if starts else None


def flags(arguments):
    """{key of daemon.json: the flag as written}, and the configuration file in use."""
    found, config, previous = {}, DEFAULT_CONFIG, ""
    for word in arguments:
        if previous == "config-file" and not word.startswith("-"):
            config = word
        previous = ""
        if not word.startswith("-"):
            continue
        name, equals, value = word.lstrip("-").partition("=")
        if name == "config-file":
            config = value if equals else config
            previous = "" if equals else name
            continue
        found[KEY_OF_FLAG.get(name, name)] = word
    return found, config


def added_runtimes(sysroot):
    """Names of the runtimes that dockerd has as flags: --add-runtime name=path."""
    found = set()
    for arguments in command_lines(sysroot).values():
        for word, following in zip(arguments, [*arguments[1:], ""]):
            flag, equals, value = word.partition("=")
            if flag.lstrip("-") == "add-runtime" and flag.startswith("-"):
                found.add((value if equals else following).partition("=")[0])
    return found


def options(document):
    """The options that a daemon.json sets, as dockerd counts them."""
    names = set()
    for key, value in document.items():
        names.update(value if isinstance(value, dict) and key not in WHOLE_OBJECTS else [key])
    return names - set(IN_BOTH)


def conflicts(sysroot, path, document):
    """["key (flag of where)"] of the options that dockerd, where it reads this file, has as flags as well."""
    clashes = set()
    for where, arguments in command_lines(sysroot).items():
        found, config = flags(arguments)
        if os.path.realpath(config) == os.path.realpath(path):
            clashes.update(f"{key} ({found[key]} of {where})" for key in options(document) if key in found)
    return sorted(clashes)


def read_instead(sysroot, path):
    """The other files that dockerd reads in the place of Docker's own one; nothing for any other path."""
    files = {flags(arguments)[1] for arguments in command_lines(sysroot).values()}
    return [] if path != DEFAULT_CONFIG or os.path.realpath(path) in map(os.path.realpath, files) else sorted(files)


def in_swarm(sysroot, document):
    """Whether dockerd would find itself a member of a swarm."""
    root = document.get("data-root") or DEFAULT_ROOT
    return isinstance(root, str) and sysroot.lexists(root, SWARM_STATE)
