# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Replace a file in one step: after a crash there is the old content or the new one, never half of it."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import tempfile
import time


class LockTimeout(Exception):
    pass


@contextlib.contextmanager
def locked_directory(directory, seconds=10):
    """Hold the directory, so that two writers do not lose each other's change. The lock dies with the process."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        deadline = time.monotonic() + seconds
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError as error:
                if error.errno not in (errno.EAGAIN, errno.EACCES):
                    raise
                if time.monotonic() >= deadline:
                    raise LockTimeout(f"{directory} is held by another writer for more than {seconds} s") from error
                time.sleep(0.05)
        yield
    finally:
        os.close(descriptor)


def leftover_prefix(path):
    return f".{os.path.basename(path)}.gpustack-"


def remove_leftovers(path, keep=()):
    """Temporary files of a writer that was killed. Call it with the directory locked."""
    directory = os.path.dirname(path)
    for name in os.listdir(directory):
        if name.startswith(leftover_prefix(path)) and os.path.join(directory, name) not in keep:
            os.unlink(os.path.join(directory, name))


@contextlib.contextmanager
def candidate(path, text, mode, owner=None):
    """A complete, synced file beside `path`, to be judged and then handed to `commit`; removed when it is not."""
    descriptor, name = tempfile.mkstemp(prefix=leftover_prefix(path), dir=os.path.dirname(path))
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as handle:
            handle.write(text)
            handle.flush()
            os.fchmod(handle.fileno(), mode)
            if owner is not None:
                os.fchown(handle.fileno(), *owner)
            os.fsync(handle.fileno())
        yield name
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)


def commit(name, path):
    os.replace(name, path)
    descriptor = os.open(os.path.dirname(path), os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_directory(directory, mode=0o755):
    """Create what is missing of a directory with this mode, whatever the umask; leave an existing one alone."""
    if os.path.isdir(directory):
        return
    parent = os.path.dirname(directory)
    if parent and parent != directory:
        make_directory(parent, mode)
    os.mkdir(directory)
    os.chmod(directory, mode)
