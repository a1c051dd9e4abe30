#!/usr/bin/env python3
"""The driver's packages of NVIDIA's CUDA repository, as placeholders.

Usage: driver_packages.py DIRECTORY DISTRIBUTION URL KEY

Names, versions and relations are the vendor's as far as public sources tell them, see README.md; what the programs in
them do is in files/.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from debs import SIMULATED, Package, text_of

#: The vendor's repository for Debian 13 has no branch older than 590 (NVIDIA/cuda-repo-management #38).
DISTRIBUTIONS = {
    "debian12": ("570.172.08", "580.82.07", "580.95.05", "595.45.04"),
    "debian13": ("595.45.04",),
}
#: Branch: what nvidia-smi calls its CUDA version.
CUDA = {"570": "12.8", "580": "13.0", "595": "13.2"}
#: From here on the names carry no branch.
FIRST_WITHOUT_SUFFIX = 590
LICENCES = {"nvidia-kernel-open-dkms": "Dual MIT/GPL", "nvidia-kernel-dkms": "NVIDIA"}
MODULES = ("nvidia", "nvidia-uvm", "nvidia-modeset", "nvidia-drm")
LIBRARIES = "usr/lib/x86_64-linux-gnu"
#: The dkms of Debian 12 is too old for them, so the vendor's repository brings one along.
DKMS = "1:3.4.0-1"
DKMS_NEEDED = "dkms (>= 3.1.8)"


def driver_packages(distribution):
    """All packages of one distribution's repository, but its keyring."""
    versions = DISTRIBUTIONS[distribution]
    packages = [dkms()]
    for branch in sorted({branch_of(version) for version in versions}):
        packages.append(pinning(branch, f"{branch}.*", f"{branch}-1"))
    for version in versions:
        packages.append(pinning(version, f"{version}-*", f"{version}-1"))
        packages += release(version)
    return packages


def branch_of(version):
    return version.split(".")[0]


def release(version):
    """The packages of one driver."""
    full, branch = f"{version}-1", branch_of(version)
    exact, least = f"(= {full})", f"(>= {full})"
    # Either flavour goes with the user space, and only that of its own version.
    kernel = f"nvidia-kernel-open-dkms {exact} | nvidia-kernel-dkms {exact}"
    graphics = {"Depends": f"{kernel}, nvidia-modprobe {least}"}
    packages = [
        Package("firmware-nvidia-gsp", full, "NVIDIA GSP firmware"),
        module("nvidia-kernel-open-dkms", "nvidia-kernel-dkms", version),
        module("nvidia-kernel-dkms", "nvidia-kernel-open-dkms", version),
        Package("libcuda1", full, "NVIDIA CUDA driver library", files=library("libcuda", version)),
        Package("libnvidia-ml1", full, "NVIDIA management library", files=library("libnvidia-ml", version)),
        Package("nvidia-modprobe", full, "NVIDIA module loader", files=programs("nvidia-modprobe", version)),
        service("nvidia-persistenced", "nvidia-persistenced", "NVIDIA persistence daemon", version, True, kernel),
        Package(
            "nvidia-driver-cuda",
            full,
            "NVIDIA driver, CUDA part with nvidia-smi",
            {
                "Depends": f"{kernel}, libcuda1 {exact}, libnvidia-ml1 {exact}, nvidia-modprobe {least}, "
                f"nvidia-persistenced {least}",
                "Provides": "nvidia-smi",
                "Conflicts": "nvidia-smi",
                "Replaces": "nvidia-smi",
            },
            programs("nvidia-smi", version),
        ),
        Package("nvidia-driver", full, "NVIDIA driver, graphics part", graphics),
        service("nvidia-fabricmanager", "nv-fabricmanager", "NVIDIA Fabric Manager", version, False),
        Package("libnvidia-nscq", full, "NVSwitch query library", files=library("libnvidia-nscq", version)),
    ]
    for name, flavour in (("nvidia-open", "nvidia-kernel-open-dkms"), ("cuda-drivers", "nvidia-kernel-dkms")):
        parts = (flavour, "nvidia-driver", "nvidia-driver-cuda")
        packages.append(meta(name, full, parts))
        if int(branch) < FIRST_WITHOUT_SUFFIX:
            packages.append(meta(f"{name}-{branch}", full, (name,)))
    return packages


def meta(name, full, parts):
    """It takes newer parts as well: what keeps a host on one branch or version is a pinning package."""
    depends = ", ".join(f"{part} (>= {full})" for part in parts)
    return Package(name, full, "NVIDIA driver metapackage", {"Depends": depends})


def module(name, other, version):
    """A module that modinfo reads, for any kernel: the simulated dkms puts it where a compiled one would be."""
    source = f"usr/src/nvidia-{version}"
    files = {f"{source}/{each}.ko": kernel_object(each, version, LICENCES[name]) for each in MODULES}
    files[f"{source}/dkms.conf"] = f'PACKAGE_NAME="nvidia"\nPACKAGE_VERSION="{version}"\n'
    return Package(
        name,
        f"{version}-1",
        "NVIDIA kernel module",
        {"Depends": f"{DKMS_NEEDED}, firmware-nvidia-gsp (= {version}-1)", "Conflicts": other, "Replaces": other},
        files,
        {
            "postinst": text_of("kernel.postinst", VERSION=version),
            "prerm": text_of("kernel.prerm", VERSION=version),
        },
    )


def kernel_object(name, version, licence):
    fields = {"name": name.replace("-", "_"), "version": version, "license": licence, "vermagic": "simulated"}
    with tempfile.TemporaryDirectory() as scratch:
        plain, built = Path(scratch) / "plain", Path(scratch) / "built"
        plain.write_bytes("".join(f"{key}={value}\0" for key, value in fields.items()).encode())
        section = ".data=.modinfo,alloc,load,readonly,data,contents"
        command = ["objcopy", "-I", "binary", "-O", "elf64-x86-64", "-B", "i386:x86-64", "--rename-section", section]
        subprocess.run([*command, str(plain), str(built)], check=True)
        return built.read_bytes()


def library(name, version):
    return {
        f"{LIBRARIES}/{name}.so.{version}": f"{name} {version}, {SIMULATED}\n",
        f"{LIBRARIES}/{name}.so.1": Path(f"{name}.so.{version}"),
    }


def programs(name, version):
    return {f"usr/bin/{name}": text_of(name, VERSION=version, CUDA=CUDA[branch_of(version)])}


def service(name, program, summary, version, started, depends=""):
    """A daemon with its unit. started: whether the vendor's package enables and starts it."""
    files = programs(program, version)
    files[f"usr/lib/systemd/system/{name}.service"] = text_of(f"{name}.service")
    if name == "nvidia-fabricmanager":
        files["usr/share/nvidia/nvswitch/fabricmanager.cfg"] = text_of("fabricmanager.cfg")
    scripts = {
        "postinst": text_of("service.postinst", SERVICE=name, STARTED="yes" if started else ""),
        "prerm": text_of("service.prerm", SERVICE=name),
        "postrm": text_of("service.postrm"),
    }
    return Package(name, f"{version}-1", summary, {"Depends": depends}, files, scripts)


def pinning(what, pin, version):
    """Only one at a time; the file is no conffile, so that removing the package removes the pin."""
    return Package(
        f"nvidia-driver-pinning-{what}",
        version,
        f"pin of the NVIDIA driver to {what}",
        dict.fromkeys(("Provides", "Conflicts", "Replaces"), "nvidia-driver-pinning"),
        {"etc/apt/preferences.d/nvidia-driver-pinning": text_of("pinning", PIN=pin)},
        architecture="all",
    )


def dkms():
    files = {"usr/sbin/dkms": text_of("dkms")}
    return Package("dkms", DKMS, "DKMS without a compiler", files=files, architecture="all")


def keyring(distribution, url, key):
    """The vendor's package with its key and a list that names this repository."""
    path = "usr/share/keyrings/cuda-archive-keyring.gpg"
    line = f"deb [signed-by=/{path}] {url}/compute/cuda/repos/{distribution}/x86_64/ /\n"
    files = {path: key, f"etc/apt/sources.list.d/cuda-{distribution}-x86_64.list": line}
    return Package("cuda-keyring", "1.1-1", "key of a CUDA repository", files=files, architecture="all")


def main(directory, distribution, url, key):
    for package in [*driver_packages(distribution), keyring(distribution, url, Path(key).read_bytes())]:
        package.build(directory)


if __name__ == "__main__":
    main(*sys.argv[1:])
