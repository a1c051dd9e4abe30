"""What the simulated engine reads of a model directory: config.json and the names of the tensors."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from simulated_engine.failure import LaunchError

# In the order in which vLLM looks for it.
_NOISE_TOKEN_KEYS = ("mask_token_id", "dspark_noise_token_id", "pard_token", "ptd_token_id")
# The classes of transformers, whose names its AttributeErrors say.
_CONFIG_CLASSES = {"deepseek_v4": "DeepseekV4Config", "qwen3": "Qwen3Config"}


@dataclass(frozen=True)
class Checkpoint:
    path: str
    config: dict
    tensors: object = None  # names of all tensors, None when the directory has no index

    @property
    def text_config(self) -> dict:
        return self.config.get("text_config", self.config)

    @property
    def architecture(self) -> str:
        return (self.config.get("architectures") or [""])[0]

    @property
    def is_deepseek_v4(self) -> bool:
        return self.config.get("model_type") == "deepseek_v4"

    @property
    def is_qwen3_draft(self) -> bool:
        """A DSpark draft in a directory of its own."""
        return "Qwen3DSparkModel" in self.config.get("architectures", ())

    @property
    def config_class(self) -> str:
        return _CONFIG_CLASSES.get(self.config.get("model_type"), "PretrainedConfig")

    @property
    def quantization(self):
        return (self.config.get("quantization_config") or {}).get("quant_method")

    @property
    def draft_stages(self):
        """What vLLM calls `n_predict`; a Qwen3 draft has none."""
        return self.text_config.get("n_predict" if self.is_qwen3_draft else "num_nextn_predict_layers")

    @property
    def layers(self):
        return self.text_config.get("num_hidden_layers")

    @property
    def context_length(self):
        return self.text_config.get("max_position_embeddings")

    @property
    def has_noise_token(self) -> bool:
        in_dflash = "mask_token_id" in (self.config.get("dflash_config") or {})
        return in_dflash or any(key in self.config for key in _NOISE_TOKEN_KEYS)

    @property
    def draft_tensors(self):
        if self.tensors is None:
            return None
        return sum(name.startswith("mtp.") for name in self.tensors)


def read_checkpoint(path: str) -> Checkpoint:
    config_file = Path(path) / "config.json"
    if not config_file.is_file():
        raise LaunchError(
            "ValueError",
            f"Invalid repository ID or local directory specified: '{path}'.\n"
            "Please verify the following requirements:\n"
            "1. Provide a valid Hugging Face repository ID.\n"
            "2. Specify a local directory that contains a recognized configuration file.\n"
            "   - For Hugging Face models: ensure the presence of a 'config.json'.\n"
            "   - For Mistral models: ensure the presence of a 'params.json'.",
        )
    config = _load(config_file)
    if not isinstance(config, dict) or not config.get("architectures"):
        raise LaunchError("ValueError", f"No model architectures are specified in '{config_file}'.")
    index = Path(path) / "model.safetensors.index.json"
    tensors = frozenset(_load(index).get("weight_map", {})) if index.is_file() else None
    return Checkpoint(path, config, tensors)


def _load(file: Path):
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise LaunchError(
            "OSError", f"It looks like the config file at '{file}' is not a valid JSON file. ({error})"
        ) from error
