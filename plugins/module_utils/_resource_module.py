# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module around a `Resource`: options that all have, one way through, one result.

A module with more to do than that uses `options`, `prepared` and `report` and does its own work in between.
"""

from __future__ import annotations

from ansible_collections.inferops.gpustack.plugins.module_utils import _args, _resource
from ansible_collections.inferops.gpustack.plugins.module_utils._errors import GpustackError
from ansible_collections.inferops.gpustack.plugins.module_utils._secrets import secret_values

#: One function for resources without rules of their own.
as_written = dict


def options(resource, states=("present", "absent")):
    spec = dict(
        _resource.argument_spec(resource),
        state={"type": "str", "choices": list(states), "default": "present"},
        comparisons={"type": "dict"},
    )
    if resource.rename:
        spec["new_name"] = {"type": "str"}
    return spec


def desired(module, resource, checked=as_written):
    """What the user wrote, with the name the object shall have; None for `state=absent`."""
    params = module.params
    if not params[resource.identity]:
        # The server would make most objects without a name, too.
        raise GpustackError(f"{resource.identity} is empty.", reason="Invalid", hint=f"Name the {resource.kind}.")
    _resource.checked_comparisons(resource, params["comparisons"])
    if params["state"] == "absent":
        return None
    wanted = checked(_resource.desired(resource, params))
    if params.get("new_name"):
        wanted[resource.identity] = params["new_name"]
    return wanted


def prepared(module, client, resource, checked=as_written):
    """`(wanted, current)`, compared the way the user asked for."""
    wanted = desired(module, resource, checked)
    current = _resource.locate(client, resource, module.params[resource.identity], module.params.get("new_name"))
    if wanted is not None:
        wanted = _resource.settled(resource, wanted, current, module.params["comparisons"])
    return wanted, current


def check_taken_over(module, resource, wanted, made):
    """The server drops keys it does not know (T24, T28), and turns values into its own types."""
    for one in resource.writable():
        if one.type != "dict" or not wanted.get(one.name):
            continue
        written = {key: value for key, value in wanted[one.name].items() if value is not None}
        has = made.get(one.key) or {}
        dropped = sorted(set(written) - set(has))
        if dropped:
            raise GpustackError(
                f"The server does not know {', '.join(dropped)} of {one.name} and dropped it. "
                f"Everything else of {resource.kind} {made.get(resource.identity_key)} is as asked for.",
                reason="Dropped",
                hint="Check the spelling, and whether the server's version has it.",
                changed=True,
            )
        for key in sorted(key for key in written if written[key] != has[key]):
            module.warn(
                f"The server keeps {one.name}.{key} in another form than it is written. "
                "Write it in the server's form, or this task will change it every time."
            )


def report(resource, result):
    thing = result["object"]
    return {
        "changed": result["changed"],
        "diff": result["diff"],
        "actions": result["actions"],
        resource.result_name: {} if thing is None else resource.view(thing),
    }


def run(resource, checked=as_written, extra_options=None, body=None, when_unreachable=None, **limits):
    """The whole module.

    `checked(wanted)` returns the options after the resource's own rules, or raises GpustackError.
    `body(module, client)` replaces the usual way through; `when_unreachable(module)` what check mode says without
    a server.
    """
    module = _args.api_module(dict(options(resource), **(extra_options or {})), **limits)
    module.no_log_values.update(secret_values(_resource.desired(resource, module.params)))

    def usual(module, client):
        wanted, current = prepared(module, client, resource, checked)
        return report(resource, _resource.sync(client, resource, wanted, current, module.check_mode))

    def nothing_there(module):
        wanted = desired(module, resource, checked)
        return report(resource, _resource.sync(None, resource, wanted, None, check_mode=True))

    _args.run(module, lambda module: (body or usual)(module, _args.connect(module)), when_unreachable or nothing_there)
