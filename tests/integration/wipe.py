# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Removes what playbooks made on a server, so that other tests find it as they expect it."""

from __future__ import annotations

import servers


def wipe(server, keep_clusters=()):
    """Everything but the administrator, the rig's key, what GPUStack brings, and these clusters with their workers."""
    api = server.api
    kept = {one["id"] for one in api.items("/v2/clusters") if one["name"] in keep_clusters}
    _delete(api, "/v2/model-routes")
    _delete(api, "/v2/models")
    api.wait("/v2/model-instances", lambda found: not found["items"])
    _delete(api, "/v2/model-files")
    _delete(api, "/v2/inference-backends", lambda one: one["backend_name"].endswith("-custom"))
    _delete(api, "/v2/workers", lambda one: one["cluster_id"] not in kept)
    _delete(api, "/v2/clusters", lambda one: one["id"] not in kept)
    _delete(api, "/v2/api-keys", lambda one: one["name"] != servers.KEY, user_id="*")
    _delete(api, "/v2/users", lambda one: one["username"] != server.username)


def _delete(api, path, which=lambda one: True, **params):
    for one in api.items(path, **params):
        if which(one):
            api.request("DELETE", f"{path}/{one['id']}")
