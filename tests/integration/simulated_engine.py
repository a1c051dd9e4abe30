# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a simulated engine answers to clients."""

from __future__ import annotations

import json
import time

ANSWER = "ready"
#: What a model says that is asked for a city as JSON.
CITY = {"city": "Paris", "country": "France", "population_millions": 2.1, "is_capital": True}


def chat(request):
    """(content type, body) of a valid chat answer, streamed when the request wants that."""
    if request.get("stream"):
        return "text/event-stream", "".join(f"data: {part}\n\n" for part in (*_chunks(request), "[DONE]"))
    content = json.dumps(CITY) if request.get("response_format") else ANSWER
    choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
    return "application/json", json.dumps(_answer(request, "chat.completion", choice, usage=True))


def failure(status):
    error = {"message": "simulated engine failure", "type": "InternalServerError", "code": status}
    return "application/json", json.dumps({"error": error})


def _chunks(request):
    for delta, reason in (({"role": "assistant", "content": ""}, None), ({"content": ANSWER}, None), ({}, "stop")):
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        yield json.dumps(_answer(request, "chat.completion.chunk", choice, usage=reason is not None))


def _answer(request, kind, choice, usage):
    answer = {"id": "chatcmpl-simulated", "object": kind, "created": int(time.time()), "model": request.get("model")}
    answer["choices"] = [choice]
    if usage:
        answer["usage"] = {"prompt_tokens": 5, "completion_tokens": 1, "total_tokens": 6}
    return answer
