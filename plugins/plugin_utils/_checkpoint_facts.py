# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a checkpoint is, judged from what `module_utils/_checkpoint.py` read on the controller or on a worker."""

from __future__ import annotations

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _data


def facts(read_result, read_on):
    """What the plan needs to know about one model directory; `read_on`: the host that looked."""
    found = _data.plain(read_result)
    config = found.get("config") or {}
    layout = _layout(config, found.get("dspark_json"))
    model = _model(config)
    missing = _missing(layout, model, found)
    return {
        "path": found["path"],
        "read_on": read_on,
        "readable": bool(found.get("readable")),
        "problem": found.get("problem"),
        "family": _family(config),
        "layout": layout,
        "format": _format(model, found),
        "dspark": {
            "ready": not missing,
            "block_size": _positive(model.get(_prefix(layout) + "block_size")),
            "n_predict": _positive(model.get("num_nextn_predict_layers")),
            "missing": missing,
        },
        "weights_known": found.get("tensors") is not None,
        "weight_bytes": found.get("weight_bytes"),
        "config": found.get("config"),
    }


def _model(config):
    """The keys of the language model: vision models nest them, and their top level holds the rest."""
    return {**config, **_data.mapping(config.get("text_config"))}


def _layout(config, dspark_json):
    if dspark_json:
        return "report_a"
    if _has_dspark_keys(config):
        return "fused"
    if _has_dspark_keys(_data.mapping(config.get("text_config"))):
        return "nested"
    return "draft" if _is_draft(config) else "none"


def _has_dspark_keys(config):
    return any(key.startswith("dspark_") for key in config)


def _is_draft(config):
    known = _data.load("checkpoints.yml")["draft_architectures"]
    return (
        any(name in known for name in _list(config.get("architectures")))
        or ("markov_rank" in config and "target_layer_ids" in config)
        or _is_speculators(config)
    )


def _is_speculators(config):
    return config.get("speculators_model_type") == "dspark"


def _family(config):
    types = [config.get("model_type"), _data.mapping(config.get("text_config")).get("model_type")]
    for name in _data.names("families"):
        known = _data.load(f"families/{name}.yml").get("model_types") or []
        if any(model_type in known for model_type in types):
            return name
    return None


def _format(model, found):
    if found.get("quant_description"):
        return "w8a8"
    if found.get("config") is None:
        return "unknown"
    quantisation = model.get("quantization_config")
    if quantisation is None:
        return "none"
    quantisation = _data.mapping(quantisation)
    method = quantisation.get("quant_method")
    if method == "modelopt":
        return {"FP8": "fp8", "NVFP4": "fp4"}.get(str(quantisation.get("quant_algo")), "unknown")
    if method == "compressed-tensors":
        return _compressed_tensors(quantisation)
    known = _data.load("checkpoints.yml")["formats"].get(str(method), "unknown")
    # The experts are nearly all of the weights. V4 names their type beside quantization_config, V4.1 inside.
    experts = quantisation.get("expert_dtype", model.get("expert_dtype"))
    return "fp4" if known == "fp8" and experts == "fp4" else known


def _compressed_tensors(quantisation):
    groups = [_data.mapping(group) for group in _data.mapping(quantisation.get("config_groups")).values()]
    kinds = {(str(weights.get("type")), str(weights.get("num_bits"))) for weights in map(_weights, groups) if weights}
    # Four-bit integers may come from AWQ or from GPTQ; the file does not tell.
    known = {("float", "8"): "fp8", ("float", "4"): "fp4", ("int", "8"): "w8a8"}
    return known.get(kinds.pop(), "unknown") if len(kinds) == 1 else "unknown"


def _weights(group):
    return _data.mapping(group.get("weights"))


def _missing(layout, model, found):
    """What keeps the engine from running DSpark with this checkpoint, in words. vLLM itself checks far less."""
    if found.get("config") is None:
        return [found.get("problem") or "config.json was not read"]
    if layout == "draft":
        return _missing_in_speculators(model) if _is_speculators(model) else _missing_keys("", None, model)
    if layout == "none":
        return ["config.json has no dspark_* keys, so this checkpoint carries no DSpark draft"]
    missing = _missing_keys("dspark_", _positive(model.get("num_hidden_layers")), model)
    missing += _missing_weights(_stages(model), found)
    if layout == "report_a" and found.get("dspark_config") != "filled":
        state = "is empty" if found.get("dspark_config") == "empty" else "is missing"
        missing.append(
            f"DSpark runtime missing: dspark.json is there and dspark_config/ {state} (hidden folders are lost by sync"
            " tools)"
        )
    return missing


def _missing_in_speculators(model):
    keys = _data.load("checkpoints.yml")["speculators_keys"]
    return [f"{key} is missing in config.json" for key in keys if not model.get(key) and model.get(key) != 0]


def _missing_keys(prefix, layers, model):
    """layers: how many the target has; None when it is another checkpoint."""
    missing = []
    key = prefix + "target_layer_ids"
    targets = model.get(key)
    if not _list(targets):
        missing.append(f"{key} is {_shown(targets)}, where a list of layers of the target is needed")
    elif not all(_below(layer, layers) for layer in targets):
        missing.append(f"{key} is {_shown(targets)}, where the target has layers {_span(layers)}")
    for key in (prefix + "markov_rank", prefix + "block_size"):
        if not _positive(model.get(key)):
            missing.append(f"{key} is {_shown(model.get(key))}, where a number above 0 is needed")
    return missing + _missing_noise_token(model)


def _missing_noise_token(model):
    keys = _data.load("checkpoints.yml")["noise_token_keys"]
    key, token = next(((key, value) for key, value in _dotted(model, keys) if value is not None), (None, None))
    if key is None:
        return [f"no noise token: config.json has none of {', '.join(keys)}"]
    vocabulary = _positive(model.get("vocab_size"))
    if _below(token, vocabulary):
        return []
    return [f"the noise token {key} is {_shown(token)}, where the vocabulary has {_span(vocabulary)}"]


def _dotted(model, keys):
    for key in keys:
        value = model
        for part in key.split("."):
            value = _data.mapping(value).get(part)
        yield key, value


def _stages(model):
    names = ["n_mtp_layers", "dspark_num_mtp_layers"]
    # V4.1, whose keys are nested, also takes this one; V4 has 1 there and three stages.
    names += ["num_nextn_predict_layers"] if _data.mapping(model.get("text_config")) else []
    told = next(filter(None, (_positive(model.get(name)) for name in names)), None)
    return told or _data.load("checkpoints.yml")["default_stages"]


def _missing_weights(stages, found):
    if found.get("tensors") is None:
        return ["the names of the weights are unknown, so the draft cannot be looked for"]
    draft, last = found.get("draft"), stages - 1
    if not draft:
        return ["no mtp.* tensors among the weights, so the draft announced by config.json is not there"]
    missing = []
    told = draft.get("stages") or []
    if len(told) != stages or told[-1] != last:
        there = ", ".join(f"mtp.{stage}" for stage in told)
        missing.append(f"the draft has {stages} stages, mtp.0 to mtp.{last}; among the weights are {there}")
    names = {"main_proj": "mtp.0.main_proj", "main_norm": "mtp.0.main_norm", "markov_head": f"mtp.{last}.markov_head"}
    return missing + [f"{name} is not among the weights" for key, name in names.items() if not draft.get(key)]


def _prefix(layout):
    return "" if layout == "draft" else "dspark_"


def _shown(value):
    return "missing" if value is None else repr(value)[:80]


def _list(value):
    return value if isinstance(value, list) else []


def _whole(value):
    return isinstance(value, int) and not isinstance(value, bool)


def _below(value, size):
    """A number from 0 to size - 1; size: None when it is not known."""
    return _whole(value) and value >= 0 and (size is None or value < size)


def _span(size):
    return "0 and up" if size is None else f"0 to {size - 1}"


def _positive(value):
    return value if _whole(value) and value > 0 else None
