# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Names and types of everything a person wrote."""

from __future__ import annotations

import copy
import dataclasses

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.module_utils.errors import ArgumentValueError
from ansible_collections.inferops.gpustack.plugins.plugin_utils import _knobs, _schema
from ansible_collections.inferops.gpustack.plugins.plugin_utils._findings import error, one_of, warning
from ansible_collections.inferops.gpustack.plugins.plugin_utils._profiles import nearest
from ansible_collections.inferops.gpustack.plugins.plugin_utils._site import (
    FACTS,
    PREFIX,
    WORKER_GROUP,
    is_ours,
    known_variables,
    listed,
    role_option,
    role_prefixes,
)


def check(site):
    yield from _unreadable(site)
    yield from _unknown(site)
    for name, spec in known_variables().items():
        variants = site.variants(name)
        for value, hosts in variants:
            yield from _shape(site, name, spec, value, hosts)
        if spec["scope"] == "site":
            yield from _differs(site, name, variants)
    yield from _role_options(site)
    yield from _version(site)


def _unreadable(site):
    groups = {}
    for host, values in site.unreadable.items():
        for name, reason in values.items():
            if known_variables()[name].get("used_by") == WORKER_GROUP and host not in site.workers:
                continue
            groups.setdefault((name, reason), []).append(host)
    for (name, reason), hosts in groups.items():
        if "hostvars" in reason:
            fix = (
                "do not use hostvars inside this variable: it is undefined when another host reads the variable; "
                "write the value itself, in group_vars/all.yml"
            )
        elif "cannot be decrypted" in reason:
            fix = "give --ask-vault-pass or --vault-password-file, or another password: this value has its own"
        elif "levels" in reason:
            fix = "write the value itself, without nesting"
        elif "end of comment" in reason:
            fix = "take {# out of the value, or write !unsafe before the value in a YAML file"
        elif "not shown" in reason:
            fix = (
                "for a password with {{ or {% in it write !unsafe before the value in a YAML file; "
                "else define what the template needs on these hosts, or write the value itself"
            )
        else:
            fix = "define what the template needs on these hosts, or write the value itself"
        yield error("value_unreadable", f"{name} on {listed(hosts)}", reason, "a value that can be resolved", fix)


def _unknown(site):
    known = set(known_variables()).union(FACTS, *role_prefixes().values())
    groups = {}
    for host, values in site.hosts.items():
        for name in values:
            if name not in known and is_ours(name):
                groups.setdefault(name, []).append(host)
    for name, hosts in groups.items():
        yield _unknown_name(name, f"{name} on {listed(hosts)}")


def _unknown_name(name, where):
    knob = _knobs.finding(name, "variable", where) if name.startswith(PREFIX) else None
    if knob:
        return knob
    close = _nearest_name(name)
    if close:
        return error("variable_unknown", where, "an unknown name", "a known name", f"did you mean {close}?")
    if name.startswith(PREFIX):
        fix = "take it out; docs/inventory.md lists every name"
        return error("variable_unknown", where, "an unknown name", "a known name", fix)
    # `verify_` and the like are words of everyone's; such a name may well belong to somebody else.
    role = _role_prefix(name)[:-1]
    fix = f"take it out if it was meant for the role {role}; roles/{role}/README.md lists the role's options"
    return warning("role_option_unknown", where, "a name with a role's prefix", f"an option of the role {role}", fix)


def _nearest_name(name):
    if name.startswith(PREFIX):
        known = [*known_variables(), *(option for each in role_prefixes().values() for option in each)]
        close = nearest(name[len(PREFIX) :], [each[len(PREFIX) :] for each in known if each.startswith(PREFIX)])
        return close and PREFIX + close
    # Without the prefix: it alone would make any two names of a role look alike.
    prefix = _role_prefix(name)
    close = nearest(name[len(prefix) :], [option[len(prefix) :] for option in role_prefixes()[prefix]])
    return close and prefix + close


def _role_prefix(name):
    return next(prefix for prefix in role_prefixes() if name.startswith(prefix))


_VALUES = ("choice", "minimum", "maximum", "pattern")
_KEY_IDS = {
    "type": "key_type",
    "unknown": "key_unknown",
    "missing": "key_missing",
    **dict.fromkeys(_VALUES, "key_value"),
    "boolean_as_string": "boolean_as_string",
}
_VARIABLE_IDS = {**_KEY_IDS, "type": "variable_type", **dict.fromkeys(_VALUES, "variable_value")}


def _shape(site, name, spec, value, hosts):
    for problem in _schema.problems(value, spec):
        where = _path(name, problem.path, value) + f" on {listed(hosts)}"
        knob = _knob(problem, where) if name == "gpustack_models" else None
        ids = _KEY_IDS if problem.path else _VARIABLE_IDS
        fix = problem.fix
        if not problem.path and name in site.extra_vars and isinstance(value, str):
            fix = _as_json(name, spec["type"], value) or fix
        yield knob or error(ids[problem.kind], where, problem.found, problem.expected, fix)


def _role_options(site):
    """Judged by Ansible's own rules, as the role will be: they allow text that can be converted."""
    names = dict.fromkeys(name for values in site.hosts.values() for name in values if role_option(name))
    for name in names:
        spec = role_option(name)
        for value, hosts in site.variants(name):
            problems = ArgumentSpecValidator({name: spec}).validate({name: copy.deepcopy(value)}).errors.errors
            if problems:
                kind = "variable_value" if isinstance(problems[0], ArgumentValueError) else "variable_type"
                expected = one_of(spec["choices"]) if "choices" in spec else _schema.words(spec["type"])
                found = _schema.describe(value, secret=spec.get("no_log"))
                yield error(kind, f"{name} on {listed(hosts)}", found, expected, f"write {expected}")


def _as_json(name, kind, text):
    """What to write with -e for a value of another type than text, or nothing where text is right."""
    number = text.strip() if text.strip().isdecimal() else "<number>"
    truth = "true" if text.lower() in ("true", "yes", "on") else "false"
    written = {"bool": truth, "int": number, "list": "[...]", "dict": "{...}"}.get(kind)
    return written and f"write JSON: -e '{{\"{name}\": {written}}}'; with name=value it is always text"


def _knob(problem, where):
    """The finding for a key nobody reads, or for details where a switch is, that people read about elsewhere."""
    details = problem.kind == "type" and isinstance(problem.value, (dict, str))
    if problem.kind != "unknown" and not details:
        return None
    outer, unused, key = problem.path.rpartition(".")
    knob = _knobs.finding(key, "deployment" if ".deployments[" in outer else "model", where)
    return dataclasses.replace(knob, found=problem.found) if knob and details else knob


def _path(name, path, value):
    """`gpustack_models[1].dspark (deepseek-v4-flash)`: a person looks for the name, not for the index."""
    if not path:
        return name
    where = name + path if path.startswith("[") else f"{name}.{path}"
    if path.startswith("["):
        entry = value[int(path[1 : path.index("]")])]
        if isinstance(entry, dict) and isinstance(entry.get("name"), str):
            where += f" ({entry['name']})"
    return where


def _differs(site, name, variants):
    """A value of the site is read on any host, so a host without it is a difference as well."""
    without = site.without(name) if variants else []
    expected = "one value for the whole site"
    if len(variants) > 1:
        hosts = "; ".join(f"one on {listed(group)}" for unused, group in variants[:3])
        found = f"{len(variants)} different values: {hosts}"
        yield error("site_value_differs", name, found, expected, f"set {name} once, in group_vars/all.yml")
    elif without:
        ((unused, hosts),) = variants
        found = f"set on {listed(hosts)}, not on {listed(without)}"
        fix = f"move it to all.vars in the inventory, or to group_vars/all.yml: {name} is one for the whole site"
        yield error("site_value_differs", name, found, expected, fix)


def _version(site):
    spec = known_variables()["gpustack_version"]
    supported, version = spec["supported"], site.value("gpustack_version")
    if _schema.fits(version, spec) and version not in supported:
        yield warning(
            "gpustack_version_unsupported",
            "gpustack_version",
            version,
            one_of(supported),
            "use a supported release, or try this one on a test site first",
        )
