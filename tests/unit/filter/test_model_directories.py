# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.inferops.gpustack.plugins.filter.model_directories import model_directories

MODELS = [
    {
        "name": "flash",
        "deployments": [
            {"accelerator": "nvidia_h20", "path": "/srv/flash", "draft_path": "/srv/draft"},
            {"accelerator": "ascend_910b", "path": "/srv/flash-w8a8"},
        ],
    },
    {"name": "again", "deployments": [{"accelerator": "nvidia_h20", "path": "/srv/flash"}]},
]


def test_each_directory_of_the_accelerator_is_named_once():
    assert model_directories(MODELS, "nvidia_h20") == ["/srv/flash", "/srv/draft"]
    assert model_directories(MODELS, "ascend_910b") == ["/srv/flash-w8a8"]
    assert model_directories(MODELS) == []


@pytest.mark.parametrize("models", [None, "flash", [None], [{"deployments": "x"}], [{"deployments": [{"path": 7}]}]])
def test_what_has_another_shape_is_left_out(models):
    assert model_directories(models, "nvidia_h20") == []
