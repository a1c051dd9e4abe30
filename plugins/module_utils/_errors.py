# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One family of errors. Each one knows what was asked, what was found and what to do about it.

GPUStack 2.3 answers errors in four shapes, and one URL may use more than one of them:

1. ``{"code", "reason", "message"[, "details"]}``: a rule of the management API
2. ``{"detail": "Not Found"}``: unknown URL or method
3. ``{"error": {"message", "code", "type"}}``: the inference API, and some DELETE calls of the management API
4. anything else (text, HTML, other JSON): a gateway or a proxy in between
"""

from __future__ import annotations

import json

EXCERPT = 400

HINTS = {
    401: "Check username and password, or api_key. A deactivated user and an expired key look the same.",
    403: "The credentials are valid but may not do this. Use an administrator, or a key with the needed scope.",
    404: "Check the url option: it is the server's base URL, without a path. The object may also be gone.",
    409: "Another object has this name, or the object is still in use.",
    429: "The server asks for fewer requests. Run the task again later.",
    500: "The server failed. Read its log: docker logs gpustack-server.",
    502: "A gateway answers but GPUStack behind it does not. Read its log: docker logs gpustack-server.",
    503: "The server, or the model behind this route, is not ready. Wait, or read: docker logs gpustack-server.",
    504: "The server did not answer its gateway in time. Raise timeout, or read its log: docker logs gpustack-server.",
}


class GpustackError(Exception):
    """Something the user has to read: a message for people and `failure` for playbooks."""

    #: Sending the request again may work.
    retryable = False
    #: Waiting may work.
    passing = False

    def __init__(self, message, status=None, code=None, reason=None, endpoint=None, hint="", **results):
        super().__init__(message)
        self.message = message
        self.status = status
        self.code = code
        self.reason = reason
        self.endpoint = endpoint
        self.hint = hint
        self.results = results

    def failure(self):
        return {
            "status": self.status,
            "code": self.code,
            "reason": self.reason,
            "endpoint": self.endpoint,
            "hint": self.hint,
        }

    def for_people(self):
        message = self.message.rstrip()
        if not message.endswith((".", "!", "?")):
            message += "."
        return f"{message} {self.hint}".strip()


class Unreachable(GpustackError):
    """No answer at all: nothing listens, the name is unknown, the line is cut."""

    retryable = True
    passing = True


class NoAnswerInTime(GpustackError):
    """Connected, but no answer. The server may be working on it, and sending it again would add to its load."""

    passing = True


class ApiError(GpustackError):
    """The server answered, with an error."""

    def __init__(self, status, code, reason, message, endpoint, body, hint=None):
        self.body = body
        self.api_message = message
        super().__init__(
            f"{endpoint} answered {status}" + (f" ({reason})" if reason else "") + f": {message}",
            status=status,
            code=code,
            reason=reason,
            endpoint=endpoint,
            hint=HINTS.get(status, "") if hint is None else hint,
        )

    @property
    def retryable(self):
        return self.status in (429, 502, 503, 504)

    @property
    def passing(self):
        return self.retryable


class WaitTimeout(GpustackError):
    """The time is over. Carries the last object that was seen."""

    def __init__(self, message, last, hint=""):
        self.last = last
        super().__init__(message, reason="Timeout", hint=hint)


class TerminalState(GpustackError):
    """Waiting longer cannot help."""

    def __init__(self, message, last=None, hint=""):
        self.last = last
        super().__init__(message, reason="TerminalState", hint=hint)


def api_error(status, text, endpoint, hint=None):
    """An ApiError from an answer in any of the four shapes."""
    try:
        body = json.loads(text)
    except ValueError:
        body = text
    code, reason, message = status, None, None
    if isinstance(body, dict):
        inner = body.get("error")
        if isinstance(inner, dict):
            code, reason, message = inner.get("code", status), inner.get("type"), inner.get("message")
        elif "message" in body:
            code, reason, message = body.get("code", status), body.get("reason"), body["message"]
        elif "detail" in body:
            message = body["detail"]
    if message is None:
        message = _excerpt(text) or "(no text)"
        if hint is None:
            hint = "This is not GPUStack's own answer. Check that url is GPUStack and not a proxy or another service. "
            hint = (hint + HINTS.get(status, "")).strip()
    elif not isinstance(message, str):
        message = json.dumps(message)
    # A failed statement comes with its values, and those of a row hold tokens and hashed passwords.
    message = message.partition("[SQL:")[0]
    return ApiError(status, code, reason, message.strip(), endpoint, body, hint)


def _excerpt(text):
    text = " ".join(text.split())
    return text if len(text) <= EXCERPT else text[:EXCERPT] + "..."
