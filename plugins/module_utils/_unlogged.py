# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A module whose arguments stay out of the target's system log, and their secrets out of its result.

`no_log` alone is not enough for options that have options of their own: ansible-core stops collecting what to hide at
the first text where it expects a dictionary, and then shows all of it (measured with 2.19).
"""

from __future__ import annotations

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.inferops.gpustack.plugins.module_utils._secrets import masked, masked_text


class UnloggedModule(AnsibleModule):
    """For modules with options that may hold secrets anywhere inside.

    Every module logs its arguments to syslog, minus the values of options marked `no_log`; marking a whole dictionary
    would turn each of its values into stars wherever it appears. The constructor's `no_log` does not help: ansible-core
    overwrites it with the task's keyword (measured with 2.19).
    """

    def _log_invocation(self):
        """Log nothing."""

    def _return_formatted(self, kwargs):
        """`-vvv` shows the arguments: here with their secrets hidden."""
        kwargs.setdefault("invocation", {"module_args": _without_secrets(masked(self.params))})
        super()._return_formatted(kwargs)


def _without_secrets(value):
    """Also in a text that stands where a dictionary should."""
    if isinstance(value, dict):
        return {key: _without_secrets(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_without_secrets(one) for one in value]
    return masked_text(value) if isinstance(value, str) else value
