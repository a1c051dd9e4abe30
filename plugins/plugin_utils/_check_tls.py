# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The certificate, its key, and the URL that goes with them."""

from __future__ import annotations

from urllib.parse import urlsplit

from ansible_collections.inferops.gpustack.plugins.plugin_utils._check_addresses import is_local
from ansible_collections.inferops.gpustack.plugins.plugin_utils._findings import error, warning
from ansible_collections.inferops.gpustack.plugins.plugin_utils._site import listed

_CERTIFICATE, _KEY = "gpustack_tls_certificate", "gpustack_tls_key"
_PORT, _TLS_PORT = "gpustack_server_port", "gpustack_server_tls_port"


def check(site):
    if any(name in unreadable for unreadable in site.unreadable.values() for name in (_CERTIFICATE, _KEY)):
        return
    certificate, key = (any(value for value, unused in site.variants(name)) for name in (_CERTIFICATE, _KEY))
    if certificate != key:
        there, absent = (_CERTIFICATE, _KEY) if certificate else (_KEY, _CERTIFICATE)
        fix = f"set {absent} too; or take {there} out, if a proxy in front of the server has the certificate"
        yield error("tls_incomplete", absent, f"nothing, but there is {there}", "both, or neither", fix)
    elif certificate:
        yield from _ports(site)
        for url, hosts in site.variants("gpustack_server_url"):
            if isinstance(url, str):
                yield from _url(site, url.strip(), f"gpustack_server_url on {listed(hosts)}")


def _ports(site):
    if site.value(_PORT) == site.value(_TLS_PORT):
        fix = f"give {_TLS_PORT} or {_PORT} another port"
        yield error("tls_port_taken", _TLS_PORT, f"{site.value(_TLS_PORT)}, which {_PORT} has too", "another port", fix)


def _url(site, text, where):
    try:
        url = urlsplit(text)
        port = url.port or 443
    except ValueError:
        return  # Not a URL: reported with the server.
    if url.scheme == "http":
        name = "<name in the certificate>" if is_local(url.hostname or "") else url.hostname
        fix = f"write https://{name}, so that passwords and tokens do not travel in plain text"
        yield _mismatch(where, "an http URL", f"an https URL, because there is {_CERTIFICATE}", fix)
    elif url.scheme == "https" and port != site.value(_TLS_PORT):
        fix = (
            f"write port {site.value(_TLS_PORT)} in the URL, or set {_TLS_PORT}: {port}; "
            "accept it if a proxy stands between them"
        )
        yield _mismatch(where, f"port {port}", f"{_TLS_PORT}, which is {site.value(_TLS_PORT)}", fix)


def _mismatch(where, found, expected, fix):
    return warning("tls_url_mismatch", where, found, expected, fix)
