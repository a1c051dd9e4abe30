# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which hosts the role nvidia_container_toolkit touches, and what it makes of what it finds."""

from __future__ import annotations

import json

import yaml
from unit.ansible_run import REPOSITORY
from unit.roles.role_runner import first_contact, host_facts, run_playbook

ROLE = REPOSITORY / "roles" / "nvidia_container_toolkit"
PRESENT = {"gpustack_container_runtime": "present"}
ASK = "Ask which of the packages are there"
CARDS = {"accelerators": [{"vendor": "nvidia", "pci_id": "10de:232c"}]}
ENGINE = {
    "present": True,
    "runtimes": ["runc"],
    "default_runtime": "runc",
    "configured_runtimes": [],
    "live_restore": True,
}
KNOWN = {**ENGINE, "runtimes": ["nvidia", "runc"]}
FOUR = [
    "nvidia-container-toolkit",
    "nvidia-container-toolkit-base",
    "libnvidia-container-tools",
    "libnvidia-container1",
]


def play(tmp_path, facts, variables, *arguments, tasks=(), roles=("inferops.gpustack.nvidia_container_toolkit",)):
    hosts = {name: host_facts({**CARDS, **differences}) for name, differences in facts.items()}
    plays = [{"hosts": "all", "gather_facts": False, "roles": list(roles), "tasks": list(tasks)}]
    return run_playbook(tmp_path, plays, hosts, {"gpustack_worker": list(facts)}, variables, *arguments)


def test_hosts_are_touched_only_where_docker_lacks_the_runtime(tmp_path):
    facts = {
        "known": {"engine": KNOWN},
        "no_cards": {"engine": ENGINE, "accelerators": []},
        "ascend": {"engine": ENGINE, "accelerators": [{"vendor": "ascend", "pci_id": "19e5:d802"}]},
        "unknown": {"engine": ENGINE},
    }
    assert first_contact(play(tmp_path, facts, PRESENT).stdout) == {"unknown": ASK}


def noted(note):
    entry = {"kind": "package", "name": "nvidia-container-toolkit", "by": "nvidia_container_toolkit"}
    return {"manifest": {"entries": [{**entry, "note": note}] if note is not None else []}}


def test_a_run_that_died_before_the_packages_were_held_is_made_up_for(tmp_path):
    facts = {
        "finished": {"engine": KNOWN, **noted("finished: 1.20.0")},
        "somebody_s": {"engine": KNOWN, **noted(None)},
        "killed": {"engine": KNOWN, **noted("running: 1.20.0")},
    }
    assert first_contact(play(tmp_path, facts, PRESENT).stdout) == {"killed": ASK}


def local(tmp_path):
    return {
        "inferops.gpustack.manifest": {"path": str(tmp_path / "manifest.json")},
        "inferops.gpustack.docker_daemon_config": {"path": str(tmp_path / "daemon.json"), "validate": False},
        "inferops.gpustack.host_facts": {"engine_socket": "/nonexistent"},
    }


def packages(tmp_path, facts, lines, tasks_from, *arguments, **variables):
    """One file of tasks on this machine, which would have these packages."""
    include = {
        "ansible.builtin.include_role": {"name": "inferops.gpustack.nvidia_container_toolkit", "tasks_from": tasks_from}
    }
    given = {"__nvidia_container_toolkit_query": {"stdout_lines": lines}}
    hosts = {"h": host_facts({**CARDS, **facts})}
    plays = [{"hosts": "all", "gather_facts": False, "module_defaults": local(tmp_path), "tasks": [include]}]
    everywhere = {**PRESENT, "ansible_connection": "local", **variables}
    return run_playbook(tmp_path, plays, hosts, {}, everywhere, "-e", json.dumps(given), *arguments)


def test_the_release_is_finished_once_it_is_held(tmp_path):
    killed = {"engine": KNOWN, **noted("running: 1.21.0")}
    done = packages(tmp_path, killed, four("1.19.1"), "finish", "--check", "--diff")
    assert done.returncode == 0, done.stdout
    # What is there, and not what was tried.
    assert '"note": "finished: 1.19.1"' in done.stdout.replace("\\", "")
    done = packages(tmp_path, {"engine": ENGINE}, [], "finish", "--check", "--diff")
    assert '"note": "finished: 1.20.0"' in done.stdout.replace("\\", "")
    names = [task["name"] for task in yaml.safe_load((ROLE / "tasks" / "finish.yml").read_text(encoding="utf-8"))]
    assert names == ["Hold the packages at the release that is installed", "Record that the release is finished"]


MODELS = [
    {"name": "deepseek-1-run", "owner": "gpustack", "running": True},
    {"name": "old-run", "owner": "gpustack", "running": False},
    {"name": "gpustack-worker", "owner": "ours", "running": True},
]


def test_packages_are_not_installed_under_models(tmp_path):
    busy = {"engine": {**ENGINE, "containers": MODELS}}
    done = packages(tmp_path, busy, [], "install", "--check")
    assert done.returncode != 0
    text = " ".join(done.stdout.split())
    assert "h: deepseek-1-run run there, and the scripts of these packages reload systemd" in text
    assert "put its worker into maintenance and stop them" in text and "gpustack_docker_restart: allow" in text
    assert "old-run" not in text and "Nothing was changed." in text
    for facts, variables in (
        (busy, {"gpustack_docker_restart": "allow"}),
        ({"engine": {**ENGINE, "containers": MODELS[1:]}}, {}),
    ):
        done = packages(tmp_path, facts, [], "install", "--check", "--diff", **variables)
        assert done.returncode == 0, done.stdout
        assert '"note": "running: 1.20.0"' in done.stdout.replace("\\", "")


def test_where_nothing_is_to_be_installed_models_run_on(tmp_path):
    busy = {"engine": {**KNOWN, "containers": MODELS}}
    done = play(tmp_path, {"h": busy}, PRESENT)
    assert done.returncode == 0, done.stdout
    assert first_contact(done.stdout) == {}


def test_a_release_that_is_asked_for_is_looked_at(tmp_path):
    done = play(tmp_path, {"known": {"engine": KNOWN}}, {**PRESENT, "gpustack_toolkit_version": "1.19.1"})
    assert first_contact(done.stdout) == {"known": ASK}


def recorded(note):
    entry = {"kind": "package", "name": FOUR[0], "by": "nvidia_container_toolkit"}
    return {"manifest": {"entries": [{**entry, "note": note} if note else entry]}}


def test_a_release_that_was_finished_is_not_asked_for_again(tmp_path):
    facts = {
        "finished": {"engine": KNOWN, **recorded("finished: 1.19.1")},
        "another": {"engine": KNOWN, **recorded("finished: 1.19.0")},
        "newer": {"engine": KNOWN, **recorded("finished: 1.20.0")},
        "killed": {"engine": KNOWN, **recorded("")},
        "untold": {"engine": ENGINE, **recorded("finished: 1.19.1")},
        "of_another_role": {
            "engine": KNOWN,
            "manifest": {"entries": [{"kind": "package", "name": "x", "by": "y", "note": "finished: 1.19.1"}]},
        },
    }
    done = play(tmp_path, facts, {**PRESENT, "gpustack_toolkit_version": "1.19.1"})
    assert first_contact(done.stdout) == dict.fromkeys(facts.keys() - {"finished"}, ASK)


def test_what_a_run_did_not_get_to_is_made_up_for(tmp_path):
    for note, wish, unfinished in (
        ("running: 1.20.0", "", True),
        ("", "", True),
        ("finished: 1.19.1", "1.20.0", True),
        ("finished: 1.20.0", "1.20.0", False),
        ("finished: 1.20.0", "", False),
        # Somebody else's.
        (None, "1.20.0", False),
    ):
        facts, wishes = {} if note is None else recorded(note), {"gpustack_toolkit_version": wish}
        found = variables_of_the_role(tmp_path, four("1.20.0"), ["unfinished"], facts=facts, **wishes)
        assert found["unfinished"] is unfinished, (note, wish)


def test_a_default_runtime_that_is_asked_for_is_written(tmp_path):
    facts = {"other": {"engine": KNOWN}, "as_asked": {"engine": {**KNOWN, "default_runtime": "nvidia"}}}
    done = play(tmp_path, facts, {**PRESENT, "gpustack_docker_default_runtime": "nvidia"})
    assert first_contact(done.stdout) == {"other": "Merge our keys into daemon.json"}


def test_unless_it_is_asked_for_nothing_is_touched(tmp_path):
    facts = {"unknown": {"engine": ENGINE}}
    for variables, touched in (
        ({}, {}),
        ({"gpustack_driver": "check"}, {}),
        ({"gpustack_driver": "present"}, {"unknown": ASK}),
        ({"gpustack_driver": "present", "gpustack_container_runtime": "skip"}, {}),
    ):
        assert first_contact(play(tmp_path, facts, variables).stdout) == touched


def test_a_system_without_packages_is_refused_before_anything_changes(tmp_path):
    done = play(tmp_path, {"h": {"engine": ENGINE, "os": {"family": "unknown", "pretty": "Arch"}}}, PRESENT)
    assert done.returncode != 0
    assert first_contact(done.stdout) == {}
    assert "h has no NVIDIA Container Toolkit." in " ".join(done.stdout.split())


def variables_of_the_role(tmp_path, lines, names, engine=None, facts=None, **extra):
    shown = {name: f"{{{{ __nvidia_container_toolkit_{name} }}}}" for name in names}
    load = [{"ansible.builtin.include_vars": {"file": f"{ROLE}/{part}/main.yml"}} for part in ("defaults", "vars")]
    write = {
        "ansible.builtin.copy": {"content": "{{ shown | to_json }}", "dest": f"{tmp_path}/shown.json"},
        "vars": {"shown": shown, "__nvidia_container_toolkit_query": {"stdout_lines": lines}},
    }
    variables = {"ansible_connection": "local", **extra}
    done = play(
        tmp_path, {"h": {"engine": engine or ENGINE, **(facts or {})}}, variables, tasks=[*load, write], roles=()
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads((tmp_path / "shown.json").read_text(encoding="utf-8"))


def four(release):
    return [f"ii |{name}|{release}-1" for name in FOUR]


def test_what_is_there_decides_what_is_installed(tmp_path):
    names = ["installed", "needed", "kept", "leftovers"]
    nothing = {"installed": "", "needed": True, "kept": False, "leftovers": []}
    there = {"installed": "1.19.1", "needed": False, "kept": False, "leftovers": []}
    wish = {"gpustack_toolkit_version": "1.20.0"}
    for lines, extra, expected in (
        ([], {}, nothing),
        (four("1.19.1"), {}, there),
        (four("1.19.1"), {"gpustack_toolkit_version": "1.19.1"}, there),
        (four("1.19.1"), wish, {**there, "needed": True}),
        (four("1.21.0"), wish, {**there, "installed": "1.21.0", "kept": True}),
        # Held packages are as good, a part of the four is not, nor are four of two releases.
        ([line.replace("ii", "hi") for line in four("1.20.0")], wish, {**there, "installed": "1.20.0"}),
        (four("1.20.0")[:3], {}, nothing),
        ([*four("1.20.0")[:3], "ii |libnvidia-container1|1.19.1-1"], {}, nothing),
        ([line.replace("ii", "rc") for line in four("1.20.0")], {}, nothing),
        (["ii |nvidia-docker2|2.13.0-1"], {}, {**nothing, "leftovers": ["nvidia-docker2"]}),
    ):
        assert variables_of_the_role(tmp_path, lines, names, **extra) == expected, lines


def test_docker_is_told_the_runtime_beside_what_the_inventory_has(tmp_path):
    runtime = {"nvidia": {"path": "nvidia-container-runtime", "args": []}}
    for engine, extra, expected in (
        (ENGINE, {}, {"runtimes": runtime}),
        (ENGINE, {"gpustack_docker_default_runtime": "nvidia"}, {"runtimes": runtime, "default-runtime": "nvidia"}),
        (KNOWN, {"gpustack_docker_default_runtime": "nvidia"}, {"default-runtime": "nvidia"}),
        (
            ENGINE,
            {"gpustack_docker_settings": {"debug": True, "runtimes": {"nvidia": {"path": "/opt/r"}}}},
            {"debug": True, "runtimes": {"nvidia": {"path": "/opt/r", "args": []}}},
        ),
    ):
        assert variables_of_the_role(tmp_path, [], ["settings"], engine, **extra) == {"settings": expected}


def test_what_is_recorded(tmp_path):
    (entries,) = variables_of_the_role(tmp_path, [], ["entries"]).values()
    assert [(entry["kind"], entry["name"]) for entry in entries] == [
        *(("package", name) for name in FOUR),
        ("file", "/etc/apt/sources.list.d/nvidia-container-toolkit.list"),
        ("file", "/etc/apt/keyrings/nvidia-container-toolkit.asc"),
    ]


def test_a_check_on_a_bare_host_tells_and_changes_nothing(tmp_path):
    # The package manager that answers here is of this machine, which has no toolkit.
    variables = {**PRESENT, "ansible_connection": "local"}
    defaults = {
        "inferops.gpustack.manifest": {"path": str(tmp_path / "manifest.json")},
        "inferops.gpustack.docker_daemon_config": {"path": str(tmp_path / "daemon.json"), "validate": False},
        "inferops.gpustack.host_facts": {"engine_socket": "/nonexistent"},
    }
    bare = {"present": False, "answers": False, "runtimes": [], "configured_runtimes": [], "live_restore": None}
    hosts = {"bare": host_facts({**CARDS, "engine": bare})}
    plays = [
        {
            "hosts": "all",
            "gather_facts": False,
            "module_defaults": defaults,
            "roles": ["inferops.gpustack.nvidia_container_toolkit"],
        }
    ]
    done = run_playbook(tmp_path, plays, hosts, {}, variables, "--check", "--diff")
    assert done.returncode == 0, done.stdout + done.stderr
    text = " ".join(done.stdout.split())
    assert "bare: install nvidia-container-toolkit=1.20.0-1," in text
    assert "because there is no NVIDIA Container Toolkit." in text
    assert '"nvidia-container-runtime"' in done.stdout.replace("\\", "")
    assert not (tmp_path / "manifest.json").exists() and not (tmp_path / "daemon.json").exists()


def test_nothing_here_removes_what_is_not_its_own():
    for path in sorted((ROLE / "tasks").glob("*.yml")):
        for task in yaml.safe_load(path.read_text(encoding="utf-8")):
            for manager in ("ansible.builtin.apt", "ansible.builtin.dnf", "ansible.builtin.file"):
                assert task.get(manager, {}).get("state") != "absent"
