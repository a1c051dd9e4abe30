# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Steps that the tests of every module share. `run` is the fixture that runs a module against the server."""

from __future__ import annotations


def changes(run, module, /, **options):
    """Check mode predicts the change, the module makes it, and then has nothing left to do. Returns what it did."""
    predicted = run(module, check=True, **options)
    done = run(module, **options)
    again = run(module, **options)
    assert [predicted["changed"], done["changed"], again["changed"]] == [True, True, False]
    assert predicted["actions"] == done["actions"] != []
    assert predicted["diff"] == done["diff"] != {}
    assert (again["actions"], again["diff"]) == ([], {})
    return done


def stays(run, module, /, **options):
    """Neither check mode nor the module changes anything. Returns what it found."""
    predicted, done = run(module, check=True, **options), run(module, **options)
    assert [predicted["changed"], done["changed"]] == [False, False]
    return done


def refused(run, module, message, /, check=False, status=None, code=None, reason=None, endpoint=None, **options):
    """The module fails with this message, whose end is the hint, and with this `failure`."""
    result = run(module, check=check, ok=False, **options)
    hint = result["failure"].pop("hint")
    assert result["msg"] == message
    assert message.endswith(hint)
    assert result["failure"] == {"status": status, "code": code, "reason": reason, "endpoint": endpoint}
    return result
