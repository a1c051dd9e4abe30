# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the clock is kept right, by whom, and how far it is from the controller's."""

from __future__ import annotations

import ctypes

from ansible_collections.inferops.gpustack.plugins.module_utils._host_finding import finding

# The kernel cuts the names of processes at 15 characters.
SERVICES = {"chronyd": "chronyd", "systemd-timesyn": "systemd-timesyncd", "ntpd": "ntpd"}
TIMESYNCD_DONE = "run/systemd/timesync/synchronized"
STA_UNSYNC = 0x0040


class Timex(ctypes.Structure):
    """The beginning of `struct timex` of <sys/timex.h>, and room for the rest of it."""

    _fields_ = [
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("freq", ctypes.c_long),
        ("maxerror", ctypes.c_long),
        ("esterror", ctypes.c_long),
        ("status", ctypes.c_int),
        ("rest", ctypes.c_byte * 512),
    ]


def kernel_is_synchronised():
    """None when the kernel does not say."""
    state = Timex(modes=0)  # nothing to change
    try:
        if ctypes.CDLL(None).adjtimex(ctypes.byref(state)) < 0:
            return None
    except (AttributeError, OSError):
        return None
    return not state.status & STA_UNSYNC


def read_clock(sysroot, names, controller_time, now):
    """now: this host's time when it was handed the controller's."""
    service = next((SERVICES[name] for name in SERVICES if name in names), "")
    if sysroot.is_real:
        synchronised = kernel_is_synchronised()
    elif sysroot.lexists(TIMESYNCD_DONE):
        synchronised = True
    else:
        synchronised = False if service == "systemd-timesyncd" else None
    offset = None if controller_time is None else round(now - controller_time, 3)
    facts = {"synchronised": synchronised, "service": service, "offset_seconds": offset}
    return facts, [] if synchronised is not False else [_unsynchronised(service)]


def _unsynchronised(service):
    if service:
        severity, found = "warning", f"{service} runs and has not set the clock yet"
        fix = "wait a minute if it has just started; else name time servers that the host reaches in "
        fix += "gpustack_ntp_servers (for chronyd) or in the configuration of the service"
    else:
        severity, found = "note", "no service keeps the clock"
        fix = "nothing on a Debian, Red Hat or openEuler system, where site.yml installs chrony (role host_tuning); "
        fix += "install a time service yourself on others"
    return finding(
        "clock_not_synchronised",
        severity,
        "the host's clock",
        found,
        "a clock kept by chronyd, systemd-timesyncd or ntpd",
        fix,
        "GPUStack 2.3.0, installation requirements",
    )
