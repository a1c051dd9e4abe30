# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Preflight: every problem of an inventory that can be seen without connecting to any host."""

from __future__ import annotations

import dataclasses
import re

from ansible_collections.inferops.gpustack.plugins.plugin_utils import (
    _accept,
    _check_addresses,
    _check_cards,
    _check_controller,
    _check_driver_wishes,
    _check_engine,
    _check_facts,
    _check_hosts,
    _check_images,
    _check_models,
    _check_password,
    _check_plan,
    _check_ports,
    _check_profiles,
    _check_proxy,
    _check_sources,
    _check_tls,
    _check_variables,
    _consequences,
    _findings,
)
from ansible_collections.inferops.gpustack.plugins.plugin_utils._site import Site

# What is wrong with the text explains what is wrong with the values, so it comes first.
_PARTS = (
    _check_sources,
    _check_variables,
    _check_hosts,
    _check_addresses,
    _check_ports,
    _check_tls,
    _check_password,
    _check_profiles,
    _check_models,
    _check_engine,
    _check_plan,
    _check_facts,
    _check_cards,
    _check_driver_wishes,
    _check_proxy,
    _check_images,
    _check_controller,
)


def check(inventory):
    """All findings, errors first. `inventory` is described at `_site.Site`."""
    site = Site(inventory)
    findings = []
    for part in _PARTS:
        findings.extend(part.check(site))
    findings = [_findings.without_accounts(_with_origin(finding, site.extra_vars)) for finding in findings]
    findings = _accept.apply(findings, site)
    return _findings.ordered(_consequences.left_out(findings))


def _with_origin(finding, extra_vars):
    """The command line wins over every file: without this hint people search the files for the value."""
    match = re.match(r"\w+", finding.where)
    name = match and match.group()
    if name not in extra_vars:
        return finding
    return dataclasses.replace(finding, where=f"{finding.where}, given with -e")
