# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a file that decides what runs as root is out of the reach of everybody else."""

from __future__ import annotations

import os
import pwd
import shlex
import stat

OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def problems(path):
    """Sentences, one for each link, foreign owner and loose mode from / down to the file. What is missing is fine."""
    found = []
    for part in _parts(path):
        try:
            status = os.lstat(part)
        except FileNotFoundError:
            break
        found += _problems_of(part, status, path)
        if stat.S_ISLNK(status.st_mode):
            break
    return found


def _parts(path):
    """/, /etc, /etc/docker, /etc/docker/daemon.json"""
    parts = [path]
    while os.path.dirname(parts[0]) != parts[0]:
        parts.insert(0, os.path.dirname(parts[0]))
    return parts


def _problems_of(part, status, path):
    last, name = part == path, shlex.quote(part)
    if stat.S_ISLNK(status.st_mode):
        real = os.path.realpath(path)
        return [f"{part} is a link to {os.readlink(part)}: put what it leads to in its place, or give path: {real}"]
    expected = stat.S_ISREG if last else stat.S_ISDIR
    if not expected(status.st_mode):
        return [f"{part} is {_kind(status.st_mode)} where a {'file' if last else 'directory'} belongs: move it away"]
    found = []
    if status.st_uid not in (0, os.geteuid()):
        me = _user(os.geteuid())
        found.append(
            f"{part} belongs to {_user(status.st_uid)}, who could replace what the engine reads, and not to {me}: "
            f"chown {me} {name}"
        )
    # With the sticky bit nobody removes or renames what belongs to somebody else; the file's own directory could
    # still be given a file of that name.
    sticky = status.st_mode & stat.S_ISVTX and part != os.path.dirname(path)
    if status.st_mode & OTHERS_WRITE and not sticky:
        writers = [
            word for bit, word in ((stat.S_IWGRP, "its group"), (stat.S_IWOTH, "everybody")) if status.st_mode & bit
        ]
        found.append(
            f"{part} has mode {stat.S_IMODE(status.st_mode):04o}, {' and '.join(writers)} can write there: "
            f"chmod go-w {name}"
        )
    return found


def _user(uid):
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _kind(mode):
    tests = ((stat.S_ISDIR, "a directory"), (stat.S_ISREG, "a file"), (stat.S_ISSOCK, "a socket"))
    return next((word for test, word in tests if test(mode)), "a device or pipe")
