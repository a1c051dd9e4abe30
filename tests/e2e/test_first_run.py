"""From bare hosts to an answering cluster, with SIGKILL at every fragile moment; then a run that changes nothing.

One chain: a run is killed at a moment, the next one gets past it and is killed at the following moment, and the last
one goes through. `make test-full` also takes each moment for itself (test_kill_each.py).
"""

from __future__ import annotations

import functools
import re

import lab_site
import leak_watch
import pytest
from kill_points import FIRST_AFTER_REBOOT, KILL_POINTS, ON_HOST
from lab_site import H20, HOSTS, NPU, RTX, SERVER, WORKERS

VERBOSE = ("-vvv", "--diff")
INTERPRETER = re.compile(r"^<(?P<address>[\d.]+)> SSH: EXEC .*python", re.MULTILINE)
TASK = re.compile(r"^TASK \[(?P<name>[^\]]+)\]", re.MULTILINE)
BUDGET, ROLE_BUDGET = 20, 4


@pytest.fixture(scope="module")
def watch(lab):
    watch = leak_watch.ProcessWatch([lab.password])
    watch.start()
    yield watch
    watch.stop()


@pytest.fixture(scope="module")
def logs():
    return []


@pytest.fixture(scope="module")
def stopped(lab, logs):
    """What the default makes of a host whose new driver needs a reboot: called in the middle of the chain."""

    def run():
        found = lab_site.site(*VERBOSE, "-e", "gpustack_reboot=fail", log="reboot_not_allowed.log")
        logs.append(found)
        return found, lab.restarts(H20)

    return functools.cache(run)


@pytest.fixture(scope="module")
def converged(lab, api, watch, logs, stopped):
    for name, condition in KILL_POINTS.items():
        if name == FIRST_AFTER_REBOOT:
            stopped()
        assert not condition(lab, api), f"{name}: already true before the run"
        run = lab_site.Run("site.yml", "-i", str(lab_site.INVENTORY), *VERBOSE, log=f"killed_{name}.log")
        assert run.kill_when(lambda condition=condition: condition(lab, api)), f"{name}: ended before:\n{run.tail()}"
        if name in ON_HOST:
            lab.sh(H20, f"pkill -KILL -x '{ON_HOST[name]}'", check=False)
        logs.append(run)
    run = lab_site.site(*VERBOSE, log="first_run.log")
    logs.append(run)
    return run


@pytest.fixture(scope="module")
def before(converged, lab, api):
    assert converged.code == 0, converged.tail()
    return snapshot(lab, api)


@pytest.fixture(scope="module")
def no_op(before, logs):
    run = lab_site.site(*VERBOSE, log="no_op.log")
    logs.append(run)
    return run


def snapshot(lab, api):
    files = {}
    for host in HOSTS:
        names = [entry["name"] for entry in lab.manifest(host) if entry["kind"] == "file"]
        names += ["/etc/gpustack/manifest.json", "/etc/docker/daemon.json"]
        files[host] = lab.sh(host, f"sha256sum {' '.join(names)} && stat -c '%n %a %Y' {' '.join(names)}")
    return {"files": files, "started": {host: lab.running(host) for host in HOSTS}, "api": api.export()}


def test_converges_after_every_kill(converged):
    assert converged.code == 0, converged.tail()


def test_without_leave_to_reboot_the_run_stops_with_the_reason(converged, stopped):
    run, restarts = stopped()
    assert run.code == 2, run.tail()
    assert f"{H20}: nouveau is loaded and holds the cards" in run.output
    assert re.search(rf"{NPU}: .*Ascend", run.output)
    assert "set gpustack_reboot to allow" in run.output
    assert restarts == 0


def test_the_driver_and_the_runtime_were_installed_with_one_reboot(before, lab):
    assert lab.restarts(H20) == 1
    assert lab.sh(H20, "cat /sys/module/nvidia/version") == "580.95.05"
    assert lab.sh(H20, "dpkg-query -W -f '${Version}' nvidia-fabricmanager") == "580.95.05-1"
    assert "nvidia" in lab.sh(H20, "docker info -f '{{range $name, $unused := .Runtimes}}{{$name}} {{end}}'").split()
    assert {"nvidia-open-580", "nvidia-container-toolkit"} <= set(lab.sh(H20, "apt-mark showhold").split())


def test_the_ascend_host_has_driver_firmware_and_runtime_with_one_reboot(before, lab):
    assert lab.restarts(NPU) == 1
    for part, version in {"driver": "25.5.1", "firmware": "7.8.0.6.201"}.items():
        assert f"Version={version}" in lab.sh(NPU, f"cat /usr/local/Ascend/{part}/version.info").split()
    assert "OK" in lab.sh(NPU, "npu-smi info -t board -i 0 | grep Compatibility")
    assert "ascend" in lab.sh(NPU, "docker info -f '{{range $name, $unused := .Runtimes}}{{$name}} {{end}}'").split()
    # Its installer makes it the default, and the user did not ask for that.
    assert lab.sh(NPU, "docker info -f '{{.DefaultRuntime}}'") != "ascend"


def test_a_driver_that_will_do_is_left_alone(before, lab):
    assert "package" not in {entry["kind"] for entry in lab.manifest(RTX) if "nvidia" in entry["name"]}
    assert lab.restarts(RTX) == 0


def test_all_deployments_run(before, api):
    instances = {item["model_name"]: (item["worker_name"], item["state"]) for item in api.items("model-instances")}
    assert instances == {name: (host, "running") for host, name in lab_site.DEPLOYMENTS.items()}


def test_every_host_has_a_manifest_of_what_was_made(before, lab):
    made = {host: {(entry["kind"], entry["name"]) for entry in lab.manifest(host)} for host in HOSTS}
    assert ("container", "gpustack-server") in made[SERVER]
    for host in WORKERS:
        assert {("container", "gpustack-worker"), ("file", "/etc/gpustack/worker/config.yaml")} <= made[host]
    for host in HOSTS:
        # The inventory wants the distribution's engine for the server alone.
        assert ("package", "docker.io" if host == SERVER else "docker-ce") in made[host]
        assert ("package", "chrony") in made[host]
        assert sum(kind == "image" for kind, name in made[host]) == (1 if host == SERVER else 4)


def test_second_run_reports_no_change(no_op):
    assert no_op.code == 0, no_op.tail()
    assert set(no_op.recap()) == set(HOSTS)
    assert no_op.changed() == 0, [line for line in no_op.output.splitlines() if line.startswith("changed")]


def test_second_run_changes_nothing(no_op, before, lab, api):
    after = snapshot(lab, api)
    assert after["files"] == before["files"]
    assert after["started"] == before["started"]
    assert after["api"] == before["api"]


def test_no_op_budget(no_op):
    """Remote interpreters a run without work starts, by host and role; loop items and delegated work included."""
    counts = {}
    tasks = [(found.start(), found["name"].split(" : ")[0]) for found in TASK.finditer(no_op.output)]
    for found in INTERPRETER.finditer(no_op.output):
        role = [name for start, name in tasks if start < found.start()][-1]
        host = next(name for name, address in lab_site.ADDRESSES.items() if address == found["address"])
        counts.setdefault(host, {}).setdefault(role, 0)
        counts[host][role] += 1
    for host, roles in sorted(counts.items()):
        print(f"\n{host}: {sum(roles.values())} remote interpreters")
        for role, count in sorted(roles.items()):
            print(f"  {count}  {role}")
    assert set(counts) == set(HOSTS)
    for host, roles in counts.items():
        assert max(roles.values()) <= ROLE_BUDGET, (host, roles)
        assert sum(roles.values()) <= BUDGET, (host, roles)


@pytest.fixture(scope="module")
def canaries(lab, api, no_op):
    token = api.call("GET", "/v2/clusters/1/registration-token")["token"]
    return [lab.password, token]


def test_no_secret_in_any_output(canaries, logs):
    for run in logs:
        assert leak_watch.in_text(canaries, run.output) == [], run.path


def test_no_secret_on_a_command_line_or_in_an_environment(no_op, watch):
    hits = watch.stop()
    assert watch.scans > 1000
    assert hits == set()


@pytest.mark.parametrize("host", HOSTS)
def test_no_secret_in_container_inspections(canaries, lab, host):
    assert leak_watch.in_inspections(lab, host, canaries) == []


@pytest.mark.parametrize("host", HOSTS)
def test_no_secret_in_a_file_others_can_read(canaries, lab, host):
    assert leak_watch.readable_files(lab, host, canaries) == []


@pytest.mark.parametrize("host", HOSTS)
def test_no_secret_in_the_journal(canaries, lab, host):
    assert leak_watch.in_journal(lab, host, canaries) == []


def test_the_leak_search_finds_a_planted_secret(canaries, lab):
    lab.sh(H20, f"printf %s '{canaries[0]}' > /tmp/planted; chmod 644 /tmp/planted")
    try:
        assert leak_watch.readable_files(lab, H20, canaries) == ["644 /tmp/planted"]
    finally:
        lab.sh(H20, "rm /tmp/planted")
