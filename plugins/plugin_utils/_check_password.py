# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The password of the account admin: there, a site's own, and strong enough. Its value never reaches a message."""

from __future__ import annotations

from ansible_collections.inferops.gpustack.plugins.module_utils import _password_policy
from ansible_collections.inferops.gpustack.plugins.plugin_utils import _placeholders
from ansible_collections.inferops.gpustack.plugins.plugin_utils._findings import error

_NAME = "gpustack_admin_password"
_LENGTH = 10


def check(site):
    for host in site.servers[:1]:
        value = site.hosts[host].get(_NAME)
        if site.missing(host, _NAME):
            yield _finding("admin_password_missing", "nothing", host)
        elif not isinstance(value, str):
            # Its type has its own finding.
            continue
        elif value != value.strip():
            yield _finding("admin_password_weak", "white space before or after it (a line break, for one)", host)
        elif _placeholders.is_password(value):
            yield _finding("admin_password_placeholder", "a placeholder (not shown)", host)
        elif _weaknesses(value):
            yield _finding("admin_password_weak", "a password without " + ", ".join(_weaknesses(value)), host)


def _weaknesses(password):
    too_short = [f"{_LENGTH} characters"] if len(password) < _LENGTH else []
    return too_short + _password_policy.missing(password)


def _finding(kind, found, host):
    return error(
        kind,
        f"{_NAME} on {host}",
        found,
        f"at least {_LENGTH} characters with upper, lower, digit and one of {_password_policy.SYMBOLS}",
        f"set {_NAME} to a password of your own, in a file encrypted with ansible-vault",
        "GPUStack 2.3.0 password policy; the length is this collection's",
    )
