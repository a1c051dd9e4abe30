#!/usr/bin/python
# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The config file of a worker, with the registration token of its cluster, without the token leaving this host."""

from __future__ import annotations

DOCUMENTATION = r"""
module: registration_token
short_description: Write a GPUStack worker's config file with its registration token
version_added: 0.1.0
description:
  - Runs on the worker. Reads the registration token of a cluster and writes it, with the rest of the worker's
    configuration, to a file that only root can read. Mount that file and start the worker with C(--config-file).
  - The token is never returned, so it reaches no controller, no log and no fact cache.
  - The file is JSON below one comment line, which is valid YAML. It is replaced in one step, and only when its content
    or its mode differs.
author:
  - InferOps contributors (@inferops)
extends_documentation_fragment:
  - inferops.gpustack.auth
  - inferops.gpustack.auth.requests
  - inferops.gpustack.attributes
  - inferops.gpustack.config_file
attributes:
  check_mode:
    support: full
    details: When the server or the cluster is not there in check mode, the token in an existing file counts as right.
  diff_mode:
    support: full
    details: Values of keys that end in V(token), V(password), V(secret) or V(key) are hidden.
options:
  cluster:
    description: Name of the cluster to join. May be left out when the server has one cluster.
    type: str
  config:
    description:
      - The rest of the worker's configuration, as GPUStack's config file has it. Underscores in the keys, not dashes.
      - Must not hold O(key), which this module writes.
    type: dict
    default: {}
  key:
    description: Key of the token in the file.
    type: str
    default: token
  server_url:
    description:
      - URL under which the worker reaches the server, written as C(server_url).
      - When unset, C(server_url) of O(config) is used, and then what the server tells. That is the address this module
        asked under, unless the server was given an external URL.
    type: str
"""

EXAMPLES = r"""
- name: Write the worker's config file, on the worker's host
  inferops.gpustack.registration_token:
    url: http://10.0.0.10
    password: "{{ gpustack_admin_password }}"
    cluster: lab
    dest: /etc/gpustack/worker.yaml
    server_url: http://10.0.0.10
    config:
      worker_name: h20-01
      worker_ip: 10.0.0.21
"""

RETURN = r"""
newer:
  description:
    - Whether the file was written after O(newer_than), by this call or an earlier one, or one of O(referenced_files)
      changed after it. A container that started then does not know their content yet.
  returned: when O(newer_than) is set
  type: bool
dest:
  description: Path of the file.
  returned: success
  type: str
  sample: /etc/gpustack/worker.yaml
server_url:
  description: URL written to the file. Null in check mode when it is unknown, because the server does not answer.
  returned: success
  type: str
  sample: http://10.0.0.10
"""

from ansible_collections.inferops.gpustack.plugins.module_utils import _args, _config_file
from ansible_collections.inferops.gpustack.plugins.module_utils._clusters import find_cluster
from ansible_collections.inferops.gpustack.plugins.module_utils._errors import GpustackError
from ansible_collections.inferops.gpustack.plugins.module_utils._secrets import secret_values


def wanted_content(params, token, told_url):
    content = dict(params["config"])
    server_url = params["server_url"] or content.get("server_url") or told_url
    if server_url:
        content["server_url"] = server_url
    if token is not None:
        content[params["key"]] = token
    return content


def finish(module, before, content):
    # The token is secret whatever its key is called.
    result = _config_file.finish(module, before, content, secret_keys=(module.params["key"],))
    return dict(result, server_url=content.get("server_url"))


def body(module):
    params = module.params
    if params["key"] in params["config"]:
        raise GpustackError(
            f"config holds {params['key']!r}, which this module reads from the server.",
            reason="Invalid",
            hint="Remove it from config.",
        )
    before = _config_file.read(params["dest"])
    _config_file.check_referenced(params["referenced_files"])
    client = _args.connect(module)
    try:
        cluster = find_cluster(client, params["cluster"])
    except GpustackError as error:
        if not module.check_mode or error.reason != "NotFound":
            raise
        module.warn(error.message)
        return when_unreachable(module)
    answer = client.get(f"/v2/clusters/{cluster['id']}/registration-token")
    module.no_log_values.add(answer["token"])
    return finish(module, before, wanted_content(params, answer["token"], answer.get("server_url")))


def when_unreachable(module):
    params = module.params
    before = _config_file.read(params["dest"])
    current = before[0] or {}
    return finish(module, before, wanted_content(params, current.get(params["key"]), current.get("server_url")))


def main():
    options = dict(
        _config_file.OPTIONS,
        cluster={"type": "str"},
        key={"type": "str", "default": "token", "no_log": False},
        server_url={"type": "str"},
    )
    # Secrets in config stay out of the system log, and out of the result.
    module = _args.api_module(options)
    module.no_log_values.update(secret_values(module.params["config"]))
    _args.run(module, body, when_unreachable)


if __name__ == "__main__":
    main()
