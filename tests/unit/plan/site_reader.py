"""An inventory as preflight and the plan get it, without starting ansible-playbook."""

from __future__ import annotations

from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.vars.hostvars import HostVars
from ansible.vars.manager import VariableManager
from ansible_collections.inferops.gpustack.plugins.plugin_utils import _inventory_reader


def read(source):
    """What is in an inventory file or directory, with its group_vars and host_vars."""
    loader = DataLoader()
    manager = InventoryManager(loader, sources=[str(source)])
    variables = VariableManager(loader, manager)
    return _inventory_reader.read(loader, {**variables.get_vars(), "hostvars": HostVars(manager, variables, loader)})
