"""The filters as a playbook finds and calls them; their refusals in place."""

from __future__ import annotations

import importlib
import pathlib

import pytest
from ansible.errors import AnsibleFilterError
from unit.ansible_run import playbook

PLAYBOOK = pathlib.Path(__file__).parent / "filters.yml"


def filter_of(name):
    module = importlib.import_module(f"ansible_collections.inferops.gpustack.plugins.filter.{name}")
    return module.FilterModule().filters()[name]


def test_every_filter_from_a_playbook():
    done = playbook("-i", "localhost,", PLAYBOOK)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("everything", [True, [], ""])
def test_pci_profiles_of_all_vendors(everything):
    assert {card["vendor"] for card in filter_of("pci_profiles")(everything)} == {"nvidia", "ascend"}


BROKEN_MODEL = {"name": "m", "family": "x", "deployments": [{"accelerator": "y", "path": "/"}]}


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("accelerator_profile", ["nope"]),
        ("artefact_image", ["nope"]),
        ("image_reference", ["a b"]),
        ("missing_images", [["a b"], []]),
        ("plan", [[BROKEN_MODEL]]),
        ("plan", ["x"]),
        ("plan", [{"name": "m"}]),
        ("plan", [["x"]]),
        ("plan", [[{"name": "m"}]]),
        ("plan", [[], [1]]),
        ("plan", [[], {"ascend_910b": "2"}]),
        ("plan", [[], {}, {"docker.io": 5}]),
        ("plan", [[], {}, {}, "x"]),
        ("plan", [[], {}, {}, {}, "x"]),
        ("plan", [[], {}, {}, {}, {}, [1]]),
        ("kv_capacity", [{}]),
        ("kv_capacity", ["x"]),
        ("kv_context", [{}]),
        ("launch_args", [["x"]]),
        ("launch_args", ["--x"]),
        ("launch_args", [{}, "rocm"]),
        ("launch_env", [{"A": True}]),
        ("launch_env", [["A"]]),
    ],
)
def test_a_filter_names_itself_when_it_refuses(name, arguments):
    with pytest.raises(AnsibleFilterError, match=f"^{name}: "):
        filter_of(name)(*arguments)


def sound_model(**more):
    return {
        "name": "m",
        "family": "deepseek_v4",
        "deployments": [{"accelerator": "ascend_910b", "path": "/srv/m"}],
        **more,
    }


@pytest.mark.parametrize(
    ("models", "told"),
    [
        ("x", "models is 'x' (text), where a list is needed; write a list, with - before each entry"),
        ([sound_model(family=None)], "models[0].family is nothing, where text is needed; add the key family. "),
        (
            [sound_model(deployments=[{"accelerator": "ascend_910b", "path": "/m", "args": ["--x"]}])],
            "models[0].deployments[0].args is a list, where a mapping is needed; write a mapping of key: value",
        ),
        ([sound_model(vram_claim_gib="40")], "models[0].vram_claim_gib is '40' (text), where a number is needed; "),
        ([sound_model(route={"weights": {"ascend_910b": "x"}})], "models[0].route.weights.ascend_910b is 'x' (text), "),
    ],
)
def test_the_plan_says_what_is_wrong_with_a_model(models, told):
    with pytest.raises(AnsibleFilterError) as error:
        filter_of("plan")(models)
    assert str(error.value).startswith(f"plan: {told}")


LOAD = {"release": "0.26.0", "platform": "cuda", "max_model_len": 1, "max_num_batched_tokens": 1, "gib_per_device": 1}


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (LOAD, "nothing is said about dspark; give them as options"),
        (dict(LOAD, dspark=True, max_len=1), "unknown: max_len; known are release, platform, max_model_len, "),
    ],
)
@pytest.mark.parametrize("name", ["kv_capacity", "kv_context"])
def test_the_kv_filters_say_which_options_they_need(name, asked, told):
    requests = {"requests": 1} if name == "kv_context" else {}
    with pytest.raises(AnsibleFilterError) as error:
        filter_of(name)({}, **requests, **asked)
    assert str(error.value).startswith(f"{name}: {told}")


def test_kv_context_needs_a_number_of_requests():
    with pytest.raises(
        AnsibleFilterError, match="^kv_context: requests is NoneType; write a whole number of at least 1"
    ):
        filter_of("kv_context")({}, dspark=True, **LOAD)
