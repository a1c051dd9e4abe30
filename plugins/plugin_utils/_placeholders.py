# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Secrets and digests that come from an example (data/placeholders.yml)."""

from __future__ import annotations

import re

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _data


def is_password(value):
    known = _data.load("placeholders.yml")["passwords"]
    plain = re.sub(r"[^a-z0-9]", "", value.lower())
    forms = {plain, plain.rstrip("0123456789"), re.sub(r"[0-9]", "", plain)}
    return not forms.isdisjoint(known["words"]) or _matches(value, known["patterns"])


def is_digest(value):
    return _matches(value, _data.load("placeholders.yml")["digests"]["patterns"])


def _matches(value, patterns):
    return any(re.search(pattern, value, re.IGNORECASE) for pattern in patterns)
