# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: image_reference
short_description: The one reference a site uses for a container image
version_added: 0.1.0
author: InferOps contributors (@inferops)
description:
  - Applies registry rewriting and the digest lock to an image name.
  - A name without a registry host means docker.io, as Docker itself reads it.
  - A digest written in the name itself stands above the lock.
positional: _input
options:
  _input:
    description: The image name.
    type: str
    required: true
  rewrites:
    description: Registry host to the prefix that serves it instead.
    type: dict
    default: {}
  lock:
    description: Canonical image name (registry host, repository, tag) to its digest.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: What is pulled, compared and started
  ansible.builtin.debug:
    # 10.0.0.5:5000/docker.io/vllm/vllm-openai:v0.25.0
    msg: "{{ 'vllm/vllm-openai:v0.25.0' | inferops.gpustack.image_reference(rewrites=mirrors) }}"
  vars:
    mirrors:
      docker.io: 10.0.0.5:5000/docker.io
"""

RETURN = r"""
_value:
  description: The reference, C(registry/repository:tag) or C(registry/repository@digest).
  type: str
"""

from ansible.errors import AnsibleFilterError
from ansible_collections.inferops.gpustack.plugins.plugin_utils import _data, _images


def image_reference(image, rewrites=None, lock=None):
    try:
        return _images.reference(_data.plain(image), _data.plain(rewrites), _data.plain(lock))
    except _images.ImageError as error:
        raise AnsibleFilterError(f"image_reference: {error}") from error


class FilterModule:
    def filters(self):
        return {"image_reference": image_reference}
