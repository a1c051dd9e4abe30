# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the hosts said when they were asked: who said nothing, and whose model directories differ."""

from __future__ import annotations

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _site_plan
from ansible_collections.inferops.gpustack.plugins.plugin_utils._findings import note, warning
from ansible_collections.inferops.gpustack.plugins.plugin_utils._site import listed


def check(site):
    yield from _not_read(site)
    yield from _differing(site)


def _not_read(site):
    for host in site.not_read:
        yield note(
            "host_not_read",
            host,
            "no facts: it could not be reached, or the look at it failed; Ansible says why, above",
            "its cards, driver and model directories",
            "make it reachable with Python 3.8 or newer and become, then plan again; until then it is planned from "
            "what the inventory says",
        )


def _differing(site):
    read = _site_plan.read_on_hosts(site)
    for where, _model, entry in site.deployments():
        accelerator = str(entry.get("accelerator"))
        for key in ("path", "draft_path"):
            path = entry.get(key)
            found = _by_content(read.get((accelerator, path), ())) if isinstance(path, str) else {}
            if len(found) > 1:
                yield warning(
                    "checkpoint_differs",
                    f"{where}.{key}",
                    "; ".join(f"{content} on {listed(hosts)}" for content, hosts in found.items()),
                    f"the same checkpoint on every {accelerator} host",
                    "copy it from a host that has the right one; GPUStack may start an instance on any of these hosts",
                )


def _by_content(checkpoints):
    """What lies in the directory, in words, to the hosts that have it."""
    found = {}
    for facts in checkpoints:
        found.setdefault(_content(facts), []).append(facts["read_on"])
    return found


def _content(facts):
    if not facts["readable"]:
        return "nothing that can be read"
    size = "weights of unknown size" if facts["weight_bytes"] is None else f"{facts['weight_bytes']:,} bytes of weights"
    draft = "with" if facts["dspark"]["ready"] else "without"
    return f"family {facts['family'] or 'unknown'}, format {facts['format']}, {size}, {draft} a DSpark draft"
