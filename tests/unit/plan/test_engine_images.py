"""What is known to be in an engine image."""

from __future__ import annotations

import pytest
from ansible_collections.inferops.gpustack.plugins.plugin_utils._engine_images import of_deployment
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


def test_an_image_can_add_kernels():
    image = of_deployment({"image": "registry.example.com/ai/vllm:a100"}, "vllm_cuda", OWN)
    assert image.capabilities == (8,)


@pytest.mark.parametrize("key", ["gpustack", "nope", None])
def test_the_image_of_a_profile_must_be_an_engine(key):
    with pytest.raises(ImageError, match="vllm_cuda"):
        of_deployment({}, key)
