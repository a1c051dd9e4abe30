# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which keys hold secrets, and how to hide their values wherever they are nested."""

from __future__ import annotations

import re

MASK = "********"

SECRET_KEY = re.compile(r"(token|passwords?|passwd|secrets?|key|api[-_]?keys)$", re.IGNORECASE)
#: What comes before a secret in a line of text, such as `"token": "`, `--api-key `, `Bearer ` and `https://user:`.
SECRET_IN_TEXT = re.compile(
    r"""((?:token|password|passwd|secret|key)["']?\s*[=:]\s*\[?["']?"""
    r"""|--[\w-]*(?:token|password|passwd|secret|key)\s+"""
    r"""|\bbearer\s+"""
    r"""|://[^/\s:@]*:(?=[^/\s@]+@))"""
    r"""([^\s"',\]}@]+)""",
    re.IGNORECASE,
)
URL_WITH_PASSWORD = re.compile(r"^[a-z][a-z0-9+.-]*://[^/\s:@]*:[^/\s@]+@", re.IGNORECASE)
#: Hiding a smaller number would hide half of every result.
SMALLEST_SECRET = 1000


def is_secret(key, value=None):
    if SECRET_KEY.search(str(key)):
        return True
    return isinstance(value, str) and bool(URL_WITH_PASSWORD.match(value))


def masked(value):
    """The same structure with every secret hidden. An empty secret stays visible, because it is a finding."""
    if isinstance(value, dict):
        return {k: MASK if v and is_secret(k, v) else masked(v) for k, v in value.items()}
    if isinstance(value, list):
        return [MASK if _is_argument(name, one) else masked(one) for name, one in zip([None, *value], value)]
    # A command line, or a part of one.
    return masked_text(value) if isinstance(value, str) and "--" in value else value


def _is_argument(name, value):
    """Whether `value` is what follows a secret option in a list of arguments."""
    is_option = isinstance(name, str) and name.startswith("--")
    return is_option and is_secret(name) and not str(value).startswith("--")


def masked_text(text):
    """A line somebody else wrote, with what looks like a secret hidden."""
    return SECRET_IN_TEXT.sub(lambda found: found.group(1) + MASK, text)


def secret_values(value, secret=False):
    """Every secret text in the structure. What lies below a secret key is secret as a whole."""
    if isinstance(value, dict):
        found = [secret_values(one, secret or is_secret(key, one)) for key, one in value.items()]
    elif isinstance(value, list):
        found = [secret_values(one, secret) for one in value]
    elif secret and isinstance(value, (int, float)) and abs(value) >= SMALLEST_SECRET:
        # YAML reads digits without quotes as a number.
        return {str(value)}
    else:
        return {value} if secret and isinstance(value, str) and value else set()
    return set().union(*found)
