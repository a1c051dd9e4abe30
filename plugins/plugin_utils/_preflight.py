# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Preflight: every problem of an inventory that can be seen without connecting to any host."""

from __future__ import annotations

from ansible_collections.inferops.gpustack.plugins.plugin_utils import (
    _check_hosts,
    _check_images,
    _check_models,
    _check_variables,
    _findings,
)
from ansible_collections.inferops.gpustack.plugins.plugin_utils._site import Site


def check(inventory):
    """All findings, errors first. `inventory` is described at `_site.Site`."""
    site = Site(inventory)
    findings = []
    for part in (_check_variables, _check_hosts, _check_models, _check_images):
        findings.extend(part.check(site))
    return _findings.ordered(findings)
