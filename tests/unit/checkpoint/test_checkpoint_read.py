"""What is read from a model directory, and that nothing in one makes reading fail."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import time
from pathlib import Path

import pytest
import pythons
from ansible_collections.inferops.gpustack.plugins.module_utils import _checkpoint

PYTHON = pythons.find("3.8")
KEYS = [
    "path",
    "readable",
    "problem",
    "config",
    "tensors",
    "weight_bytes",
    "draft",
    "shards",
    "quant_description",
    "dspark_json",
    "dspark_config",
]
THREE_STAGES = {"stages": [0, 1, 2], "main_proj": True, "main_norm": True, "markov_head": True}


def written(directory, config='{"model_type": "qwen3"}', index=None):
    (directory / "config.json").write_bytes(config if isinstance(config, bytes) else config.encode())
    if index is not None:
        (directory / "model.safetensors.index.json").write_bytes(index if isinstance(index, bytes) else index.encode())
    return str(directory)


def index_of(weight_map, **metadata):
    return json.dumps({"metadata": metadata, "weight_map": weight_map})


def test_a_whole_checkpoint(checkpoint):
    found = _checkpoint.read(checkpoint("flash_0731"))
    config = found.pop("config")
    assert (config["dspark_block_size"], len(config["compress_ratios"])) == (5, 46)
    assert found == {
        "path": checkpoint("flash_0731"),
        "readable": True,
        "problem": None,
        "tensors": 72006,
        "weight_bytes": 167_000_000_000,
        "draft": {**THREE_STAGES, "tensors": 4705},
        "shards": 48,
        "quant_description": False,
        "dspark_json": False,
        "dspark_config": None,
    }


def test_72000_tensors_are_read_in_under_a_second_of_processor_time(checkpoint):
    directory = checkpoint("flash_0731")
    start = time.process_time()
    _checkpoint.read(directory)
    assert time.process_time() - start < 1


def test_the_head_of_a_plain_mtp_checkpoint_is_no_dspark_draft(checkpoint):
    draft = _checkpoint.read(checkpoint("flash_preview"))["draft"]
    assert draft == {"stages": [0], "tensors": 82, "main_proj": False, "main_norm": False, "markov_head": False}


def test_modelslim_names_its_index_itself(checkpoint):
    found = _checkpoint.read(checkpoint("flash_0731_w8a8"))
    assert (found["shards"], found["weight_bytes"], found["quant_description"]) == (70, 300_000_000_000, True)
    assert found["problem"] is None


def test_the_head_of_a_lost_stage_is_missed(checkpoint):
    assert _checkpoint.read(checkpoint("stage_lost"))["draft"]["markov_head"] is False


@pytest.mark.parametrize("part", ["main_proj", "main_norm", "markov_head"])
def test_each_part_of_a_draft_is_told_by_its_own_name(tmp_path, part):
    found = _checkpoint.read(written(tmp_path, index=index_of({f"mtp.0.{part}.weight": "a"})))["draft"]
    assert [name for name in ("main_proj", "main_norm", "markov_head") if found[name]] == [part]


def test_a_single_weight_file_tells_its_tensors(checkpoint):
    directory = checkpoint("qwen3_8b_dspark")
    found = _checkpoint.read(directory)
    assert (found["tensors"], found["shards"], found["draft"], found["problem"]) == (23, 1, None, None)
    assert found["weight_bytes"] == os.path.getsize(f"{directory}/model.safetensors")


@pytest.mark.parametrize(("name", "expected"), [("report_a_filled", "filled"), ("report_a_empty", "empty")])
def test_the_dspark_config_of_report_a(checkpoint, name, expected):
    found = _checkpoint.read(checkpoint(name))
    assert (found["dspark_json"], found["dspark_config"], found["problem"]) == (True, expected, None)


def test_weights_are_summed_when_the_index_has_no_total(tmp_path):
    (tmp_path / "a.safetensors").write_bytes(b"x" * 10)
    (tmp_path / "b.safetensors").write_bytes(b"x" * 5)
    weight_map = {"one": "a.safetensors", "two": "b.safetensors", "three": "a.safetensors", "four": "gone.safetensors"}
    found = _checkpoint.read(written(tmp_path, index=index_of(weight_map)))
    assert (found["weight_bytes"], found["shards"], found["tensors"]) == (15, 3, 4)


@pytest.mark.parametrize(
    ("total", "expected"),
    [(7, 7), (7.0, 7), (7.5, 4), (0, 4), (-1, 4), (True, 4), ("7", 4), (None, 4), (float("nan"), 4)],
)
def test_a_total_that_is_no_size_is_not_believed(tmp_path, total, expected):
    (tmp_path / "a.safetensors").write_bytes(b"four")
    index = index_of({"one": "a.safetensors"}, total_size=total)
    assert _checkpoint.read(written(tmp_path, index=index))["weight_bytes"] == expected


def test_no_shard_at_all_has_no_size(tmp_path):
    found = _checkpoint.read(written(tmp_path, index=index_of({"one": "gone.safetensors", "two": "nul\0.safetensors"})))
    assert (found["weight_bytes"], found["tensors"]) == (None, 2)


def test_links_are_followed(tmp_path, checkpoint):
    snapshot = tmp_path / "snapshot"
    snapshot.mkdir()
    for name in os.listdir(checkpoint("qwen3_8b_dspark")):
        (snapshot / name).symlink_to(Path(checkpoint("qwen3_8b_dspark")) / name)
    (tmp_path / "link").symlink_to(snapshot)
    found = _checkpoint.read(str(tmp_path / "link"))
    assert (found["readable"], found["tensors"], found["problem"]) == (True, 23, None)


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        (b"", "config.json is not JSON"),
        (b"[1]", "config.json holds a list, where an object is needed"),
        (b"null", "config.json holds a NoneType, where an object is needed"),
        (b"\xff\xfe{\x00", "config.json is not UTF-8 text (invalid start byte at byte 0)"),
        (b"\xef\xbb\xbf{}", "config.json is not JSON"),
        (b'{"a": "\\ud800"}', "config.json holds text that is not Unicode"),
        (b'{"a": ' + b"[" * 100_000, "config.json is not JSON"),
        (b" " * 5_000_001, "config.json has 5000001 bytes; more than 5000000 are not read"),
    ],
)
def test_a_config_that_cannot_be_read(tmp_path, config, problem):
    found = _checkpoint.read(written(tmp_path, config, index_of({"mtp.0.main_proj.weight": "a"})))
    assert (found["readable"], found["config"]) == (False, None)
    assert f"{tmp_path}/{problem}" in found["problem"]
    assert found["draft"]["main_proj"] is True


@pytest.mark.parametrize(
    ("index", "problem"),
    [
        ("{", "is not JSON"),
        ("[]", "holds a list, where an object is needed"),
        ("{}", "has no weight_map of tensor names to files"),
        ('{"weight_map": ["a"]}', "has no weight_map of tensor names to files"),
        ('{"weight_map": {}}', "has no weight_map of tensor names to files"),
        ('{"weight_map": {"a": 1}}', "a tensor of weight_map is in a file whose name is no text"),
    ],
)
def test_an_index_that_cannot_be_read(tmp_path, index, problem):
    found = _checkpoint.read(written(tmp_path, index=index))
    assert (found["readable"], found["tensors"], found["draft"], found["weight_bytes"]) == (True, None, None, None)
    assert problem in found["problem"]
    assert "model.safetensors.index.json" in found["problem"]


def test_an_index_of_odd_metadata_and_odd_names(tmp_path):
    weight_map = {"mtp.0": "a", "mtp.x.main_proj": "a", "mtp.1234.w": "a", "mtp.-1.w": "a", "xmtp.0.w": "a", "": "a"}
    found = _checkpoint.read(written(tmp_path, index=json.dumps({"metadata": [], "weight_map": weight_map})))
    assert (found["tensors"], found["draft"], found["problem"]) == (6, None, None)


def test_an_index_above_the_limit_is_not_read(tmp_path):
    written(tmp_path)
    with open(tmp_path / "model.safetensors.index.json", "wb") as stream:
        stream.truncate(100_000_001)
    found = _checkpoint.read(str(tmp_path))
    assert "has 100000001 bytes; more than 100000000 are not read" in found["problem"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"short",
        struct.pack("<Q", 0) + b"{}",
        struct.pack("<Q", 3) + b"{}",
        struct.pack("<Q", 2**63) + b"{}",
        struct.pack("<Q", 2) + b"[]",
        struct.pack("<Q", 2) + b"{x",
        struct.pack("<Q", 2) + b"\xff\xff",
    ],
)
def test_a_weight_file_without_a_header(tmp_path, content):
    (tmp_path / "model.safetensors").write_bytes(content)
    found = _checkpoint.read(written(tmp_path))
    assert (found["tensors"], found["weight_bytes"]) == (None, None)
    assert f"{tmp_path}/model.safetensors" in found["problem"]


def test_a_header_above_the_limit_is_not_read(tmp_path):
    with open(tmp_path / "model.safetensors", "wb") as stream:
        stream.write(struct.pack("<Q", 100_000_001))
        stream.truncate(200_000_000)
    assert "does not start with a safetensors header" in _checkpoint.read(written(tmp_path))["problem"]


def test_shards_without_an_index(checkpoint):
    found = _checkpoint.read(checkpoint("index_missing"))
    assert found["tensors"] is None
    assert "has 2 files *.safetensors and no model.safetensors.index.json" in found["problem"]


def test_an_empty_directory_names_everything_that_is_missing(tmp_path):
    problem = _checkpoint.read(str(tmp_path))["problem"]
    assert problem == (
        f"{tmp_path}/config.json: No such file or directory; "
        f"{tmp_path} has 0 files *.safetensors and no model.safetensors.index.json, so it is unknown which tensors"
        " there are"
    )


def test_no_directory(tmp_path):
    (tmp_path / "file").touch()
    for path, reason in [
        (f"{tmp_path}/gone", f"{tmp_path}/gone: No such file or directory"),
        (f"{tmp_path}/file", f"{tmp_path}/file: Not a directory"),
        (f"{tmp_path}/nul\0", "embedded null byte"),
    ]:
        found = _checkpoint.read(path)
        assert list(found) == KEYS
        assert (found["readable"], found["config"]) == (False, None)
        assert reason in found["problem"]


def test_a_file_nobody_may_read(tmp_path, monkeypatch):
    """Tests may run as root, who may read everything."""
    written(tmp_path)
    real = open

    def refusing(path, *rest, **options):
        if str(path).endswith("config.json"):
            raise PermissionError(13, "Permission denied", path)
        return real(path, *rest, **options)

    monkeypatch.setattr("builtins.open", refusing)
    found = _checkpoint.read(str(tmp_path))
    assert found["readable"] is False
    assert f"{tmp_path}/config.json: Permission denied" in found["problem"]


def test_a_dangling_link_is_named(tmp_path):
    (tmp_path / "config.json").symlink_to("../blobs/1234")
    problem = _checkpoint.read(str(tmp_path))["problem"]
    assert f"{tmp_path}/config.json is a link to ../blobs/1234, which is not there" in problem


def test_a_pipe_and_a_directory_are_not_read(tmp_path):
    os.mkfifo(tmp_path / "config.json")
    (tmp_path / "model.safetensors.index.json").mkdir()
    problem = _checkpoint.read(str(tmp_path))["problem"]
    assert f"{tmp_path}/config.json is not a regular file" in problem
    assert f"{tmp_path}/model.safetensors.index.json is not a regular file" in problem


def test_a_dspark_json_that_does_not_parse_is_a_problem(tmp_path):
    written(tmp_path, index=index_of({"a": "a"}))
    (tmp_path / "dspark.json").write_text("{")
    found = _checkpoint.read(str(tmp_path))
    assert (found["readable"], found["dspark_json"]) == (True, True)
    assert f"{tmp_path}/dspark.json is not JSON" in found["problem"]


def test_only_an_enormous_config_is_shortened(tmp_path):
    layers = {"ignored_layers": list(range(2000)), "text": "x" * 2000}
    config = _checkpoint.read(written(tmp_path, json.dumps({"quantization_config": layers})))["config"]
    assert config == {"quantization_config": layers}
    layers["padding"] = "x" * 300_000
    config = _checkpoint.read(written(tmp_path, json.dumps({"model_type": "x", "quantization_config": layers})))[
        "config"
    ]
    assert config["model_type"] == "x"
    assert config["quantization_config"]["ignored_layers"] == list(range(1024))
    assert len(json.dumps(config)) < 20_000


@pytest.mark.skipif(PYTHON is None, reason="no Python 3.8 here: neither on the path nor in pyenv")
def test_python_3_8_reads_the_same(checkpoint):
    names = ["flash_0731", "qwen3_8b_dspark", "index_missing", "report_a_filled"]
    paths = [checkpoint(name) for name in names]
    code = (
        "import json, runpy, sys; read = runpy.run_path(sys.argv[1])['read'];"
        " print(json.dumps([read(path) for path in sys.argv[2:]]))"
    )
    done = subprocess.run(
        [PYTHON, "-I", "-c", code, _checkpoint.__file__, *paths], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [_checkpoint.read(path) for path in paths]
