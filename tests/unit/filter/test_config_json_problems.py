from __future__ import annotations

import base64

import pytest
from ansible_collections.inferops.gpustack.plugins.filter.config_json_problems import config_json_problems


def read(text):
    return {"item": "/srv/models/m", "content": base64.b64encode(text.encode()).decode()}


def test_a_model_is_no_problem():
    assert config_json_problems([read('{"model_type": "deepseek_v4"}')]) == []


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ({"item": "/srv/models/m", "msg": "file not found: /srv/models/m/config.json"}, "file not found"),
        ({"item": "/srv/models/m"}, "cannot be read"),
        (read("{"), "is not JSON"),
        (read('["model_type"]'), "no model_type"),
        (read("{}"), "no model_type"),
    ],
)
def test_problems_name_the_directory(result, expected):
    problems = config_json_problems([result])
    assert len(problems) == 1
    assert problems[0].startswith("/srv/models/m: ")
    assert expected in problems[0]
