# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import base64
import email.utils
import pathlib
import re
import socket
import ssl
import time
import urllib.error
import urllib.request

import pytest
from ansible_collections.inferops.gpustack.plugins.module_utils import _client
from ansible_collections.inferops.gpustack.plugins.module_utils._client import ApiKey, Basic, Client
from ansible_collections.inferops.gpustack.plugins.module_utils._errors import (
    ApiError,
    GpustackError,
    NoAnswerInTime,
    Unreachable,
)
from api_playback import recorded

ROOT = pathlib.Path(__file__).parents[3]


def client_of(server, **more):
    return Client(server.url, Basic("admin", "secret"), **more)


def error_of(server, method, path, **answer):
    server.on(method, path, **answer)
    client = client_of(server)
    with pytest.raises(ApiError) as caught:
        client.post(path, {}) if method == "POST" else getattr(client, method.lower())(path)
    return caught.value


def test_version_is_that_of_the_collection():
    version = re.search(r"^version: (\S+)$", (ROOT / "galaxy.yml").read_text(), re.MULTILINE).group(1)
    assert version == _client.VERSION


def test_headers(server):
    server.on("GET", "/x", {})
    client_of(server).get("/x")
    Client(server.url, ApiKey("gpustack_a_b")).get("/x")
    Client(server.url).get("/x")
    first, second, third = (headers for _, _, _, headers in server.requests)
    assert first["User-Agent"] == "inferops.gpustack/0.1.0"
    assert base64.b64decode(first["Authorization"].split()[1]) == b"admin:secret"
    assert second["Authorization"] == "Bearer gpustack_a_b"
    assert "Authorization" not in third


NOT_A_URL = ["10.0.0.10", "ftp://host", "http://", "", "http://[::1", "http://host:abc", "http://a..b"]
NOT_A_URL += ["http://host:99999", "http://ho st", "http://host\n", f"http://{'a' * 64}"]


@pytest.mark.parametrize("url", NOT_A_URL)
def test_url_needs_scheme_and_host(url):
    with pytest.raises(GpustackError, match="not an http or https URL"):
        Client(url)


@pytest.mark.parametrize("url", ["http://host/v2", "http://host/\xfc", "http://host?x=1", "http://host#x"])
def test_url_has_no_path(url):
    with pytest.raises(GpustackError, match="has more than a scheme, a host and a port"):
        Client(url)


@pytest.mark.parametrize(
    "url", ["http://host/", "https://host:8443", "HTTP://host", "http://[::1]:80", "http://b\xfccher"]
)
def test_url_of_a_server(url):
    assert Client(url).url == url.rstrip("/")


def test_url_has_no_password():
    with pytest.raises(GpustackError, match="holds the name of a user") as caught:
        Client("http://admin:S3cret@host")
    assert "S3cret" not in caught.value.message


@pytest.mark.parametrize("key", ["gpustack_a_b\n", "two words", "schl\xfcssel", "\u79d8"])
def test_key_that_no_header_can_carry(key):
    with pytest.raises(GpustackError, match="api_key has characters") as caught:
        ApiKey(key)
    assert key.strip() not in caught.value.for_people()


@pytest.mark.parametrize("timeout", [0, -1, 10**12])
def test_timeout_out_of_range(timeout):
    with pytest.raises(GpustackError, match=f"timeout is {timeout}"):
        Client("http://host", timeout=timeout)


def test_https_where_there_is_none(server):
    with pytest.raises(GpustackError, match="does not speak TLS") as caught:
        Client(server.url.replace("http:", "https:")).get("/x")
    assert not isinstance(caught.value, Unreachable)


def test_proxy_only_when_asked(server, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "")
    server.on("GET", "/x", {"a": 1})
    assert client_of(server).get("/x") == {"a": 1}
    with pytest.raises(Unreachable):
        client_of(server, use_proxy=True).get("/x")


def test_redirects_are_not_followed(server):
    server.on("GET", "/x", "", status=302, headers={"Location": "https://elsewhere.example/x"})
    with pytest.raises(ApiError) as caught:
        client_of(server).get("/x")
    assert "https://elsewhere.example/x" in caught.value.hint
    assert len(server.requests) == 1


def test_a_failed_statement_of_the_database_is_not_shown(server):
    told = "Failed to create cluster: value too long\n[SQL: INSERT INTO clusters]\n[parameters: ('gpustack_a_b',)]"
    error = error_of(server, "POST", "/asked", answer={"code": 500, "reason": "X", "message": told}, status=500)
    assert error.api_message == "Failed to create cluster: value too long"
    assert "gpustack_a_b" not in error.for_people()


# The four shapes of an error, as a real server answered them.


@pytest.mark.parametrize(
    ("index", "status", "reason", "message"),
    [
        (0, 401, "Unauthorized", "Invalid authentication credentials"),
        (1, 404, "NotFound", "Model not found"),
        (2, 404, None, "Not Found"),
        (3, 405, None, "Method Not Allowed"),
        (4, 404, "NotFound", "Cluster 99 not found"),
        (6, 404, "NotFound", "Model not found"),
    ],
)
def test_recorded_errors(server, index, status, reason, message):
    call = recorded("errors")[index]
    error = error_of(server, "POST", "/asked", answer=call["answer"], status=call["status"])
    assert (error.status, error.reason, error.api_message) == (status, reason, message)
    assert error.endpoint == "POST /asked"


def test_recorded_validation_error_is_one_text(server):
    call = recorded("errors")[5]
    error = error_of(server, "POST", "/asked", answer=call["answer"], status=call["status"])
    assert error.status == 422
    assert error.reason == "Invalid"
    assert "'loc': ('body', 'source')" in error.api_message


def test_error_of_a_gateway(server):
    error = error_of(server, "POST", "/x", answer="<html>\n  un-recognized request</html>", status=404)
    assert error.api_message == "<html> un-recognized request</html>"
    assert "not GPUStack's own answer" in error.hint


def test_an_error_that_breaks_off_keeps_its_status(server):
    server.on("POST", "/x", {"message": "half of it"}, status=502, headers={"Content-Length": "1000"})
    with pytest.raises(ApiError) as caught:
        client_of(server).post("/x", {})
    assert (caught.value.status, caught.value.endpoint) == (502, "POST /x")
    assert caught.value.for_people().startswith("POST /x answered 502")


def test_success_that_is_no_json(server):
    server.on("GET", "/x", "<html>login</html>")
    with pytest.raises(ApiError, match="login"):
        client_of(server).get("/x")


def test_empty_answer(server):
    server.on("POST", "/x", None, status=204)
    assert client_of(server).post("/x", {}) is None


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_repeats_what_may_pass(server, no_pauses, status):
    server.on("GET", "/x", {"detail": "busy"}, status=status)
    server.on("GET", "/x", {"detail": "busy"}, status=status)
    server.on("GET", "/x", {"ok": True})
    assert client_of(server).get("/x") == {"ok": True}
    assert 0.25 <= no_pauses[0] <= 0.5
    assert 0.5 <= no_pauses[1] <= 1.0


def test_gives_up(server, no_pauses):
    error = error_of(server, "GET", "/x", answer={"detail": "busy"}, status=503)
    assert error.status == 503
    assert len(server.requests) == 4
    assert len(no_pauses) == 3


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 422, 500])
def test_does_not_repeat_the_rest(server, status):
    error_of(server, "GET", "/x", answer={"detail": "no"}, status=status)
    assert len(server.requests) == 1


def test_does_not_repeat_a_post(server):
    error_of(server, "POST", "/x", answer={"detail": "busy"}, status=503)
    assert len(server.requests) == 1


def test_repeats_a_post_that_may_be_repeated(server):
    server.on("POST", "/x", {"detail": "busy"}, status=503)
    server.on("POST", "/x", {"ok": True})
    assert client_of(server).post("/x", {}, repeatable=True) == {"ok": True}


@pytest.mark.parametrize(("value", "seconds"), [("7", 7.0), ("3600", 30.0), ("0", 0.0)])
def test_retry_after_seconds(server, no_pauses, value, seconds):
    server.on("GET", "/x", {}, status=429, headers={"Retry-After": value})
    server.on("GET", "/x", {})
    client_of(server).get("/x")
    assert no_pauses == [seconds]


def test_retry_after_date(server, no_pauses):
    server.on("GET", "/x", {}, status=503, headers={"Retry-After": email.utils.formatdate(time.time() + 10)})
    server.on("GET", "/x", {})
    client_of(server).get("/x")
    assert 8 <= no_pauses[0] <= 10


def test_retry_after_nonsense(server, no_pauses):
    server.on("GET", "/x", {}, status=503, headers={"Retry-After": "soon"})
    server.on("GET", "/x", {})
    client_of(server).get("/x")
    assert 0.25 <= no_pauses[0] <= 0.5


@pytest.mark.parametrize(("patient", "pauses"), [(True, 3), (False, 0)])
def test_unreachable(no_pauses, patient, pauses):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(Unreachable) as caught:
        Client(url, patient=patient).get("/v2/models")
    assert url in caught.value.message
    assert len(no_pauses) == pauses


def test_a_server_that_is_overloaded_is_asked_again_by_the_impatient_too(server, no_pauses):
    server.on("GET", "/x", {}, status=503)
    server.on("GET", "/x", {})
    Client(server.url, patient=False).get("/x")
    assert len(no_pauses) == 1


def test_no_answer_in_time_is_not_sent_again():
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(5)
        client = Client(f"http://127.0.0.1:{silent.getsockname()[1]}", timeout=0.2)
        with pytest.raises(NoAnswerInTime, match="within 0.2 s"):
            client.get("/x")
        silent.settimeout(0.1)
        silent.accept()[0].close()
        with pytest.raises(socket.timeout):
            silent.accept()


def test_list_all_reads_every_page(server):
    def page(number, ids):
        items = [{"id": one} for one in ids]
        server.on("GET", f"/l?page={number}&perPage=100&name=a", {"items": items, "pagination": {"totalPage": 3}})

    page(1, [1, 2])
    page(2, [2, 3])
    page(3, [4])
    found = client_of(server).list_all("/l", name="a", search=None)
    assert [one["id"] for one in found] == [1, 2, 3, 4]
    assert len(server.requests) == 3


def lists(server, page, ids, total, pages):
    answer = {"items": [{"id": one} for one in ids], "pagination": {"total": total, "totalPage": pages}}
    server.on("GET", f"/l?page={page}&perPage=100", answer)


def test_list_all_reads_again_what_changed_meanwhile(server):
    """1 is deleted between the pages, so 3 moves to the first one and is on neither."""
    lists(server, 1, [1, 2], total=3, pages=2)
    lists(server, 2, [], total=2, pages=1)
    lists(server, 1, [2, 3], total=2, pages=1)
    assert [one["id"] for one in client_of(server).list_all("/l")] == [2, 3]
    assert len(server.requests) == 3


def test_list_all_of_what_changes_all_the_time(server):
    lists(server, 1, [1], total=2, pages=2)
    lists(server, 2, [2], total=3, pages=2)
    assert [one["id"] for one in client_of(server).list_all("/l")] == [1, 2]
    assert len(server.requests) == 2 * _client.ATTEMPTS


def test_list_all_of_nothing(server):
    server.play(recorded("model")[0])
    assert client_of(server).list_all("/v2/models", search="qwen-h20") == []
    assert len(server.requests) == 1


def test_list_all_is_bounded(server, monkeypatch):
    monkeypatch.setattr(_client, "MOST_PAGES", 3)
    server.on("GET", "/l", {"items": [], "pagination": {"totalPage": 9}})
    with pytest.raises(GpustackError, match="more than 3 pages"):
        client_of(server).list_all("/l")


def test_list_all_of_something_else(server):
    server.on("GET", "/l", {"hello": "world"})
    with pytest.raises(GpustackError, match="did not answer a list"):
        client_of(server).list_all("/l")


@pytest.mark.parametrize(
    ("code", "said", "advice"),
    [
        (10, "certificate has expired", "gpustack_tls_certificate"),
        (62, "Hostname mismatch", "gpustack_server_url"),
        (20, "unable to get local issuer certificate", "gpustack_ca_certificate"),
    ],
)
def test_an_untrusted_certificate_gets_the_advice_for_its_reason(monkeypatch, code, said, advice):
    refusal = ssl.SSLCertVerificationError()
    refusal.verify_code, refusal.verify_message = code, said

    def refuse(*unused, **unused_too):
        raise urllib.error.URLError(refusal)

    monkeypatch.setattr(urllib.request.OpenerDirector, "open", refuse)
    with pytest.raises(GpustackError, match=said) as caught:
        Client("https://gpustack.example.com").get("/x")
    assert advice in caught.value.for_people()
