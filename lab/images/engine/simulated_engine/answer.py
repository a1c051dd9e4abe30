"""What the simulated engine says: depends on the prompt alone, so the same request gets the same answer."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass

from simulated_engine.json_instance import SchemaError, make_instance
from simulated_engine.request import CHARACTERS_PER_TOKEN, bad_request

_VOCABULARY = (
    "the simulated engine writes plain words in place of an answer so that speed length and format can be measured "
    "while nothing is learned from what it says"
)
_SHORTEST, _LONGEST = 30, 90


@dataclass(frozen=True)
class Answer:
    tokens: tuple
    finish_reason: str

    @property
    def text(self) -> str:
        return "".join(self.tokens)


def compose(request, fail: str = "") -> Answer:
    choose = random.Random(request.prompt)
    text = _prose(choose, choose.randint(_SHORTEST, _LONGEST)) if request.schema is None else _json(request)
    if fail == "fenced_json" and request.schema is not None:
        text = f"```json\n{text}\n```"
    tokens = _tokens(text)
    least = request.limit if request.ignore_eos else min(request.min_tokens, request.limit)
    if request.schema is None and len(tokens) < least:
        tokens += _tokens(_prose(choose, least * CHARACTERS_PER_TOKEN))[: least - len(tokens)]
    limit = min(request.limit, max(1, len(tokens) // 2)) if fail == "truncated" else request.limit
    ended_by_length = len(tokens) > limit or (request.ignore_eos and len(tokens) == limit)
    return Answer(tuple(tokens[:limit]), "length" if ended_by_length else "stop")


def _json(request) -> str:
    try:
        return json.dumps(make_instance(request.schema, request.prompt), ensure_ascii=False)
    except SchemaError as error:
        raise bad_request(f"Failed to compile the grammar of the schema: {error}", "response_format") from error


def _prose(choose, words: int) -> str:
    return " ".join(choose.choice(_VOCABULARY.split()) for _ in range(words)) + ". "


def _tokens(text: str) -> list:
    return [text[start : start + CHARACTERS_PER_TOKEN] for start in range(0, len(text), CHARACTERS_PER_TOKEN)]
