# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One mistake is one finding: what only follows from another finding is left out, for its fix would be a wrong one."""

from __future__ import annotations

import re

# Kind to the kinds it follows from when they are about the same value.
_OF_ONE_VALUE = {
    "admin_password_weak": ("ini_comment", "jinja_comment"),
    "key_type": ("number_loses_digits",),
    "server_url_invalid": ("ini_comment",),
    "server_url_port": ("tls_url_mismatch",),
    "value_unreadable": ("jinja_comment",),
    "variable_type": ("ini_comment", "number_loses_digits"),
    "variable_value": ("ini_comment",),
    "worker_address_not_ip": ("ini_comment",),
}
# The same, wherever they are.
_OF_THE_SITE = {"deployment_without_host": ("worker_group_misnamed",)}
_ENDLESS_COMMENT = "end of comment"


def left_out(findings):
    """The findings without the consequences. What a site accepts will not be mended, so it explains nothing."""
    causes = {}
    for finding in findings:
        if not finding.accepted:
            causes.setdefault(finding.id, set()).add(_place(finding))
    return [finding for finding in findings if not _follows(finding, causes)]


def _follows(finding, causes):
    if any(cause in causes for cause in _OF_THE_SITE.get(finding.id, ())):
        return True
    if finding.id == "value_unreadable" and _ENDLESS_COMMENT not in finding.found:
        return False
    inside = re.compile(re.escape(_place(finding)) + r"(?:[.\[].*)?")
    return any(inside.fullmatch(place) for cause in _OF_ONE_VALUE.get(finding.id, ()) for place in causes.get(cause, ()))


def _place(finding):
    """`gpustack_models[0].dspark` of `gpustack_models[0].dspark (flash) on gs-01`."""
    return finding.where.split(maxsplit=1)[0]
