# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The running dockerd's command line: a key that is a flag there must not stand in daemon.json as well."""

from __future__ import annotations

DEFAULT_CONFIG = "/etc/docker/daemon.json"

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


def command_lines(sysroot):
    """Arguments of every dockerd of this host; those inside containers are not its own."""
    own = sysroot.readlink("proc/self/ns/pid")
    for pid in sysroot.listdir("proc"):
        if not pid.isdigit() or (sysroot.read("proc", pid, "comm") or "").strip() != "dockerd":
            continue
        if sysroot.readlink("proc", pid, "ns/pid") == own:
            yield [word for word in (sysroot.read("proc", pid, "cmdline") or "").split("\0") if word][1:]


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


def conflicts(sysroot, path, keys):
    """["key (flag)"] of the keys that a running dockerd, which reads this file, has as flags."""
    clashes = set()
    for arguments in command_lines(sysroot):
        found, config = flags(arguments)
        if config == path:
            clashes.update(f"{key} ({found[key]})" for key in keys if key in found)
    return sorted(clashes)
