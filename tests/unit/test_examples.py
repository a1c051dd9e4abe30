# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The example inventories and the lab's overlay: right by schema and preflight, and read by Ansible as meant."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = {"prod": ROOT / "inventories" / "prod", "single_node": ROOT / "inventories" / "single_node"}
OVERLAY = ROOT / "lab" / "overlay"
SCHEMA = ROOT / "docs" / "inventory.schema.json"
VARIABLES = sorted(
    path
    for folder in (*EXAMPLES.values(), ROOT / "inventories" / "lab", OVERLAY)
    for kind in ("group_vars", "host_vars")
    for path in (folder / kind).rglob("*.yml*")
    if path.name != "vault.yml"  # a person's own, and encrypted
)
MODELINE = re.compile(r"^# yaml-language-server: \$schema=(\S+)$", re.MULTILINE)
# The connection of the lab's hosts, where their images, packages and installers come from, the cards they simulate, and
# that they are delivered without drivers and reboot as containers: nothing of the site.
OVERLAY_MAY_SET = {
    "gpustack_accept",
    "gpustack_artefacts_lock",
    "gpustack_ascend_accept_eula",
    "gpustack_ascend_driver",
    "gpustack_ascend_firmware",
    "gpustack_ascend_runtime",
    "gpustack_docker_mirror",
    "gpustack_driver",
    "gpustack_nvidia_keyring_sha256",
    "gpustack_nvidia_mirror",
    "gpustack_reboot",
    "gpustack_reboot_boot_time_command",
    "gpustack_registry_rewrites",
    "gpustack_toolkit_mirror",
    "gpustack_worker_config",
}
GENERATED = {OVERLAY / "group_vars" / "all" / name for name in ("lab.yml", "artefacts_lock.yml")}
PASSWORD = "River.2.ocean"


def read(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def ansible(*arguments):
    environment = dict(
        os.environ,
        ANSIBLE_CONFIG=str(ROOT / "ansible.cfg"),
        ANSIBLE_COLLECTIONS_PATH=str(ROOT / "collections"),
        ANSIBLE_NOCOLOR="1",
    )
    command = [sys.executable, "-m", "ansible", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


@functools.lru_cache(maxsize=None)
def inventory(*sources):
    done = ansible("inventory", *[part for one in sources for part in ("-i", one)], "--list")
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return json.loads(done.stdout)


def variables(host, *sources):
    return inventory(*sources)["_meta"]["hostvars"][host]


def preflight(*sources):
    """What ended the run, and the kinds of its errors."""
    done = ansible("playbook", "playbooks/preflight.yml", *[part for one in sources for part in ("-i", one)])
    return done.returncode, sorted(re.findall(r"^\s*ERROR (\w+)$", done.stdout, re.MULTILINE)), done.stdout


def copy_with_vault(name, folder):
    """A copy with a vault, as the example's README has it made."""
    copy = folder / name
    shutil.copytree(EXAMPLES[name], copy, ignore=shutil.ignore_patterns("vault.yml", "artefacts_lock.yml"))
    vault = (copy / "group_vars" / "all" / "vault.yml.example").read_text(encoding="utf-8")
    (copy / "group_vars" / "all" / "vault.yml").write_text(vault.replace("<password>", PASSWORD), encoding="utf-8")
    return copy


@pytest.fixture(params=sorted(EXAMPLES))
def example(request, tmp_path):
    return copy_with_vault(request.param, tmp_path)


def lock_of(example):
    return (example / "group_vars" / "all" / "artefacts_lock.yml.example").read_text(encoding="utf-8")


def write_lock(example, text):
    (example / "group_vars" / "all" / "artefacts_lock.yml").write_text(text, encoding="utf-8")


@pytest.mark.parametrize("path", VARIABLES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_schema_accepts(path):
    errors = Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8"))).iter_errors(read(path))
    assert [f"{'.'.join(map(str, error.absolute_path))}: {error.message}" for error in errors] == []


def test_the_schema_named_for_editors_is_there():
    named = [(path, line) for path in VARIABLES for line in MODELINE.findall(path.read_text(encoding="utf-8"))]
    assert len(named) > 8
    assert {(path.parent / line).resolve() for path, line in named} == {SCHEMA}


def test_preflight_asks_for_nothing_but_the_digests_of_moving_tags(example):
    code, errors, output = preflight(example)
    assert code != 0
    moving = {"prod": 3, "single_node": 2}[example.name]
    assert errors == ["image_moving_unlocked"] * moving, output


def test_preflight_refuses_placeholders(example):
    write_lock(example, lock_of(example))
    shutil.copy(example / "group_vars/all/vault.yml.example", example / "group_vars/all/vault.yml")
    code, errors, output = preflight(example)
    assert code != 0
    locked = lock_of(example).count("<digest>")
    assert errors == ["admin_password_placeholder"] + ["lock_digest_fake"] * locked, output


def filled_in(lock):
    names = yaml.safe_load(lock)["gpustack_artefacts_lock"]
    digests = {name: f"sha256:{hashlib.sha256(name.encode()).hexdigest()}" for name in names}
    return yaml.safe_dump({"gpustack_artefacts_lock": digests})


def test_preflight_is_content_with_the_lock_filled_in(example):
    write_lock(example, filled_in(lock_of(example)))
    code, errors, output = preflight(example)
    assert (code, errors) == (0, []), output
    assert "WARNING" not in output


@pytest.mark.parametrize(("name", "host"), [("prod", "h20-01"), ("single_node", "gpu-01")])
def test_ansible_does_not_read_the_files_to_copy(name, host):
    found = variables(host, EXAMPLES[name])
    assert "gpustack_models" in found
    names = {path.name for path in (EXAMPLES[name] / "group_vars" / "all").iterdir()}
    assert {"vault.yml.example", "artefacts_lock.yml.example"} <= names
    if "vault.yml" not in names:
        assert [key for key in found if key.startswith("vault_")] == []
    if "artefacts_lock.yml" not in names:
        assert "gpustack_artefacts_lock" not in found


def test_the_production_example_is_the_site_it_says():
    listed = inventory(EXAMPLES["prod"])
    accelerators = {host: values.get("gpustack_accelerator") for host, values in listed["_meta"]["hostvars"].items()}
    assert accelerators == {
        "gs-01": None,
        "h20-01": "nvidia_h20_3e",
        "h20-02": "nvidia_h20_3e",
        "npu-01": "ascend_910b",
        "npu-02": "ascend_910b",
        "ws-01": None,
        "ws-01-wsl": "nvidia_rtx_4090",
    }
    assert listed["gpustack_server"]["hosts"] == ["gs-01"]
    assert listed["gpustack_worker_windows"]["hosts"] == ["ws-01"]


def names_in(path):
    content = read(path) or {}
    return set(content)


def test_the_overlay_sets_nothing_of_the_site():
    files = [path for kind in ("group_vars", "host_vars") for path in (OVERLAY / kind).rglob("*.yml")]
    assert {path.name for path in files} >= {"registry.yml", "h20-01.yml", "npu-01.yml"}
    names = {name for path in files for name in names_in(path)}
    hosts = read(OVERLAY / "hosts.yml")
    assert list(hosts) == ["all"] and list(hosts["all"]) == ["hosts"]
    names |= {name for values in hosts["all"]["hosts"].values() for name in values}
    assert {name for name in names if not name.startswith("ansible_")} <= OVERLAY_MAY_SET
    for path in files:
        config = (read(path) or {}).get("gpustack_worker_config", {"resources": None})
        assert list(config) == ["resources"], path


def test_what_the_lab_generates_for_the_overlay_sets_nothing_of_the_site():
    assert {
        name for name in read(ROOT / "lab" / "vars.yml")["lab_connection"] if not name.startswith("ansible_")
    } == set()
    tasks = read(ROOT / "lab" / "tasks" / "inventory.yml")
    (task,) = [task for task in tasks if "lab_overlay" in str(task)]
    assert task["vars"]["overlay"] == {
        "lab": "{{ lab_connection | combine(lab_drivers) }}",
        "artefacts_lock": "{{ {'gpustack_artefacts_lock': lab_registry.digests} }}",
    }
    assert {f"{name}.yml" for name in task["vars"]["overlay"]} == {path.name for path in GENERATED}


def test_what_the_lab_generates_is_ignored_by_git():
    listed = subprocess.run(["git", "check-ignore", *GENERATED], cwd=ROOT, capture_output=True, text=True, check=True)
    assert len(listed.stdout.splitlines()) == len(GENERATED)


@pytest.mark.parametrize(
    ("host", "address"), [("gs-01", "172.29.77.10"), ("h20-01", "172.29.77.11"), ("npu-01", "172.29.77.12")]
)
def test_the_overlay_wins_over_the_production_example(host, address):
    found = variables(host, EXAMPLES["prod"], OVERLAY)
    assert found["ansible_host"] == address
    assert found["gpustack_registry_rewrites"]["docker.io"] == "registry.example.com:5443/docker.io"
    assert found["gpustack_server_url"] == "https://gpustack.example.com"
    assert ("gpustack_worker_config" in found) is (host != "gs-01")


def test_preflight_is_content_with_the_production_example_on_the_lab(tmp_path):
    example = copy_with_vault("prod", tmp_path)
    overlay = tmp_path / "overlay"
    shutil.copytree(OVERLAY, overlay)
    generated = overlay / "group_vars" / "all"
    (generated / "lab.yml").write_text("ansible_user: root\n", encoding="utf-8")
    (generated / "artefacts_lock.yml").write_text(filled_in(lock_of(example)), encoding="utf-8")
    assert variables("h20-01", example, overlay)["ansible_user"] == "root"
    code, errors, output = preflight(example, overlay)
    assert (code, errors) == (0, []), output
