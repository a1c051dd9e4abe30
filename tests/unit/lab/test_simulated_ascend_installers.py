"""The lab's stand-ins for Huawei's installers: what they refuse, what they leave on a host, what npu-smi then says.

Names, places and texts are typed here from what the vendor and its users publish; see lab/files/ascend/README.md.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

LAB = Path(__file__).resolve().parents[3] / "lab"
MAKE = LAB / "files" / "ascend" / "make_run.py"
HOST = LAB / "images" / "host"
KERNEL = platform.release()
MACHINE = platform.machine()
OLD, NEW = ("25.2.0", "7.7.0.6.236"), ("25.5.1", "7.8.0.6.201")
INSTALL = ("--full", "--install-for-all", "--quiet")
DRIVER_DONE = "Driver package installed successfully!"
FIRMWARE_DONE = (
    "Firmware package installed successfully! Reboot now or after driver installation for the installation/upgrade to "
    "take effect."
)
NOT_STARTED = "dcmi module initialize failed. ret is -8005"
QUESTION = "Do you accept the EULA to install Ascend-docker-runtime?[Y/N]"
RUNTIME = "usr/local/Ascend/Ascend-Docker-Runtime"


def make(directory, release, firmware, *options):
    command = [sys.executable, str(MAKE), str(directory), "--release", release, "--firmware", firmware, *options]
    made = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return made.stdout.split()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The installers by what they are and their version."""
    directory = tmp_path_factory.mktemp("ascend")
    # The container runtime runs on machines whose architecture its name says.
    architecture = "aarch64" if MACHINE == "aarch64" else "x86-64"
    options = ("--architecture", architecture, "--runtime", "7.3.0", "--runtime", "26.1.0")
    for release, firmware in (OLD, NEW):
        make(directory, release, firmware, *options)
    found = {}
    for path in directory.iterdir():
        kind, version = re.search(r"(driver|firmware|runtime)_([0-9.]+?)(?:_|\.run)", path.name).groups()
        found[kind, version] = path
    return found


class Host:
    """A bare host with Ascend cards, in a directory."""

    def __init__(self, root, files):
        self.root = root
        self.files = files
        root.chmod(0o755)
        for address, device in (("0000:06:00.0", "0x1711"), ("0000:81:00.0", "0xd802"), ("0000:c1:00.0", "0xd802")):
            self.write(f"sys/bus/pci/devices/{address}/vendor", "0x19e5\n")
            self.write(f"sys/bus/pci/devices/{address}/device", f"{device}\n")
        self.write("etc/passwd", "root:x:0:0::/root:/bin/sh\nHwHiAiUser:x:1000:1000::/home/HwHiAiUser:/bin/bash\n")
        self.write("etc/group", "root:x:0:\nHwHiAiUser:x:1000:\n")
        self.write("etc/docker/daemon.json", '{"default-runtime": "lab", "runtimes": {"lab": {"path": "/sbin/lab"}}}')
        for tool in ("usr/bin/lspci", "sbin/ifconfig"):
            self.write(tool, "")
            (root / tool).chmod(0o755)
        (root / "lib/modules" / KERNEL / "build").mkdir(parents=True)
        self.write("usr/local/share/lab/simulated-vendor-runtime", (HOST / "simulated-vendor-runtime").read_text())
        for directory in [path for path in root.rglob("*") if path.is_dir()]:
            directory.chmod(0o755)

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def read(self, path):
        return (self.root / path).read_text()

    def run(self, *command, stdin=""):
        environment = dict(os.environ, LAB_ROOT=str(self.root), TMPDIR=str(self.root.parent))
        ended = subprocess.run(
            [str(word) for word in command],
            input=stdin,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=20,
            check=False,
        )
        return ended.returncode, ended.stdout

    def install(self, kind, version, *options, **settings):
        return self.run(self.files[kind, version], *options, **settings)

    def has(self, release, firmware):
        """Install both for the first time."""
        assert self.install("driver", release, *INSTALL)[0] == 0
        assert self.install("firmware", firmware, "--full", "--quiet")[0] == 2

    def start(self):
        assert self.run("sh", HOST / "simulated-boot", "none") == (0, "")

    def npu_smi(self, *arguments):
        return self.run(self.root / "usr/local/bin/npu-smi", *arguments)

    def board(self, npu="0"):
        code, text = self.npu_smi("info", "-t", "board", "-i", npu)
        assert code == 0, text
        return {name.strip(): value.strip() for name, value in (line.split(":", 1) for line in text.splitlines())}

    def versions(self):
        board = self.board()
        return board["Software Version"], board["Firmware Version"], board["Compatibility"]

    def daemon(self):
        return json.loads(self.read("etc/docker/daemon.json"))


@pytest.fixture
def host(tmp_path, files):
    root = tmp_path / "root"
    root.mkdir()
    return Host(root, files)


def test_the_names_are_the_vendors(tmp_path):
    names = make(tmp_path, *NEW, "--runtime", "7.3.0", "--runtime", "26.1.0")
    assert names == [
        "Ascend-hdk-910b-npu-driver_25.5.1_linux-x86-64.run",
        "Ascend-hdk-910b-npu-firmware_7.8.0.6.201.run",
        "Ascend-docker-runtime_7.3.0_linux-x86_64.run",
        "Ascend-docker-runtime_26.1.0_linux-x86_64.run",
    ]
    assert make(tmp_path, *NEW, "--card", "a3", "--architecture", "aarch64") == [
        "Atlas-A3-hdk-npu-driver_25.5.1_linux-aarch64.run",
        "Atlas-A3-hdk-npu-firmware_7.8.0.6.201.run",
    ]


def test_the_same_arguments_make_the_same_bytes(tmp_path):
    options = ("--runtime", "26.1.0")
    names = make(tmp_path / "a", *NEW, *options)
    assert make(tmp_path / "b", *NEW, *options) == names
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    assert make(tmp_path / "b", *NEW, *options) == []
    (tmp_path / "b" / names[1]).write_bytes(b"")
    assert make(tmp_path / "b", *NEW, *options) == [names[1]]


def test_each_says_that_it_is_simulated(files):
    for path in files.values():
        head = path.read_bytes().decode().splitlines()[:3]
        assert head[0] == "#!/bin/bash"
        assert head[1] == f"# Simulated by the lab of inferops.gpustack and not made by Huawei: {path.name}"


def test_check_tells_a_whole_file_from_a_damaged_one(host, files, tmp_path):
    for kind, version in (("driver", "25.5.1"), ("firmware", "7.8.0.6.201"), ("runtime", "26.1.0")):
        code, text = host.install(kind, version, "--check")
        assert (code, text) == (0, "Verifying archive integrity...  100%   SHA256 checksums are OK. All good.\n")
        whole = files[kind, version].read_bytes()
        changed = bytearray(whole)
        changed[-2000] ^= 1
        for content in (whole[:-1], whole[: len(whole) // 2], whole[:700], bytes(changed)):
            damaged = tmp_path / files[kind, version].name
            damaged.write_bytes(content)
            damaged.chmod(0o755)
            assert host.run(damaged, "--check")[0] == 2
            if kind != "runtime":
                assert host.run(damaged, "--full", "--quiet")[0] == 2
    assert not (host.root / "usr/local/Ascend").exists()


def test_a_cut_off_runtime_installs_nothing(host, files, tmp_path):
    cut = tmp_path / files["runtime", "7.3.0"].name
    cut.write_bytes(files["runtime", "7.3.0"].read_bytes()[:-512])
    cut.chmod(0o755)
    assert host.run(cut, "--install")[0] == 1
    assert not (host.root / RUNTIME).exists()


def test_driver_and_firmware_work_after_the_next_start(host):
    code, text = host.install("driver", "25.5.1", *INSTALL)
    assert code == 0
    assert f"[INFO]{DRIVER_DONE} Reboot needed for installation/upgrade to take effect!\n" in text
    code, text = host.install("firmware", "7.8.0.6.201", "--full", "--quiet")
    assert code == 2
    assert f"[INFO]{FIRMWARE_DONE}\n" in text
    assert host.read("usr/local/Ascend/driver/version.info").startswith("Version=25.5.1\n")
    assert host.read("usr/local/Ascend/firmware/version.info").startswith("Version=7.8.0.6.201\n")
    assert set(host.read("etc/ascend_install.info").splitlines()) == {
        "UserName=HwHiAiUser",
        "UserGroup=HwHiAiUser",
        "Driver_Install_Type=full",
        "Driver_Install_Path_Param=/usr/local/Ascend",
        "Driver_Install_For_All=yes",
        "Driver_Install_Mode=normal",
        "Firmware_Install_Type=full",
        "Firmware_Install_Path_Param=/usr/local/Ascend",
    }
    log = host.read("var/log/ascend_seclog/ascend_install.log")
    assert DRIVER_DONE in log
    assert FIRMWARE_DONE in log
    code, text = host.npu_smi("info")
    assert code != 0
    assert NOT_STARTED in text
    host.start()
    assert host.versions() == ("25.5.1", "7.8.0.6.201", "OK")
    # What the cards run already needs no start.
    assert host.install("firmware", "7.8.0.6.201", "--full", "--quiet")[0] == 0


def test_npu_smi_tells_of_the_cards_on_the_bus(host):
    host.has(*NEW)
    host.start()
    code, text = host.npu_smi("info")
    assert code == 0
    lines = text.splitlines()
    assert lines[1].startswith("| npu-smi 25.5.1")
    assert [re.split(r"\s*\|\s*", line)[1:3] for line in lines if "910B3" in line] == [
        ["0     910B3", "OK"],
        ["1     910B3", "OK"],
    ]
    assert [line.split("|")[2].strip() for line in lines if "0000:" in line] == ["0000:81:00.0", "0000:C1:00.0"]
    assert "3379 / 65536" in text
    assert len({len(line) for line in lines}) == 1
    rows = [re.split(r"\s{2,}", line.strip()) for line in host.npu_smi("info", "-m")[1].splitlines()]
    assert rows == [
        ["NPU ID", "Chip ID", "Chip Logic ID", "Chip Name"],
        ["0", "0", "0", "Ascend 910B3"],
        ["0", "1", "-", "Mcu"],
        ["1", "0", "1", "Ascend 910B3"],
        ["1", "1", "-", "Mcu"],
    ]
    assert re.match(r"\s+Total Count\s+: 2\n", host.npu_smi("info", "-l")[1])
    board = host.board("1")
    assert (board["PCIe Bus Info"], board["PCI Device ID"], board["Chip Count"]) == ("0000:C1:00.0", "0xD802", "1")
    assert host.npu_smi("info", "-t", "board", "-i", "2")[0] != 0


def test_two_functions_are_one_npu_of_an_a3(host):
    for address in ("0000:81:00.0", "0000:c1:00.0"):
        host.write(f"sys/bus/pci/devices/{address}/device", "0xd803\n")
    host.has(*NEW)
    host.start()
    text = host.npu_smi("info")[1]
    assert text.count(" 0     Ascend910 ") == 2
    assert [line.split("|")[1].split() for line in text.splitlines() if "0000:" in line] == [["0", "0"], ["1", "1"]]
    assert host.board()["Chip Count"] == "2"


def test_a_driver_alone_is_not_compatible_with_the_factorys_firmware(host):
    assert host.install("driver", "25.5.1", *INSTALL)[0] == 0
    host.start()
    assert host.versions() == ("25.5.1", "7.1.0.5.220", "NOK")


def test_an_upgrade_begins_with_the_firmware(host):
    host.has(*OLD)
    host.start()
    for mode in ("--upgrade", "--full"):
        code, text = host.install("driver", "25.5.1", mode, "--quiet")
        assert code == 1
        assert "driver 25.5.1 needs firmware 7.8.0.6.201, and 7.7.0.6.236 is installed." in text
    assert host.versions() == ("25.2.0", "7.7.0.6.236", "OK")
    code, text = host.install("firmware", "7.8.0.6.201", "--upgrade", "--quiet")
    assert code == 2
    assert "Firmware package upgraded successfully! Reboot now" in text
    # The cards run the old firmware until the next start.
    assert host.versions() == ("25.2.0", "7.7.0.6.236", "OK")
    code, text = host.install("driver", "25.5.1", "--upgrade", "--quiet")
    assert code == 0
    assert "Driver package upgraded successfully! Reboot needed" in text
    assert NOT_STARTED in host.npu_smi("info")[1]
    host.start()
    assert host.versions() == ("25.5.1", "7.8.0.6.201", "OK")


def test_what_is_installed_again_replaces_itself(host):
    host.has(*NEW)
    for mode in ("--full", "--upgrade"):
        assert host.install("driver", "25.5.1", mode, "--quiet")[0] == 0
        assert host.install("firmware", "7.8.0.6.201", mode, "--quiet")[0] == 2
    for mode in ("--install", "--install", "--upgrade"):
        assert host.install("runtime", "7.3.0", mode)[0] == 0
    assert host.daemon()["default-runtime"] == "ascend"
    host.start()
    assert host.versions() == ("25.5.1", "7.8.0.6.201", "OK")


def test_half_an_upgrade_is_not_compatible_after_a_start(host):
    host.has(*OLD)
    assert host.install("firmware", "7.8.0.6.201", "--upgrade", "--quiet")[0] == 2
    host.start()
    assert host.versions() == ("25.2.0", "7.8.0.6.201", "NOK")


@pytest.mark.parametrize(
    ("gone", "told"),
    [
        (["usr/bin/lspci", "sbin/ifconfig"], "[ERROR]The list of missing tools: lspci,ifconfig,\n"),
        (["sbin/ifconfig"], "[ERROR]The list of missing tools: ifconfig,\n"),
        ([f"lib/modules/{KERNEL}/build"], "[ERROR]Dkms install failed, details in : /var/log/ascend_seclog/"),
    ],
)
def test_the_driver_wants_its_tools_and_headers(host, gone, told):
    for path in gone:
        (shutil.rmtree if (host.root / path).is_dir() else os.remove)(host.root / path)
    code, text = host.install("driver", "25.5.1", *INSTALL)
    assert code == 1
    assert told in text
    assert not (host.root / "usr/local/Ascend/driver/version.info").exists()


@pytest.mark.parametrize("kind", ["user", "group", "membership"])
def test_both_want_the_user(host, kind):
    user = "root:x:0:0::/root:/bin/sh\n"
    host.write("etc/passwd", user if kind == "user" else user + "HwHiAiUser:x:1000:1001::/home/x:/bin/bash\n")
    host.write("etc/group", "root:x:0:\n" if kind == "group" else "root:x:0:\nHwHiAiUser:x:1000:\n")
    for package, version in (("driver", "25.5.1"), ("firmware", "7.8.0.6.201")):
        code, text = host.install(package, version, "--full", "--quiet")
        assert code == 1
        assert ("does not belong to group" if kind == "membership" else "HwHiAiUser not exists!") in text


def test_another_user_is_named_with_its_group(host):
    host.write("etc/passwd", "npu:x:1200:1200::/home/npu:/bin/bash\n")
    host.write("etc/group", "npu:x:1200:\n")
    code, text = host.install("driver", "25.5.1", *INSTALL, "--install-username=npu")
    assert code == 1
    assert "Username and usergroup are not specified at the same time." in text
    named = ("--install-username=npu", "--install-usergroup=npu")
    assert host.install("driver", "25.5.1", *INSTALL, *named)[0] == 0
    assert "UserName=npu\nUserGroup=npu\n" in host.read("etc/ascend_install.info")
    # Those who come later read it there.
    assert host.install("firmware", "7.8.0.6.201", "--full", "--quiet")[0] == 2


def test_the_firmware_wants_a_driver(host):
    code, text = host.install("firmware", "7.8.0.6.201", "--full", "--quiet")
    assert code == 1
    assert "Driver package is not installed on this device" in text
    assert not (host.root / "usr/local/Ascend/firmware").exists()


def test_without_quiet_it_asks_before_it_overwrites(host):
    host.has(*NEW)
    code, text = host.install("driver", "25.5.1", "--full", stdin="n\n")
    assert code == 0
    assert "the version is 25.5.1" in text
    assert DRIVER_DONE not in text
    assert DRIVER_DONE in host.install("driver", "25.5.1", "--full", stdin="x\ny\n")[1]


@pytest.mark.parametrize("options", [(), ("--quiet",), ("--full", "--upgrade"), ("--full", "--unknown")])
def test_unclear_options_are_refused(host, options):
    code, text = host.install("driver", "25.5.1", *options)
    assert code == 1
    assert "ERR_NO:0x0004" in text


def test_the_version_can_be_asked(host):
    assert "driver version :25.5.1" in host.install("driver", "25.5.1", "--version")[1]
    assert host.install("runtime", "26.1.0", "--version") == (
        0,
        "Uncompressing ascend-docker-runtime  100%  \nascend-docker-runtime version: 26.1.0\n",
    )


def test_an_uninstalled_driver_leaves_nothing(host):
    host.has(*NEW)
    host.start()
    for package in ("firmware", "driver"):
        assert host.run(host.root / f"usr/local/Ascend/{package}/script/uninstall.sh")[0] == 0
    host.start()
    assert list((host.root / "usr/local/Ascend").iterdir()) == []
    assert not (host.root / "usr/local/bin/npu-smi").exists()
    assert not (host.root / "etc/ascend_install.info").exists()
    assert host.install("driver", "25.5.1", "--uninstall")[0] == 1


def test_a_start_of_a_bare_host_makes_nothing(host):
    host.start()
    assert not (host.root / "usr/local/Ascend").exists()


@pytest.mark.parametrize(("version", "answer"), [("7.3.0", ""), ("26.1.0", "Y\n"), ("26.1.0", "what\ny\n")])
def test_the_runtime_makes_itself_the_default(host, version, answer):
    code, text = host.install("runtime", version, "--install", "--install-scene=docker", stdin=answer)
    assert code == 0, text
    assert (QUESTION in text) == (version == "26.1.0")
    assert "ascend-docker-runtime install success" in text
    program = host.root / RUNTIME / "ascend-docker-runtime"
    assert program.read_text() == (HOST / "simulated-vendor-runtime").read_text()
    assert stat.S_IMODE(program.stat().st_mode) == 0o550
    assert f"version=v{version}\n" in host.read(f"{RUNTIME}/ascend_docker_runtime_install.info")
    file = host.root / "etc/docker/daemon.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.read_text().startswith('{\n        "default-runtime": "ascend",\n        "runtimes": {\n')
    assert host.daemon() == {
        "default-runtime": "ascend",
        "runtimes": {
            "ascend": {"path": f"/{RUNTIME}/ascend-docker-runtime", "runtimeArgs": []},
            "lab": {"path": "/sbin/lab"},
        },
    }
    assert host.install("runtime", version, "--uninstall")[0] == 0
    assert host.daemon() == {"runtimes": {"lab": {"path": "/sbin/lab"}}}
    assert not (host.root / RUNTIME).exists()


def test_the_runtime_makes_the_missing_configuration(host):
    (host.root / "etc/docker/daemon.json").unlink()
    assert host.install("runtime", "7.3.0", "--install")[0] == 0
    assert host.daemon()["default-runtime"] == "ascend"


def test_who_says_no_gets_nothing_and_status_0(host):
    before = host.daemon()
    code, text = host.install("runtime", "26.1.0", "--install", "--install-scene=docker", stdin="N\n")
    assert code == 0
    assert "install cancelled, user declined EULA" in text
    assert not (host.root / RUNTIME).exists()
    assert host.daemon() == before


def test_the_end_of_the_input_is_no_answer(host):
    # A timeout of its own ends the installer with all it has started.
    command = ("timeout", "1", host.files["runtime", "26.1.0"], "--install", "--install-scene=docker")
    code, text = host.run(*command)
    assert code == 124
    assert text.count(QUESTION) > 2
    assert not (host.root / RUNTIME).exists()


def links_daemon(root):
    (root / "etc/docker/daemon.json").rename(root / "etc/docker/own.json")
    (root / "etc/docker/daemon.json").symlink_to("own.json")


def links_directory(root):
    (root / "etc/docker").rename(root / "etc/own")
    (root / "etc/docker").symlink_to("own")


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (links_daemon, "is soft link"),
        (links_directory, "is soft link"),
        (lambda root: (root / "etc/docker/daemon.json").chmod(0o664), "has write permission"),
        (lambda root: (root / "etc/docker").chmod(0o757), "has write permission"),
        (lambda root: (root / "usr/local").chmod(0o2775), "has write permission"),
        (lambda root: os.chown(root / "etc/docker/daemon.json", 12345, -1), "is not root"),
        (lambda root: os.chown(root / "etc/docker", -1, 12345), "is not root"),
    ],
)
def test_the_runtime_refuses_what_others_may_change(host, spoil, told):
    try:
        spoil(host.root)
    except PermissionError:
        pytest.skip("only root gives files away")
    before = host.daemon()
    code, text = host.install("runtime", "7.3.0", "--install", "--install-scene=docker")
    assert code == 1
    assert told in text
    assert host.daemon() == before


@pytest.mark.parametrize("content", ["", "[]x"])
def test_the_runtime_refuses_a_configuration_that_is_no_json(host, content):
    host.write("etc/docker/daemon.json", content)
    assert host.install("runtime", "7.3.0", "--install")[0] == 1
    assert host.read("etc/docker/daemon.json") == content


def test_the_runtimes_file_keeps_its_name(host, files, tmp_path):
    renamed = tmp_path / "runtime.run"
    shutil.copy(files["runtime", "7.3.0"], renamed)
    code, text = host.run(renamed, "--install")
    assert code == 1
    assert f"platform({MACHINE}) mismatch for runtime.run" in text


def test_an_upgrade_of_the_runtime_leaves_the_configuration(host):
    assert host.install("runtime", "7.3.0", "--install")[0] == 0
    (host.root / "etc/docker/daemon.json").write_text("{}")
    assert host.install("runtime", "26.1.0", "--upgrade", stdin="y\n")[0] == 0
    assert "version=v26.1.0\n" in host.read(f"{RUNTIME}/ascend_docker_runtime_install.info")
    assert host.daemon() == {}
