#!/usr/bin/python
# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: config_file
short_description: Write a GPUStack configuration file that holds secrets
version_added: 0.1.0
author:
  - InferOps contributors (@inferops)
description:
  - Writes a dictionary as a file for C(gpustack start --config-file), with mode C(0600), owned by root, in one step.
  - Secrets never appear in the result or in a diff. Keys that end in C(password), C(token), C(secret) or C(key) count
    as secret, and so do URLs with a password.
  - The file is JSON text below a comment line, which GPUStack reads as YAML.
attributes:
  check_mode:
    support: full
    description: Says whether the file would change.
  diff_mode:
    support: full
    description: Shows the keys and values, secrets as stars.
options:
  dest:
    description:
      - Absolute path of the file.
      - A missing directory is created with mode C(0700).
    type: path
    required: true
  config:
    description: The whole content, in GPUStack's own names with underscores.
    type: dict
    required: true
  newer_than:
    description:
      - ISO 8601 time in UTC, such as the time a container started. Makes the module return RV(newer).
    type: str
  referenced_files:
    description:
      - Files on this host that O(config) names, or that a container gets beside it, such as certificates.
      - The module fails when one is missing, or holds a private key that users other than the owner and the group may
        use. RV(newer) covers them.
    type: list
    elements: path
    default: []
"""

EXAMPLES = r"""
- name: Write the server's configuration
  inferops.gpustack.config_file:
    dest: /etc/gpustack/server/config.yaml
    config:
      bootstrap_password: "{{ gpustack_admin_password }}"
"""

RETURN = r"""
dest:
  description: Path of the file.
  returned: success
  type: str
  sample: /etc/gpustack/server/config.yaml
newer:
  description:
    - Whether the file was written after O(newer_than), by this call or an earlier one, or one of O(referenced_files)
      changed after it. A container that started then does not know their content yet.
  returned: when O(newer_than) is set
  type: bool
"""

from ansible_collections.inferops.gpustack.plugins.module_utils import _config_file
from ansible_collections.inferops.gpustack.plugins.module_utils._errors import GpustackError
from ansible_collections.inferops.gpustack.plugins.module_utils._secrets import secret_values
from ansible_collections.inferops.gpustack.plugins.module_utils._unlogged import UnloggedModule


def main():
    options = dict(_config_file.OPTIONS, config={"type": "dict", "required": True})
    # Secrets in config stay out of the system log, and out of the result.
    module = UnloggedModule(argument_spec=options, supports_check_mode=True)
    module.no_log_values.update(secret_values(module.params["config"]))
    try:
        before = _config_file.read(module.params["dest"])
        module.exit_json(**_config_file.finish(module, before, module.params["config"]))
    except GpustackError as error:
        module.fail_json(msg=error.for_people(), failure=error.failure())


if __name__ == "__main__":
    main()
