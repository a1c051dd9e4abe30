"""Made host trees: the files of /sys, /proc and /etc that the probe reads, written by the tests."""

from __future__ import annotations

# Rows as the controller hands them over; ids from pci.ids and facts of the vendors.
DEVICES = [
    {"pci_id": "10de:232c", "vendor": "nvidia", "profile": "nvidia_h20_3e", "memory_bytes": 151397597184},
    {"pci_id": "19e5:d802", "vendor": "ascend", "profile": "ascend_910b", "memory_bytes": 68719476736},
    {"pci_id": "10de:22a3", "vendor": "nvidia", "kind": "switch", "name": "NVSwitch"},
]

DEBIAN = 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nID=debian\nVERSION_ID="12"\n'
MACHINE_ID = "0123456789abcdef0123456789abcdef"
TCP_HEADER = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"


def write(root, path, text):
    target = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(text, bytes):
        target.write_bytes(text)
    else:
        target.write_text(text, encoding="utf-8")


def made_host(root, os_release=DEBIAN):
    write(root, "etc/os-release", os_release)
    write(root, "etc/machine-id", MACHINE_ID + "\n")
    write(root, "proc/meminfo", "MemTotal:       2097152 kB\nMemFree:  1 kB\n")
    write(root, "proc/sys/kernel/osrelease", "6.1.0-28-amd64\n")
    write(root, "proc/sys/kernel/arch", "x86_64\n")
    write(root, "proc/net/tcp", TCP_HEADER)
    return root


def made_pci(root, address, vendor, device, pci_class):
    for name, text in (("vendor", f"0x{vendor}\n"), ("device", f"0x{device}\n"), ("class", f"0x{pci_class}\n")):
        write(root, f"sys/bus/pci/devices/{address}/{name}", text)


def made_h20(root):
    """8 x H20-3e with 4 NVSwitches, an audio function, a network card and a bridge."""
    for bus in ("18", "2a", "3a", "5d", "9a", "ab", "ba", "db"):
        made_pci(root, f"0000:{bus}:00.0", "10de", "232c", "030200")
    for bus in ("03", "04", "05", "06"):
        made_pci(root, f"0000:{bus}:00.0", "10de", "22a3", "068000")
    made_pci(root, "0000:17:00.0", "15b3", "1021", "020700")
    made_pci(root, "0000:00:1f.0", "8086", "1b81", "060100")
    return root


def made_910b(root):
    """8 x 910B in a Kunpeng board, whose network controllers and management VGA are Huawei's too."""
    for bus in ("01", "02", "41", "42", "81", "82", "c1", "c2"):
        made_pci(root, f"0000:{bus}:00.0", "19e5", "d802", "120000")
    made_pci(root, "0000:06:00.0", "19e5", "1711", "030000")
    made_pci(root, "0000:7d:00.0", "19e5", "a222", "020000")
    return root


def made_listener(root, address, port, inode, table="tcp", state="0A"):
    path = root / "proc/net" / table
    before = path.read_text() if path.exists() else TCP_HEADER
    counters = "00000000:00000000 00:00000000 00000000     0        0"
    line = f"   0: {address}:{port:04X} 00000000:0000 {state} {counters} {inode} 1 0000000000000000 100 0 0 10 0\n"
    write(root, f"proc/net/{table}", before + line)


def made_process(root, pid, name, inodes, cgroup="0::/system.slice/ssh.service\n"):
    write(root, f"proc/{pid}/comm", name + "\n")
    write(root, f"proc/{pid}/cgroup", cgroup)
    descriptors = root / f"proc/{pid}/fd"
    descriptors.mkdir()
    (descriptors / "0").symlink_to("/dev/null")
    for number, inode in enumerate(inodes, start=3):
        (descriptors / str(number)).symlink_to(f"socket:[{inode}]")
