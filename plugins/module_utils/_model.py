# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A deployment as a table of fields (the API calls it a model), and the rules between them."""

from __future__ import annotations

import shlex

from ansible_collections.inferops.gpustack.plugins.module_utils import _resource
from ansible_collections.inferops.gpustack.plugins.module_utils._errors import GpustackError
from ansible_collections.inferops.gpustack.plugins.module_utils._resource import Field, same_members
from ansible_collections.inferops.gpustack.plugins.module_utils._revision import FILLED_UP
from ansible_collections.inferops.gpustack.plugins.module_utils._texts import texts
from ansible_collections.inferops.gpustack.plugins.module_utils._views import model_view

CATEGORIES = ["llm", "embedding", "image", "reranker", "speech_to_text", "text_to_speech", "unknown"]

#: The option that names a source, what the API calls that source, and the option that may go with it.
SOURCES = {
    "local_path": ("local_path", None),
    "huggingface_repo_id": ("huggingface", "huggingface_filename"),
    "model_scope_model_id": ("model_scope", "model_scope_file_path"),
}
SOURCE_KEYS = [key for main, source in SOURCES.items() for key in (main, source[1]) if key]


def written_keys_equal(wanted, current):
    if not wanted:
        return not any((current or {}).values())
    return all((current or {}).get(key) == value for key, value in wanted.items())


def prepare(payload, wanted, current):
    """Rules between fields. The server has them too, but some of its answers to a violation are a bare 500."""
    for main, (source, more) in SOURCES.items():
        if wanted.get(main):
            others = {key: None for key in SOURCE_KEYS if key not in (main, more)} if current else {}
            payload.update(others, source=source)
    if current is None:
        return payload
    for name in FILLED_UP:
        if wanted.get(name):
            payload[name] = dict(_kept(name, wanted[name], current.get(name) or {}), **wanted[name])
    if "backend" in wanted and wanted["backend"] != current.get("backend"):
        # A new engine cannot use the old one's image, version and command (T36); parameters are the user's to change.
        payload.update({key: None for key in ("run_command", "image_name", "backend_version") if not wanted.get(key)})
    if payload.get("image_name") and payload.get("backend") != "Custom":
        # The stored version counts too (T34).
        payload["backend_version"] = None
    if "replicas" not in wanted and (current.get("scaling_schedule") or {}).get("enabled"):
        # The schedule moves it, and a stale number would be refused.
        payload.pop("replicas", None)
    return payload


def _kept(name, wanted, current):
    """What the server has for keys that are not written."""
    if name == "gpu_selector" and wanted.get("gpu_ids", current.get("gpu_ids")) != current.get("gpu_ids"):
        # It wrote down how many devices a replica uses of those that were chosen before.
        return {key: value for key, value in current.items() if key != "gpus_per_replica"}
    return current


def update(client, path, payload):
    """GPUStack before 2.3 drops image and command of a deployment that had them, and takes them the second time."""
    model = client.put(path, payload)
    if any(payload.get(key) and not model.get(key) for key in ("image_name", "run_command")):
        model = client.put(path, payload)
    return model


def own_view(model):
    """Without what belongs to its instances, which the module has not read."""
    view = model_view(model, [])
    del view["instances"], view["outdated_instances"], view["rollout_pending"]
    return view


MODEL = _resource.Resource(
    kind="model",
    path="/v2/models",
    lookup="search",
    rename=True,
    fields=(
        Field("name", spec={"required": True}),
        Field("description", default_none=True),
        Field("local_path"),
        Field("huggingface_repo_id"),
        Field("huggingface_filename"),
        Field("model_scope_model_id"),
        Field("model_scope_file_path"),
        Field("backend", default_none=True),
        Field("backend_version", default_none=True, server_fills=True),
        Field("image_name", default_none=True),
        Field("run_command", default_none=True),
        Field("backend_parameters", type="list", default_none=True, spec={"elements": "str"}),
        Field("env", type="dict", default_none=True),
        Field("replicas", type="int"),
        Field("worker_selector", type="dict", default_none=True),
        Field("gpu_selector", type="dict", default_none=True, compare=written_keys_equal),
        Field("placement_strategy", spec={"choices": ["spread", "binpack"]}),
        Field(
            "categories",
            type="list",
            compare=same_members,
            server_fills=True,
            spec={"elements": "str", "choices": CATEGORIES},
        ),
        Field("distributed_inference_across_workers", type="bool"),
        Field("cpu_offloading", type="bool"),
        Field("extended_kv_cache", type="dict", default_none=True, compare=written_keys_equal),
        Field("speculative_config", type="dict", default_none=True, compare=written_keys_equal),
        Field("generic_proxy", type="bool"),
        Field("restart_on_error", type="bool"),
        Field("enable_model_route", type="bool", create_only=True, spec={"default": False}),
    ),
    echo=(
        "source",
        "meta",
        "gpu_type_selector",
        "native_anthropic_api",
        "scaling_schedule",
        "lora_list",
        "roles",
        "disaggregation",
        "gather",
        "revision_history_limit",
        "cluster_id",
    ),
    prepare=prepare,
    update=update,
    view=own_view,
)


def checked(wanted):
    """The options after the rules that need no server."""
    for option in ("env", "worker_selector"):
        if option in wanted:
            wanted[option] = texts(option, wanted[option])
    for parameter in wanted.get("backend_parameters", []):
        _check_parameter(parameter)
    _check_sources(wanted)
    if wanted.get("image_name") and wanted.get("backend_version"):
        raise GpustackError(
            "image_name and backend_version are both set.",
            reason="Invalid",
            hint="An image brings its own version: leave backend_version out.",
        )
    if wanted.get("replicas", 0) < 0:
        raise GpustackError(
            f"replicas is {wanted['replicas']}.", reason="Invalid", hint="Use 0 to stop the deployment, or more."
        )
    return wanted


def _check_parameter(parameter):
    """The server splits an element like a shell unless it holds JSON, and answers 500 when it cannot (T20)."""
    if parameter.startswith("{"):
        raise GpustackError(
            f"backend_parameters has {parameter!r}, which is no argument.",
            reason="Invalid",
            hint="Write each as one text, --name=value; YAML reads '- --name: value' as a dictionary.",
        )
    if not parameter.startswith("-") or "{" in parameter or "[" in parameter:
        return
    try:
        shlex.split(parameter)
    except ValueError as error:
        raise GpustackError(
            f"backend_parameters has {parameter!r}, which cannot be split like a shell: {error}.",
            reason="Invalid",
            hint="Balance the quotes, or quote the whole value.",
        ) from error


def _check_sources(wanted):
    named = [main for main in SOURCES if wanted.get(main)]
    if len(named) > 1:
        raise GpustackError(
            f"{' and '.join(named)} are both set.", reason="Invalid", hint="A deployment has one source: keep one."
        )
    for main, source in SOURCES.items():
        more = source[1]
        if more and wanted.get(more) and named != [main]:
            raise GpustackError(f"{more} is set without {main}.", reason="Invalid", hint=f"Set {main} too.")


def check_complete(wanted):
    if not any(wanted.get(main) for main in SOURCES):
        raise GpustackError(
            f"Deployment {wanted['name']} does not exist, and no source is set.",
            reason="Invalid",
            hint="Set local_path to the model directory on the workers, or "
            "huggingface_repo_id, or model_scope_model_id.",
        )
