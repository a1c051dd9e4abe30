#!/usr/bin/python
# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An inference backend of a GPUStack server: one of its own with versions added, or a custom one."""

from __future__ import annotations

DOCUMENTATION = r"""
module: inference_backend
short_description: Manage an inference backend of a GPUStack server
version_added: 0.1.0
description:
  - Makes, changes or deletes a custom inference backend, or adds custom versions to a backend that GPUStack brings.
  - A backend that GPUStack brings is either built in (for example V(vLLM)) or a community backend.
    It can be changed, but neither made nor deleted.
  - The API replaces a backend as a whole. This module reads it first and sends back everything it was not told to
    change, so versions that other people added stay.
  - Commands have placeholders that GPUStack fills in, for example C({{model_path}}), C({{port}}), C({{model_name}}) and
    C({{worker_ip}}). Ansible would take them for its own variables, so write C(!unsafe) before such a text.
author:
  - InferOps contributors (@inferops)
extends_documentation_fragment:
  - inferops.gpustack.auth
  - inferops.gpustack.auth.requests
  - inferops.gpustack.attributes
  - inferops.gpustack.resource
attributes:
  check_mode:
    details: Without a server, a name that does not end in V(-custom) is taken for a backend that GPUStack brings.
options:
  name:
    description:
      - Name of the backend, in the spelling of GPUStack. It cannot change.
      - The name of a custom backend ends in V(-custom).
    type: str
    required: true
  state:
    description:
      - Whether the backend shall exist. A backend in use by a deployment with replicas cannot be deleted.
      - A backend that GPUStack brings cannot be absent. To remove its custom versions, set O(versions) to V({}) and
        O(comparisons) of O(versions) to V(strict). To hide a community backend, set O(enabled) to V(false).
    type: str
    choices: [present, absent]
    default: present
  versions:
    description:
      - Versions by their names. On a backend that GPUStack brings the names end in V(-custom), for example
        V(0.25.0-custom).
      - Each version is a dictionary of C(image_name), C(run_command), C(entrypoint), C(env) and C(custom_framework),
        which is what the image is built for, for example V(cuda), V(cann) or V(cpu).
        What a version does not name keeps what the server has, and an empty value clears it.
      - Compared with V(allow_more_present), so versions that are not named here stay.
        With V(strict) they are removed, and V({}) removes all.
      - A version in use by a deployment with replicas cannot be removed.
    type: dict
  default_version:
    description:
      - Version that deployments without one get. It must be one of the backend's versions.
      - Refused on built-in backends, where GPUStack chooses.
    type: str
  default_backend_parameters:
    description: Arguments of the engine that every deployment gets, in this order.
    type: list
    elements: str
  default_run_command:
    description: Command of versions that have none. See the placeholders above.
    type: str
  default_entrypoint:
    description: Entrypoint of versions that have none.
    type: str
  default_env:
    description: Environment variables of every version, with texts as values. They replace all the backend has.
    type: dict
  description:
    description: Text for people.
    type: str
  health_check_path:
    description: Path that answers 200 when the engine is ready, for example V(/health).
    type: str
  parameter_format:
    description: Whether an argument and its value are two words or are joined with V(=).
    type: str
    choices: ["", space, equal]
  common_parameters:
    description: Arguments that the user interface suggests.
    type: list
    elements: str
  enabled:
    description: Whether a community backend can be used. Every other backend is always enabled.
    type: bool
notes:
  - GPUStack 2.1 has neither O(parameter_format) nor O(common_parameters).
"""

EXAMPLES = r"""
- name: Add a version of our own to vLLM
  inferops.gpustack.inference_backend:
    url: http://10.0.0.10
    password: "{{ gpustack_admin_password }}"
    name: vLLM
    versions:
      0.25.0-custom:
        image_name: docker.io/vllm/vllm-openai:v0.25.0
        entrypoint: vllm serve
        custom_framework: cuda

- name: Remove every custom version of vLLM
  inferops.gpustack.inference_backend:
    url: http://10.0.0.10
    password: "{{ gpustack_admin_password }}"
    name: vLLM
    versions: {}
    comparisons:
      versions: strict

- name: Make a backend of our own
  inferops.gpustack.inference_backend:
    url: http://10.0.0.10
    password: "{{ gpustack_admin_password }}"
    name: llama-cpp-custom
    default_run_command: !unsafe "--model {{model_path}} --port {{port}} --alias {{model_name}} --host {{worker_ip}}"
    health_check_path: /health
    default_version: b6000
    versions:
      b6000:
        image_name: ghcr.io/ggml-org/llama.cpp:server-b6000
        custom_framework: cpu

- name: Delete it
  inferops.gpustack.inference_backend:
    url: http://10.0.0.10
    password: "{{ gpustack_admin_password }}"
    name: llama-cpp-custom
    state: absent
"""

RETURN = r"""
inference_backend:
  description:
    - The backend, with the options of this module as names, and C(id) and C(backend_source) (V(built_in), V(community)
      or V(custom)). C(versions) does not hold the versions that GPUStack brings.
    - Empty when it is absent. C(id) is null in check mode when it does not exist yet.
    - Values whose names look like secrets are masked.
  returned: success
  type: dict
actions:
  description: What was done, or would be done in check mode.
  returned: success
  type: list
  elements: str
  sample: ["update inference backend: versions"]
"""

from ansible_collections.inferops.gpustack.plugins.module_utils import _inference_backend as backends
from ansible_collections.inferops.gpustack.plugins.module_utils import _release, _resource, _resource_module
from ansible_collections.inferops.gpustack.plugins.module_utils._errors import GpustackError
from ansible_collections.inferops.gpustack.plugins.module_utils._texts import texts

RESOURCE = backends.RESOURCE
VERSION_OPTIONS = ("image_name", "run_command", "entrypoint", "custom_framework", "env")
#: Fields that GPUStack 2.1 does not have. It drops what it does not know (T24).
YOUNG_FIELDS = ("parameter_format", "common_parameters")


def checked(wanted):
    if "/" in wanted["name"]:
        raise _invalid(f"name is {wanted['name']!r}.", "The API cannot find a name with a slash: use a hyphen.")
    if "default_env" in wanted:
        wanted["default_env"] = texts("default_env", wanted["default_env"])
    if "versions" in wanted:
        wanted["versions"] = {str(name): _version(name, one) for name, one in wanted["versions"].items()}
    return wanted


def _version(name, written):
    option = f"versions.{name}"
    written = {} if written is None else written
    if not isinstance(written, dict):
        raise _invalid(f"{option} is {written!r}.", f"It must be a dictionary of {', '.join(VERSION_OPTIONS)}.")
    unknown = sorted(set(written) - set(VERSION_OPTIONS))
    if unknown:
        raise _invalid(
            f"{option} has {', '.join(map(str, unknown))}.", f"It can have {', '.join(VERSION_OPTIONS)}, nothing else."
        )
    version = {key: value for key, value in written.items() if value is not None}
    env = version.pop("env", None)
    version = texts(option, version)
    if env is not None:
        if not isinstance(env, dict):
            raise _invalid(f"{option}.env is not a dictionary.", "Write one line for each variable.")
        version["env"] = texts(f"{option}.env", env)
    return version


def check_name(client, name):
    """Only custom backends can be made, and the server says so one rule at a time."""
    if name.endswith("-custom") and name != "-custom":
        return
    known = sorted(one["backend_name"] for one in client.list_all(RESOURCE.path))
    alike = [one for one in known if one.lower() == name.lower()]
    if alike:
        raise _invalid(f"There is no inference backend {name}, but {alike[0]}.", f"Write {alike[0]}.")
    raise _invalid(
        f"There is no inference backend {name}, and a custom one cannot have this name.",
        f"Let it end in -custom, or use one that GPUStack brings: {', '.join(known)}.",
    )


def supported(client, wanted, current):
    """The options, after the rules that depend on the backend and on the server."""
    young = [name for name in YOUNG_FIELDS if name in wanted and name not in (current or {})]
    if young:
        _release.need(client, (2, 2), f"{', '.join(young)} of inference backend {wanted['name']}")
    source = backends.source_of(current) if current else "custom"
    if source == "built_in" and wanted.get("default_version"):
        raise _invalid(
            f"default_version of inference backend {wanted['name']} cannot be set, because it is built in.",
            "Leave it out, and set backend_version of the deployments instead.",
        )
    if source != "community" and wanted.get("enabled") is False:
        raise _invalid(
            f"Inference backend {wanted['name']} cannot be disabled.", "Only community backends can. Leave enabled out."
        )
    if source != "custom":
        misnamed = sorted(one for one in wanted.get("versions", {}) if not one.endswith("-custom"))
        if misnamed:
            raise _invalid(
                f"versions of inference backend {wanted['name']} has {', '.join(misnamed)}.",
                f"GPUStack brings this backend, so your versions end in -custom: {misnamed[0]}-custom.",
            )
    # It is true of all others, whatever the server has stored.
    return wanted if source == "community" else {key: wanted[key] for key in wanted if key != "enabled"}


def check_removable(current):
    if current is None or backends.source_of(current) == "custom":
        return
    name = current["backend_name"]
    disable = " To hide it, set enabled: false." if backends.source_of(current) == "community" else ""
    raise GpustackError(
        f"Inference backend {name} cannot be deleted, because GPUStack brings it.",
        reason="Invalid",
        hint=f"To remove its custom versions, set versions: {{}} and comparisons: {{versions: strict}}.{disable}",
    )


def _invalid(found, hint):
    return GpustackError(found, reason="Invalid", hint=hint)


def body(module, client):
    wanted = _resource_module.desired(module, RESOURCE, checked)
    name = module.params["name"]
    current = backends.find(client, name)
    if wanted is None:
        check_removable(current)
    else:
        if current is None:
            check_name(client, name)
        wanted = backends.over_present(supported(client, wanted, current), current)
        wanted = _resource.settled(RESOURCE, wanted, current, module.params["comparisons"])
    return _resource_module.report(RESOURCE, _resource.sync(client, RESOURCE, wanted, current, module.check_mode))


def when_unreachable(module):
    wanted = _resource_module.desired(module, RESOURCE, checked)
    current = None
    if wanted is not None and not wanted["name"].endswith("-custom"):
        current = {"id": None, "backend_name": wanted["name"], "backend_source": "built_in", "enabled": True}
    return _resource_module.report(RESOURCE, _resource.sync(None, RESOURCE, wanted, current, check_mode=True))


def main():
    _resource_module.run(RESOURCE, body=body, when_unreachable=when_unreachable)


if __name__ == "__main__":
    main()
