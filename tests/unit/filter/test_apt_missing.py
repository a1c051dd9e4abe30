# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.inferops.gpustack.plugins.filter.apt_missing import apt_missing

OFFERED = [
    " nvidia-open-580 | 580.95.05-1 | https://example.com/debian12/x86_64  Packages",
    " nvidia-open-580 | 580.82.07-1 | https://example.com/debian12/x86_64  Packages",
    " xserver-xorg-video-nvidia | 1:580.95.05-1 | https://example.com/debian12/x86_64  Packages",
    "linux-headers-6.1.0-28-amd64 | 6.1.119-1 | http://deb.debian.org/debian bookworm/main amd64 Packages",
]


@pytest.mark.parametrize(
    "package",
    [
        "nvidia-open-580",
        "nvidia-open-580=580.82.07-*",
        "nvidia-open-580=580.95.05-1",
        "xserver-xorg-video-nvidia=580.95.05-*",
        "xserver-xorg-video-nvidia=1:580.95.05-*",
        "linux-headers-6.1.0-28-amd64",
    ],
)
def test_what_is_on_offer_is_not_missing(package):
    assert apt_missing([package], OFFERED) == []


@pytest.mark.parametrize(
    ("package", "text"),
    [
        ("nvidia-open-580=580.999.99-*", "nvidia-open-580=580.999.99-* (there are 580.95.05-1, 580.82.07-1)"),
        ("nvidia-open-580=580.9", "nvidia-open-580=580.9 (there are 580.95.05-1, 580.82.07-1)"),
        ("nvidia-driver-pinning-580.999.99", "nvidia-driver-pinning-580.999.99 (there is none)"),
        ("xserver-xorg-video-nvidia=2:*", "xserver-xorg-video-nvidia=2:* (there is 1:580.95.05-1)"),
    ],
)
def test_what_is_missing_is_told_with_what_there_is(package, text):
    assert apt_missing(["nvidia-open-580", package], OFFERED) == [text]
    assert package in apt_missing([package], [])[0]
