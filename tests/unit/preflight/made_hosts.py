"""Sites of hosts that were looked at, made from tests/bad_hosts (its README.md says how)."""

from __future__ import annotations

import copy
import pathlib

import yaml
from ansible_collections.inferops.gpustack.plugins.plugin_utils._site import Site

CORPUS = pathlib.Path(__file__).resolve().parents[2] / "bad_hosts"


def load(name):
    return yaml.safe_load((CORPUS / f"{name}.yml").read_text(encoding="utf-8"))


def over(below, above):
    """Mappings are merged key by key, anything else is replaced."""
    if not isinstance(below, dict) or not isinstance(above, dict):
        return above
    return {**below, **{key: over(below.get(key), value) for key, value in above.items()}}


def inventory(case=None, *, count=1, **more):
    """An inventory of `count` hosts like this one; `more` as in _site.Site."""
    case, sound = case or {}, load("sound")
    variables, facts = (over(sound[key], case.get(key, {})) for key in ("inventory", "facts"))
    names = [f"h20-{number:02}" for number in range(1, count + 1)]
    return {
        "groups": {"all": names, "gpustack_worker": names},
        "hosts": {name: copy.deepcopy(variables) for name in names},
        "facts": {name: copy.deepcopy(facts) for name in names},
        **more,
    }


def site(case=None, **more):
    return Site(inventory(case, **more))


def apart(made):
    """Machine ids of their own for the hosts of an inventory."""
    for number, facts in enumerate(made["facts"].values()):
        if facts:
            facts["machine_id"] = f"{number:032x}"
    return made
