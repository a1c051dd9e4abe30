# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Beside the playbooks, so that they end with a summary without any setting. A link would not ship."""

from __future__ import annotations

from ansible_collections.inferops.gpustack.plugins.callback.summary import DOCUMENTATION, CallbackModule

__all__ = ["DOCUMENTATION", "CallbackModule"]
