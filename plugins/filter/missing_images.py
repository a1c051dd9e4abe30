# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: missing_images
short_description: The references a container engine does not hold
version_added: 0.1.0
author: InferOps contributors (@inferops)
description:
  - Compares image references with the tags and digests a container engine lists.
  - Both sides are read the way Docker reads names, so C(redis:7) and C(docker.io/library/redis:7) are one image.
  - A reference with a digest is held only when that digest is listed.
positional: _input, present
options:
  _input:
    description: The references that are needed.
    type: list
    elements: str
    required: true
  present:
    description: Every RepoTag and RepoDigest of the engine.
    type: list
    elements: str
    required: true
"""

EXAMPLES = r"""
- name: What has to be pulled
  ansible.builtin.debug:
    msg: "{{ needed | inferops.gpustack.missing_images(ansible_facts.gpustack_host.engine.images) }}"
"""

RETURN = r"""
_value:
  description: The references that are not there, in the given order, each once.
  type: list
  elements: str
"""

from ansible.errors import AnsibleFilterError
from ansible_collections.inferops.gpustack.plugins.plugin_utils import _data, _images


def missing_images(references, present):
    try:
        return _images.missing(_data.plain(references), _data.plain(present))
    except _images.ImageError as error:
        raise AnsibleFilterError(f"missing_images: {error}") from error


class FilterModule:
    def filters(self):
        return {"missing_images": missing_images}
