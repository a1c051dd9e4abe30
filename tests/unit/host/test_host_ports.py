from __future__ import annotations

from ansible_collections.inferops.gpustack.plugins.module_utils import _ports
from ansible_collections.inferops.gpustack.plugins.module_utils._sysroot import Sysroot
from made_tree import made_host, made_listener, made_process

CONTAINER = "d" * 64


def read(root, containers=()):
    return _ports.read_ports(Sysroot(str(root)), list(containers))


def test_listener_with_its_process(tmp_path):
    made_listener(made_host(tmp_path), "0100007F", 5432, 77)
    made_process(tmp_path, 9, "postgres", [76, 77])
    ports, findings = read(tmp_path)
    assert ports == [{"port": 5432, "address": "127.0.0.1", "process": "postgres", "pid": 9, "container": ""}]
    assert findings == []


def test_connections_are_no_listeners(tmp_path):
    made_listener(made_host(tmp_path), "0100007F", 50000, 77, state="01")
    assert read(tmp_path)[0] == []


def test_ipv6_addresses(tmp_path):
    made_host(tmp_path)
    made_listener(tmp_path, "00000000000000000000000000000000", 22, 1, table="tcp6")
    made_listener(tmp_path, "00000000000000000000000001000000", 631, 2, table="tcp6")
    # 2001:db8::5 in the kernel's words of a little-endian machine
    made_listener(tmp_path, "B80D0120000000000000000005000000", 80, 3, table="tcp6")
    assert [(port["port"], port["address"]) for port in read(tmp_path)[0]] == [
        (22, "::"),
        (80, "2001:db8::5"),
        (631, "::1"),
    ]


def test_owner_that_cannot_be_seen(tmp_path):
    made_listener(made_host(tmp_path), "00000000", 80, 77)
    assert read(tmp_path)[0] == [{"port": 80, "address": "0.0.0.0", "process": "", "pid": None, "container": ""}]


def test_container_on_the_hosts_network_is_found_by_its_control_group(tmp_path):
    made_listener(made_host(tmp_path), "00000000", 10150, 77)
    made_process(tmp_path, 40, "gpustack", [77], cgroup=f"0::/system.slice/docker-{CONTAINER}.scope\n")
    container = {"id": CONTAINER, "name": "gpustack-worker", "published": []}
    assert read(tmp_path, [container])[0][0]["container"] == "gpustack-worker"


def test_control_group_of_a_nested_engine_names_the_inner_container(tmp_path):
    made_listener(made_host(tmp_path), "00000000", 10150, 77)
    made_process(tmp_path, 40, "gpustack", [77], cgroup=f"0::/docker/{'e' * 64}/docker/{CONTAINER}\n")
    container = {"id": CONTAINER, "name": "gpustack-worker", "published": []}
    assert read(tmp_path, [container])[0][0]["container"] == "gpustack-worker"


def test_broken_lines_are_counted_and_the_rest_is_read(tmp_path):
    made_listener(made_host(tmp_path), "00000000", 80, 77)
    made_listener(tmp_path, "GARBAGE", 81, 78)
    made_listener(tmp_path, "0000", 82, 79)
    made_listener(tmp_path, "00000000", 0x10000, 80)
    (tmp_path / "proc" / "²").mkdir()
    ports, findings = read(tmp_path)
    assert [port["port"] for port in ports] == [80]
    assert findings[0]["found"] == "3 unreadable lines"
