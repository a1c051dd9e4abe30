"""What ships: all of the collection and nothing else, and it works where only it is installed."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import tarfile

import pytest
import yaml
from checkout import CANARIES, CANARY, ROOT

COLLECTION = "inferops.gpustack"
TOP = ("CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "README.md", "README.zh-CN.md", "requirements.txt")
SHIPPED = (
    *TOP,
    "meta/runtime.yml",
    "changelogs/changelog.yaml",
    "docs",
    "playbooks",
    "plugins",
    "roles",
)
ADDED_BY_THE_BUILD = {"MANIFEST.json", "FILES.json"}
PLUGINS = {"modules": "module", "filter": "filter", "callback": "callback"}
PLAYBOOKS = sorted(path.stem for path in (ROOT / "playbooks").glob("*.yml"))


def names(folder):
    return {f"{COLLECTION}.{path.stem}" for path in (ROOT / "plugins" / folder).glob("*.py") if path.stem != "__init__"}


@pytest.fixture(scope="module")
def files(tarball):
    """`{path: content}`"""
    with tarfile.open(tarball) as archive:
        return {member.name: archive.extractfile(member).read() for member in archive if member.isfile()}


@pytest.fixture(scope="module")
def inventory(tmp_path_factory):
    """The example of one machine, with its blanks filled in as it tells."""
    copy = tmp_path_factory.mktemp("site") / "single_node"
    shutil.copytree(ROOT / "inventories" / "single_node", copy)
    for example in copy.rglob("*.example"):
        text = (
            example.read_text()
            .replace("<digest>", hashlib.sha256(b"an image").hexdigest())
            .replace("<password>", "NotReal!2026")
        )
        example.with_suffix("").write_text(text)
    return copy


def test_all_of_the_collection_ships_and_nothing_else(files):
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *SHIPPED],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    tracked = {name for name in listed.stdout.splitlines() if (ROOT / name).is_file()}
    assert set(files) - ADDED_BY_THE_BUILD == tracked


def test_nothing_else_of_a_checkout_in_use_ships(files):
    assert set(files) & set(CANARIES) == set()
    assert [name for name, content in files.items() if CANARY.encode() in content] == []


def test_the_artefact_names_its_version_and_what_it_needs(files):
    about = json.loads(files["MANIFEST.json"])["collection_info"]
    assert (about["namespace"], about["name"]) == ("inferops", "gpustack")
    assert about["version"] == yaml.safe_load((ROOT / "galaxy.yml").read_text())["version"]
    needed = yaml.safe_load((ROOT / "requirements.yml").read_text())["collections"]
    assert about["dependencies"] == {item["name"]: item["version"] for item in needed}


@pytest.mark.parametrize("folder", PLUGINS)
def test_every_plugin_is_found(run, folder):
    done = run("doc", "--list", "--json", "-t", PLUGINS[folder], COLLECTION)
    assert done.returncode == 0, done.stderr
    assert set(json.loads(done.stdout)) == names(folder)


def test_every_filter_loads(run):
    tests = [f"'{name}' is filter" for name in sorted(names("filter"))]
    done = run("adhoc", "localhost", "-c", "local", "-m", "ansible.builtin.assert", "-a", json.dumps({"that": tests}))
    assert done.returncode == 0, done.stdout + done.stderr
    unknown = run("adhoc", "localhost", "-m", "ansible.builtin.assert", "-a", f"that=\"'{COLLECTION}.none' is filter\"")
    assert unknown.returncode != 0


def test_every_role_is_found(run):
    done = run("doc", "--list", "--json", "-t", "role", COLLECTION)
    assert done.returncode == 0, done.stderr
    assert set(json.loads(done.stdout)) == {f"{COLLECTION}.{path.name}" for path in (ROOT / "roles").iterdir()}


@pytest.mark.parametrize("name", PLAYBOOKS)
def test_every_playbook_reads_by_its_name(run, installed, inventory, name):
    done = run("playbook", f"{COLLECTION}.{name}", "-i", inventory, "--syntax-check")
    assert done.returncode == 0, done.stderr
    assert str(installed / "playbooks" / f"{name}.yml") in done.stdout


def test_the_site_lists_the_tasks_of_every_station(run, inventory):
    done = run("playbook", f"{COLLECTION}.site", "-i", inventory, "--list-tasks")
    assert done.returncode == 0, done.stderr
    for role in ("preflight", "container_engine", "gpustack_server", "gpustack_worker", "gpustack_models", "verify"):
        assert f"{COLLECTION}.{role} : " in done.stdout


def test_preflight_passes_a_good_inventory(run, inventory):
    done = run("playbook", f"{COLLECTION}.preflight", "-i", inventory)
    assert done.returncode == 0, done.stdout + done.stderr
    assert str(ROOT) not in done.stdout + done.stderr


def test_preflight_refuses_a_bad_one_and_runs_from_the_installed_place(run, installed, inventory):
    done = run("playbook", f"{COLLECTION}.preflight", "-i", inventory, "-e", "gpustack_accelerator=nvidia_h20_3f")
    output = done.stdout + done.stderr
    assert done.returncode == 2, output
    assert "nvidia_h20_3f" in output
    assert str(installed / "roles" / "preflight") in output
    assert str(ROOT) not in output
