"""The NVIDIA driver on a bare host: what may go wrong with its packages, then 570, then 580, each with a reboot."""

from __future__ import annotations

import json
import re

import lab_site
import pytest
import yaml
from lab_site import BARE, ROOT, planted, wait_until

PLAYBOOK = ROOT / "tests" / "e2e" / "drivers.yml"
UPSTREAM = "http://172.29.77.6:8080"
MIRROR_PORT = 8077
OLD, NEWER, NEWEST = "570.172.08", "580.82.07", "580.95.05"


@pytest.fixture(scope="module")
def inventory(tmp_path_factory):
    """Beside inventories/lab, whose variables of all hosts hold for it as well."""
    path = tmp_path_factory.mktemp("inventory") / "hosts.yml"
    path.write_text(yaml.safe_dump({"gpustack_worker": {"hosts": {BARE: {"ansible_host": lab_site.ADDRESSES[BARE]}}}}))
    return path


@pytest.fixture(scope="module")
def drivers(inventory):
    def run(log, *arguments, **variables):
        extra = json.dumps({"gpustack_reboot": "fail", **variables})
        where = ("-i", str(lab_site.INVENTORY), "-i", str(inventory), "--limit", BARE)
        return lab_site.playbook(str(PLAYBOOK), *where, "-e", extra, *arguments, log=f"drivers_{log}.log")

    return run


@pytest.fixture
def mirror(lab):
    """A mirror of the lab's packages on the host itself, with a fault."""

    def start(fault):
        source = (ROOT / "tests" / "e2e" / "simulated_mirror.py").read_bytes().hex()
        lab.sh(BARE, f'python3 -c \'open("/tmp/mirror.py", "wb").write(bytes.fromhex("{source}"))\'')
        lab.sh(BARE, f"setsid python3 /tmp/mirror.py {MIRROR_PORT} {UPSTREAM} {fault} > /tmp/mirror.log 2>&1 &")
        wait_until(lambda: lab.sh(BARE, f"ss -Hltn 'sport = {MIRROR_PORT}'"), 20, "the mirror listens")
        return f"http://127.0.0.1:{MIRROR_PORT}"

    yield start
    lab.sh(BARE, "pkill -f mirror.py; rm -f /tmp/mirror.py /tmp/mirror.log", check=False)


def told(run):
    assert run.code == 2, run.tail()
    return " ".join(run.output.split())


def packages(lab):
    """Package to version of what is installed of the driver."""
    text = lab.sh(BARE, "dpkg-query -W -f '${db:Status-Abbrev} ${Package} ${Version}\\n' '*nvidia*' 2>/dev/null; true")
    return {name: version for state, name, version in re.findall(r"^(\wi) +(\S+) (\S+)$", text, re.MULTILINE)}


def loaded(lab):
    return lab.sh(BARE, "cat /sys/module/nvidia/version", check=False)


def test_a_check_names_the_packages_and_changes_nothing(lab, drivers):
    run = drivers("check", "--check", "--diff", gpustack_driver_version=NEWEST)
    assert run.code == 0, run.tail()
    assert f"nvidia-open-580={NEWEST}" in run.output
    assert packages(lab) == {}
    assert lab.sh(BARE, "ls /etc/gpustack /etc/modprobe.d/gpustack* 2>/dev/null", check=False) == ""


def test_a_key_of_somebody_else_is_refused(lab, drivers):
    message = told(drivers("key", gpustack_nvidia_keyring_sha256="0" * 64))
    assert "The checksum for" in message
    assert packages(lab) == {}


def test_what_somebody_else_signed_is_refused(lab, drivers, mirror):
    message = told(drivers("signature", gpustack_nvidia_mirror=mirror("foreign")))
    assert "NO_PUBKEY" in message or "not signed" in message or "couldn't be verified" in message
    assert packages(lab) == {}


def test_a_key_that_is_no_longer_valid_is_told(lab, drivers):
    mirror = f"{UPSTREAM}/expired"
    keyring = f"{mirror}/compute/cuda/repos/debian12/x86_64/cuda-keyring_1.1-1_all.deb"
    fetch = f"import urllib.request as u; open('/tmp/expired.deb', 'wb').write(u.urlopen('{keyring}').read())"
    checksum = lab.sh(BARE, f'python3 -c "{fetch}" && sha256sum /tmp/expired.deb && rm /tmp/expired.deb').split()[0]
    message = told(drivers("expired", gpustack_nvidia_mirror=mirror, gpustack_nvidia_keyring_sha256=checksum))
    assert "EXPKEYSIG" in message or "not signed" in message
    assert not any("open" in name for name in packages(lab))


def test_a_mirror_that_ends_in_the_middle_is_told(lab, drivers, mirror):
    message = told(drivers("cut", gpustack_nvidia_mirror=mirror("cut")))
    assert f"127.0.0.1:{MIRROR_PORT}" in message
    assert not any("open" in name for name in packages(lab))


def test_a_full_disk_is_told(lab, drivers):
    archives = "/var/cache/apt/archives"
    fill = f"mount -t tmpfs -o size=4k full {archives} && mkdir -p {archives}/partial"
    with planted(lab, [(BARE, fill, f"umount {archives}")]):
        message = told(drivers("full"))
    assert "o space left on device" in message or "enough free space" in message
    assert not any("open" in name for name in packages(lab))


def test_headers_that_nobody_has_are_named(lab, drivers):
    headers = "/lib/modules/$(uname -r)/build"
    with planted(lab, [(BARE, f"mv {headers} /root/build", f"mv /root/build {headers}")]):
        message = told(drivers("headers"))
    assert f"linux-headers-{lab.sh(BARE, 'uname -r')}" in message


def test_a_run_file_is_never_mixed_with_packages(lab, drivers):
    with planted(lab, [(BARE, "touch /usr/bin/nvidia-uninstall", "rm /usr/bin/nvidia-uninstall")]):
        message = told(drivers("run_file"))
    assert "was installed from NVIDIA's .run file" in message
    assert "nvidia-uninstall" in message


def test_a_lock_of_another_is_waited_for_and_the_branch_asked_for_is_installed(lab, drivers):
    """Unattended-upgrades at work; then the default stops before the reboot that nouveau makes necessary."""
    hold = "import fcntl, time; fcntl.lockf(open('/var/lib/dpkg/lock-frontend', 'w'), fcntl.LOCK_EX); time.sleep(15)"
    lab.sh(BARE, f'setsid python3 -c "{hold}" > /dev/null 2>&1 &')
    run = drivers("570", gpustack_driver_branch="570")
    assert "nouveau is loaded and holds the cards" in told(run)
    assert packages(lab)["nvidia-open-570"] == f"{OLD}-1"
    assert "nvidia-open-570" in lab.sh(BARE, "apt-mark showhold").split()
    assert (loaded(lab).startswith("cat:"), lab.restarts(BARE)) == (True, 0)


def test_after_the_reboot_the_driver_is_at_work(lab, drivers):
    run = drivers("570_rebooted", gpustack_driver_branch="570", gpustack_reboot="allow")
    assert run.code == 0, run.tail()
    assert (loaded(lab), lab.restarts(BARE)) == (OLD, 1)
    run = drivers("570_again", gpustack_driver_branch="570", gpustack_reboot="allow")
    assert (run.code, run.changed()) == (0, 0), run.tail()
    assert lab.sh(BARE, "systemctl is-active nvidia-persistenced nvidia-fabricmanager").split() == ["active"] * 2


def test_a_driver_that_will_do_stays_when_no_other_is_asked_for(lab, drivers):
    run = drivers("570_will_do")
    assert (run.code, run.changed()) == (0, 0), run.tail()
    assert loaded(lab) == OLD


def test_an_upgrade_waits_for_the_reboot(lab, drivers):
    run = drivers("580", gpustack_driver_version=NEWER)
    assert f"{OLD} is loaded, {NEWER} is installed" in told(run)
    assert packages(lab)["nvidia-open-580"] == f"{NEWER}-1"
    assert packages(lab)["nvidia-fabricmanager"] == f"{NEWER}-1"
    assert loaded(lab) == OLD
    run = drivers("580_rebooted", gpustack_driver_version=NEWER, gpustack_reboot="allow")
    assert run.code == 0, run.tail()
    assert (loaded(lab), lab.restarts(BARE)) == (NEWER, 2)


def test_a_fabric_manager_that_is_off_by_a_digit_is_replaced(lab, drivers):
    install = "apt-get -qy --allow-downgrades --allow-change-held-packages install"
    lab.sh(BARE, f"apt-get -q update && {install} nvidia-fabricmanager={NEWEST}-1 libnvidia-nscq={NEWEST}-1")
    run = drivers("fabric")
    assert run.code == 0, run.tail()
    assert packages(lab)["nvidia-fabricmanager"] == f"{NEWER}-1"
    assert lab.sh(BARE, "systemctl is-active nvidia-fabricmanager") == "active"
    assert drivers("fabric_again").changed() == 0
