# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One mistake is one finding: what only follows from another finding is left out, for its fix would be a wrong one."""

from __future__ import annotations

import re

# What is wrong with the text of a value, and what a finding about the value shows when it follows from that.
_TEXT = {"ini_comment": "#", "jinja_comment": "end of comment", "number_loses_digits": "number)"}
# Findings that do not show the value.
_SECRET = ("admin_password_weak",)
# (consequence, cause), both about the same value.
_OF_ONE_VALUE = (("server_url_port", "tls_url_mismatch"),)
# (consequence, cause), wherever they are.
_OF_THE_SITE = (("deployment_without_host", "worker_group_misnamed"),)
# About a name that is not known where its profile lacks something, which has a finding.
_UNKNOWN_NAMES = ("accelerator_unknown", "family_unknown", "profile_pair_unknown")


def left_out(findings):
    """The findings without the consequences. What a site accepts will not be mended, so it explains nothing."""
    causes = [finding for finding in findings if not finding.accepted]
    present = {finding.id for finding in causes}
    gone = {kind for kind, cause in _OF_THE_SITE if cause in present}
    incomplete = {_place(cause).rpartition(".")[2] for cause in causes if cause.id == "profile_incomplete"}
    left = [finding for finding in findings if finding.id not in gone and not _names(finding) & incomplete]
    explaining = [finding for finding in causes if finding.id in (*_TEXT, *(cause for unused, cause in _OF_ONE_VALUE))]
    pairs = [(finding, cause) for finding in left for cause in explaining if _follows(finding, cause)]
    for kind, place in dict.fromkeys((finding.id, _place(finding)) for finding, unused in pairs):
        here = {finding for finding, unused in pairs if (finding.id, _place(finding)) == (kind, place)}
        # More of them than of the causes: one at least is a mistake of its own.
        if len(here) <= len({cause for finding, cause in pairs if finding in here}):
            left = [finding for finding in left if finding not in here]
    return left


def _names(finding):
    """The names that a finding says are not known: of `'deepseek_v4__ours'` both."""
    return set(finding.found.strip("'").split("__")) if finding.id in _UNKNOWN_NAMES else set()


def _follows(finding, cause):
    place, of_cause = _place(finding), _place(cause)
    if finding.id in _TEXT or (of_cause != place and not of_cause.startswith((f"{place}.", f"{place}["))):
        return False
    if cause.id not in _TEXT:
        return (finding.id, cause.id) in _OF_ONE_VALUE
    hosts = _hosts(cause)
    if hosts:
        # A line of this host. What Ansible dropped from it is not in the value any more, so there is no sign of it.
        return _meet(hosts, _hosts(finding))
    return finding.id in _SECRET or _TEXT[cause.id] in finding.found


def _hosts(finding):
    """The hosts of `gpustack_worker_name on h20-01, h20-02 in hosts.ini:3`."""
    match = re.search(r" on (.+?)(?: in .*|, given with -e)?$", finding.where)
    return match.group(1).split(", ") if match else []


def _meet(some, others):
    # A range of hosts and the rest of a long list stand for any host.
    any_host = any("[" in host or re.search(r" and \d+ more$", host) for host in some + others)
    return any_host or not set(some).isdisjoint(others)


def _place(finding):
    """`gpustack_models[0].dspark` of `gpustack_models[0].dspark (flash) on gs-01`."""
    return finding.where.split(maxsplit=1)[0].rstrip(",")
