# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: artefact_image
short_description: The reference of an image this collection knows by name
version_added: 0.1.0
author: InferOps contributors (@inferops)
description: Looks an image up in the collection's artefacts and applies registry rewriting and the digest lock.
positional: _input
options:
  _input:
    description: Name of the artefact, for example C(gpustack), C(runtime_pause) or C(runtime_health).
    type: str
    required: true
  version:
    description: Version of the image; the collection's own default when left out.
    type: str
  rewrites:
    description: Registry host to the prefix that serves it instead.
    type: dict
    default: {}
  lock:
    description: Canonical image name to its digest.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: The image of server and workers
  ansible.builtin.debug:
    msg: "{{ 'gpustack' | inferops.gpustack.artefact_image(version=gpustack_version) }}"
"""

RETURN = r"""
_value:
  description: The reference, as the filter P(inferops.gpustack.image_reference#filter) gives it.
  type: str
"""

from ansible.errors import AnsibleFilterError
from ansible_collections.inferops.gpustack.plugins.plugin_utils import _data, _images


def artefact_image(name, version=None, rewrites=None, lock=None):
    try:
        image = _images.artefact(_data.plain(name), _data.plain(version))
        return _images.reference(image, _data.plain(rewrites), _data.plain(lock))
    except _images.ImageError as error:
        raise AnsibleFilterError(f"artefact_image: {error}") from error


class FilterModule:
    def filters(self):
        return {"artefact_image": artefact_image}
