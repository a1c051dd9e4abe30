# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module around a read: it changes nothing and returns one list, sorted by name unless told otherwise."""

from __future__ import annotations

from ansible_collections.inferops.gpustack.plugins.module_utils import _args


def by_name(view):
    return str(view["name"])


def run(result, read, options=None, order=by_name, **limits):
    """`read(client, params)` returns views of the objects that the options ask for."""

    def body(module):
        things = read(_args.connect(module), module.params)
        return {"changed": False, result: sorted(things, key=order)}

    module = _args.api_module(options or {}, **limits)
    _args.run(module, body, lambda module: {"changed": False, result: []})


def named(things, name):
    """All of them, or those of this name when one is asked for."""
    return [one for one in things if name is None or one.get("name") == name]
