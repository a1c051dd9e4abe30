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
extends_documentation_fragment:
  - inferops.gpustack.attributes
  - inferops.gpustack.config_file
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
    details: Shows the keys and values, secrets as stars.
options:
  config:
    description: The whole content, in GPUStack's own names with underscores.
    type: dict
    required: true
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
