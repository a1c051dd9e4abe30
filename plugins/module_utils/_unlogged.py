# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A module whose arguments stay out of the target's system log, and their secrets out of its result."""

from __future__ import annotations

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.inferops.gpustack.plugins.module_utils._secrets import masked


class UnloggedModule(AnsibleModule):
    """For modules with a dictionary option that may hold secrets anywhere inside.

    Every module logs its arguments to syslog, minus the values of options marked `no_log`; marking a whole dictionary
    would turn each of its values into stars wherever it appears. The constructor's `no_log` does not help: ansible-core
    overwrites it with the task's keyword (measured with 2.19).
    """

    def _log_invocation(self):
        """Log nothing."""

    def _return_formatted(self, kwargs):
        """`-vvv` shows the arguments: here with their secrets hidden."""
        kwargs.setdefault("invocation", {"module_args": masked(self.params)})
        super()._return_formatted(kwargs)
