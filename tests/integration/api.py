# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tests' own way to the server. It shares no code with the collection, so that one can prove the other."""

from __future__ import annotations

import time
from http.cookiejar import DefaultCookiePolicy

import requests


class Refused(AssertionError):
    """The server answered with an error."""

    def __init__(self, response):
        asked = response.request
        super().__init__(f"{asked.method} {asked.url}: {response.status_code} {response.text[:500]}")
        self.status = response.status_code
        self.response = response


class Api:
    def __init__(self, url, user=None, password=None, token=None):
        self.url = url
        self._session = requests.Session()
        # Neither proxies nor .netrc of the machine.
        self._session.trust_env = False
        # Nor the session of a login, which the server would believe before a token.
        self._session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        if token:
            self._session.headers["Authorization"] = f"Bearer {token}"
        elif user and password:
            self._session.auth = (user, password)

    def request(self, method, path, **options):
        """The answer as it is, whatever its status. Options are those of requests."""
        return self._session.request(method, self.url + path, **{"timeout": 30, **options})

    def get(self, path, **params):
        return self._body("GET", path, params=params)

    def post(self, path, body=None, **params):
        return self._body("POST", path, json=body, params=params)

    def put(self, path, body=None, **params):
        return self._body("PUT", path, json=body, params=params)

    def delete(self, path, **params):
        return self._body("DELETE", path, params=params)

    def items(self, path, **params):
        """All objects of a list."""
        return self.get(path, perPage=100, **params)["items"]

    def find(self, path, **fields):
        """The one object with these fields, else None."""
        found = [one for one in self.items(path) if fields.items() <= one.items()]
        assert len(found) < 2, f"{len(found)} objects at {path} have {fields}"
        return found[0] if found else None

    def wait(self, path, until, seconds=60, **params):
        """The answer at `path` as soon as `until(answer)` holds; a missing object is None."""
        end = time.monotonic() + seconds
        while True:
            response = self.request("GET", path, params=params)
            answer = None if response.status_code == 404 else _json(response)
            if until(answer):
                return answer
            assert time.monotonic() < end, f"{path} after {seconds} s: {answer}"
            time.sleep(0.1)

    def gone(self, path, seconds=30):
        self.wait(path, lambda answer: answer is None, seconds)

    def _body(self, method, path, **options):
        return _json(self.request(method, path, **options))


def _json(response):
    if response.status_code >= 400:
        raise Refused(response)
    return response.json() if response.content else None
