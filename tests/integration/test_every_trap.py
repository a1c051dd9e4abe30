# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs last: a trap without a row, without a test or with a test that did not pass is a failure."""

from __future__ import annotations

import pytest


@pytest.mark.every_trap
def test_every_trap(trap_problems):
    if trap_problems is None:
        pytest.skip("only some of the tests were asked for")
    assert not trap_problems, "\n".join(trap_problems)
