# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Inventory of the workers that a GPUStack server knows."""

from __future__ import annotations

DOCUMENTATION = r"""
name: gpustack
short_description: Workers of a GPUStack server as hosts
version_added: 0.1.0
description:
  - Makes a host of each worker that is registered at a GPUStack server, with what the server knows about it.
  - Reads files whose names end in C(gpustack.yml) or C(gpustack.yaml).
  - It shows what runs. The inventory that a site is made from is written by people, and does not come from here.
author:
  - InferOps contributors (@inferops)
extends_documentation_fragment:
  - inferops.gpustack.auth
  - constructed
  - inventory_cache
options:
  plugin:
    description: Marks a file as one for this plugin.
    type: str
    required: true
    choices: [inferops.gpustack.gpustack]
  url:
    env:
      - name: GPUSTACK_URL
  password:
    env:
      - name: GPUSTACK_PASSWORD
  api_key:
    env:
      - name: GPUSTACK_API_KEY
  set_ansible_host:
    description: Whether Ansible connects to the address under which the server reaches the worker.
    type: bool
    default: true
  group_by:
    description:
      - Groups that are made without O(keyed_groups). V(state) makes groups like C(state_ready), V(vendor) like
        C(vendor_nvidia), V(accelerator) like C(accelerator_nvidia_h20_3e) from the label C(gpustack-accelerator), and
        V(labels) like C(label_os_linux) from every label but C(worker-name).
      - Characters that a group name cannot have become C(_).
    type: list
    elements: str
    choices: [state, vendor, accelerator, labels]
    default: [state, vendor, accelerator, labels]
notes:
  - Each host has one variable, C(gpustack_worker), a dictionary of C(id), C(name), C(ip), C(port), C(cluster),
    C(state), C(state_message), C(maintenance), C(version), C(labels) and C(accelerators). The last is a list of
    C({vendor, name, memory_bytes, count}), with the memory of one device.
  - What it caches holds no secrets. C(--flush-cache) reads it anew.
  - A password or a key may be a V(!vault) value. A key needs the scope V(management) or V(*).
"""

EXAMPLES = r"""
# gpustack.yml: the password comes from the environment variable GPUSTACK_PASSWORD
plugin: inferops.gpustack.gpustack
url: http://10.0.0.10

---
# Only what the site needs, read once in ten minutes
plugin: inferops.gpustack.gpustack
url: https://gpustack.example.com
ca_path: /etc/ssl/certs/site-ca.pem
group_by: [state]
keyed_groups:
  - {key: gpustack_worker.cluster, prefix: cluster}
groups:
  large: gpustack_worker.accelerators | map(attribute='count') | sum >= 8
compose:
  ansible_user: "'root'"
cache: true
cache_plugin: ansible.builtin.jsonfile
cache_connection: ~/.cache/gpustack_inventory
cache_timeout: 600
"""

from ansible.errors import AnsibleParserError
from ansible.plugins.inventory import BaseInventoryPlugin, Cacheable, Constructable
from ansible.template import trust_as_template
from ansible_collections.inferops.gpustack.plugins.module_utils._client import Client, credentials
from ansible_collections.inferops.gpustack.plugins.module_utils._errors import GpustackError
from ansible_collections.inferops.gpustack.plugins.module_utils._views import worker_view

RECORD = "gpustack_worker"
GROUPS = {
    "state": {"prefix": "state", "key": f"{RECORD}.state"},
    "vendor": {"prefix": "vendor", "key": f"{RECORD}.accelerators | map(attribute='vendor') | unique"},
    "accelerator": {"prefix": "accelerator", "key": f"{RECORD}.labels['gpustack-accelerator']"},
    "labels": {
        "prefix": "label",
        "key": f"{RECORD}.labels | dict2items | rejectattr('key', 'eq', 'worker-name') | items2dict",
    },
}


class InventoryModule(BaseInventoryPlugin, Constructable, Cacheable):
    NAME = "inferops.gpustack.gpustack"

    def verify_file(self, path):
        return super().verify_file(path) and path.endswith(("gpustack.yml", "gpustack.yaml"))

    def parse(self, inventory, loader, path, cache=True):
        super().parse(inventory, loader, path, cache)
        self._read_config_data(path)
        for worker in self._workers(self.get_cache_key(path), cache):
            self._add(worker)

    def _workers(self, key, may_read_cache):
        cached = self.get_option("cache")
        if cached and may_read_cache:
            try:
                return self._cache[key]
            except KeyError:
                pass  # not there yet, or too old
        try:
            workers = read_workers(self._client())
        except GpustackError as error:
            # Ansible would tell the message twice if it knew the cause.
            raise AnsibleParserError(error.for_people()) from None
        if cached:
            self._cache[key] = workers
        return workers

    def _client(self):
        return Client(
            self.get_option("url"),
            credentials(*(self.get_option(one) for one in ("api_key", "username", "password"))),
            ca=self.get_option("ca_path"),
            timeout=self.get_option("timeout"),
            use_proxy=self.get_option("use_proxy"),
            validate_certs=self.get_option("validate_certs"),
        )

    def _add(self, worker):
        host = self.inventory.add_host(worker["name"])
        self.inventory.set_variable(host, RECORD, worker)
        if self.get_option("set_ansible_host") and worker["ip"]:
            self.inventory.set_variable(host, "ansible_host", worker["ip"])

        strict = self.get_option("strict")
        variables = {RECORD: worker}
        self._set_composite_vars(self.get_option("compose"), variables, host, strict=strict)
        self._add_host_to_composed_groups(self.get_option("groups"), variables, host, strict=strict)
        self._add_host_to_keyed_groups(self.get_option("keyed_groups"), variables, host, strict=strict)
        # A worker need not have a card or a label, whatever strict says.
        ready_made = [
            dict(GROUPS[one], key=trust_as_template(GROUPS[one]["key"])) for one in self.get_option("group_by")
        ]
        self._add_host_to_keyed_groups(ready_made, variables, host, strict=False)


def read_workers(client):
    clusters = {one["id"]: one["name"] for one in client.list_all("/v2/clusters")}
    workers = [worker_view(one) for one in client.list_all("/v2/workers")]
    for worker in workers:
        worker["cluster"] = clusters.get(worker.pop("cluster_id"))
    return sorted(workers, key=lambda one: one["name"])
