# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the server answers when it is asked wrongly or fails, and what the collection's client makes of it."""

from __future__ import annotations

import fault_proxy
import pytest
from ansible_collections.inferops.gpustack.plugins.module_utils._client import ATTEMPTS, Basic, Client
from ansible_collections.inferops.gpustack.plugins.module_utils._errors import (
    ApiError,
    NoAnswerInTime,
    Unreachable,
)
from ports import free_port
from steps import stays

CLUSTERS = "/v2/clusters"
MODELS = "/v2/models"


@pytest.fixture(autouse=True)
def _short_pauses():
    """The pauses are part of what is tested here."""


@pytest.fixture
def pauses():
    return []


@pytest.fixture
def connect(server, proxy, pauses):
    def make(**options):
        client = Client(proxy.url, Basic(server.username, server.password), **options)
        client._sleep = pauses.append
        return client

    return make


@pytest.fixture
def client(connect):
    return connect()


def failing(error, call, *arguments, **options):
    with pytest.raises(error) as caught:
        call(*arguments, **options)
    return caught.value


# Traps: the real server, asked in unusual ways


@pytest.mark.trap(15)
@pytest.mark.parametrize(
    "method, path, body, shape, said",
    [
        ("POST", CLUSTERS, {}, {"code", "reason", "message"}, "422 (Invalid): 1 validation errors:"),
        ("GET", "/v2/nothing", None, {"detail"}, "404: Not Found"),
        ("POST", "/v1/chat/completions", {"model": "none", "messages": []}, {"error"}, "404"),
    ],
)
def test_shapes_of_errors(api, client, method, path, body, shape, said):
    answer = api.request(method, path, json=body)
    assert set(answer.json()) >= shape
    error = failing(ApiError, client._json, method, path, body)
    assert f"{method} {path} answered {said}" in error.message
    assert (error.status, error.body) == (answer.status_code, answer.json())


@pytest.mark.trap(15)
def test_error_of_something_in_between(client, proxy):
    """The fourth shape is everything that is none of the server's."""
    proxy.fault("GET", CLUSTERS, fault_proxy.another_product())
    error = failing(ApiError, client.list_all, CLUSTERS)
    assert (error.status, error.reason, error.body) == (404, None, "404 page not found")
    assert error.for_people() == (
        f"GET {CLUSTERS}?page=1&perPage=100 answered 404: 404 page not found. This is not GPUStack's own answer. Check "
        "that url is GPUStack and not a proxy or another service. Check the url option: it is the server's base URL, "
        "without a path. The object may also be gone."
    )


@pytest.mark.trap(17)
def test_validation_errors_are_one_text(api, client):
    body = {"name": ["x"], "server_url": "nix", "provider": "Docker"}
    answer = api.request("POST", CLUSTERS, json=body)
    assert (answer.status_code, answer.json()["reason"]) == (422, "Invalid")
    message = answer.json()["message"]
    assert isinstance(message, str)
    assert message.startswith("2 validation errors:\n")
    error = failing(ApiError, client.post, CLUSTERS, body)
    assert error.api_message == message.strip()


@pytest.mark.trap(18)
def test_per_page_of_zero(api, client, proxy):
    assert api.request("GET", MODELS, params={"page": 1, "perPage": 0}).status_code == 500
    client.list_all(MODELS)
    assert [one.query for one in proxy.sent("GET", MODELS)] == [{"page": "1", "perPage": "100"}]


@pytest.mark.trap(23)
def test_page_minus_one(api, client, deploy):
    deploy(replicas=0)
    deploy(replicas=0)
    whole = api.get(MODELS, page=-1)["items"]
    assert len(whole) >= 2
    assert {one["id"] for one in client.list_all(MODELS)} == {one["id"] for one in whole}


def test_every_page_is_read(client, proxy, api, deploy, monkeypatch):
    monkeypatch.setattr("ansible_collections.inferops.gpustack.plugins.module_utils._client.PER_PAGE", 1)
    made = {deploy(replicas=0)["id"], deploy(replicas=0)["id"]}
    assert made <= {one["id"] for one in client.list_all(MODELS)}
    assert len(proxy.sent("GET", MODELS)) == len(api.items(MODELS))


@pytest.mark.trap(13)
def test_a_filter_by_name_that_is_ignored(run, api, deploy):
    model = deploy(replicas=0)
    for path, key, there in ((MODELS, "name", model["name"]), ("/v2/users", "username", "admin")):
        assert there in [one[key] for one in api.items(path, **{key: "nobody"})]
    stays(run, "model", name="nobody", state="absent")
    stays(run, "user", name="nobody", state="absent")
    assert api.get(f"{MODELS}/{model['id']}")["name"] == model["name"]


# Faults between client and server


def test_a_failing_server_is_not_asked_again(client, proxy, pauses):
    proxy.fault("GET", CLUSTERS, fault_proxy.status(500), count=None)
    error = failing(ApiError, client.list_all, CLUSTERS)
    assert (error.status, error.reason, error.hint) == (
        500,
        "Simulated",
        "The server failed. Read its log: docker logs gpustack-server.",
    )
    assert (len(proxy.sent()), pauses) == (1, [])


@pytest.mark.parametrize("code", [502, 503, 504])
def test_what_passes_is_asked_again(client, proxy, pauses, code):
    proxy.fault("GET", CLUSTERS, fault_proxy.status(code), count=2)
    assert [one["name"] for one in client.list_all(CLUSTERS)]
    assert len(proxy.sent()) == 3
    assert 0.25 <= pauses[0] <= 0.5 <= pauses[1] <= 1


def test_what_does_not_pass(client, proxy, pauses):
    proxy.fault("GET", CLUSTERS, fault_proxy.status(502), count=None)
    assert failing(ApiError, client.list_all, CLUSTERS).status == 502
    assert (len(proxy.sent()), len(pauses)) == (ATTEMPTS, ATTEMPTS - 1)


@pytest.mark.parametrize("asked, waited", [(2, 2), (3600, 30)])
def test_retry_after(client, proxy, pauses, asked, waited):
    proxy.fault("GET", CLUSTERS, fault_proxy.too_many(asked))
    client.list_all(CLUSTERS)
    assert pauses == [waited]


def test_slow(connect, proxy, pauses):
    """The server may be working on it, so it is not asked again."""
    proxy.fault("GET", CLUSTERS, fault_proxy.slow(1.5), count=None)
    error = failing(NoAnswerInTime, connect(timeout=0.5).list_all, CLUSTERS)
    assert f"of {proxy.url} did not answer within 0.5 s." in error.message
    assert (len(proxy.sent()), pauses) == (1, [])


def test_slow_but_in_time(connect, proxy):
    proxy.fault("GET", CLUSTERS, fault_proxy.slow(0.3))
    assert connect(timeout=20).list_all(CLUSTERS)


def test_truncated(client, proxy):
    proxy.fault("GET", CLUSTERS, fault_proxy.truncated(), count=None)
    error = failing(Unreachable, client.list_all, CLUSTERS)
    assert "stopped in the middle of its answer" in error.message
    assert error.hint == "The request may have been carried out. Run the task again."


def test_an_error_that_breaks_off(client, proxy, pauses):
    def fault(handler):
        handler.send(502, b"<html>half of a", {"Content-Type": "text/html"}, length=1000)
        handler.close_connection = True

    proxy.fault("POST", CLUSTERS, fault)
    error = failing(ApiError, client.post, CLUSTERS, {"name": "x"})
    assert (error.status, error.endpoint) == (502, f"POST {CLUSTERS}")
    proxy.fault("GET", CLUSTERS, fault)
    assert client.list_all(CLUSTERS)
    assert len(pauses) == 1


def test_reset(client, proxy, pauses):
    proxy.fault("GET", CLUSTERS, fault_proxy.reset(), count=2)
    assert client.list_all(CLUSTERS)
    assert (len(proxy.sent()), len(pauses)) == (3, 2)


def test_html(client, proxy):
    """A sign-in page of another product answers 200."""
    proxy.fault("GET", CLUSTERS, fault_proxy.html())
    error = failing(ApiError, client.list_all, CLUSTERS)
    assert error.status == 200
    assert "<h1>Sign in</h1>" in error.message
    assert error.hint.startswith("This is not GPUStack's own answer.")


FAULTS = {
    "502": fault_proxy.status(502),
    "429": fault_proxy.too_many(1),
    "reset": fault_proxy.reset(),
    "reset after the server": fault_proxy.reset(after_the_server=True),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_post_is_not_repeated(client, proxy, api, unique, fault):
    name = unique("edge")
    proxy.fault("POST", CLUSTERS, FAULTS[fault])
    failing((ApiError, Unreachable), client.post, CLUSTERS, {"name": name, "provider": "Docker"})
    assert len(proxy.sent("POST")) == 1
    made = api.find(CLUSTERS, name=name)
    assert (made is not None) is (fault == "reset after the server")
    if made:
        api.delete(f"{CLUSTERS}/{made['id']}")


def test_a_module_after_an_answer_was_lost(run, proxy, api, unique):
    """What the server did is found by the next run."""
    name = unique("edge")
    proxy.fault("POST", CLUSTERS, fault_proxy.reset(after_the_server=True))
    lost = run("cluster", url=proxy.url, name=name, ok=False)
    assert lost["failure"]["reason"] == "Unreachable"
    stays(run, "cluster", name=name)
    api.delete(f"{CLUSTERS}/{api.find(CLUSTERS, name=name)['id']}")


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_what_changes_nothing_twice_is_repeated(client, proxy, api, unique, method):
    made = api.post(CLUSTERS, {"name": unique("edge"), "provider": "Docker"})
    path = f"{CLUSTERS}/{made['id']}"
    proxy.fault(method, path, fault_proxy.status(502))
    client._json(method, path, {"name": made["name"], "description": "x"} if method == "PUT" else None)
    assert len(proxy.sent(method)) == 2
    if method == "PUT":
        assert api.get(path)["description"] == "x"
        api.delete(path)
    assert api.find(CLUSTERS, name=made["name"]) is None


@pytest.mark.trap(25)
def test_a_delete_that_was_done_is_done(run, proxy, api, unique):
    """The answer is lost, the repeated one finds nothing."""
    name = unique("edge")
    run("cluster", name=name)
    proxy.fault("DELETE", ".*", fault_proxy.reset(after_the_server=True))
    assert run("cluster", url=proxy.url, name=name, state="absent")["changed"] is True
    assert len(proxy.sent("DELETE")) == 2
    assert api.find(CLUSTERS, name=name) is None


def test_a_proxy_only_when_asked(connect, proxy, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{free_port()}")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    assert connect().list_all(CLUSTERS)
    before = len(proxy.sent())
    failing(Unreachable, connect(use_proxy=True).list_all, CLUSTERS)
    assert len(proxy.sent()) == before
