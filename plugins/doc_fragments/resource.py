# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What every module has that manages an object of GPUStack."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  comparisons:
    description:
      - How options are compared with what the server has, as a dictionary of option and comparison.
      - V(strict) wants the same value. V(ignore) uses the option only when the object is made.
        V(allow_more_present) is for lists and dictionaries, and leaves members alone that the option does not name.
      - The key V(*) stands for every option that can be compared that way. Other keys go before it.
      - V(strict) is the default of every option, unless the option says otherwise.
    type: dict
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
notes:
  - An option that is not set is not managed and keeps what the server has. An empty value clears it.
"""

    RENAME = r"""
options:
  new_name:
    description:
      - Name the object shall have. It is found by either name, so the task changes nothing when it is run again.
      - An object that has neither name is made with this one.
    type: str
"""
