# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What GPUStack wants of a password, as `_validate_password` in schemas/users.py of GPUStack 2.3.0 has it.

It wants no length. Releases before 2.3 do not count the full stop.
"""

from __future__ import annotations

import re

SYMBOLS = "!@#$%^&*_+."


def missing(password):
    """What the password does not have, in words."""
    wanted = {
        "an upper-case letter": re.search(r"[A-Z]", password),
        "a lower-case letter": re.search(r"[a-z]", password),
        "a digit": re.search(r"[0-9]", password),
        f"one of {SYMBOLS}": any(symbol in password for symbol in SYMBOLS),
    }
    return [what for what, met in wanted.items() if not met]
