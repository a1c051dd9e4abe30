# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which cluster a module means."""

from __future__ import annotations

from ansible_collections.inferops.gpustack.plugins.module_utils import _resource
from ansible_collections.inferops.gpustack.plugins.module_utils._errors import GpustackError

PATH = "/v2/clusters"


def find_cluster(client, name):
    """The cluster of this name, or the only one there is when no name is given."""
    clusters = client.list_all(PATH, name=name)
    found = [one for one in clusters if name is None or one["name"] == name]
    if len(found) == 1:
        return found[0]
    if found and name is not None:
        raise _resource.ambiguous(f"cluster {name}", found)
    if name is not None:
        raise GpustackError(
            f"There is no cluster {name!r} on {client.url}.",
            reason="NotFound",
            hint="Make it first with inferops.gpustack.cluster. A new server has none.",
        )
    names = ", ".join(sorted(one["name"] for one in found)) or "none"
    raise GpustackError(
        f"cluster is not set, and {client.url} has {len(found)} clusters ({names}) where one is needed.",
        reason="Ambiguous" if found else "NotFound",
        hint="Set cluster to one of them." if found else "Make one first with inferops.gpustack.cluster.",
    )
