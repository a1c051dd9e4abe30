"""Certificate, key, ports and URL: what fits together and what does not."""

from __future__ import annotations

import pytest
from ansible_collections.inferops.gpustack.plugins.plugin_utils import _check_tls
from ansible_collections.inferops.gpustack.plugins.plugin_utils._site import Site

CERTIFICATE, KEY = {"gpustack_tls_certificate": "/etc/ssl/tls.crt"}, {"gpustack_tls_key": "/etc/ssl/tls.key"}
TLS = {**CERTIFICATE, **KEY}


def findings(url="https://gpustack.example.com", unreadable=None, **values):
    values["gpustack_server_url"] = url
    inventory = {"hosts": {"gs": values, "h20": values}, "groups": {"gpustack_server": ["gs"]}}
    inventory["unreadable"] = unreadable
    return list(_check_tls.check(Site(inventory)))


def ids(*arguments, **values):
    return [finding.id for finding in findings(*arguments, **values)]


@pytest.mark.parametrize(
    ("url", "values"),
    [
        ("http://10.0.0.10", {}),
        ("https://gpustack.example.com", {}),  # a proxy has the certificate
        ("https://gpustack.example.com", TLS),
        ("https://gpustack.example.com:443", TLS),
        ("https://gpustack.example.com:8443", {**TLS, "gpustack_server_tls_port": 8443}),
        ("https://gpustack.example.com:port", TLS),  # no URL, which is another check's finding
    ],
)
def test_what_fits(url, values):
    assert ids(url, **values) == []


@pytest.mark.parametrize(("there", "absent"), [(CERTIFICATE, "gpustack_tls_key"), (KEY, "gpustack_tls_certificate")])
def test_one_without_the_other(there, absent):
    (finding,) = findings(**there)
    assert (finding.id, finding.severity, finding.where) == ("tls_incomplete", "error", absent)
    assert f"set {absent} too" in finding.fix


def test_an_empty_key_is_none():
    assert ids(**CERTIFICATE, gpustack_tls_key="") == ["tls_incomplete"]


def test_a_key_that_cannot_be_resolved_is_not_missing():
    assert ids(**CERTIFICATE, unreadable={"gs": {"gpustack_tls_key": "'x' is undefined"}}) == []


@pytest.mark.parametrize(
    ("url", "port", "found"),
    [
        ("http://gpustack.example.com", 443, "an http URL"),
        ("https://gpustack.example.com", 8443, "port 443"),
        ("https://gpustack.example.com:8443", 443, "port 8443"),
    ],
)
def test_a_url_that_does_not_go_with_the_certificate(url, port, found):
    (finding,) = findings(url, **TLS, gpustack_server_tls_port=port)
    assert (finding.id, finding.severity, finding.found) == ("tls_url_mismatch", "warning", found)
    assert finding.where == "gpustack_server_url on gs, h20"


def test_one_port_for_http_and_https():
    assert ids(**TLS, gpustack_server_port=443) == ["tls_port_taken"]
