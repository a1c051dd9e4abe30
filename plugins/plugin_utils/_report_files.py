# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The files of a report on the controller: one directory, each file whole or as it was."""

from __future__ import annotations

import os

from ansible_collections.inferops.gpustack.plugins.module_utils import _atomic_file

# For everybody: a report shows no secret.
_FILE_MODE = 0o644


class ReportError(Exception):
    """A directory that cannot be written, with the cure."""


def read(path):
    """The text of a file, None where there is none that can be read."""
    try:
        with open(path, encoding="utf-8") as stream:
            return stream.read()
    except (OSError, UnicodeDecodeError):
        return None


def write(directory, files, what):
    """`files`: path to text; `what` is in them, for the message."""
    try:
        _atomic_file.make_directory(os.path.abspath(directory))
        for path, text in files.items():
            with _atomic_file.candidate(path, text, _FILE_MODE) as complete:
                _atomic_file.commit(complete, path)
    except OSError as error:
        raise ReportError(
            f"cannot write {what} into {directory}: {error.strerror}; set gpustack_report_dir (option dest) to "
            "a directory that can be written, or to an empty text to write nothing"
        ) from None


def difference(path, before, after):
    return {"before_header": path, "after_header": path, "before": before or "", "after": after}


def written(files, changed, check_mode):
    """Where the report is, in words; empty where it is in no file."""
    same = [path for path in files if path not in changed]
    word = "would be written" if check_mode else "written"
    parts = [f"{word}: {', '.join(changed)}"] if changed else []
    parts += [f"unchanged: {', '.join(same)}"] if same else []
    return "; ".join(parts)
