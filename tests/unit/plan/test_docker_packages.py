"""Goldens from the facts about Docker's repositories and the vendors' runtimes, typed by hand."""

from __future__ import annotations

import pytest
from ansible_collections.inferops.gpustack.plugins.filter import docker_packages as packages_filter
from ansible_collections.inferops.gpustack.plugins.plugin_utils._docker_packages import refused_by, ways_to

docker_packages = packages_filter.FilterModule().filters()["docker_packages"]

REST = ["containerd.io"]
APT = {
    ("debian", "12"): ("debian", "bookworm"),
    ("debian", "13"): ("debian", "trixie"),
    ("ubuntu", "22.04"): ("ubuntu", "jammy"),
    ("ubuntu", "24.04"): ("ubuntu", "noble"),
}
DNF = {
    ("rhel", "8.10"): "rhel/8",
    ("rhel", "9.4"): "rhel/9",
    ("rhel", "10.0"): "rhel/10",
    ("rocky", "8.10"): "rhel/8",
    ("rocky", "9.5"): "rhel/9",
    ("rocky", "10.0"): "rhel/10",
}
# No tree of their own, and the one they can take ends with 26.1.
FROZEN = [("openeuler", "22.03"), ("openeuler", "24.03"), ("kylin", "V10")]
FAMILIES = {"ubuntu": "debian", "rocky": "redhat", "rhel": "redhat", "almalinux": "redhat", "kylin": "openeuler"}


def os_facts(name, version, family=None, pretty=""):
    major = int("".join(char for char in version.split(".")[0] if char.isdigit()) or 0)
    return {
        "id": name,
        "version_id": version,
        "major": major or None,
        "family": family or FAMILIES.get(name, name),
        "pretty": pretty,
    }


@pytest.mark.parametrize("vendors", [[], ["nvidia"]])
@pytest.mark.parametrize("system", APT)
def test_apt(system, vendors):
    found = docker_packages(os_facts(*system), vendors)
    tree, suite = APT[system]
    assert found["problem"] == ""
    assert found["manager"] == "apt"
    assert found["packages"] == ["docker-ce", "docker-ce-cli", *REST]
    assert found["repository"] == {
        "url": f"https://download.docker.com/linux/{tree}",
        "suite": suite,
        "component": "stable",
        "key": f"https://download.docker.com/linux/{tree}/gpg",
    }
    assert found["pins"] == [
        {"packages": "docker-ce docker-ce-cli", "version": "5:29.0.*", "priority": -1},
        {"packages": "docker-ce docker-ce-cli", "version": "5:29.1.*", "priority": -1},
        {"packages": "docker-ce docker-ce-cli", "version": "5:29.2.*", "priority": -1},
    ]
    assert found["python_packages"] == ["python3-requests"]
    assert {"docker.io", "docker-compose", "podman-docker", "containerd", "runc"} <= set(found["conflicts"])


@pytest.mark.parametrize("vendors", [["ascend"], ["ascend", "nvidia"]])
@pytest.mark.parametrize("system", APT)
def test_apt_with_ascend(system, vendors):
    found = docker_packages(os_facts(*system), vendors)
    assert found["packages"] == ["docker-ce=5:28.*", "docker-ce-cli=5:28.*", *REST]
    assert found["names"] == ["docker-ce", "docker-ce-cli", *REST]
    assert found["pins"] == [{"packages": "docker-ce docker-ce-cli", "version": "5:28.*", "priority": 990}]


@pytest.mark.parametrize("vendors", [[], ["nvidia"]])
@pytest.mark.parametrize("system", DNF)
def test_dnf(system, vendors):
    found = docker_packages(os_facts(*system), vendors)
    assert found["manager"] == "dnf"
    assert found["packages"] == ["docker-ce", "docker-ce-cli", *REST]
    assert found["repository"] == {
        "url": f"https://download.docker.com/linux/{DNF[system]}/$basearch/stable",
        "key": "https://download.docker.com/linux/rhel/gpg",
    }
    assert found["excluded"][:3] == ["docker-ce-29.0.*", "docker-ce-29.1.*", "docker-ce-29.2.*"]
    assert found["pins"] == []
    assert "podman-docker" in found["conflicts"]


@pytest.mark.parametrize("system", DNF)
def test_dnf_with_ascend(system):
    found = docker_packages(os_facts(*system), ["ascend"])
    assert found["packages"] == ["docker-ce-28.*", "docker-ce-cli-28.*", *REST]
    assert found["excluded"] == [
        "docker-ce-29.*",
        "docker-ce-[3-9]?.*",
        "docker-ce-cli-29.*",
        "docker-ce-cli-[3-9]?.*",
    ]


@pytest.mark.parametrize("vendors", [[], ["nvidia"], ["ascend"]])
@pytest.mark.parametrize("system", FROZEN)
def test_systems_that_take_the_tree_of_centos_8(system, vendors):
    found = docker_packages(os_facts(*system), vendors)
    assert found["packages"][:2] == ["docker-ce-26.1.*", "docker-ce-cli-26.1.*"]
    assert found["repository"]["url"] == "https://download.docker.com/linux/centos/8/$basearch/stable"


@pytest.mark.parametrize("system", APT)
def test_packages_of_debian_and_ubuntu(system):
    found = docker_packages(os_facts(*system), ["nvidia"], "distribution")
    # Debian 13 has the command docker in a package of its own.
    command = ["docker-cli"] if system == ("debian", "13") else []
    assert found["packages"] == ["docker.io", *command, "iptables"]
    assert (found["repository"], found["pins"]) == (None, [])
    assert {"docker-ce", "docker-ce-cli", "containerd.io"} <= set(found["conflicts"])


@pytest.mark.parametrize("system", DNF)
def test_red_hat_has_no_engine_of_its_own(system):
    problem = docker_packages(os_facts(*system), [], "distribution")["problem"]
    assert "has no Docker Engine of its own. Set gpustack_docker_source: docker-ce" in problem


def test_a_mirror_has_the_same_tree():
    found = docker_packages(os_facts("debian", "13"), mirror="https://mirrors.aliyun.com/docker-ce/")
    assert found["repository"]["url"] == "https://mirrors.aliyun.com/docker-ce/linux/debian"
    assert found["repository"]["key"] == "https://mirrors.aliyun.com/docker-ce/linux/debian/gpg"


@pytest.mark.parametrize(
    ("version", "spec"),
    [
        ("28", "docker-ce=5:28.*"),
        ("28.5", "docker-ce=5:28.5.*"),
        # Not 28.5.20; real versions go on like 5:28.5.2-1~debian.12~bookworm and 5:20.10.24~3-0~debian-bookworm.
        ("28.5.2", "docker-ce=5:28.5.2-*"),
        ("20.10.24", "docker-ce=5:20.10.24~*"),
        ("29.3", "docker-ce=5:29.3.*"),
    ],
)
def test_a_wished_version_is_installed_and_held(version, spec):
    found = docker_packages(os_facts("debian", "12"), ["nvidia"], version=version)
    assert found["packages"][0] == spec
    assert found["pins"] == [
        {"packages": "docker-ce docker-ce-cli", "version": spec.partition("=")[2], "priority": 990}
    ]


@pytest.mark.parametrize(
    ("system", "vendors", "source", "version", "words"),
    [
        (
            ("debian", "12"),
            ["ascend"],
            "docker-ce",
            "29.3",
            "Ascend hosts need Docker 18.09 or later and earlier than 29",
        ),
        (("debian", "12"), ["ascend"], "docker-ce", "18.06", "Ascend hosts need"),
        (("debian", "12"), ["nvidia"], "docker-ce", "29.1.3", "29.0, 29.1, 29.2 are not installed"),
        (("kylin", "V10"), ["nvidia"], "docker-ce", "28", "end with 26.1"),
        (("debian", "12"), [], "distribution", "20.10", "gpustack_docker_source: docker-ce"),
        (("debian", "12"), [], "docker-ce", "latest", "such as 28 or 28.5.2"),
        (("debian", "12"), [], "podman", "", "there are: docker-ce, distribution"),
    ],
)
def test_wishes_that_cannot_be(system, vendors, source, version, words):
    problem = docker_packages(os_facts(*system), vendors, source, version)["problem"]
    assert words in problem


def test_a_wish_within_what_there_is():
    assert docker_packages(os_facts("kylin", "V10"), version="26.1.3")["packages"][0] == "docker-ce-26.1.3-*"
    assert docker_packages(os_facts("debian", "12"), ["ascend"], version="18")["problem"] == ""


@pytest.mark.parametrize(
    ("system", "nearest"),
    [
        (("debian", "11"), "Debian 12"),
        (("ubuntu", "20.04"), "Ubuntu 22.04"),
        (("ubuntu", "26.04"), "Ubuntu 24.04"),
        (("almalinux", "9.4"), "Rocky Linux 9"),
        (("rocky", "7.9"), "Rocky Linux 8"),
        (("openeuler", "20.03"), "openEuler 22.03"),
        (("devuan", "5", "debian"), "Debian 12"),
    ],
)
def test_an_unknown_system_is_told_the_nearest(system, nearest):
    problem = docker_packages(os_facts(*system, pretty="It 1"), ["nvidia"])["problem"]
    assert problem.startswith(f"Docker's packages are not known for It 1. The nearest known system is {nearest}. ")
    assert "a healthy engine is used as it is" in problem


def test_a_system_of_no_known_kind_is_told_all():
    problem = docker_packages(os_facts("arch", "", "unknown"))["problem"]
    assert problem.startswith("Docker's packages are not known for arch. They are known for Debian 12, Debian 13, ")


def test_nothing_is_known_of_the_system():
    facts = {"id": "", "version_id": "", "major": None, "family": "unknown", "pretty": ""}
    assert docker_packages(facts)["problem"].startswith("Docker's packages are not known for this system. ")


@pytest.mark.parametrize("version", ["18.09.0", "20.10.24+dfsg1", "26.1.3", "28.5.2", ""])
def test_releases_that_ascend_takes(version):
    assert refused_by(version, ["ascend"]) == []


@pytest.mark.parametrize("version", ["18.06.3-ce", "17.03.2", "29.0.0", "29.3.1", "30.0.1"])
def test_releases_that_ascend_does_not_take(version):
    (limits,) = refused_by(version, ["nvidia", "ascend"])
    assert (limits["from"], limits["below"]) == ("18.09", "29")
    assert "docker-ce=5:28.*" in ways_to(limits)


@pytest.mark.parametrize("version", ["18.06.3-ce", "29.1.0", "30.0.1"])
def test_nvidia_and_none_take_what_is_there(version):
    assert refused_by(version, ["nvidia"]) == []
    assert refused_by(version, []) == []
