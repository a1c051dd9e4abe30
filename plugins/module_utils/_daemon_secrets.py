# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What must not be shown of a daemon.json: accounts in URLs, and what stands under names such as splunk-token."""

from __future__ import annotations

import json
import re

from ansible_collections.inferops.gpustack.plugins.module_utils._secrets import MASK, masked_text, secret_values

# Up to the last @, for people write passwords with one in it.
ACCOUNT = re.compile(r"(?<=://)[^/\s\"]+(?=@)")
# Of a proxy that is written without its scheme.
BARE_ACCOUNT = re.compile(r"(?<=\")[^\"\s/]+(?=@)")
# What stands under a name such as splunk-token, blanks included.
NAMED = re.compile(r'((?:token|passw(?:or)?d|secret|key)"\s*:\s*")[^"]+', re.IGNORECASE)
# Paths of files, whatever their names say.
PATHS = ("tlskey",)
# Hiding a shorter text wherever it stands would hide half of every result.
SHORTEST = 4


def secrets(document):
    """Every secret text in it."""
    found = secret_values({key: value for key, value in document.items() if key not in PATHS})
    for text in _texts(document):
        found.update(ACCOUNT.findall(text))
    # A proxy may be written without its scheme.
    for text in _texts(document.get("proxies")):
        if "://" not in text and "@" in text:
            found.add(text.rpartition("@")[0])
    return found


def long_enough(found):
    return {text for text in found if len(text) >= SHORTEST}


def shown(text, found):
    """JSON text with the secrets hidden."""
    for secret in sorted(found, key=len, reverse=True):
        written = json.dumps(secret, ensure_ascii=False)[1:-1]
        text = re.sub(rf'(?<=["/]){re.escape(written)}(?=["@])', MASK, text)
    return text


def hidden(text):
    """Any text, such as a line that is not JSON, with accounts hidden and what looks like a secret."""
    text = BARE_ACCOUNT.sub(MASK, ACCOUNT.sub(MASK, text))
    return masked_text(NAMED.sub(lambda found: found.group(1) + MASK, text))


def _texts(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [text for one in value for text in _texts(one)]
    return [value] if isinstance(value, str) else []
