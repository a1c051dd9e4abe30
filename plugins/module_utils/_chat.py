# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Asking a model over the OpenAI API, and judging the answer."""

from __future__ import annotations

import json
import time

from ansible_collections.inferops.gpustack.plugins.module_utils import _json_check
from ansible_collections.inferops.gpustack.plugins.module_utils._errors import ApiError, GpustackError

PATH = "/v1/chat/completions"

DEFAULT_SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "country": {"type": "string"},
        "population_millions": {"type": "number"},
        "is_capital": {"type": "boolean"},
    },
    "required": ["city", "country", "population_millions", "is_capital"],
    "additionalProperties": False,
}
PROMPT = "What is the capital of France? Answer in one short sentence."
JSON_PROMPT = (
    "Describe the capital of France as one JSON object with the keys city (string), country (string), "
    "population_millions (number) and is_capital (boolean). Answer with the JSON object only."
)


class BadAnswer(Exception):
    """The model answered, and the answer is not what was asked for."""


def request(model, prompt, max_tokens, **more):
    messages = [{"role": "user", "content": prompt}]
    return dict({"model": model, "messages": messages, "max_tokens": max_tokens, "temperature": 0}, **more)


def ask(client, body):
    """`{text, answered_by, completion_tokens, latency_s}` of a complete answer."""
    started = time.monotonic()
    answer = client.post(PATH, body, repeatable=True)
    latency = time.monotonic() - started
    try:
        choice = answer["choices"][0]
        text = choice["message"].get("content")
    except (KeyError, IndexError, TypeError, AttributeError):
        raise BadAnswer(f"the answer has no choices[0].message: {str(answer)[:160]}") from None
    finished(choice.get("finish_reason"), body["max_tokens"])
    if not text or not text.strip():
        raise BadAnswer("the answer is empty")
    return {
        "text": text,
        "answered_by": answer.get("model"),
        "completion_tokens": (answer.get("usage") or {}).get("completion_tokens"),
        "latency_s": round(latency, 3),
    }


def ask_streamed(client, body):
    """The text of a streamed answer."""
    pieces, reason, done = [], None, False
    for line in client.stream(PATH, dict(body, stream=True)):
        if not line.startswith("data:"):
            continue
        data = line[len("data:") :].strip()
        if data == "[DONE]":
            done = True
            break
        chunk = _chunk(data)
        for choice in chunk.get("choices") or []:
            pieces.append((choice.get("delta") or {}).get("content") or "")
            reason = choice.get("finish_reason") or reason
    text = "".join(pieces)
    if not done:
        raise BadAnswer(f"the stream ended without [DONE] after {len(pieces)} pieces")
    finished(reason, body["max_tokens"])
    if not text.strip():
        raise BadAnswer("the stream has no text")
    return text


def _chunk(data):
    try:
        chunk = json.loads(data)
    except ValueError:
        raise BadAnswer(f"the stream holds something that is no JSON: {data[:120]!r}") from None
    if not isinstance(chunk, dict):
        raise BadAnswer(f"the stream holds something that is no object: {data[:120]!r}")
    if "error" in chunk:
        raise BadAnswer(f"the stream reports an error: {str(chunk['error'])[:160]}")
    return chunk


def finished(reason, max_tokens):
    if reason == "length":
        raise BadAnswer(f"the answer was cut at max_tokens={max_tokens} (finish_reason length); raise max_tokens")
    if reason is None:
        raise BadAnswer("the answer has no finish_reason")


def json_of(text, schema=None):
    value, problem = _json_check.pure_json(text)
    if problem is None and schema is not None:
        problem = "; ".join(_json_check.violations(value, schema)) or None
    if problem:
        raise BadAnswer(problem)
    return value


def schema_format(schema):
    return {"type": "json_schema", "json_schema": {"name": "probe", "schema": schema, "strict": True}}


class Probe:
    """All checks of one model. A failed check does not stop the others."""

    def __init__(self, client, model, max_tokens, schema, prompt=PROMPT, json_prompt=JSON_PROMPT):
        self.client = client
        self.model = model
        self.max_tokens = max_tokens
        self.schema = schema
        self.prompt = prompt
        self.json_prompt = json_prompt
        self.result = {
            "model": model,
            "answered_by": None,
            "ok": False,
            "checks": {},
            "answer": None,
            "json_answer": None,
            "latency_s": None,
            "completion_tokens": None,
        }

    def run(self, checks):
        for name in checks:
            started = time.monotonic()
            try:
                getattr(self, name)()
                found = "ok"
            except BadAnswer as error:
                found = str(error)
            except GpustackError as error:
                if error.reason == "Unreachable":
                    # No check can pass then, and it says nothing about the model.
                    raise
                found = error.api_message if isinstance(error, ApiError) else error.message
                found = f"status {error.status}: {found}" if error.status else found
            passed = {"ok": found == "ok", "found": found, "latency_s": round(time.monotonic() - started, 3)}
            self.result["checks"][name] = passed
        self.result["ok"] = all(one["ok"] for one in self.result["checks"].values())
        return self.result

    def _ask(self, prompt, **more):
        answer = ask(self.client, request(self.model, prompt, self.max_tokens, **more))
        if self.result["answered_by"] is None:
            for key in ("answered_by", "latency_s", "completion_tokens"):
                self.result[key] = answer[key]
        return answer["text"]

    def chat(self):
        self.result["answer"] = self._ask(self.prompt)

    def stream(self):
        ask_streamed(self.client, request(self.model, self.prompt, self.max_tokens))

    def json_object(self):
        text = self._ask(self.json_prompt, response_format={"type": "json_object"})
        value = json_of(text)
        if not isinstance(value, dict):
            raise BadAnswer(f"the answer is a JSON list, not an object: {text.strip()[:120]!r}")
        if self.result["json_answer"] is None:
            self.result["json_answer"] = value

    def json_schema(self):
        text = self._ask(self.json_prompt, response_format=schema_format(self.schema))
        self.result["json_answer"] = json_of(text, self.schema)
