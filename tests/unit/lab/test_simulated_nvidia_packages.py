"""The lab's stand-ins for NVIDIA's packages: what they say of themselves, and what they do on a host.

Names and relations are typed here from what the vendor and its users publish; see lab/images/packages/README.md.
"""

from __future__ import annotations

import os
import platform
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

LAB = Path(__file__).resolve().parents[3] / "lab"
PACKAGES = LAB / "images" / "packages"
HOST = LAB / "images" / "host"
MISSING = [tool for tool in ("dpkg-deb", "objcopy") if not shutil.which(tool)]
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"not on this machine: {', '.join(MISSING)}")

sys.path.insert(0, str(PACKAGES / "nvidia"))
import driver_packages  # noqa: E402
import toolkit_packages  # noqa: E402

URL = "http://172.29.77.6:8080"
OLD, NEW = "580.82.07", "580.95.05"
USER_SPACE = ("nvidia-driver-cuda", "libnvidia-ml1", "nvidia-persistenced", "nvidia-fabricmanager")
KERNEL = platform.release()
NO_DRIVER = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    """Debian 12's packages with the toolkit's, as files."""
    directory = tmp_path_factory.mktemp("repository")
    key = directory / "key"
    key.write_bytes(b"made for a test")
    driver_packages.main(directory, "debian12", URL, key)
    toolkit_packages.main(directory)
    return directory


@pytest.fixture(scope="module")
def fields(repository):
    """Control fields by name and version."""
    template = "${Package}\t${Version}\t${Architecture}\t${Depends}\t${Conflicts}\t${Description}\n"
    told = {}
    for file in repository.glob("*.deb"):
        command = ["dpkg-deb", "--show", f"--showformat={template}", str(file)]
        line = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        name, version, architecture, depends, conflicts, description = line.rstrip("\n").split("\t")
        told[name, version] = {
            "Architecture": architecture,
            "Depends": depends.split(", ") if depends else [],
            "Conflicts": conflicts,
            "Description": description,
        }
    return told


def versions(fields, name):
    return sorted(version for package, version in fields if package == name)


@pytest.mark.parametrize("name", ["nvidia-open", "cuda-drivers", "nvidia-driver-cuda", "nvidia-fabricmanager"])
def test_every_release_has_the_names_without_a_branch(fields, name):
    assert versions(fields, name) == ["570.172.08-1", "580.82.07-1", "580.95.05-1", "595.45.04-1"]


@pytest.mark.parametrize("name", ["nvidia-open", "cuda-drivers"])
def test_names_carry_their_branch_up_to_580(fields, name):
    assert versions(fields, f"{name}-570") == ["570.172.08-1"]
    assert versions(fields, f"{name}-580") == ["580.82.07-1", "580.95.05-1"]
    assert versions(fields, f"{name}-595") == []


def test_the_toolkit_has_four_packages_of_one_version(fields):
    for name in (
        "libnvidia-container1",
        "libnvidia-container-tools",
        "nvidia-container-toolkit-base",
        "nvidia-container-toolkit",
    ):
        assert versions(fields, name) == ["1.19.1-1", "1.20.0-1"]
    toolkit = fields["nvidia-container-toolkit", "1.20.0-1"]["Depends"]
    assert toolkit == ["nvidia-container-toolkit-base (= 1.20.0-1)", "libnvidia-container-tools (>= 1.20.0-1)"]


def test_a_metapackage_takes_newer_parts_too(fields):
    assert fields["nvidia-open-580", "580.82.07-1"]["Depends"] == ["nvidia-open (>= 580.82.07-1)"]
    assert "nvidia-kernel-open-dkms (>= 580.82.07-1)" in fields["nvidia-open", "580.82.07-1"]["Depends"]
    assert "nvidia-kernel-dkms (>= 580.82.07-1)" in fields["cuda-drivers", "580.82.07-1"]["Depends"]


def test_user_space_needs_a_module_of_its_own_version_and_one_flavour_excludes_the_other(fields):
    depends = fields["nvidia-driver-cuda", "580.95.05-1"]["Depends"]
    assert "nvidia-kernel-open-dkms (= 580.95.05-1) | nvidia-kernel-dkms (= 580.95.05-1)" in depends
    assert "libnvidia-ml1 (= 580.95.05-1)" in depends
    assert fields["nvidia-kernel-open-dkms", "580.95.05-1"]["Conflicts"] == "nvidia-kernel-dkms"
    assert fields["nvidia-kernel-dkms", "580.95.05-1"]["Conflicts"] == "nvidia-kernel-open-dkms"


def test_fabric_manager_follows_no_driver_by_itself(fields):
    assert fields["nvidia-fabricmanager", "580.95.05-1"]["Depends"] == []


def test_every_package_says_that_it_is_simulated(fields):
    text = "simulated by the lab of inferops.gpustack; not made by NVIDIA"
    assert [key for key, told in fields.items() if text not in told["Description"]] == []


def test_the_repository_of_debian_13_begins_with_595():
    names = {(package.name, package.version) for package in driver_packages.driver_packages("debian13")}
    assert ("nvidia-open", "595.45.04-1") in names
    assert [name for name, version in names if version.startswith(("570", "580"))] == []


def test_the_keyring_names_the_labs_repository(repository, tmp_path):
    subprocess.run(["dpkg-deb", "-x", str(repository / "cuda-keyring_1.1-1_all.deb"), str(tmp_path)], check=True)
    assert (tmp_path / "usr/share/keyrings/cuda-archive-keyring.gpg").read_bytes() == b"made for a test"
    assert (tmp_path / "etc/apt/sources.list.d/cuda-debian12-x86_64.list").read_text() == (
        "deb [signed-by=/usr/share/keyrings/cuda-archive-keyring.gpg] "
        "http://172.29.77.6:8080/compute/cuda/repos/debian12/x86_64/ /\n"
    )


@pytest.mark.parametrize(("what", "version", "pin"), [("580", "580-1", "580.*"), (NEW, f"{NEW}-1", f"{NEW}-*")])
def test_pinning_packages_hold_a_branch_or_a_version(fields, repository, tmp_path, what, version, pin):
    name = f"nvidia-driver-pinning-{what}"
    assert fields[name, version]["Conflicts"] == "nvidia-driver-pinning"
    subprocess.run(["dpkg-deb", "-x", str(repository / f"{name}_{version}_all.deb"), str(tmp_path)], check=True)
    lines = (tmp_path / "etc/apt/preferences.d/nvidia-driver-pinning").read_text().splitlines()
    assert lines[1:] == [f"Pin: version {pin}", "Pin-Priority: 1000"]
    assert "nvidia-driver-cuda" in lines[0].split()


def test_the_hosts_address_of_the_packages_is_the_one_they_are_built_for():
    address = yaml.safe_load((LAB / "vars.yml").read_text())["lab_packages_address"]
    assert f"publish-nvidia /srv http://{address}:8080\n" in (PACKAGES / "Dockerfile").read_text()


class Machine:
    """A host's files in a directory, and the simulated programs run on them."""

    def __init__(self, root, repository):
        self.root, self.repository = root, repository
        self.tools = root / "tools"
        self.tools.mkdir(parents=True)
        for name in ("modprobe", "rmmod"):
            (self.tools / name).symlink_to(HOST / "simulated-modprobe")
        # depmod and modinfo are the hosts' real ones, and not on every machine.
        (self.tools / "depmod").write_text("#!/bin/sh\n")
        (self.tools / "depmod").chmod(0o755)
        for number, device, kind in (
            ("18", "232c", "0x030200"),
            ("2a", "232c", "0x030200"),
            ("03", "22a3", "0x068000"),
        ):
            for name, value in (("vendor", "0x10de"), ("device", "0x" + device), ("class", kind)):
                self.write(f"sys/bus/pci/devices/0000:{number}:00.0/{name}", value)
        (root / "sys/module").mkdir()
        (root / "lib/modules" / KERNEL / "build").mkdir(parents=True)

    def write(self, path, text):
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text + "\n")

    def run(self, program, *arguments):
        path = f"{self.tools}:{self.root}/usr/bin:{self.root}/usr/sbin:{os.environ['PATH']}"
        environment = {"PATH": path, "LAB_ROOT": str(self.root), "LC_ALL": "C"}
        return subprocess.run(
            [shutil.which(str(program), path=path), *arguments],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=20,
            check=False,
        )

    def install(self, version, flavour="nvidia-kernel-open-dkms"):
        """What dpkg would do, without its database."""
        for name in ("dkms", flavour, *USER_SPACE):
            [file] = self.repository.glob(f"{name}_3.4.0-1_all.deb" if name == "dkms" else f"{name}_{version}-1_*.deb")
            subprocess.run(["dpkg-deb", "-x", str(file), str(self.root)], check=True)
        return self.run("dkms", "install", f"nvidia/{version}")

    def boot(self, how="none"):
        shutil.rmtree(self.root / "sys/module")
        (self.root / "sys/module").mkdir()
        return self.run(HOST / "simulated-boot", how)

    def keep_nouveau_away(self):
        self.write("etc/modprobe.d/nouveau.conf", "blacklist nouveau\noptions nouveau modeset=0")

    @property
    def modules(self):
        return sorted(path.name for path in (self.root / "sys/module").iterdir())

    @property
    def loaded(self):
        return (self.root / "sys/module/nvidia/version").read_text()

    def close(self):
        for pid in (self.root / "run").glob("*/*.pid"):
            os.kill(int(pid.read_text()), signal.SIGTERM)


@pytest.fixture
def machine(repository, tmp_path):
    made = Machine(tmp_path / "root", repository)
    yield made
    made.close()


@pytest.fixture
def ready(machine):
    """A machine with the newer driver loaded."""
    machine.keep_nouveau_away()
    machine.install(NEW)
    machine.boot()
    assert machine.modules == ["nvidia"]
    return machine


def test_a_bare_host_starts_with_nouveau_and_without_a_driver(machine):
    assert machine.boot().returncode == 0
    assert machine.modules == ["nouveau"]
    tried = machine.run("modprobe", "nvidia")
    assert (tried.returncode, tried.stdout) == (
        1,
        f"modprobe: FATAL: Module nvidia not found in directory /lib/modules/{KERNEL}\n",
    )


def test_nouveau_keeps_the_driver_out_until_a_restart(machine):
    machine.boot()
    machine.install(NEW)
    machine.keep_nouveau_away()
    tried = machine.run("modprobe", "nvidia")
    assert (tried.returncode, tried.stdout) == (1, "modprobe: ERROR: could not insert 'nvidia': No such device\n")
    asked = machine.run("nvidia-smi", "-q", "-x")
    assert asked.returncode == 9
    assert asked.stdout.startswith(NO_DRIVER)
    machine.boot()
    assert machine.modules == ["nvidia"]
    assert machine.loaded == NEW + "\n"


def test_an_initial_ram_disk_of_before_still_loads_nouveau(machine):
    machine.run(HOST / "update-initramfs", "-u")
    machine.keep_nouveau_away()
    machine.boot()
    assert machine.modules == ["nouveau"]
    machine.run(HOST / "update-initramfs", "-u")
    machine.boot()
    assert machine.modules == []


def test_a_host_delivered_with_a_driver_has_what_the_made_machine_says(machine):
    machine.write("usr/local/share/lab/machine/sys/module/nvidia/version", OLD)
    machine.boot("delivered")
    assert machine.modules == ["nvidia"]
    assert machine.loaded == OLD + "\n"
    machine.install(NEW)
    machine.keep_nouveau_away()
    machine.boot("delivered")
    assert machine.loaded == NEW + "\n"


def test_a_host_without_nvidia_cards_keeps_its_modules(machine):
    for vendor in (machine.root / "sys/bus/pci/devices").glob("*/vendor"):
        vendor.write_text("0x19e5\n")
    assert machine.boot().returncode == 0
    assert machine.modules == []


@pytest.mark.parametrize(
    ("flavour", "licence"),
    [("nvidia-kernel-open-dkms", "Dual MIT/GPL"), ("nvidia-kernel-dkms", "NVIDIA")],
)
def test_the_module_tells_version_and_licence_as_modinfo_reads_them(machine, flavour, licence):
    assert machine.install(NEW, flavour).returncode == 0
    module = machine.root / "lib/modules" / KERNEL / "updates/dkms/nvidia.ko"
    dump = ["objcopy", "-O", "binary", "--only-section=.modinfo", str(module), str(machine.root / "section")]
    subprocess.run(dump, check=True)
    told = (machine.root / "section").read_bytes().decode().split("\0")
    assert {f"version={NEW}", f"license={licence}", "name=nvidia"} <= set(told)
    assert machine.run("dkms", "status").stdout == f"nvidia/{NEW}, {KERNEL}, x86_64: installed\n"


def test_without_headers_there_is_no_module(machine):
    (machine.root / "lib/modules" / KERNEL / "build").rmdir()
    tried = machine.install(NEW)
    assert tried.returncode == 21
    assert f"Please install the linux-headers-{KERNEL} package." in tried.stdout
    assert machine.run("dkms", "status").stdout == ""
    assert machine.run("modprobe", "nvidia").returncode == 1


def test_a_removed_module_is_gone(machine):
    machine.install(NEW)
    assert machine.run("dkms", "remove", f"nvidia/{NEW}", "--all").returncode == 0
    assert list((machine.root / "lib/modules" / KERNEL / "updates/dkms").iterdir()) == []
    assert machine.run("dkms", "status").stdout == ""


def test_nvidia_smi_tells_of_the_cards(ready):
    log = ElementTree.fromstring(ready.run("nvidia-smi", "-q", "-x").stdout.split("\n", 2)[2])
    assert log.findtext("driver_version") == NEW
    assert log.findtext("cuda_version") == "13.0"
    assert [gpu.get("id") for gpu in log.findall("gpu")] == ["00000000:18:00.0", "00000000:2A:00.0"]
    gpu = log.find("gpu")
    assert gpu.findtext("product_name") == "NVIDIA H20-3e"
    assert gpu.findtext("pci/pci_device_id") == "232C10DE"
    assert gpu.findtext("fb_memory_usage/total") == "143771 MiB"
    assert (gpu.findtext("fabric/state"), gpu.findtext("fabric/status")) == ("In Progress", "N/A")
    assert ready.run("nvidia-smi", "-L").stdout.count("NVIDIA H20-3e (UUID: GPU-") == 2


@pytest.mark.parametrize(("version", "cuda"), [("570.172.08", "12.8"), ("595.45.04", "13.2")])
def test_the_cuda_version_is_the_branchs(machine, version, cuda):
    machine.keep_nouveau_away()
    machine.install(version)
    machine.boot()
    assert machine.run("nvidia-smi", "--version").stdout.splitlines() == [
        f"NVIDIA-SMI version  : {version}",
        f"NVML version        : {'.'.join(version.split('.')[:2])}",
        f"DRIVER version      : {version}",
        f"CUDA Version        : {cuda}",
    ]


def test_a_query_knows_its_fields_or_fails_whole(ready):
    form = "--format=csv,noheader,nounits"
    query = "--query-gpu=index,name,memory.total,pci.device_id,driver_version"
    assert ready.run("nvidia-smi", query, form).stdout.splitlines()[0] == f"0, NVIDIA H20-3e, 143771, 0x232C10DE, {NEW}"
    failed = ready.run("nvidia-smi", "--query-gpu=index,made_up", form)
    assert (failed.returncode, failed.stdout.strip()) == (2, 'Field "made_up" is not a valid field to query.')


def test_libraries_of_another_version_than_the_module_are_a_mismatch(ready):
    """Until the host restarts."""
    ready.run("dkms", "remove", f"nvidia/{NEW}", "--all")
    ready.install(OLD)
    asked = ready.run("nvidia-smi", "-q", "-x")
    assert (asked.returncode, asked.stdout) == (
        18,
        "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 580.82\n",
    )
    assert ready.loaded == NEW + "\n"
    ready.boot()
    assert ready.run("nvidia-smi", "-q", "-x").returncode == 0


def test_fabric_manager_completes_the_fabric(ready):
    assert ready.run("nv-fabricmanager", "--version").stdout == f"Fabric Manager version is : {NEW}\n"
    started = ready.run("nv-fabricmanager", "-c", "/usr/share/nvidia/nvswitch/fabricmanager.cfg")
    assert started.returncode == 0, started.stdout
    pid = (ready.root / "run/nvidia-fabricmanager/nv-fabricmanager.pid").read_text().strip()
    # As the kernel cuts it.
    assert Path(f"/proc/{pid}/comm").read_text() == "nv-fabricmanage\n"
    assert ready.run("nvidia-smi", "-q", "-x").stdout.count("<state>Completed</state>") == 2


def test_fabric_manager_of_another_version_refuses(ready):
    [file] = ready.repository.glob(f"nvidia-fabricmanager_{OLD}-1_*.deb")
    subprocess.run(["dpkg-deb", "-x", str(file), str(ready.root)], check=True)
    started = ready.run("nv-fabricmanager")
    assert (started.returncode, started.stdout) == (
        1,
        f"fabric manager NVIDIA GPU driver interface version {OLD} don't match with driver version {NEW}. "
        "Please update with matching NVIDIA driver package.\n",
    )


@pytest.mark.parametrize(("option", "mode"), [("--persistence-mode", "Enabled"), ("--no-persistence-mode", "Disabled")])
def test_persistence_is_what_the_daemon_was_started_with(ready, option, mode):
    started = ready.run("nvidia-persistenced", "--user", "nvidia-persistenced", option, "--verbose")
    assert started.returncode == 0, started.stdout
    assert f"<persistence_mode>{mode}</persistence_mode>" in ready.run("nvidia-smi", "-q", "-x").stdout
    held = ready.run("modprobe", "-r", "nvidia")
    assert (held.returncode, held.stdout) == (1, "modprobe: FATAL: Module nvidia is in use.\n")


def test_the_persistence_daemon_loads_the_module_or_fails(machine):
    machine.install(NEW)
    started = machine.run("nvidia-persistenced")
    assert started.returncode == 0, started.stdout
    assert machine.modules == ["nvidia"]
    machine.close()
    shutil.rmtree(machine.root / "run")
    shutil.rmtree(machine.root / "sys/module/nvidia")
    machine.run("dkms", "remove", f"nvidia/{NEW}", "--all")
    assert machine.run("nvidia-persistenced").returncode == 1


def test_a_module_nobody_uses_can_be_unloaded(ready):
    ready.run("modprobe", "nvidia-uvm")
    assert ready.modules == ["nvidia", "nvidia_uvm"]
    assert ready.run("rmmod", "nvidia").returncode == 1
    assert ready.run("rmmod", "nvidia_uvm").returncode == 0
    assert ready.run("modprobe", "-r", "nvidia").returncode == 0
    assert ready.modules == []


def test_the_toolkit_says_its_version(repository, tmp_path):
    file = repository / "nvidia-container-toolkit-base_1.20.0-1_amd64.deb"
    subprocess.run(["dpkg-deb", "-x", str(file), str(tmp_path)], check=True)
    told = subprocess.run([tmp_path / "usr/bin/nvidia-ctk", "--version"], check=True, stdout=subprocess.PIPE, text=True)
    assert told.stdout.splitlines()[0] == "NVIDIA Container Toolkit CLI version 1.20.0"
    assert "exec /usr/local/sbin/runc-within-bounds" in (tmp_path / "usr/bin/nvidia-container-runtime").read_text()


def test_the_trees_are_signed_each_with_a_key_of_its_own(tmp_path):
    missing = [tool for tool in ("apt-ftparchive", "gpg", "gpgv", "gpgconf") if not shutil.which(tool)]
    if missing:
        pytest.skip(f"not on this machine: {', '.join(missing)}")
    subprocess.run([PACKAGES / "publish-nvidia", tmp_path, URL], check=True, stderr=subprocess.DEVNULL)
    cuda = tmp_path / "compute/cuda/repos/debian12/x86_64"
    toolkit = tmp_path / "libnvidia-container"
    keyring = tmp_path / "keyring.gpg"
    subprocess.run(["gpg", "--batch", "--yes", "-o", keyring, "--dearmor", toolkit / "gpgkey"], check=True)

    def verified(directory):
        command = ["gpgv", "--keyring", keyring, directory / "InRelease"]
        return subprocess.run(command, check=False, stderr=subprocess.DEVNULL).returncode == 0

    assert verified(toolkit / "stable/deb/amd64")
    assert not verified(cuda)
    assert "Filename: ./nvidia-open-580_580.95.05-1_amd64.deb\n" in (cuda / "Packages").read_text()
