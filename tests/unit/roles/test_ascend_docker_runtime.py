# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which hosts the role ascend_docker_runtime touches, and what Docker is told."""

from __future__ import annotations

import base64
import hashlib
import json

import yaml
from unit.ansible_run import REPOSITORY
from unit.roles.role_runner import first_contact, host_facts, run_playbook, told

ROLE = REPOSITORY / "roles" / "ascend_docker_runtime"
PATH = "/usr/local/Ascend/Ascend-Docker-Runtime"
LOOK = "Read what its installer left"
MERGE = "Merge our keys into daemon.json"
RUN = "Ascend-docker-runtime_26.1.0_linux-aarch64.run"
SHA = "1f" * 32
PRESENT = {
    "gpustack_container_runtime": "present",
    "gpustack_ascend_accept_eula": True,
    "gpustack_ascend_runtime": {"url": f"http://127.0.0.1:1/{RUN}", "sha256": SHA},
}
CARDS = {"accelerators": [{"vendor": "ascend", "pci_id": "19e5:d802"}], "architecture": "aarch64"}
ENGINE = {
    "present": True,
    "runtimes": ["runc"],
    "default_runtime": "runc",
    "configured_runtimes": [],
    "live_restore": True,
}
KNOWN = {**ENGINE, "runtimes": ["ascend", "runc"]}
TOLD = {"ascend": {"path": f"{PATH}/ascend-docker-runtime", "runtimeArgs": []}}
INFO = "version=v26.1.0\narch=aarch64\n"


def recorded(note):
    entry = {"kind": "directory", "name": PATH, "by": "ascend_docker_runtime", "note": note}
    return {"manifest": {"entries": [entry]}}


def play(tmp_path, facts, variables, *arguments, tasks=(), defaults=None, roles=("ascend_docker_runtime",)):
    hosts = {name: host_facts({**CARDS, **differences}) for name, differences in facts.items()}
    plays = [
        {
            "hosts": "all",
            "gather_facts": False,
            "module_defaults": defaults or {},
            "roles": [f"inferops.gpustack.{role}" for role in roles],
            "tasks": list(tasks),
        }
    ]
    return run_playbook(tmp_path, plays, hosts, {"gpustack_worker": list(facts)}, variables, *arguments)


def test_hosts_are_touched_only_where_a_fact_says_so(tmp_path):
    facts = {
        "ours": {"engine": KNOWN, **recorded("finished: 26.1.0")},
        "no_cards": {"engine": ENGINE, "accelerators": []},
        "nvidia": {"engine": ENGINE, "accelerators": [{"vendor": "nvidia", "pci_id": "10de:232c"}]},
        "wsl": {"engine": ENGINE, "wsl": True},
        "missing": {"engine": ENGINE},
        "somebody_s": {"engine": KNOWN},
        "killed": {"engine": KNOWN, **recorded("installed: 26.1.0, default-runtime before: runc")},
        # Its copy of the vendor's file may lie there.
        "died": {"engine": KNOWN, **recorded("running: 26.1.0, default-runtime before: runc")},
        "forgotten": {"engine": ENGINE, **recorded("finished: 26.1.0")},
    }
    done = play(tmp_path, facts, PRESENT)
    assert first_contact(done.stdout) == {
        **dict.fromkeys(["missing", "somebody_s", "killed", "forgotten"], LOOK),
        "died": "Remove the file",
    }


def test_a_runtime_that_docker_has_is_left_alone_where_no_file_is_named(tmp_path):
    done = play(tmp_path, {"known": {"engine": KNOWN}}, {"gpustack_container_runtime": "present"})
    assert done.returncode == 0, done.stdout
    assert first_contact(done.stdout) == {}


def test_a_default_runtime_that_is_asked_for_is_written(tmp_path):
    facts = {"other": {"engine": KNOWN}, "as_asked": {"engine": {**KNOWN, "default_runtime": "ascend"}}}
    variables = {"gpustack_container_runtime": "present", "gpustack_docker_default_runtime": "ascend"}
    assert first_contact(play(tmp_path, facts, variables).stdout) == {"other": MERGE}


def test_unless_it_is_asked_for_nothing_is_touched(tmp_path):
    facts = {"missing": {"engine": ENGINE}}
    file = {"gpustack_ascend_runtime": PRESENT["gpustack_ascend_runtime"]}
    for variables, touched in (
        ({}, {}),
        ({"gpustack_driver": "check"}, {}),
        ({"gpustack_driver": "present"}, {"missing": LOOK}),
        ({"gpustack_driver": "present", "gpustack_container_runtime": "skip"}, {}),
    ):
        assert first_contact(play(tmp_path, facts, {**file, **variables}).stdout) == touched


def local(tmp_path):
    """Modules that would write do so here. The info file that is looked at is this machine's, which has none."""
    return {
        "inferops.gpustack.manifest": {"path": str(tmp_path / "manifest.json")},
        "inferops.gpustack.docker_daemon_config": {"path": str(tmp_path / "daemon.json"), "validate": False},
        "inferops.gpustack.host_facts": {"engine_socket": "/nonexistent"},
    }


def test_what_would_not_work_is_refused_before_anything_changes(tmp_path):
    for variables, words in (
        ({"gpustack_ascend_accept_eula": False}, "set gpustack_ascend_accept_eula: true if you do."),
        ({"gpustack_ascend_runtime": {}}, "Set gpustack_ascend_runtime (file or url, and sha256)"),
        (
            {"gpustack_ascend_runtime": {"file": f"/nonexistent/{RUN}", "sha256": SHA}},
            f"/nonexistent/{RUN} cannot be found on the controller.",
        ),
    ):
        done = play(
            tmp_path,
            {"h": {"engine": ENGINE}},
            {**PRESENT, "ansible_connection": "local", **variables},
            defaults=local(tmp_path),
        )
        assert done.returncode != 0
        assert words in told(done.stdout) and "Nothing was changed." in told(done.stdout)
        assert not (tmp_path / "manifest.json").exists() and not (tmp_path / "daemon.json").exists()


def test_a_check_on_a_bare_host_tells_and_changes_nothing(tmp_path):
    bare = {"present": False, "answers": False, "runtimes": [], "configured_runtimes": [], "live_restore": None}
    variables = {**PRESENT, "ansible_connection": "local"}
    done = play(tmp_path, {"bare": {"engine": bare}}, variables, "--check", "--diff", defaults=local(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"bare: install Ascend Docker Runtime 26.1.0 from {RUN}, because there is none." in told(done.stdout)
    assert f'"{PATH}/ascend-docker-runtime"' in done.stdout.replace("\\", "")
    assert "running: 26.1.0, default-runtime before: " in done.stdout
    assert not (tmp_path / "manifest.json").exists() and not (tmp_path / "daemon.json").exists()


def test_an_installer_that_ends_well_and_installs_nothing_is_found_out(tmp_path):
    run = tmp_path / RUN
    run.write_text(f'#!/bin/sh\nread -r yes; echo "$* $yes" > {tmp_path}/log\n', encoding="utf-8")
    file = {"file": str(run), "sha256": hashlib.sha256(run.read_bytes()).hexdigest()}
    variables = {**PRESENT, "ansible_connection": "local", "gpustack_ascend_runtime": file}
    extra = {"__ascend_driver_directory": str(tmp_path / "root-only")}
    engine = {**ENGINE, "default_runtime": "lab"}
    done = play(tmp_path, {"h": {"engine": engine}}, variables, "-e", json.dumps(extra), defaults=local(tmp_path))
    assert done.returncode != 0
    assert (tmp_path / "log").read_text(encoding="utf-8") == "--install --install-scene=docker Y\n"
    assert (
        "The installer of Ascend Docker Runtime 26.1.0 ended without an error on h, and "
        f"{PATH}/ascend_docker_runtime_install.info tells of nothing."
    ) in told(done.stdout)
    assert not (tmp_path / "daemon.json").exists() and not (tmp_path / "root-only").exists()
    # For the run after this one: what the installer of the vendor replaces.
    assert '"running: 26.1.0, default-runtime before: lab"' in (tmp_path / "manifest.json").read_text(encoding="utf-8")


def test_an_installer_of_a_run_that_died_runs_again_and_is_told_from_it(tmp_path):
    run = tmp_path / RUN
    run.write_text(f"#!/bin/sh\necho $* > {tmp_path}/log\n", encoding="utf-8")
    file = {"file": str(run), "sha256": hashlib.sha256(run.read_bytes()).hexdigest()}
    died = {"engine": KNOWN, **recorded("running: 26.1.0 over 26.0.1")}
    step = {"arguments": ["--upgrade"], "codes": [0], "file": str(run), "name": RUN, "path": PATH, "timeout": 9}
    step |= {"log": "a.log", "sha256": file["sha256"], "stdin": "Y", "url": "", "variable": "x", "verify": False}
    step |= {"part": "runtime", "reboot_reason": "", "what": "Ascend Docker Runtime 26.1.0"}
    step |= {"running": "running: 26.1.0 over 26.0.1", "installed": "installed: 26.1.0"}
    include = {
        "ansible.builtin.include_role": {"name": "inferops.gpustack.ascend_docker_runtime", "tasks_from": "install"},
        "vars": {"ascend_docker_runtime_step": step},
    }
    local_file = {"content": base64.b64encode(b"version=v26.1.0").decode()}
    # What the look at the info file gives stays as it is.
    extra = {"__ascend_driver_directory": str(tmp_path / "root-only"), "__ascend_docker_runtime_info": local_file}
    variables = {**PRESENT, "ansible_connection": "local", "gpustack_ascend_runtime": file}
    done = play(
        tmp_path, {"h": died}, variables, "-e", json.dumps(extra), tasks=[include], roles=(), defaults=local(tmp_path)
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "log").read_text(encoding="utf-8") == "--upgrade\n"
    assert '"note": "installed: 26.1.0"' in (tmp_path / "manifest.json").read_text(encoding="utf-8")


def test_a_daemon_json_that_the_installer_refuses_is_told_before_it_runs(tmp_path):
    variables = {**PRESENT, "ansible_connection": "local"}
    for spoil, words in (
        (lambda path: path.chmod(0o666), "has mode 0666, its group and everybody can write there"),
        (lambda path: (path.unlink(), path.symlink_to(tmp_path / "own.json")), "is a link to"),
    ):
        (tmp_path / "daemon.json").write_text("{}", encoding="utf-8")
        spoil(tmp_path / "daemon.json")
        done = play(tmp_path, {"h": {"engine": ENGINE}}, variables, defaults=local(tmp_path))
        assert done.returncode != 0
        assert words in told(done.stdout)
        assert not (tmp_path / "manifest.json").exists()


def variables_of_the_role(tmp_path, facts, names, info=None, **variables):
    """What the role makes of facts, as Ansible resolves its variables."""
    shown = {name: f"{{{{ __ascend_docker_runtime_{name} }}}}" for name in names}
    read = (
        {} if info is None else {"content": base64.b64encode(info.encode()).decode()} if info else {"msg": "not found"}
    )
    load = [{"ansible.builtin.include_vars": {"file": f"{ROLE}/{part}/main.yml"}} for part in ("defaults", "vars")]
    write = {
        "ansible.builtin.copy": {"content": "{{ shown | to_json }}", "dest": f"{tmp_path}/shown.json"},
        "vars": {"shown": shown, **({"__ascend_docker_runtime_info": read} if info is not None else {})},
    }
    everywhere = {**PRESENT, "ansible_connection": "local", **variables}
    done = play(tmp_path, {"h": facts}, everywhere, tasks=[*load, write], roles=())
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads((tmp_path / "shown.json").read_text(encoding="utf-8"))


def test_docker_is_told_the_runtime_and_its_default_from_before(tmp_path):
    names = ["settings", "forgets", "untold"]
    began = recorded("installed: 26.1.0, default-runtime before: runc")
    lab = recorded("installed: 26.1.0, default-runtime before: lab")
    wish = {"gpustack_docker_default_runtime": "ascend"}
    for facts, variables, settings, forgets in (
        ({"engine": ENGINE, **began}, {}, {"runtimes": TOLD}, True),
        ({"engine": ENGINE, **lab}, {}, {"runtimes": TOLD, "default-runtime": "lab"}, False),
        ({"engine": ENGINE, **began}, wish, {"runtimes": TOLD, "default-runtime": "ascend"}, False),
        # Docker was restarted before this run, and has what the installer wrote.
        ({"engine": {**KNOWN, "default_runtime": "ascend"}, **lab}, {}, {"default-runtime": "lab"}, False),
        ({"engine": {**KNOWN, "default_runtime": "ascend"}, **began}, {}, {}, True),
        (
            {"engine": ENGINE, **began},
            {"gpustack_docker_settings": {"default-runtime": "lab", "debug": True}},
            {"runtimes": TOLD, "default-runtime": "lab", "debug": True},
            False,
        ),
        # Somebody else installed it; whose default that is, is not known here.
        ({"engine": ENGINE}, {}, {"runtimes": TOLD}, False),
    ):
        found = variables_of_the_role(tmp_path, facts, names, INFO, **variables)
        assert found == {"settings": settings, "forgets": forgets, "untold": True}, (facts, variables)


def test_a_finished_host_has_nothing_to_be_told(tmp_path):
    ours = {"engine": KNOWN, **recorded("finished: 26.1.0")}
    assert variables_of_the_role(tmp_path, ours, ["due", "untold"]) == {"due": False, "untold": False}


def test_the_installer_s_choice_of_a_default_is_taken_back_without_a_restart(tmp_path):
    owned = {
        "live-restore": True,
        "default-ulimits": {
            "memlock": {"Name": "memlock", "Soft": -1, "Hard": -1},
            "nofile": {"Name": "nofile", "Soft": 1048576, "Hard": 1048576},
        },
        "log-driver": "json-file",
        "log-opts": {"max-size": "100m", "max-file": "3"},
        "runtimes": TOLD,
    }
    tell = {
        "ansible.builtin.include_role": {"name": "inferops.gpustack.ascend_docker_runtime", "tasks_from": "docker"},
        "vars": {"__ascend_docker_runtime_info": {"content": base64.b64encode(INFO.encode()).decode()}},
    }
    began = {"engine": KNOWN, **recorded("installed: 26.1.0, default-runtime before: runc")}
    file = tmp_path / "daemon.json"
    file.write_text(json.dumps({**owned, "default-runtime": "ascend"}), encoding="utf-8")
    variables = {**PRESENT, "ansible_connection": "local"}
    done = play(tmp_path, {"h": began}, variables, tasks=[tell], roles=(), defaults=local(tmp_path))
    # Nothing is left for Docker to take up, so its service is not touched.
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(file.read_text(encoding="utf-8")) == owned
    assert '"finished: 26.1.0"' in (tmp_path / "manifest.json").read_text(encoding="utf-8")


def test_nobody_looked_is_not_nothing_there(tmp_path):
    for info, installed in ((None, None), ("", ""), (INFO, INFO)):
        found = variables_of_the_role(tmp_path, {"engine": ENGINE}, ["installed"], info)
        assert found == {"installed": installed}


def test_nothing_here_removes_what_is_not_its_own():
    for path in sorted((ROLE / "tasks").glob("*.yml")):
        for task in yaml.safe_load(path.read_text(encoding="utf-8")):
            for manager in ("ansible.builtin.apt", "ansible.builtin.dnf", "ansible.builtin.file"):
                assert task.get(manager, {}).get("state") != "absent"
