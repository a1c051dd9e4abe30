# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line that systemd would start dockerd with, read from the files of its unit."""

from __future__ import annotations

import re
import shlex

UNIT = "docker.service"
# systemd.unit(5): the first directory that has a file of a name hides the same name in the others.
DIRECTORIES = ("etc", "run", "usr/local/lib", "usr/lib", "lib")
VARIABLE = re.compile(r"^\$([A-Za-z_]\w*)$")
INSIDE = re.compile(r"\$\{([A-Za-z_]\w*)\}")
# systemd.service(5): what may stand before the program.
PREFIXES = "@-:+!"


def arguments(sysroot):
    """The arguments of dockerd in docker.service; None where there is no such unit or it starts something else."""
    started, environment = None, {}
    for name, value in _service_lines(sysroot):
        if name == "ExecStart":
            started = value or None
        elif name == "Environment":
            environment.update(_assignments(_words(value)))
        elif name == "EnvironmentFile":
            environment.update(_assignments(_file_words(sysroot, value.lstrip("-"))))
    words = list(_expanded(_words(started or ""), environment))
    program = words[0].lstrip(PREFIXES).rsplit("/", 1)[-1] if words else ""
    return words[1:] if program == "dockerd" else None


def _service_lines(sysroot):
    """(name, value) of the section [Service], of the unit and then of its drop-ins."""
    for path in _files(sysroot):
        section = ""
        for line in (sysroot.read(path) or "").replace("\\\n", " ").splitlines():
            line = line.strip()
            if line.startswith("["):
                section = line
            elif section == "[Service]" and "=" in line and line[0] not in "#;":
                name, _equals, value = line.partition("=")
                yield name.strip(), value.strip()


def _files(sysroot):
    folders = [f"{directory}/systemd/system" for directory in DIRECTORIES]
    units = [f"{folder}/{UNIT}" for folder in folders if sysroot.lexists(folder, UNIT)]
    drop_ins = {}
    for folder in reversed(folders):
        for name in sysroot.listdir(folder, UNIT + ".d"):
            if name.endswith(".conf"):
                drop_ins[name] = f"{folder}/{UNIT}.d/{name}"
    return units[:1] + [drop_ins[name] for name in sorted(drop_ins)]


def _words(text):
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def _file_words(sysroot, path):
    return [word for line in (sysroot.read(path) or "").splitlines() for word in _words(_uncommented(line))]


def _uncommented(line):
    return "" if line.strip()[:1] in ("#", ";") else line


def _assignments(words):
    return dict(word.split("=", 1) for word in words if "=" in word)


def _expanded(words, environment):
    """systemd.service(5): $X of its own is split into words, ${X} is a part of one."""
    for word in words:
        alone = VARIABLE.match(word)
        if alone:
            yield from environment.get(alone.group(1), "").split()
        else:
            yield INSIDE.sub(lambda found: environment.get(found.group(1), ""), word)
