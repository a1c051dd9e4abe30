# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every kind of finding there is: those of the checks written in Python, and those of the rules about the plan."""

from __future__ import annotations

import functools

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _data

_KEYS = ("title", "title_zh", "severity", "acceptable", "of_hosts")


@functools.lru_cache(maxsize=None)
def kinds():
    """Id to {title, title_zh, severity, acceptable, of_hosts}. Shared between callers: do not change it.

    `of_hosts` is there, and true, where only a look at the hosts can find it.
    """
    rules = {rule["id"]: {key: rule[key] for key in _KEYS if key in rule} for rule in _data.load("rules.yml")}
    return {**_data.load("findings.yml"), **rules}
