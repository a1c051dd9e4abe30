# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Inference backends: their fields, how one is found, and what is left of the versions that GPUStack brings."""

from __future__ import annotations

import urllib.parse

from ansible_collections.inferops.gpustack.plugins.module_utils._errors import ApiError, GpustackError
from ansible_collections.inferops.gpustack.plugins.module_utils._resource import EMPTY, MORE_ALLOWED, Field, Resource
from ansible_collections.inferops.gpustack.plugins.module_utils._secrets import masked


def prepare(payload, wanted, current):
    # Without it a backend loses its protection against deletion (T30).
    payload["backend_source"] = source_of(current) if current else "custom"
    default, versions = payload.get("default_version"), payload.get("version_configs") or {}
    if default and source_of(payload) == "custom" and default not in versions:
        raise GpustackError(
            f"default_version of inference backend {payload['backend_name']} is {default}, which it does not have.",
            reason="Invalid",
            hint=f"It can be one of its versions: {', '.join(sorted(versions)) or 'there are none yet'}.",
        )
    return payload


def view(backend):
    shown = {one.name: backend.get(one.key) for one in RESOURCE.writable()}
    shown.update(
        id=backend.get("id"),
        backend_source=source_of(backend),
        versions=own_versions(backend),
        default_backend_parameters=shown["default_backend_parameters"] or [],
        default_env=shown["default_env"] or {},
    )
    return masked(shown)


RESOURCE = Resource(
    kind="inference backend",
    path="/v2/inference-backends",
    fields=(
        Field("name", api_name="backend_name", spec={"required": True}),
        Field("versions", "dict", api_name="version_configs", comparison=MORE_ALLOWED),
        Field("default_version", default_none=True),
        Field(
            "default_backend_parameters",
            "list",
            api_name="default_backend_param",
            default_none=True,
            spec={"elements": "str"},
        ),
        Field("default_run_command", default_none=True),
        Field("default_entrypoint", default_none=True),
        Field("default_env", "dict", default_none=True),
        Field("description", default_none=True),
        Field("health_check_path", default_none=True),
        Field("parameter_format", default_none=True, spec={"choices": ["", "space", "equal"]}),
        Field("common_parameters", "list", default_none=True, spec={"elements": "str"}),
        Field("enabled", "bool"),
    ),
    prepare=prepare,
    view=view,
)


def find(client, name):
    """The row of this name, without what its list computes, or None."""
    try:
        row = client.get(f"{RESOURCE.path}/backend_name/{urllib.parse.quote(name, safe='')}")
    except ApiError as error:
        # 400, where every other object answers 404 (T16).
        if error.status == 400 and "not found" in error.api_message:
            return None
        raise
    return dict(row, version_configs=own_versions(row))


def source_of(backend):
    """`built_in`, `community` or `custom`, also of a built-in one that an earlier PUT made forget it."""
    return backend.get("backend_source") or ("built_in" if backend.get("is_built_in") else "custom")


def own_versions(backend):
    """Versions without their empty fields.

    A PUT keeps the versions that a community backend came with, and spoils those of them that are sent back: they lose
    the frameworks they were built for.
    """
    brought = source_of(backend) == "community"
    return {
        name: {key: value for key, value in version.items() if value not in EMPTY}
        for name, version in (backend.get("version_configs") or {}).items()
        if not (brought and version.get("built_in_frameworks"))
    }


def over_present(wanted, current):
    """The options, with each version laid over the one of that name."""
    if "versions" not in wanted:
        return wanted
    present = (current or {}).get("version_configs") or {}
    laid = {name: dict(present.get(name, {}), **version) for name, version in wanted["versions"].items()}
    return dict(wanted, versions=own_versions({"version_configs": laid}))
