# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What every API module has in common: its connection options, its client, and how it ends."""

from __future__ import annotations

from ansible.module_utils.basic import env_fallback
from ansible_collections.inferops.gpustack.plugins.module_utils._client import Client, credentials
from ansible_collections.inferops.gpustack.plugins.module_utils._errors import GpustackError, Unreachable
from ansible_collections.inferops.gpustack.plugins.module_utils._unlogged import UnloggedModule
from ansible_collections.inferops.gpustack.plugins.module_utils._wait import StillWaiting, go_on_after

AUTH_OPTIONS = {
    "url": {"type": "str", "required": True, "fallback": (env_fallback, ["GPUSTACK_URL"])},
    "username": {"type": "str", "default": "admin"},
    "password": {"type": "str", "no_log": True, "fallback": (env_fallback, ["GPUSTACK_PASSWORD"])},
    "api_key": {"type": "str", "no_log": True, "fallback": (env_fallback, ["GPUSTACK_API_KEY"])},
    "ca_path": {"type": "path"},
    "validate_certs": {"type": "bool", "default": True},
    "timeout": {"type": "int", "default": 30},
    "use_proxy": {"type": "bool", "default": False},
}
#: The smallest number that makes sense, by option.
LEAST = {"wait_timeout": 0, "accelerators": 0, "log_lines": 0, "max_tokens": 1, "request_timeout": 1}
AUTH_REQUIRED = [("password", "api_key")]


def api_module(options, **limits):
    """A module with the connection options added to its own."""
    limits.setdefault("supports_check_mode", True)
    required_one_of = AUTH_REQUIRED + limits.pop("required_one_of", [])
    return UnloggedModule(argument_spec=dict(AUTH_OPTIONS, **options), required_one_of=required_one_of, **limits)


def connect(module, timeout=None, auth=None):
    """A client for the server of the task's options, with their credentials unless others are given."""
    params = module.params
    auth = auth or credentials(params["api_key"], params["username"], params["password"])
    return _client(module, auth, timeout)


def connect_as_nobody(module):
    return _client(module, None, None)


def _client(module, auth, timeout):
    params = module.params
    return Client(
        params["url"],
        auth,
        ca=params["ca_path"],
        timeout=timeout or params["timeout"],
        use_proxy=params["use_proxy"],
        validate_certs=params["validate_certs"],
        # A check of a new site asks many times for a server that is not there yet.
        patient=not module.check_mode,
    )


def run(module, body, when_unreachable):
    """Run `body(module)` and end the module with what it returns, or with an error people can act on.

    On a new site there is no server yet. Check mode then ends with `when_unreachable(module)` and a warning.
    """
    try:
        check_numbers(module.params)
        result = body(module)
    except StillWaiting as pause:
        result = pause.result
    except Unreachable as error:
        if not module.check_mode:
            module.exit_json(**_gone_on(module, error))
        module.warn(f"{error.message} This would be done after the server answers, as if nothing existed there yet.")
        result = _or_fail(module, when_unreachable)
    except GpustackError as error:
        result = _gone_on(module, error)
    module.exit_json(**result)


def _gone_on(module, error):
    """The server may have been away for a moment only, while a wait of several slices went on."""
    try:
        go_on_after(error, module.params.get("wait_slice"))
    except StillWaiting as pause:
        return pause.result
    return fail(module, error)


def check_numbers(params):
    for name, least in LEAST.items():
        if params.get(name) is not None and params[name] < least:
            raise GpustackError(f"{name} is {params[name]}.", reason="Invalid", hint=f"Use {least} or more.")


def _or_fail(module, body):
    try:
        return body(module)
    except GpustackError as error:
        return fail(module, error)


def fail(module, error):
    results = dict(error.results)
    if getattr(error, "last", None) is not None:
        results["last"] = error.last
    module.fail_json(msg=error.for_people(), failure=error.failure(), **results)
