"""Arguments as people, GPUStack and the engine write them."""

from __future__ import annotations

import argparse
import json
import shlex

import pytest
from ansible_collections.inferops.gpustack.plugins.plugin_utils import _arguments
from hypothesis import given
from hypothesis import strategies as st

JSON = st.recursive(
    st.one_of(st.booleans(), st.integers(-(10**9), 10**9), st.text(max_size=8)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=6,
)
MAPPINGS = st.one_of(st.dictionaries(st.text(max_size=5), JSON, max_size=3), st.lists(JSON, max_size=3))
FLAGS = st.from_regex(r"[a-z][a-z0-9]{0,8}(-[a-z0-9]{1,8}){0,2}", fullmatch=True).filter(
    lambda flag: not flag.startswith("no-") and _arguments.normalised(flag) == flag
)


@given(FLAGS, st.one_of(st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), MAPPINGS))
def test_what_is_written_is_read_back(flag, value):
    assert _arguments.parse(_arguments.render(flag, value)) == (flag, value)


@given(FLAGS, st.text(max_size=20))
def test_texts_keep_what_they_say(flag, text):
    """A text that looks like a number or JSON is one to the engine too; anything else comes back as it was."""
    name, value = _arguments.parse(_arguments.render(flag, text))
    assert name == flag
    assert _arguments.render(name, value) == f"--{flag}={text}"


@given(FLAGS, MAPPINGS)
def test_the_engine_reads_the_same_json(flag, value):
    """One element is one word of the command line, whatever quotes, spaces and braces are in it."""
    element = _arguments.render(flag, value)
    parser = argparse.ArgumentParser(prefix_chars="-")
    parser.add_argument(f"--{flag}", dest="value")
    assert json.loads(parser.parse_args([element]).value) == value
    assert shlex.split(shlex.quote(element)) == [element]


@pytest.mark.parametrize("element", ["", "--", "-x", "max-model-len=1", 3, None])
def test_what_is_no_argument_is_refused(element):
    with pytest.raises(_arguments.ArgumentError, match="--flag"):
        _arguments.parse(element)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("007", "007"),
        ("1e3", "1e3"),
        ("true", "true"),
        ('"x"', '"x"'),
        ('{"a": 1}', '{"a": 1}'),
        ('{"a":1}', {"a": 1}),
        ("0.9", 0.9),
        ("", ""),
        ("a=b", "a=b"),
    ],
)
def test_only_what_would_be_written_the_same_is_read_as_more_than_text(text, value):
    assert _arguments.parse(f"--x={text}") == ("x", value)


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (128000, 128000),
        ("128k", 128000),
        ("1K", 1024),
        ("2.5M", 2621440),
        (" 8192 ", 8192),
        (0.9, 0.9),
        ("0.9", 0.9),
        (True, None),
        ("auto", None),
        ("-1", None),
        ({"a": 1}, None),
        ("9" * 5000, 10**18),
        (10**400, 10**18),
        (float("nan"), None),
        (float("inf"), 10**18),
    ],
)
def test_numbers_as_the_engine_reads_them(value, number):
    assert _arguments.number(value) == number


@pytest.mark.parametrize(
    ("written", "flag"),
    [
        ("--tp", "tensor-parallel-size"),
        ("-pp", "pipeline-parallel-size"),
        ("dp", "data-parallel-size"),
        ("sc", "speculative-config"),
        ("max_model_len", "max-model-len"),
    ],
)
def test_one_flag_has_one_name(written, flag):
    assert _arguments.normalised(written) == flag
