"""--speculative-config as vLLM 0.25 judges it."""

from __future__ import annotations

from simulated_engine.checkpoint import read_checkpoint
from simulated_engine.failure import LaunchError

_KEYS = """
    method num_speculative_tokens draft_sample_method rejection_sample_method synthetic_acceptance_rates
    synthetic_acceptance_length enforce_eager draft_tensor_parallel_size tensor_parallel_size model revision
    code_revision quantization moe_backend attention_backend max_model_len draft_load_config parallel_drafting
    num_speculative_tokens_per_batch_size disable_padded_drafter_batch use_local_argmax_reduction
    use_heterogeneous_vocab prompt_lookup_min prompt_lookup_max suffix_decoding_max_tree_depth
    suffix_decoding_max_cached_requests suffix_decoding_max_spec_factor suffix_decoding_min_token_prob
"""

_METHODS_WITH_DRAFT_STAGES = ("dspark", "mtp")
_METHODS_WITHOUT_DRAFT = ("ngram", "ngram_gpu", "suffix", "custom_class", "extract_hidden_states")
_METHODS = """
    ngram medusa mlp_speculator draft_model suffix custom_class eagle eagle3 extract_hidden_states deepseek_mtp
    mimo_mtp mimo_v2_mtp glm4_moe_mtp glm4_moe_lite_mtp glm_ocr_mtp ernie_mtp nemotron_h_mtp exaone_moe_mtp
    exaone4_5_mtp qwen3_next_mtp qwen3_5_mtp longcat_flash_mtp minimax_m3_mtp bailing_hybrid_mtp mtp
    pangu_ultra_moe_mtp step3p5_mtp hy_v3_mtp gemma4_mtp dflash ngram_gpu dspark
"""
_CLOSED = {
    "method": tuple(_METHODS.split()),
    "draft_sample_method": ("greedy", "probabilistic"),
    "rejection_sample_method": ("standard", "synthetic", "block"),
}


def resolve(given: dict, target, platform: str, tensor_parallel_size: int, pipeline_parallel_size: int) -> dict:
    """The settings the engine runs with, or the LaunchError with which the real one would end."""
    _check_keys(given)
    given = dict(given)
    draft = _draft(given, target)
    if given.get("tensor_parallel_size") is not None:
        raise _invalid(
            "Value error, 'tensor_parallel_size' is not a valid argument in the speculative_config. "
            "Please pass 'draft_tensor_parallel_size' instead."
        )
    if given.get("method") in _METHODS_WITH_DRAFT_STAGES:
        given["num_speculative_tokens"] = _token_count(given, draft, platform)
    draft_parallel = given.get("draft_tensor_parallel_size")
    if draft_parallel not in (None, 1, tensor_parallel_size):
        raise _invalid(
            f"Value error, speculative_draft_tensor_parallel_size={draft_parallel} cannot be other value than 1 "
            "or target model tensor_parallel_size"
        )
    if given.get("method") == "dspark":
        _check_dspark(given, draft, platform, pipeline_parallel_size)
    return given


def _draft(given, target):
    """The checkpoint the draft is in: one of its own when `model` names it, else the target's."""
    if not given.get("model") or given.get("method") in _METHODS_WITHOUT_DRAFT:
        return target
    try:
        draft = read_checkpoint(given["model"])
    except LaunchError as error:
        if error.kind != "ValueError":
            raise
        raise _invalid(f"Value error, 1 validation error for ModelConfig\n  Value error, {error.message}") from error
    if given.get("method") in (None, "draft_model") and ("dspark" in draft.path.lower() or draft.is_qwen3_draft):
        given["method"] = "dspark"
    return draft


def _check_keys(given):
    for key, value in given.items():
        if key not in _KEYS.split():
            raise LaunchError(
                "pydantic_core._pydantic_core.ValidationError",
                f"1 validation error for SpeculativeConfig\n{key}\n  Unexpected keyword argument "
                f"[type=unexpected_keyword_argument, input_value={value!r}, input_type={type(value).__name__}]",
            )
        allowed = _CLOSED.get(key)
        if allowed and value not in allowed:
            raise _invalid(f"Input should be {' or '.join(map(repr, allowed))}", field=key, value=value)
    tokens = given.get("num_speculative_tokens")
    if tokens is not None and (not isinstance(tokens, int) or isinstance(tokens, bool)):
        raise _invalid("Input should be a valid integer", field="num_speculative_tokens", value=tokens)
    if tokens is not None and tokens <= 0:
        raise _invalid("Input should be greater than 0", field="num_speculative_tokens", value=tokens)


def _token_count(given, draft, platform):
    tokens, predictable = given.get("num_speculative_tokens"), draft.draft_stages
    if tokens is None and given.get("model") and predictable:
        return predictable
    if tokens is None and given.get("model"):
        raise _invalid("Value error, A speculative model was provided, but `num_speculative_tokens` was not provided")
    if tokens is None:
        raise _invalid(
            "Value error, num_speculative_tokens must be provided with speculative model unless the draft model "
            "config contains an n_predict parameter."
        )
    if predictable and tokens > predictable and tokens % predictable:
        raise _invalid(f"Value error, num_speculative_tokens:{tokens} must be divisible by n_predict={predictable}")
    block = draft.text_config.get("dspark_block_size")
    if platform == "ascend" and given["method"] == "dspark" and block and tokens < block:
        raise _invalid(
            f"Value error, DSpark requires num_speculative_tokens >= dspark_block_size ({block}); got {tokens}."
        )
    return tokens


def _check_dspark(given, draft, platform, pipeline_parallel_size):
    if pipeline_parallel_size > 1:
        raise LaunchError("ValueError", "dspark with pipeline parallel is not supported.", "Worker_TP0")
    if platform == "ascend" and given.get("draft_sample_method") == "probabilistic":
        raise LaunchError(
            "ValueError",
            "DSpark probabilistic draft sampling is not supported on the v1 model runner; use greedy",
            "Worker_TP0",
        )
    # vLLM takes every draft for a DeepSeek-V4 one unless its architecture is Qwen3DSparkModel.
    for key in ("markov_rank",) if draft.is_qwen3_draft else ("dspark_target_layer_ids", "dspark_markov_rank"):
        if key not in draft.text_config:
            raise LaunchError("AttributeError", f"'{draft.config_class}' object has no attribute '{key}'", "Worker_TP0")
    if not draft.has_noise_token:
        raise LaunchError(
            "ValueError",
            "Model config must specify `dflash_config.mask_token_id`, `mask_token_id`, `dspark_noise_token_id`, "
            "`pard_token`, or `ptd_token_id` for parallel drafting.",
            "Worker_TP0",
        )


def _invalid(message, field="", value=None):
    head = "1 validation error for SpeculativeConfig"
    if field:
        message = f"{field}\n  {message} [input_value={value!r}, input_type={type(value).__name__}]"
    return LaunchError("pydantic_core._pydantic_core.ValidationError", f"{head}\n  {message}")
