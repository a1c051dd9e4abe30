# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Settings people read about that do not exist, and what exists instead (data/knobs.yml)."""

from __future__ import annotations

import functools
import re

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _data
from ansible_collections.inferops.gpustack.plugins.plugin_utils._findings import error

_PREFIX = re.compile(r"^(gpustack|dspark|vllm)_")


def finding(name, place, where):
    """The finding for an invented setting, or None. `place`: variable, model, deployment, args or env."""
    knob = _find(name, place)
    if knob is None:
        return None
    return error(
        "knob_invented",
        where,
        f"{name}, a setting that neither GPUStack nor an engine has",
        knob["instead"],
        "take it out; if you want its effect, write what stands under expected",
        knob["source"],
    )


def _find(name, place):
    words = str(name).lower().lstrip("-").replace("-", "_")
    # dspark_config is a name of its own, gpustack_dspark_auto_compile carries two prefixes.
    while words not in _names() and _PREFIX.match(words):
        words = _PREFIX.sub("", words, count=1)
    knob = _names().get(words)
    return knob if knob and place in knob.get("only", [place]) else None


@functools.lru_cache(maxsize=None)
def _names():
    return {name: knob for knob in _data.load("knobs.yml") for name in (knob["name"], *knob.get("aliases", ()))}
