from __future__ import annotations

import pytest
from ansible_collections.inferops.gpustack.plugins.plugin_utils import _images

DIGEST = "sha256:" + "0a" * 32
OTHER = "sha256:" + "0b" * 32


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("redis", "docker.io/library/redis:latest"),
        ("redis:7", "docker.io/library/redis:7"),
        ("docker.io/redis:7", "docker.io/library/redis:7"),
        ("index.docker.io/library/redis:7", "docker.io/library/redis:7"),
        ("vllm/vllm-openai:v0.25.0", "docker.io/vllm/vllm-openai:v0.25.0"),
        ("quay.io/ascend/vllm-ascend:nightly-main", "quay.io/ascend/vllm-ascend:nightly-main"),
        ("localhost/a:1", "localhost/a:1"),
        ("10.0.0.5:5000/docker.io/a/b:1", "10.0.0.5:5000/docker.io/a/b:1"),
        ("10.0.0.5:5000/a", "10.0.0.5:5000/a:latest"),
    ],
)
def test_canonical(name, expected):
    assert _images.canonical(name) == expected


@pytest.mark.parametrize("name", ["", None, "a b", "https://docker.io/a", "docker.io/"])
def test_what_is_not_an_image_name(name):
    with pytest.raises(_images.ImageError):
        _images.parse(name)


@pytest.mark.parametrize(
    ("name", "moving"),
    [
        ("a/b", True),
        ("a/b:latest", True),
        ("a/b:main", True),
        ("a/b:nightly", True),
        ("quay.io/ascend/vllm-ascend:nightly-main", True),
        ("gpustack/runtime:pause", True),
        ("a/b:v1", False),
        ("a/b:maintenance-1", False),
        (f"a/b@{DIGEST}", False),
    ],
)
def test_moving_tag(name, moving):
    assert _images.moving_tag(name) is moving


@pytest.mark.parametrize(
    ("name", "rewrites", "lock", "expected"),
    [
        ("a/b:1", None, None, "docker.io/a/b:1"),
        ("a/b:1", {"docker.io": "r:5000/docker.io"}, None, "r:5000/docker.io/a/b:1"),
        ("a/b:1", {"docker.io": "r:5000/docker.io/"}, None, "r:5000/docker.io/a/b:1"),
        ("quay.io/a/b:1", {"docker.io": "r:5000"}, None, "quay.io/a/b:1"),
        ("a/b:1", {"docker.io": "r:5000"}, {"docker.io/a/b:1": DIGEST}, f"r:5000/a/b@{DIGEST}"),
        ("a/b:2", None, {"docker.io/a/b:1": DIGEST}, "docker.io/a/b:2"),
        (f"a/b:1@{OTHER}", None, {"docker.io/a/b:1": DIGEST}, f"docker.io/a/b@{OTHER}"),
    ],
)
def test_reference(name, rewrites, lock, expected):
    assert _images.reference(name, rewrites, lock) == expected


def test_artefacts():
    assert _images.artefact("gpustack") == "docker.io/gpustack/gpustack:v2.3.0"
    assert _images.artefact("gpustack", "2.2.3") == "docker.io/gpustack/gpustack:v2.2.3"
    assert _images.artefact("runtime_pause") == "docker.io/gpustack/runtime:pause"
    assert _images.artefact("runtime_health") == "docker.io/gpustack/runtime:health"
    assert _images.artefact("vllm_cuda") == "docker.io/vllm/vllm-openai:v0.25.0"
    assert _images.artefact("vllm_ascend") == "quay.io/ascend/vllm-ascend:nightly-main"
    with pytest.raises(_images.ImageError, match="no versions"):
        _images.artefact("runtime_pause", "1")
    with pytest.raises(_images.ImageError, match="known: "):
        _images.artefact("vllm")


@pytest.mark.parametrize(
    ("references", "present", "expected"),
    [
        (["docker.io/a/b:1"], ["a/b:1"], []),
        (["docker.io/library/redis:7"], ["redis:7"], []),
        (["docker.io/a/b:1", "docker.io/a/b:1"], ["a/b:2"], ["docker.io/a/b:1"]),
        ([f"docker.io/a/b@{DIGEST}"], [f"a/b@{DIGEST}"], []),
        ([f"docker.io/a/b@{DIGEST}"], ["a/b:1", f"a/b@{OTHER}"], [f"docker.io/a/b@{DIGEST}"]),
        (["r:5000/docker.io/a/b:1"], ["a/b:1"], ["r:5000/docker.io/a/b:1"]),
        (["q.io/z:1", "q.io/a:1"], ["<none>:<none>", "<none>@<none>"], ["q.io/z:1", "q.io/a:1"]),
    ],
)
def test_missing(references, present, expected):
    assert _images.missing(references, present) == expected
