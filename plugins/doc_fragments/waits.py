# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Modules that wait, and tell on the console what for."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  wait_slice:
    description:
      - Not for people. The collection's action plugin sets it, to run the module in slices and to print what is waited
        for in between. What a task says here is overwritten.
    type: dict
notes:
  - A wait of more than ten seconds prints what it waits for, at most every 10 seconds when that has changed and every
    minute when it has not. Tasks with C(async) or C(no_log) print nothing.
"""
