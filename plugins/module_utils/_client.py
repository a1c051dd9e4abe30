# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A small client of the GPUStack API, standard library only, because it runs on the targets.

``Client(url, auth, ca, timeout, use_proxy)`` has ``get/post/put/delete``, which return parsed JSON and raise
``ApiError`` or ``Unreachable``, and ``list_all``, which reads every page of a list. It repeats only what may be sent
twice, never follows redirects and never uses a proxy unless told to.
"""

from __future__ import annotations

import base64
import contextlib
import email.utils
import http.client
import json
import random
import re
import socket
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request

from ansible_collections.inferops.gpustack.plugins.module_utils._errors import (
    GpustackError,
    NoAnswerInTime,
    Unreachable,
    api_error,
)
from ansible_collections.inferops.gpustack.plugins.module_utils._secrets import masked_text

VERSION = "0.1.0"
USER_AGENT = f"inferops.gpustack/{VERSION}"

ATTEMPTS = 4
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 8.0
LONGEST_RETRY_AFTER = 30.0
IDEMPOTENT = frozenset(["GET", "PUT", "DELETE"])

# OpenSSL's X509_V_ERR_CERT_HAS_EXPIRED and X509_V_ERR_HOSTNAME_MISMATCH.
CERTIFICATE_HINTS = {
    10: "Renew it: gpustack_tls_certificate in an inventory.",
    62: "Use a name that is in the certificate: gpustack_server_url in an inventory, url in a task.",
}
#: What OpenSSL calls an answer in plain text.
NO_TLS = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNKNOWN_PROTOCOL")
UNKNOWN_CA_HINT = "Name the CA that signed it: gpustack_ca_certificate in an inventory, ca_path in a task."

VISIBLE_ASCII = re.compile(r"[!-~]+")
LONGEST_TIMEOUT = 86400

PER_PAGE = 100
MOST_PAGES = 200


class Basic:
    def __init__(self, username, password):
        pair = f"{username}:{password}".encode()
        self.header = "Basic " + base64.b64encode(pair).decode("ascii")


def credentials(api_key, username, password):
    """A key goes before a password."""
    if not (api_key or password):
        raise GpustackError(
            "Neither password nor api_key is set.",
            reason="Invalid",
            hint="Set one of them, or the environment variable GPUSTACK_PASSWORD or GPUSTACK_API_KEY.",
        )
    return ApiKey(api_key) if api_key else Basic(username, password)


class ApiKey:
    def __init__(self, key):
        if not VISIBLE_ASCII.fullmatch(key):
            raise GpustackError(
                "api_key has characters that an HTTP header cannot carry.",
                reason="Invalid",
                hint="Use visible ASCII characters without blanks. Is there a line break at its end?",
            )
        self.header = "Bearer " + key


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """urllib would send the Authorization header to wherever the answer points."""

    def redirect_request(self, req, fp, code, msg, headers, newurl):
        return None


class Client:
    """`patient`: a port on which nothing listens is tried again, as while a server restarts."""

    def __init__(self, url, auth=None, ca=None, timeout=30, use_proxy=False, validate_certs=True, patient=True):
        scheme = _checked_scheme(url)
        if not 0 < timeout <= LONGEST_TIMEOUT:
            raise GpustackError(
                f"timeout is {timeout}.", reason="Invalid", hint=f"Use seconds from 1 to {LONGEST_TIMEOUT}."
            )
        self.url = url.rstrip("/")
        self.timeout = timeout
        self.patient = patient
        self._auth = auth
        self._sleep = time.sleep
        handlers = [_NoRedirect()]
        if not use_proxy:
            handlers.append(urllib.request.ProxyHandler({}))
        if scheme == "https":
            handlers.append(urllib.request.HTTPSHandler(context=_tls(ca, validate_certs)))
        self._opener = urllib.request.build_opener(*handlers)

    def get(self, path, timeout=None, **filters):
        return self._json("GET", _with_query(path, filters), timeout=timeout)

    def text(self, path, timeout=None, **filters):
        """An answer that is not JSON, such as a log."""
        return self._text("GET", _with_query(path, filters), timeout=timeout)[1]

    def post(self, path, body=None, timeout=None, repeatable=False):
        """`repeatable` says that sending the same body twice does no harm."""
        return self._json("POST", path, body, timeout, repeatable)

    def post_form(self, path, fields, timeout=None):
        """A form, which is what `/auth/login` takes: JSON looks like a wrong password there (T1)."""
        return self._json("POST", path, urllib.parse.urlencode(fields).encode("ascii"), timeout, repeatable=True)

    def put(self, path, body, timeout=None):
        return self._json("PUT", path, body, timeout)

    def delete(self, path, timeout=None):
        return self._json("DELETE", path, timeout=timeout)

    def list_all(self, path, **filters):
        """Every object of a list, read again when it became longer or shorter meanwhile: pages then miss objects."""
        for _attempt in range(ATTEMPTS):
            found, totals = self._pages(path, filters)
            if len(totals) <= 1:
                break
        return found

    def _pages(self, path, filters):
        """Pages are bounded; perPage=0 is never sent, because the server divides by it."""
        found, totals = {}, set()
        for page in range(1, MOST_PAGES + 1):
            answer = self.get(path, page=page, perPage=PER_PAGE, **filters)
            if not isinstance(answer, dict) or not isinstance(answer.get("items"), list):
                raise GpustackError(
                    f"GET {path} did not answer a list but {str(answer)[:120]!r}.",
                    endpoint=f"GET {path}",
                    hint="Check that url is a GPUStack 2.x server.",
                )
            for item in answer["items"]:
                # An object created between two reads moves others to the next page, so one may come twice.
                found[item["id"]] = item
            pagination = answer.get("pagination") or {}
            totals.add(pagination.get("total"))
            if page >= (pagination.get("totalPage") or 0):
                return list(found.values()), totals
        raise GpustackError(
            f"GET {path} has more than {MOST_PAGES} pages of {PER_PAGE} objects.",
            endpoint=f"GET {path}",
            hint="Ask for fewer objects with a filter.",
        )

    def stream(self, path, body, timeout=None):
        """Lines of a streamed answer, as they arrive."""
        return self._lines("POST", path, body, timeout)

    def lines(self, path, timeout=None, longest=-1, **filters):
        """Lines of a text, as they arrive: it need not be read to its end. Longer ones than `longest` come in parts."""
        return self._lines("GET", _with_query(path, filters), None, timeout, longest)

    def _lines(self, method, path, body, timeout, longest=-1):
        endpoint = f"{method} {path}"
        with self._send(method, path, body, timeout, repeatable=True) as answer:
            try:
                for line in iter(lambda: answer.readline(longest), b""):
                    yield line.decode("utf-8", "replace").rstrip("\r\n")
            except (OSError, http.client.HTTPException) as error:
                raise Unreachable(
                    f"{endpoint} stopped in the middle of its answer: {error}.",
                    endpoint=endpoint,
                    hint="Read the log of the engine and of the server.",
                ) from error

    def _json(self, method, path, body=None, timeout=None, repeatable=False):
        status, text = self._text(method, path, body, timeout, repeatable)
        if not text:
            return None
        try:
            return json.loads(text)
        except ValueError as error:
            raise api_error(status, text, f"{method} {path}") from error

    def _text(self, method, path, body=None, timeout=None, repeatable=False):
        with self._send(method, path, body, timeout, repeatable) as answer:
            try:
                text = answer.read().decode("utf-8", "replace")
            except (OSError, http.client.HTTPException) as error:
                raise Unreachable(
                    f"{method} {path} stopped in the middle of its answer: {error}.",
                    endpoint=f"{method} {path}",
                    hint="The request may have been carried out. Run the task again.",
                ) from error
            return answer.status, text

    def _send(self, method, path, body, timeout, repeatable):
        request = self._request(method, path, body)
        repeatable = repeatable or method in IDEMPOTENT
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return self._opener.open(request, timeout=timeout or self.timeout)
            except urllib.error.HTTPError as error:
                problem, retry_after = self._answered(error, method, path), error.headers.get("Retry-After")
            except (OSError, http.client.HTTPException) as error:
                problem, retry_after = self._unanswered(error, method, path, timeout), None
            if not (repeatable and problem.retryable) or attempt == ATTEMPTS:
                raise problem
            self._sleep(_pause(attempt, retry_after))
        raise AssertionError("unreachable: the last attempt returns or raises")

    def _request(self, method, path, body):
        headers = {"Accept": "application/json", "User-Agent": USER_AGENT}
        data = None
        if isinstance(body, bytes):
            data, headers["Content-Type"] = body, "application/x-www-form-urlencoded"
        elif body is not None:
            data, headers["Content-Type"] = json.dumps(body).encode("utf-8"), "application/json"
        request = urllib.request.Request(self.url + path, data=data, method=method, headers=headers)
        if self._auth is not None:
            request.add_unredirected_header("Authorization", self._auth.header)
        return request

    def _answered(self, error, method, path):
        # The status says enough when the rest of the answer does not arrive.
        text = ""
        with error, contextlib.suppress(OSError, http.client.HTTPException):
            text = error.read().decode("utf-8", "replace")
        hint = None
        if 300 <= error.code < 400:
            hint = f"The server points to {error.headers.get('Location')}. Set url to the place it points to."
        return api_error(error.code, text, f"{method} {path}", hint)

    def _unanswered(self, error, method, path, timeout):
        endpoint = f"{method} {path}"
        cause = error.reason if isinstance(error, urllib.error.URLError) else error
        if isinstance(cause, ssl.SSLCertVerificationError):
            return GpustackError(
                f"The certificate of {self.url} is not trusted: {cause.verify_message}.",
                endpoint=endpoint,
                reason="Certificate",
                hint=CERTIFICATE_HINTS.get(cause.verify_code, UNKNOWN_CA_HINT),
            )
        if isinstance(cause, ssl.SSLError) and cause.reason in NO_TLS:
            return GpustackError(
                f"What answers at {self.url} does not speak TLS: {cause.reason}.",
                endpoint=endpoint,
                reason="Certificate",
                hint="Write http:// in url, or the port that the server has for https.",
            )
        if isinstance(cause, socket.timeout) and cause is error:
            return NoAnswerInTime(
                f"{endpoint} of {self.url} did not answer within {timeout or self.timeout} s.",
                endpoint=endpoint,
                reason="Timeout",
                hint="Raise timeout, or look at the load of the server.",
            )
        problem = Unreachable(
            f"{self.url} does not answer {endpoint}: {cause}.",
            endpoint=endpoint,
            reason="Unreachable",
            hint="Check url, that the gpustack-server container runs, and the firewall between.",
        )
        problem.retryable = self.patient or not isinstance(cause, ConnectionRefusedError)
        return problem


def _checked_scheme(url):
    """The scheme of a URL that urllib can use. For others it raises all sorts of things, in the middle of a request."""
    try:
        parts = urllib.parse.urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname.encode("idna")) and parts.port != 0
    except (ValueError, AttributeError):
        usable = False
    if not usable or re.search(r"\s", url):
        problem = "is not an http or https URL"
    elif parts.username is not None:
        problem = "holds the name of a user"
    elif parts.path.strip("/") or parts.query or parts.fragment:
        problem = "has more than a scheme, a host and a port"
    else:
        return parts.scheme
    raise GpustackError(
        f"url is {masked_text(repr(url))}, which {problem}.",
        reason="Invalid",
        hint="Write the scheme and the host, for example http://10.0.0.10.",
    )


def _tls(ca, validate_certs):
    if not validate_certs:
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context
    try:
        return ssl.create_default_context(cafile=ca)
    except (OSError, ssl.SSLError) as error:
        raise GpustackError(
            f"ca_path {ca} cannot be read as PEM certificates: {error}.",
            hint="Give the path of a readable PEM file on the host where the module runs.",
        ) from error


def _with_query(path, filters):
    written = {key: value for key, value in filters.items() if value is not None}
    return path + ("?" + urllib.parse.urlencode(written) if written else "")


def _pause(attempt, retry_after):
    told = _retry_after_seconds(retry_after)
    if told is not None:
        return min(told, LONGEST_RETRY_AFTER)
    longest = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (attempt - 1))
    return random.uniform(longest / 2, longest)


def _retry_after_seconds(value):
    """Retry-After is a number of seconds or a date."""
    if not value:
        return None
    if value.strip().isdigit():
        return float(value)
    try:
        moment = email.utils.parsedate_to_datetime(value)
        return max(0.0, moment.timestamp() - time.time())
    except (TypeError, ValueError, IndexError):
        return None
