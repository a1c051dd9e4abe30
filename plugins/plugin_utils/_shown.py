# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a message may show of text that people wrote: accounts of URLs and values inside names stay out."""

from __future__ import annotations

import re

# People write @ and / into passwords: everything before the last @ belongs to the account, whatever a URL allows.
_ACCOUNT = re.compile(r"^\s*([A-Za-z][A-Za-z0-9+.-]*:/+)?.*@(?!sha[0-9]+:)", re.DOTALL)
_NAME = re.compile(r"[A-Za-z0-9_.-]*", re.ASCII)


def without_account(text):
    """`https://***@host` of a URL or an address with an account; the @ of an image's digest stays."""
    return _ACCOUNT.sub(lambda match: f"{match[1] or ''}***@", str(text))


def name(text):
    """A name up to where a value may have slipped in: `HF_TOKEN...` of `HF_TOKEN=value`."""
    text = str(text)
    shown = _NAME.match(text).group()
    return shown if shown == text else f"{shown}..."
