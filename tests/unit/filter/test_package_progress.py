# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.inferops.gpustack.plugins.filter.package_progress import package_progress
from ansible_collections.inferops.gpustack.plugins.plugin_utils import _progress


def entry(note=None, kind="package", by="nvidia_driver", name="nvidia-open-580"):
    return {"kind": kind, "name": name, "by": by, **({} if note is None else {"note": note})}


@pytest.mark.parametrize(
    ("entries", "progress"),
    [
        ([], (False, [], [], [])),
        ([entry()], (True, [], [], [])),
        ([entry("finished: 580.95.05"), entry(name="a")], (True, ["580.95.05"], [], [])),
        ([entry("running: 580")], (True, [], ["580"], [])),
        ([entry("running: 580.95.05 over 570.172.08")], (True, [], ["580.95.05"], ["570.172.08"])),
        ([entry("installed: 580.95.05")], (True, [], [], [])),
        ([entry("finished: 1", by="nvidia_container_toolkit"), entry("finished: 2", kind="file")], (False, [], [], [])),
        ([{"kind": "package", "name": "x"}], (False, [], [], [])),
    ],
)
def test_what_a_role_finished_is_read_from_its_notes(entries, progress):
    names = ("recorded", "finished", "running", "replaced")
    assert package_progress(entries, "nvidia_driver") == dict(zip(names, progress))


@pytest.mark.parametrize(
    ("note", "state", "release", "over"),
    [
        (_progress.running("25.5.1"), "running", "25.5.1", ""),
        (_progress.running("25.5.1", "25.2.0"), "running", "25.5.1", "25.2.0"),
        (_progress.running("26.1.0", "26.0.1") + ", default-runtime before: lab", "running", "26.1.0", "26.0.1"),
        (_progress.installed("26.1.0") + ", default-runtime before: ", "installed", "26.1.0", ""),
        (_progress.finished("26.1.0"), "finished", "26.1.0", ""),
        ("in the initial RAM disks", "", "", ""),
        (None, "", "", ""),
    ],
)
def test_a_note_is_read_as_it_was_written(note, state, release, over):
    assert _progress.read(note) == {"state": state, "release": release, "over": over}
