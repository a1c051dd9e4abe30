#!/usr/bin/env python3
"""Makes the lab's stand-ins for Huawei's installers and prints the names of those that were not there like that before.

Usage: make_run.py DIRECTORY --release 25.5.1 --firmware 7.8.0.6.201 [--card 910b] [--architecture x86-64]
[--runtime 26.1.0]...

The same arguments make the same bytes. Standard library only.
"""

import argparse
import hashlib
import io
import tarfile
from pathlib import Path

PARTS = Path(__file__).resolve().parent / "package"
# By card: what the vendor's files begin with, and the PCI device.
CARDS = {"910b": ("Ascend-hdk-910b-npu", "0xd802"), "a3": ("Atlas-A3-hdk-npu", "0xd803")}
# The first release of the container runtime that asks whether one accepts the agreement.
EULA_SINCE = (26, 1)


def archive(files):
    """A tar with the files, by name: bytes."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, content in sorted(files.items()):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            member.mode = 0o644
            tar.addfile(member, io.BytesIO(content))
    return made.getvalue()


def lines(pairs):
    return "".join(f"{name}={value}\n" for name, value in pairs.items()).encode()


def run_file(name, title, files, verify):
    """The installer: verify says whether each start checks the archive, or --check alone."""
    payload = archive(files)
    head = (PARTS / "head.sh").read_text(encoding="utf-8")
    for word, value in {
        "NAME": name,
        "SKIP": len(head.splitlines()),
        "SIZE": len(payload),
        "SHA256": hashlib.sha256(payload).hexdigest(),
        "TITLE": title,
        "VERIFY": "yes" if verify else "no",
    }.items():
        head = head.replace(f"@{word}@", str(value))
    return head.encode() + payload


def part(name):
    return (PARTS / name).read_bytes()


def npu_package(package, version, needs, card):
    settings = {"package": package, "version": version, "needs": needs, "device": CARDS[card][1]}
    info = {"Version": version, "Innerversion": "V100R001C00SIMULATED"}
    files = {"install.sh": part("hdk.sh"), "package.conf": lines(settings)}
    if package == "driver":
        info["simulated_firmware"] = needs
        files["npu-smi"] = part("npu-smi")
    return {**files, "version.info": lines(info)}


def installers(release, firmware, card, architecture, runtimes):
    """(name, bytes) of each."""
    prefix = CARDS[card][0]
    name = f"{prefix}-driver_{release}_linux-{architecture}.run"
    yield name, run_file(name, "ASCEND DRIVER RUN PACKAGE", npu_package("driver", release, firmware, card), True)
    name = f"{prefix}-firmware_{firmware}.run"
    title = f"{prefix.upper()} FIRMWARE RUN PACKAGE"
    yield name, run_file(name, title, npu_package("firmware", firmware, "", card), True)
    for version in runtimes:
        name = f"Ascend-docker-runtime_{version}_linux-{architecture.replace('-', '_')}.run"
        asks = tuple(map(int, version.split(".")[:2])) >= EULA_SINCE
        settings = {"version": version, "eula": "yes" if asks else "no"}
        files = {
            "install.sh": part("docker-runtime.sh"),
            "package.conf": lines(settings),
            "daemon_json.py": part("daemon_json.py"),
        }
        yield name, run_file(name, "ascend-docker-runtime", files, False)


def main():
    parser = argparse.ArgumentParser(description="Makes the lab's stand-ins for Huawei's installers.")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--release", required=True, help="version of the driver")
    parser.add_argument("--firmware", required=True, help="version of the firmware that goes with it")
    parser.add_argument("--card", choices=sorted(CARDS), default="910b")
    parser.add_argument("--architecture", choices=["aarch64", "x86-64"], default="x86-64")
    parser.add_argument("--runtime", action="append", default=[], help="version of the container runtime")
    wanted = parser.parse_args()
    wanted.directory.mkdir(parents=True, exist_ok=True)
    found = installers(wanted.release, wanted.firmware, wanted.card, wanted.architecture, wanted.runtime)
    for name, content in found:
        path = wanted.directory / name
        if not path.exists() or path.read_bytes() != content:
            path.write_bytes(content)
            print(name)
        path.chmod(0o755)


if __name__ == "__main__":
    main()
