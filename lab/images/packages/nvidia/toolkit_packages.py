#!/usr/bin/env python3
"""The packages of the NVIDIA Container Toolkit, as placeholders. Usage: toolkit_packages.py DIRECTORY"""

from __future__ import annotations

import sys

from debs import Package, text_of

RELEASES = ("1.19.1", "1.20.0")


def toolkit_packages(release):
    full = f"{release}-1"

    def programs(*names):
        return {f"usr/bin/{name}": text_of(name, VERSION=release) for name in names}

    return [
        Package("libnvidia-container1", full, "NVIDIA container library"),
        Package(
            "libnvidia-container-tools",
            full,
            "NVIDIA container library's tool",
            {"Depends": f"libnvidia-container1 (>= {full})"},
            programs("nvidia-container-cli"),
        ),
        Package(
            "nvidia-container-toolkit-base",
            full,
            "NVIDIA Container Toolkit, base with its container runtime",
            files=programs("nvidia-container-runtime", "nvidia-ctk"),
        ),
        Package(
            "nvidia-container-toolkit",
            full,
            "NVIDIA Container Toolkit",
            {"Depends": f"nvidia-container-toolkit-base (= {full}), libnvidia-container-tools (>= {full})"},
        ),
    ]


def main(directory):
    for release in RELEASES:
        for package in toolkit_packages(release):
            package.build(directory)


if __name__ == "__main__":
    main(*sys.argv[1:])
