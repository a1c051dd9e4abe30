# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the module found on a host by itself, as far as the inventory does not make more or less of it."""

from __future__ import annotations

import dataclasses

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _check_driver_work
from ansible_collections.inferops.gpustack.plugins.plugin_utils._findings import SEVERITIES, Finding

_FIELDS = ("id", "severity", "where", "found", "expected", "fix", "source")
# A finding of the judgement, and those of the module that say less of the same.
_DRIVER_MISSING = ("nvidia_driver_missing", "ascend_driver_missing", "vendor_tool_missing")
_DRIVER_WORK = (
    *_DRIVER_MISSING,
    "ascend_firmware_incompatible",
    "nvidia_driver_mismatch",
    "nvidia_driver_not_loaded",
    "nvidia_fabric_manager_missing",
    "nvidia_fabric_manager_stopped",
    "nvidia_fabric_manager_version",
    "nvidia_nouveau_loaded",
)
_SAID_BETTER = {
    "driver_missing": _DRIVER_MISSING,
    "driver_not_installable": _DRIVER_MISSING,
    "driver_to_install": _DRIVER_WORK,
}
# Nothing runs on a declared accelerator without it.
_RAISED = ("nvidia_driver_not_loaded",)
# Nobody knows whether any card works: no card has told of itself.
_RAISED_IN_THE_DARK = ("vendor_tool_garbled",)
# One card of several: the others can serve.
_LOWERED = ("nvidia_card_unhealthy", "ascend_card_unhealthy")


def findings(host, judged):
    """`judged`: the kinds of the judgement about this host."""
    said = {kind for better in judged & _SAID_BETTER.keys() for kind in _SAID_BETTER[better]}
    for row in host.rows("findings"):
        found = {field: str(row.get(field) or "") for field in _FIELDS}
        if found["id"] not in said:
            finding = Finding(**{**found, "severity": _severity(host, found)})
            yield _replaced(finding) if finding.id == "engine_is_podman" and host.replaces_podman else finding


def _replaced(finding):
    fix = "nothing: site.yml will remove podman-docker and install Docker (gpustack_docker_remove_conflicting: true)"
    return dataclasses.replace(finding, severity="note", fix=fix)


def _severity(host, found):
    if found["id"] == "vendor_tool_fails" and (_is_rebooted(host) or _check_driver_work.is_left(host)):
        # A new driver or firmware works after that.
        return "warning"
    if host.driver_mode == "skip" and found["id"] in _DRIVER_WORK:
        return "note"
    if host.accelerator and (found["id"] in _RAISED or (found["id"] in _RAISED_IN_THE_DARK and _is_dark(host))):
        return "error"
    if found["id"] in _LOWERED and any(card.get("health") == "ok" for card in host.cards):
        return "warning"
    # Of a release that calls it by another name.
    return found["severity"] if found["severity"] in SEVERITIES else "warning"


def _is_rebooted(host):
    """Whether the host waits for a reboot that this run will come to, or will end at."""
    return bool(host.fact("reboot", "reasons")) and host.site.text(host.name, "gpustack_reboot") != "never"


def _is_dark(host):
    return bool(host.cards) and all(card.get("health") == "unknown" for card in host.cards)
