# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Clock, kernel and identity of a host."""

from __future__ import annotations

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _data
from ansible_collections.inferops.gpustack.plugins.plugin_utils._findings import error, note, warning
from ansible_collections.inferops.gpustack.plugins.plugin_utils._site import listed


def check(host):
    needs = _data.load("host_needs.yml")
    offset = host.fact("clock", "offset_seconds")
    if isinstance(offset, (int, float)) and abs(offset) > needs["clock_offset_seconds"]:
        yield error(
            "clock_off",
            "clock",
            f"{abs(offset):.0f} s {'ahead of' if offset > 0 else 'behind'} this machine",
            f"at most {needs['clock_offset_seconds']} s apart: tokens and certificates are valid from a time on",
            "set the clock and keep it with chrony or systemd-timesyncd; where the host is right, set this machine's",
            needs["sources"]["clock_offset_seconds"],
        )
    if host.fact("page_size") == needs["page_size_bytes"]:
        yield warning(
            "page_size_64k",
            "kernel",
            "pages of 64 KiB",
            "pages of 4 KiB, which container images are built and tested for",
            "boot the distribution's kernel with 4 KiB pages, or accept it where the images are known to run",
            needs["sources"]["page_size_bytes"],
        )
    if host.fact("secure_boot") is True and host.cards:
        yield note(
            "secure_boot_on",
            "firmware",
            "Secure Boot is on",
            "kernel modules with a signature that the firmware knows",
            "nothing while the driver is loaded; a driver that is installed later needs signed packages, or its key "
            "enrolled at the console",
        )


def duplicates(hosts):
    """(host, finding) of every host whose machine id another one has too."""
    by_id = {}
    for host in hosts:
        machine_id = host.fact("machine_id")
        if machine_id:
            by_id.setdefault(machine_id, []).append(host)
    for machine_id, same in by_id.items():
        if len(same) > 1:
            finding = error(
                "machine_id_duplicate",
                "/etc/machine-id",
                f"{machine_id} on {listed(host.name for host in same)}",
                "an id of its own on each host; clones of one disk share it",
                "on all of them but one: rm /etc/machine-id, then systemd-machine-id-setup, then restart",
                "gpustack/gpustack#4578",
            )
            yield from ((host, finding) for host in same)
