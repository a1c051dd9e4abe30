# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options shared by everything that talks to the GPUStack API."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  url:
    description:
      - Base URL of the GPUStack server, with its scheme and without a path, for example V(http://10.0.0.10).
      - Redirects are not followed, because a redirect would carry the credentials to another place.
      - The environment variable E(GPUSTACK_URL) is read when the option is not set.
    type: str
    required: true
  username:
    description: Name of the user for HTTP Basic authentication.
    type: str
    default: admin
  password:
    description:
      - Password of O(username).
      - The environment variable E(GPUSTACK_PASSWORD) is read when the option is not set.
      - One of O(password) and O(api_key) is required.
    type: str
  api_key:
    description:
      - API key with the scope V(*), or V(management) and V(inference) as the module needs. It goes before O(password).
      - The environment variable E(GPUSTACK_API_KEY) is read when the option is not set.
    type: str
  ca_path:
    description: File of PEM certificates that sign the server's certificate. The system's own store is used when unset.
    type: path
  validate_certs:
    description: Whether to check the server's certificate. Switch it off for tests only.
    type: bool
    default: true
  timeout:
    description: Seconds that one request may take.
    type: int
    default: 30
  use_proxy:
    description:
      - Whether to use the proxy that the environment names (E(http_proxy), E(https_proxy), E(no_proxy)).
      - Off by default, because GPUStack is on the same network and most proxies do not reach it.
    type: bool
    default: false
"""
    # What modules do with it.
    REQUESTS = r"""
options: {}
notes:
  - Requests that cannot change anything twice are repeated up to three times when the connection fails or the server
    answers 429, 502, 503 or 504. C(Retry-After) is honoured up to 30 seconds.
  - In check mode a server that does not answer is not an error, because on a new site it does not exist yet. The module
    then warns and reports what it would do on an empty server, which is nothing for one that only reads.
"""
