# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One mistake is one finding: what only follows from another finding is left out, for its fix would be a wrong one."""

from __future__ import annotations

import re

# (consequence, cause, what the consequence shows when it is one). Both are about the same value.
_OF_ONE_VALUE = (
    ("admin_password_weak", "ini_comment", ""),
    ("admin_password_weak", "jinja_comment", ""),
    ("key_type", "number_loses_digits", "number)"),
    ("server_url_invalid", "ini_comment", "#"),
    ("server_url_port", "tls_url_mismatch", ""),
    ("value_unreadable", "jinja_comment", "end of comment"),
    ("variable_type", "ini_comment", "#"),
    ("variable_type", "number_loses_digits", "number)"),
    ("variable_value", "ini_comment", "#"),
    ("worker_address_not_ip", "ini_comment", "#"),
)
# (consequence, cause), wherever they are.
_OF_THE_SITE = (("deployment_without_host", "worker_group_misnamed"),)


def left_out(findings):
    """The findings without the consequences. What a site accepts will not be mended, so it explains nothing."""
    causes = [finding for finding in findings if not finding.accepted]
    present = {finding.id for finding in causes}
    gone = {kind for kind, cause in _OF_THE_SITE if cause in present}
    left = [finding for finding in findings if finding.id not in gone]
    for kind, cause, sign in _OF_ONE_VALUE:
        places = [_place(finding) for finding in causes if finding.id == cause]
        suspects = [finding for finding in left if finding.id == kind and sign in finding.found] if places else []
        for place in {_place(finding) for finding in suspects}:
            inside = re.compile(re.escape(place) + r"(?:[.\[].*)?")
            here = [finding for finding in suspects if _place(finding) == place]
            # More of them than of the causes: one at least is a mistake of its own.
            if len(here) <= sum(bool(inside.fullmatch(each)) for each in places):
                left = [finding for finding in left if finding not in here]
    return left


def _place(finding):
    """`gpustack_models[0].dspark` of `gpustack_models[0].dspark (flash) on gs-01`."""
    return finding.where.split(maxsplit=1)[0]
