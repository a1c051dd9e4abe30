"""What lies on a lab host: every file with size, mode and time of change."""

from __future__ import annotations

# What a system writes by itself: logs, timers, random seed. Docker's own data is looked at through Docker.
OWN_BUSINESS = ("/var/backups", "/var/log", "/var/lib/systemd", "/var/lib/docker", "/var/lib/containerd")


def files(lab, host):
    prune = " -o ".join(f"-path {path}" for path in OWN_BUSINESS)
    what = f"\\( {prune} \\) -prune -o -printf '%p\\t%y %s %m %u %T@\\n'"
    listing = lab.sh(host, f"find /etc /home /opt /root /srv /usr /var -ignore_readdir_race {what}")
    found = dict(line.split("\t", 1) for line in listing.splitlines())
    assert len(found) > 1000
    return found
