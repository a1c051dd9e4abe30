"""A checkout as people have it: with their secrets, environments and outputs in it."""

from __future__ import annotations

import subprocess
import sys

import working_tree

ROOT = working_tree.ROOT
CANARY = "canary-5f0c2e"
#: What a checkout in use holds besides the collection, in places that ship and in places that do not.
CANARIES = (
    ".git/config",
    ".lab/ssh/id_ed25519",
    ".venv/lib/python3.11/site.py",
    ".ansible/sanity/home/.netrc",
    ".vault_pass",
    "collections/ansible_collections/other/collection/plugins/modules/canary.py",
    "docs/.notes.md",
    "id_ed25519",
    "inventories/lab/artefacts.lock.yml",
    "inventories/lab/lab.yml",
    "inventories/prod/group_vars/all/vault.yml",
    "inventories/site/hosts.yml",
    "lab/overlay/group_vars/all/lab.yml",
    "playbooks/artefacts.lock.yml",
    "playbooks/group_vars/all/vault.yml",
    "plugins/modules/.env",
    "plugins/modules/__pycache__/model.cpython-311.pyc",
    "plugins/plugin_utils/data/artefacts_lock.yml",
    "roles/gpustack_server/files/tls.key",
    "roles/gpustack_server/vars/vault.yml",
    "site_vault.yml",
    "tests/output/first_run.log",
    "tests/sanity/canary.yml",
    "inferops-gpustack-0.0.1.tar.gz",
)


def in_use(checkout):
    """Copy the working tree, and plant what a person could have in it."""
    working_tree.copy_to(checkout)
    for name in CANARIES:
        path = checkout / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# {CANARY}\n")
    link = checkout / "collections" / "ansible_collections" / "inferops" / "gpustack"
    link.parent.mkdir()
    link.symlink_to("../../..")


def ansible(command, *arguments, cwd, environment):
    """`ansible-<command>` of this interpreter, with its output as text."""
    return subprocess.run(
        [sys.executable, "-m", "ansible", command, *map(str, arguments)],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
