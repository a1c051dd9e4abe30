# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a message may show of text that people wrote: accounts of URLs and values inside names stay out."""

from __future__ import annotations

import json
import re

from ansible_collections.inferops.gpustack.plugins.module_utils._secrets import MASK, is_secret, masked_text

_URL_ACCOUNT = re.compile(r"(\w://)[^/\s]*@(?!sha[0-9]+:)")
# People write @ and / into passwords: everything before the last @ belongs to the account, whatever a URL allows.
_ACCOUNT = re.compile(r"^\s*([A-Za-z][A-Za-z0-9+.-]*:/+)?.*@(?!sha[0-9]+:)", re.DOTALL)
_NAME = re.compile(r"[A-Za-z0-9_.-]*", re.ASCII)


def without_account(text):
    """`https://***@host` of a URL or an address with an account; the @ of an image's digest stays."""
    return _ACCOUNT.sub(lambda match: f"{match[1] or ''}***@", str(text))


def value(named, written):
    """What a page may show of a setting: nothing that its name calls a secret, no account of a URL, at any depth."""
    if written is not None and not isinstance(written, bool) and is_secret(named):
        return MASK
    if isinstance(written, dict):
        return {key: value(key, item) for key, item in written.items()}
    if isinstance(written, list):
        return [value("", item) for item in written]
    return _text(written) if isinstance(written, str) else written


def _text(text):
    """JSON is looked into, as the engine does."""
    if text.lstrip().startswith(("{", "[")):
        try:
            return json.dumps(value("", json.loads(text)), ensure_ascii=False)
        except (ValueError, RecursionError):
            return MASK
    return urls(masked_text(text))


def urls(text):
    """A text in which no URL has an account."""
    return _URL_ACCOUNT.sub(r"\1***@", text)


def name(text):
    """A name up to where a value may have slipped in: `HF_TOKEN...` of `HF_TOKEN=value`."""
    text = str(text)
    shown = _NAME.match(text).group()
    return shown if shown == text else f"{shown}..."
