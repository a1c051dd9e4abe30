# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The plan of a whole inventory: what preflight judges, and the document plan.yml writes."""

from __future__ import annotations

import dataclasses
import re

from ansible_collections.inferops.gpustack.plugins.plugin_utils import (
    _checkpoint_facts,
    _data,
    _findings,
    _images,
    _plan,
    _schema,
    _shown,
    _site,
)
from ansible_collections.inferops.gpustack.plugins.plugin_utils._arguments import render

# What a plan is made of beside the models.
_MADE_OF = ("gpustack_profiles", "gpustack_engine_images")
#: Instead of a host's name, where the controller has the checkpoint as well.
THIS_MACHINE = "this machine"
_OTHER_DEPLOYMENT = re.compile(r"^deployments\[(\d+)\]")


@dataclasses.dataclass(frozen=True)
class Planned:
    """One deployment of the plan, and the place in the inventory it comes from."""

    where: str
    model: dict
    entry: dict
    plan: dict


def of_site(site):
    """Every deployment that can be planned. What keeps one from it has a finding of its own."""
    if not hasattr(site, "planned"):
        site.planned = list(_planned(site))
    return site.planned


def _planned(site):
    known_variables = _site.known_variables()
    if not all(_schema.fits(site.value(name), known_variables[name]) for name in _MADE_OF):
        return
    known = _plan.Known(
        hosts=site.accelerator_hosts(),
        rewrites=_texts(site.value("gpustack_registry_rewrites")),
        lock=_digests(site.value("gpustack_artefacts_lock")),
        profiles=_data.mapping(site.value("gpustack_profiles")),
        engine_images=_data.mapping(site.value("gpustack_engine_images")),
        checkpoints=_checkpoints(site),
    )
    for index, model in site.models():
        for number, entry in _site.deployments(model):
            if not _is_sound(model, number):
                continue
            where = f"gpustack_models[{index}] ({model['name']}).deployments[{number}]"
            for baseline in _plan.variants(model):
                try:
                    yield Planned(where, model, entry, _plan.deployment(model, entry, known, baseline))
                except _plan.PlanError:
                    break


def _is_sound(model, number):
    """Whether every key that this deployment is made of has the shape it should have."""
    spec = {"type": "dict", "options": _site.known_variables()["gpustack_models"]["options"]}
    for problem in _schema.problems(model, spec):
        of_deployment = _OTHER_DEPLOYMENT.match(problem.path)
        if problem.kind != "unknown" and (not of_deployment or int(of_deployment.group(1)) == number):
            return False
    return True


def read_on_hosts(site):
    """(accelerator, path) to the facts of what lies there, one of each host that looked."""
    read = {}
    for host, facts in site.facts.items():
        for path, found in (facts.get("checkpoints") or {}).items():
            key = site.text(host, "gpustack_accelerator"), path
            read.setdefault(key, []).append(_checkpoint_facts.facts({**(found or {}), "path": path}, host))
    return read


def _checkpoints(site):
    """(accelerator, path) to the facts of what lies there: as its hosts see it, else as this machine does."""
    # Where the hosts disagree there is a finding, and the plan is made with what can be read.
    known = {
        key: next((facts for facts in each if facts["readable"]), each[0]) for key, each in read_on_hosts(site).items()
    }
    for _where, _model, entry in site.deployments():
        for path in (entry.get("path"), entry.get("draft_path")):
            if isinstance(path, str) and path in site.checkpoints:
                facts = _checkpoint_facts.facts(site.checkpoints[path], THIS_MACHINE)
                known.setdefault((str(entry.get("accelerator")), path), facts)
    return known


def document(site, findings, plan_from):
    """The content of plan.json. Holds no secret, and nothing that differs between two runs over the same site."""
    deployments = [_for_people(planned) for planned in of_site(site)]
    return {
        "collection": "inferops.gpustack",
        "version": _data.collection_version(),
        "plan_from": plan_from,
        "inventory": [str(source) for source in site.asked],
        "deployments": deployments,
        "routes": _routes(site),
        "images": _plan.images(deployments),
        "hosts": hosts(site),
        "findings": [finding.as_dict() for finding in findings],
        "summary": _findings.summary(findings),
    }


def hosts(site):
    """Every worker host: what it declares, and the driver where it was read."""
    known = site.profiles
    return [
        {
            "name": host,
            "accelerator": site.text(host, "gpustack_accelerator"),
            "cards": site.cards_of(host) if site.text(host, "gpustack_accelerator") in known.accelerators() else None,
            "driver": driver(site.facts.get(host)),
            "read": host in site.facts,
        }
        for host in site.workers
    ]


def driver(facts):
    """The version of the NVIDIA driver for Linux, the one after the next restart where a newer one waits for it."""
    facts = _data.mapping(facts)
    # Under WSL it is the driver of Windows, which has numbers of its own.
    nvidia = {} if facts.get("wsl") else _data.mapping(_data.mapping(facts.get("drivers")).get("nvidia"))
    return next((nvidia[key] for key in ("installed", "userspace", "loaded") if nvidia.get(key)), None)


def _for_people(planned):
    """A deployment without what may be secret: the environment that people wrote, and masked arguments."""
    shown = dict(planned.plan)
    values = [dict(value, name=_shown.name(value["name"])) for value in planned.plan["values"]]
    shown["values"] = values
    shown["parameters"] = [render(each["name"], each["value"]) for each in values if each["kind"] == "argument"]
    shown["env"] = {each["name"]: str(each["value"]) for each in values if each["kind"] == "variable"}
    shown["image"] = _shown.without_account(planned.plan["image"])
    for key in ("path", "draft_path"):
        shown[key] = shown[key] and _shown.urls(shown[key])
    shown["directories"] = [_shown.urls(path) for path in shown["directories"]]
    shown.pop("config")
    for key in ("checkpoint", "draft"):
        if shown[key]:
            shown[key] = {name: value for name, value in shown[key].items() if name != "config"}
    return shown


def _routes(site):
    """The routes of the models all of whose deployments can be planned."""
    by_model = {}
    for planned in of_site(site):
        by_model.setdefault(planned.model["name"], (planned.model, []))[1].append(planned.plan)
    routes = []
    for model, plans in by_model.values():
        for baseline in (False, True):
            members = [each for each in plans if each["baseline"] is baseline]
            if members:
                routes.append(_plan.route(model, members, baseline))
    return routes


def _digests(lock):
    return {name: digest for name, digest in _texts(lock).items() if _images.DIGEST.match(digest)}


def _texts(value):
    """The entries of a mapping that are texts; the others have findings of their own."""
    return {key: item for key, item in _data.mapping(value).items() if isinstance(key, str) and isinstance(item, str)}
