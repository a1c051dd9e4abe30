# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the models ask for: can it be planned, placed and started?"""

from __future__ import annotations

import posixpath
import re

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _plan, _schema
from ansible_collections.inferops.gpustack.plugins.plugin_utils._check_hosts import unknown_accelerator
from ansible_collections.inferops.gpustack.plugins.plugin_utils._findings import error, one_of
from ansible_collections.inferops.gpustack.plugins.plugin_utils._profiles import nearest
from ansible_collections.inferops.gpustack.plugins.plugin_utils._site import deployments, option

# GPUStack's rule for the names of routes; it is stricter than the one for deployments.
_ROUTE_NAME = re.compile(r"^[A-Za-z](?:[A-Za-z0-9_\-.:]*[A-Za-z0-9])?\Z")
# The parent of a model directory is mounted read-only at the same place in the containers, and hides what is there:
# below these whatever the depth,
_SYSTEM_TREES = (
    *("/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/proc", "/run", "/sbin", "/sys", "/usr"),
    *("/var/lib/docker", "/var/lib/gpustack", "/var/run"),
)
# and as these themselves, while a directory of one's own below them hides nothing.
_SYSTEM_DIRECTORIES = ("/", "/opt", "/root", "/tmp", "/var", "/var/lib")
# GPUStack splits arguments like a shell, and engines are started by scripts.
_SHELL_CHARACTERS = re.compile(r"""[\s"'`$\\]""")
_WINDOWS_MOUNT = re.compile(r"^/mnt/[a-z](/|$)")


def check(site):
    models = site.models()
    hosts = site.accelerator_hosts()
    yield from _duplicate_models(models)
    yield from _taken_names(models)
    for index, model in models:
        where = f"gpustack_models[{index}] ({model.get('name')})"
        yield from _model(site, model, where)
        first = {}
        for number, entry in deployments(model):
            yield from _deployment(site, model, entry, f"{where}.deployments[{number}]", hosts, first)
        yield from _weights(model, where)


def _duplicate_models(models):
    seen = {}
    for index, model in models:
        name = model.get("name")
        if isinstance(name, str) and name in seen:
            yield error(
                "model_duplicate",
                f"gpustack_models[{index}]",
                f"the name {name!r}, which gpustack_models[{seen[name]}] has too",
                "a name of its own for each model",
                "rename one, or move its deployments to the other entry",
            )
        elif isinstance(name, str):
            seen[name] = index


def _taken_names(models):
    """dspark_baseline makes a second name, which another model may have."""
    made = {
        _plan.route_name(model["name"], baseline=True): index
        for index, model in models
        if isinstance(model.get("name"), str) and len(_plan.variants(model)) > 1
    }
    for index, model in models:
        name = model.get("name")
        if isinstance(name, str) and name in made:
            yield error(
                "model_name_taken",
                f"gpustack_models[{index}] ({name}).name",
                f"{name!r}, the name that dspark_baseline of gpustack_models[{made[name]}] makes for its second route",
                "a name of its own for each route",
                "rename one of the two models, or take dspark_baseline out",
            )


def _model(site, model, where):
    name, family = model.get("name"), model.get("family")
    if isinstance(name, str) and not _ROUTE_NAME.match(name):
        yield error(
            "model_name_invalid",
            f"{where}.name",
            repr(name),
            "a letter first, a letter or digit last, between them letters, digits and _ - . :",
            f"write {_suggested(name)}; clients use this name",
            "GPUStack 2.3.0, names of model routes",
        )
    known = site.profiles.families()
    if isinstance(family, str) and family not in known:
        close = nearest(family, known)
        yield error(
            "family_unknown",
            f"{where}.family",
            repr(family),
            one_of(known),
            f"did you mean {close}?" if close else "use a known model family",
        )


def _suggested(name):
    suggested = re.sub(r"[^A-Za-z0-9_\-.:]+", "-", name).strip("_-.:")
    return suggested if _ROUTE_NAME.match(suggested) else "a name of this form, such as deepseek-v4"


def _deployment(site, model, entry, where, hosts, first):
    accelerator = entry.get("accelerator")
    if isinstance(accelerator, str) and isinstance(model.get("name"), str):
        yield from _placement(site, accelerator, where, hosts)
        if accelerator in first:
            yield error(
                "deployment_duplicate",
                where,
                f"a second {_plan.deployment_name(model['name'], accelerator)}; the first is {first[accelerator]}",
                "one deployment for each model and accelerator",
                "take one out; for more instances raise `replicas` of the other",
            )
        first.setdefault(accelerator, where)
    for key in ("path", "draft_path"):
        if isinstance(entry.get(key), str):
            yield from _path(entry[key], f"{where}.{key}")


def _placement(site, accelerator, where, hosts):
    known = site.profiles.accelerators()
    if accelerator not in known:
        yield unknown_accelerator(f"{where}.accelerator", accelerator, known)
    elif hosts is not None and accelerator not in hosts and not site.may_have(accelerator):
        yield error(
            "deployment_without_host",
            where,
            f"no worker host declares {accelerator}",
            f"at least one host in group gpustack_worker with gpustack_accelerator: {accelerator}",
            f"set gpustack_accelerator: {accelerator} on a worker, or take the deployment out",
        )


def _path(path, where):
    expected = "an absolute path without spaces, quotes, $, ` and \\, the same on the host and in the containers"
    if not path.startswith("/"):
        fix = "write the full path on the worker, starting with /"
        yield error("model_path_relative", where, repr(path), expected, fix)
    elif posixpath.normpath(path) != path or ":" in path:
        fix = f"write {posixpath.normpath(path)}" if ":" not in path else "rename the directory: Docker splits at :"
        yield error(
            "model_path_form",
            where,
            repr(path),
            "a path without //, /./, /../ and :, and without a slash at its end",
            fix,
        )
    elif _is_system(posixpath.dirname(path)):
        yield error(
            "model_path_system",
            where,
            f"{path!r}, directly below {posixpath.dirname(path)}",
            "another parent directory: the parent is mounted into the containers and hides what they have there",
            "move it, for example to /srv/models/" + (posixpath.basename(path) or "<model>"),
        )
    if _SHELL_CHARACTERS.search(path):
        fix = "rename the directory: the path goes through several command lines"
        yield error("model_path_spaces", where, repr(path), expected, fix)
    if _WINDOWS_MOUNT.match(path):
        fix = "copy the model into the Linux file system: Windows drives are slow there and vanish at restart"
        yield error("model_path_windows", where, repr(path), "a directory of the Linux file system", fix)


def _is_system(directory):
    return directory in _SYSTEM_DIRECTORIES or f"{directory}/".startswith(tuple(f"{tree}/" for tree in _SYSTEM_TREES))


def _weights(model, where):
    route = model.get("route")
    weights = route.get("weights") if isinstance(route, dict) else None
    if not isinstance(weights, dict):
        return
    where = f"{where}.route.weights"
    served = [entry["accelerator"] for unused, entry in deployments(model) if isinstance(entry.get("accelerator"), str)]
    if not served:
        # Deployments that are not there have their own finding.
        return
    spec = option("gpustack_models.route.weights")["values"]
    expected = f"a whole number from {spec['minimum']} to {spec['maximum']}"
    sound = True
    for accelerator, weight in weights.items():
        if accelerator not in served:
            yield error(
                "route_weight_without_deployment",
                f"{where}.{accelerator}",
                "no deployment of this model there",
                one_of(served),
                "take the weight out, or add a deployment for this accelerator",
            )
        if not _schema.fits(weight, spec):
            yield error(
                "key_value",
                f"{where}.{accelerator}",
                repr(weight),
                expected,
                f"write {expected}",
            )
            sound = False
    if not sound:
        return
    used = [weights.get(accelerator, 1) for accelerator in served]
    if used and not any(used):
        yield error(
            "route_weights_zero",
            where,
            "every weight is 0",
            "weights above 0",
            "give every deployment a weight above 0; with these weights nobody would be served",
        )
    elif not all(used):
        yield error(
            "route_weights_mixed",
            where,
            "zero and positive weights together",
            "weights above 0",
            "give it a weight above 0, or take the deployment with weight 0 out",
            "GPUStack 2.3.0 answers 422 to it",
        )
