# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A GPUStack configuration file on a host, and how its container learns of changes."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  dest:
    description:
      - Absolute path of the file. It gets mode C(0600) and belongs to root.
      - A missing directory is created with mode C(0700).
    type: path
    required: true
  newer_than:
    description:
      - ISO 8601 time in UTC, such as the time the container started. Makes the module return RV(newer).
    type: str
  referenced_files:
    description:
      - Files on this host that O(config) names, or that a container gets beside it, such as certificates.
      - The module fails when one is missing, or holds a private key that users other than the owner and the group may
        use. RV(newer) covers them.
    type: list
    elements: path
    default: []
"""
