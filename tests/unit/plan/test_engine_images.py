"""What is known to be in an engine image."""

from __future__ import annotations

import pytest
from ansible_collections.inferops.gpustack.plugins.plugin_utils._engine_images import cards, of_deployment
from ansible_collections.inferops.gpustack.plugins.plugin_utils._images import ImageError

OWN = {
    "registry.example.com/ai/vllm:a100": {
        "engine": "vllm",
        "engine_version": "0.26.0",
        "platform": "cuda",
        "cuda": "12.9",
        "compute_capabilities": [8],
    },
    "vllm/vllm-openai:nightly": {"engine": "vllm", "engine_version": "0.34.0", "platform": "cuda"},
}


def seen(image):
    return (image.engine, image.version, image.platform, image.runtime)


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({}, ("vllm", "0.25.0", "cuda", {"cuda": "13.0"})),
        # Of another release nobody looked which CUDA is in it.
        ({"engine_version": "0.29.0"}, ("vllm", "0.29.0", "cuda", {})),
        ({"image": "vllm/vllm-openai:v0.25.0"}, ("vllm", "0.25.0", "cuda", {"cuda": "13.0"})),
        ({"image": "docker.io/vllm/vllm-openai:v0.31.0"}, ("vllm", "0.31.0", "cuda", {})),
        ({"image": "vllm/vllm-openai:v0.25.0-cu129"}, ("vllm", "0.25.0", "cuda", {})),
        ({"image": "mirror.example.com/vllm/vllm-openai:v0.26.0"}, ("vllm", "0.26.0", "cuda", {})),
        ({"image": "quay.io/ascend/vllm-ascend:v0.25.1rc1"}, ("vllm", "0.25.1rc1", "cann", {"cann": "9.0"})),
        ({"image": "quay.io/ascend/vllm-ascend:v0.25.1rc1-a3"}, ("vllm", "0.25.1rc1", "cann", {})),
        ({"image": "quay.io/ascend/vllm-ascend:nightly-main"}, ("vllm", "0.26.0", "cann", {"cann": "9.1"})),
        # Of a moving tag only the release that it is treated as was looked into.
        (
            {"image": "quay.io/ascend/vllm-ascend:nightly-main", "engine_version": "0.27.0"},
            ("vllm", "0.27.0", "cann", {}),
        ),
        ({"image": "me/engine:1"}, ("generic", None, None, {})),
        ({"image": "me/engine:1", "engine_version": "0.26.0"}, ("vllm", "0.26.0", None, {})),
        ({"image": "vllm/vllm-openai:nightly"}, ("vllm", "0.34.0", "cuda", {})),
        ({"image": "registry.example.com/ai/vllm:a100"}, ("vllm", "0.26.0", "cuda", {"cuda": "12.9"})),
    ],
)
def test_what_is_in_it(entry, expected):
    assert seen(of_deployment(entry, "vllm_cuda", OWN)) == expected


def test_a_moving_tag_of_an_engine_must_say_its_release():
    assert of_deployment({"image": "vllm/vllm-openai:nightly"}, "vllm_cuda").undeclared_release
    assert not of_deployment({"image": "me/engine:1"}, "vllm_cuda").undeclared_release


@pytest.mark.parametrize("version", ["0.26.0", "0.27.0"])
def test_a_release_has_not_the_runtime_of_the_moving_tag(version):
    assert of_deployment({"engine_version": version}, "vllm_ascend").runtime == {}


def test_a_declaration_by_digest_is_of_that_digest():
    one, other = (f"reg.example.com/vllm@sha256:{digit * 64}" for digit in "12")
    declared = {one: {"engine": "vllm", "engine_version": "0.26.0", "platform": "cuda"}}
    assert of_deployment({"image": one}, "vllm_cuda", declared).version == "0.26.0"
    assert of_deployment({"image": other}, "vllm_cuda", declared).version is None


@pytest.mark.parametrize(
    ("image", "accelerator", "expected"),
    [
        ("quay.io/ascend/vllm-ascend:nightly-main-a3", "ascend_910b", ["ascend_910c"]),
        ("quay.io/ascend/vllm-ascend:v0.25.1rc1-a3", "ascend_910b", ["ascend_910c"]),
        ("quay.io/ascend/vllm-ascend:v0.25.1rc1-a3", "ascend_910c", []),
        ("quay.io/ascend/vllm-ascend:v0.23.0-310p", "ascend_910b", ["ascend_310p"]),
        ("quay.io/ascend/vllm-ascend:v0.25.1rc1", "ascend_910c", ["ascend_910b"]),
        ("quay.io/ascend/vllm-ascend:nightly-main", "ascend_910b", []),
        ("quay.io/ascend/vllm-ascend:nightly-main-a3", "card_of_ours", []),
        ("docker.io/vllm/vllm-openai:v0.25.0", "nvidia_h20", []),
        ("me/engine:1", "ascend_910b", []),
    ],
)
def test_the_cards_an_image_is_made_for_where_this_is_another(image, accelerator, expected):
    assert cards(image, accelerator) == expected


def test_an_image_can_add_kernels():
    image = of_deployment({"image": "registry.example.com/ai/vllm:a100"}, "vllm_cuda", OWN)
    assert image.capabilities == (8,)


@pytest.mark.parametrize("key", ["gpustack", "nope", None])
def test_the_image_of_a_profile_must_be_an_engine(key):
    with pytest.raises(ImageError, match="vllm_cuda"):
        of_deployment({}, key)
