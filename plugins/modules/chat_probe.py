#!/usr/bin/python
# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ask every model a few questions, the way its users would, and fail when an answer is wrong in form."""

from __future__ import annotations

DOCUMENTATION = r"""
module: chat_probe
short_description: Check that models of a GPUStack server answer
version_added: 0.1.0
description:
  - Waits until deployments have a running instance, then sends chat requests to models and checks the form of the
    answers.
  - Every check of every model is done before the module fails with the list of what failed. Changes nothing.
  - A deployment that no ready worker fits is not waited for, and nothing that leads only to it is asked. Both are in
    the result, and no error unless it is true of all deployments.
author:
  - InferOps contributors (@inferops)
extends_documentation_fragment:
  - inferops.gpustack.auth
  - inferops.gpustack.auth.requests
  - inferops.gpustack.waits
  - inferops.gpustack.attributes
attributes:
  check_mode:
    support: full
    details: Asks nothing and waits for nothing in check mode, because what it would ask may not exist yet.
  diff_mode:
    support: none
options:
  models:
    description:
      - Names to send as C(model), which are names of routes. That of a deployment is one only when it has a route of
        its own, which O(inferops.gpustack.model#module:enable_model_route) makes.
    type: list
    elements: str
    required: true
  deployments:
    description:
      - Names of deployments to wait for first. Each needs one running instance.
      - One is given up when no worker of its cluster that has the labels of its C(worker_selector) has been C(ready)
        for 60 seconds, or for half of O(wait_timeout) when that is less.
      - A stopped and a missing deployment fail at once, and so does an instance in the state C(error) that GPUStack
        does not start again or has started again twice in the meantime.
    type: list
    elements: str
    default: []
  wait_timeout:
    description:
      - Seconds to wait for O(deployments). V(0) looks once.
      - A gateway knows of a running instance a little later than the server does. Unless it is V(0), the models then
        also get as many seconds, 60 at most, until their names lead somewhere.
    type: int
    default: 0
  checks:
    description:
      - What to check, in this order.
      - V(chat) wants a complete text, V(stream) a complete stream.
      - V(json_object) and V(json_schema) want JSON and nothing else, without a code fence; the second also wants it to
        fit O(schema).
    type: list
    elements: str
    choices: [chat, stream, json_object, json_schema]
    default: [chat, stream, json_object, json_schema]
  schema:
    description:
      - JSON Schema for V(json_schema), of C(type), C(required), C(properties), C(enum), C(items) and
        C(additionalProperties) only, because no other keyword would be checked.
      - The default is a flat object of two texts, a number and a boolean about a city.
    type: dict
  prompt:
    description: Question of V(chat) and V(stream). A question about a capital when unset.
    type: str
  json_prompt:
    description: Question of the two JSON checks. Must ask for what O(schema) describes. One about a capital when unset.
    type: str
  max_tokens:
    description:
      - Most tokens of one answer. An answer that is cut there fails its check.
      - Models that think before they answer need more.
    type: int
    default: 512
  request_timeout:
    description: Seconds that one answer may take.
    type: int
    default: 120
"""

EXAMPLES = r"""
- name: The model answers
  inferops.gpustack.chat_probe:
    url: http://10.0.0.10
    password: "{{ gpustack_admin_password }}"
    models: [deepseek-v4-flash]
    deployments: [deepseek-v4-flash-nvidia_h20_3e]
    wait_timeout: 1800
    max_tokens: 2048
"""

RETURN = r"""
results:
  description: One entry for each model, in the order of O(models). Empty in check mode.
  returned: when models were asked
  type: list
  elements: dict
  contains:
    model: {description: Name that was asked for., type: str}
    answered_by: {description: Name of the model in the first answer. Behind a route it may be another one., type: str}
    ok: {description: Whether every check passed., type: bool}
    checks:
      description: "C({ok, found, latency_s}) for each check. C(found) is V(ok) or what is wrong."
      type: dict
    answer: {description: Text of V(chat)., type: str}
    json_answer: {description: Parsed JSON of the last JSON check that passed., type: dict}
    latency_s: {description: Seconds the first complete answer took., type: float}
    completion_tokens: {description: Tokens of the first complete answer., type: int}
not_placed:
  description: The deployments that no ready worker fits.
  returned: when deployments were looked at
  type: list
  elements: dict
  contains:
    deployment: {description: Name of the deployment., type: str}
    worker_selector: {description: Labels that it wants of a worker., type: dict}
    found: {description: Why no worker will do., type: str}
not_asked:
  description: Those of O(models) that lead to such deployments only.
  returned: when deployments were looked at
  type: list
  elements: str
findings:
  description:
    - What is short but no error, each C({id, severity, where, found, expected, fix, source}).
    - The id V(deployment_without_worker) goes with RV(not_placed). V(replicas_short) says that a deployment runs with
      fewer instances than C(replicas), and what keeps the others. One that is still starting is no finding.
      V(instances_outdated) names instances that were started before the last change of their deployment.
  returned: when deployments were looked at
  type: list
  elements: dict
last:
  description:
    - The instances of each deployment, with C(problem), C(waits_for) and C(unplaced), as they were seen last.
    - C(log) holds the last 20 lines that a failing instance wrote, as far as they can be read.
  returned: when the wait ends without success
  type: list
  elements: dict
"""

import contextlib

from ansible_collections.inferops.gpustack.plugins.module_utils import _args, _chat, _json_check, _placement, _wait
from ansible_collections.inferops.gpustack.plugins.module_utils._deployments import wait_for_running
from ansible_collections.inferops.gpustack.plugins.module_utils._errors import ApiError, GpustackError
from ansible_collections.inferops.gpustack.plugins.module_utils._wait import Wait

CHECKS = ["chat", "stream", "json_object", "json_schema"]
LONGEST_SETTLING = 60
NOT_ROUTED_YET = (404, 429, 502, 503, 504)


def checked_schema(schema):
    problem = _json_check.misshapen(schema)
    if problem:
        raise GpustackError(
            f"{problem}.",
            reason="Invalid",
            hint="Correct it, for example {type: object, properties: {city: {type: string}}, required: [city]}.",
        )
    unknown = _json_check.unknown_keywords(schema)
    if unknown:
        raise GpustackError(
            f"schema uses {', '.join(sorted(unknown))}, which this module cannot check.",
            reason="Invalid",
            hint=f"Use only {', '.join(sorted(_json_check.KEYWORDS))}, and of types {', '.join(_json_check.TYPES)}.",
        )
    return schema


def let_routes_settle(client, models, timeout, wait):
    """Wait until the models' names lead somewhere. Whether they ever do is for the checks to tell."""
    settled = wait.memory.setdefault("settled", [])

    def refusal(model):
        try:
            client.post(_chat.PATH, _chat.request(model, "Hi", 1), repeatable=True)
        except ApiError as error:
            if error.status in NOT_ROUTED_YET:
                return error
        settled.append(model)
        return None

    def read():
        return {model: refusal(model) for model in models if model not in settled}

    def judge(refusals):
        return "; ".join(f"model {model}: {error.message}" for model, error in refusals.items() if error) or None

    with contextlib.suppress(GpustackError):
        wait.until("Waiting for the models to be routed", read, judge, timeout)


def body(module):
    params = module.params
    schema = checked_schema(params["schema"] or _chat.DEFAULT_SCHEMA)
    if module.check_mode:
        return {"changed": False, "results": []}
    client = _args.connect(module)
    wait = Wait.of(module)
    situations = []
    if params["deployments"]:
        situations = wait_for_running(client, params["deployments"], params["wait_timeout"], wait)
    served = placement(client, situations, params["models"])
    models = [one for one in params["models"] if one not in served["not_asked"]]
    asking = _args.connect(module, timeout=params["request_timeout"])
    if params["wait_timeout"]:
        let_routes_settle(asking, models, min(params["wait_timeout"], LONGEST_SETTLING), wait)
    results = ask_all(asking, params, schema, models)
    if not all(one["ok"] for one in results):
        raise GpustackError(failed(results), reason="Probe", hint="", results=results, **served)
    return dict(served, changed=False, results=results)


def placement(client, situations, models):
    """What no worker can take and what is therefore not asked."""
    unplaced = [one for one in situations if one["unplaced"]]
    targets = client.list_all("/v2/model-route-targets") if unplaced else []
    stopped = [one["id"] for one in client.list_all("/v2/models") if not one["replicas"]] if unplaced else []
    idle = {*stopped, *(one["id"] for one in unplaced)}
    dead = _placement.dead_routes(targets, idle) | {one["name"] for one in unplaced}
    findings = [_placement.without_worker(one, targets, dead) for one in unplaced]
    findings += [
        found for one in situations for found in (_placement.replicas_short(one), _placement.outdated(one)) if found
    ]
    served = {
        "not_placed": [
            {"deployment": one["name"], "worker_selector": one["worker_selector"], "found": one["unplaced"]}
            for one in unplaced
        ],
        "not_asked": [name for name in models if name in dead],
        "findings": findings,
    }
    if unplaced and len(unplaced) == len(situations):
        told = "; ".join(f"{one['name']}: {one['unplaced']}" for one in unplaced)
        hint = "Look at the workers: 'docker logs gpustack-worker' shows whether they reach the server."
        raise GpustackError(f"No deployment has a ready worker. {told}.", reason="Unplaced", hint=hint, **served)
    return served


def ask_all(client, params, schema, models):
    results = []
    for model in models:
        probe = _chat.Probe(
            client,
            model,
            params["max_tokens"],
            schema,
            params["prompt"] or _chat.PROMPT,
            params["json_prompt"] or _chat.JSON_PROMPT,
        )
        results.append(probe.run(params["checks"]))
    return results


def failed(results):
    lines = [
        f"{one['model']}: {name}: {check['found']}"
        for one in results
        for name, check in one["checks"].items()
        if not check["ok"]
    ]
    return f"{len(lines)} {'check' if len(lines) == 1 else 'checks'} failed. " + " | ".join(lines)


def when_unreachable(module):
    return {"changed": False, "results": []}


def main():
    options = {
        **_wait.OPTION,
        "models": {"type": "list", "elements": "str", "required": True},
        "deployments": {"type": "list", "elements": "str", "default": []},
        "wait_timeout": {"type": "int", "default": 0},
        "checks": {"type": "list", "elements": "str", "choices": CHECKS, "default": CHECKS},
        "schema": {"type": "dict"},
        "prompt": {"type": "str"},
        "json_prompt": {"type": "str"},
        "max_tokens": {"type": "int", "default": 512, "no_log": False},
        "request_timeout": {"type": "int", "default": 120},
    }
    _args.run(_args.api_module(options), body, when_unreachable)


if __name__ == "__main__":
    main()
