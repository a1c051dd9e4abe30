# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: launch_args
short_description: Launch arguments of an engine as a list of texts, and back
version_added: 0.1.0
author: InferOps contributors (@inferops)
description:
  - Writes a mapping of flags as the list that GPUStack takes as C(backend_parameters), or reads such a list.
  - A mapping comes back from its own list, but for texts that look like numbers or JSON, which come back as such, and
    for C(no-x) set to V(true), which comes back as C(x) set to V(false).
positional: _input, platform
options:
  _input:
    description:
      - Flag to value. V(true) gives C(--flag), V(false) C(--no-flag), a mapping or list JSON, V(null) nothing.
      - Or a list of arguments, each C(--flag) or C(--flag=value).
    type: raw
    required: true
  platform:
    description:
      - Order the arguments as the plan orders them for this platform. Without it they keep the order of O(_input).
    type: str
    choices: [cuda, cann]
seealso:
  - plugin: inferops.gpustack.launch_env
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Write arguments
  ansible.builtin.debug:
    msg: "{{ {'max-model-len': 300000, 'speculative-config': {'method': 'dspark'}} | inferops.gpustack.launch_args }}"
    # ['--max-model-len=300000', '--speculative-config={"method":"dspark"}']

- name: Read them
  ansible.builtin.debug:
    msg: "{{ (deployment.backend_parameters | inferops.gpustack.launch_args)['max-model-len'] }}"
"""

RETURN = r"""
_value:
  description: The list of arguments, or the mapping of flags.
  type: raw
"""

from ansible.errors import AnsibleFilterError
from ansible_collections.inferops.gpustack.plugins.plugin_utils import _arguments, _data
from ansible_collections.inferops.gpustack.plugins.plugin_utils._layers import Settings

_PLATFORMS = _data.names("platforms")


def launch_args(arguments, platform=None):
    if platform is not None and platform not in _PLATFORMS:
        raise AnsibleFilterError(f"launch_args: platform is {platform!r}; write {' or '.join(_PLATFORMS)}")
    given = _data.plain(arguments)
    try:
        if isinstance(given, list):
            return dict(_arguments.parse(element) for element in given)
        if isinstance(given, dict):
            return _written(given, _data.load(f"platforms/{platform}.yml")["order"] if platform else ())
    except _arguments.ArgumentError as error:
        raise AnsibleFilterError(f"launch_args: {error}") from error
    raise AnsibleFilterError(
        f"launch_args: {type(given).__name__} given; give a mapping of flags, or a list of arguments"
    )


def _written(flags, order):
    named = {_arguments.normalised(flag): value for flag, value in flags.items()}
    settings = Settings.of("", named, key=_arguments.identity)
    return [_arguments.render(written.name, written.value) for written, unused in settings.items(order)]


class FilterModule:
    def filters(self):
        return {"launch_args": launch_args}
