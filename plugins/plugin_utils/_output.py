# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Who reads what Ansible prints?"""

from __future__ import annotations

from ansible import constants

_FOR_MACHINES = ("json", "jsonl", "null")


def for_people():
    """False where the output is one document for a program, which more text would break."""
    return constants.DEFAULT_STDOUT_CALLBACK.rpartition(".")[2] not in _FOR_MACHINES
