"""--speculative-config as vLLM 0.25 judges it."""

from __future__ import annotations

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


def check(given: dict, checkpoint, platform: str, tensor_parallel_size: int, pipeline_parallel_size: int) -> None:
    """Raise the LaunchError with which the real engine would end."""
    _check_keys(given)
    tokens = given.get("num_speculative_tokens")
    if given.get("tensor_parallel_size") is not None:
        raise _invalid(
            "Value error, 'tensor_parallel_size' is not a valid argument in the speculative_config. "
            "Please pass 'draft_tensor_parallel_size' instead."
        )
    if given.get("method") in _METHODS_WITH_DRAFT_STAGES:
        _check_token_count(tokens, checkpoint, platform, given["method"])
    draft_parallel = given.get("draft_tensor_parallel_size")
    if draft_parallel not in (None, 1, tensor_parallel_size):
        raise _invalid(
            f"Value error, speculative_draft_tensor_parallel_size={draft_parallel} cannot be other value than 1 "
            "or target model tensor_parallel_size"
        )
    if given.get("method") == "dspark":
        _check_dspark(given, checkpoint, platform, pipeline_parallel_size)


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


def _check_token_count(tokens, checkpoint, platform, method):
    predictable = checkpoint.text_config.get("num_nextn_predict_layers")
    if tokens is None:
        raise _invalid(
            "Value error, num_speculative_tokens must be provided with speculative model unless the draft model "
            "config contains an n_predict parameter."
        )
    if predictable and tokens > predictable and tokens % predictable:
        raise _invalid(f"Value error, num_speculative_tokens:{tokens} must be divisible by n_predict={predictable}")
    block = checkpoint.text_config.get("dspark_block_size")
    if platform == "ascend" and method == "dspark" and block and tokens < block:
        raise _invalid(
            f"Value error, DSpark requires num_speculative_tokens >= dspark_block_size ({block}); got {tokens}."
        )


def _check_dspark(given, checkpoint, platform, pipeline_parallel_size):
    if pipeline_parallel_size > 1:
        raise LaunchError("ValueError", "dspark with pipeline parallel is not supported.", "Worker_TP0")
    if platform == "ascend" and given.get("draft_sample_method") == "probabilistic":
        raise LaunchError(
            "ValueError",
            "DSpark probabilistic draft sampling is not supported on the v1 model runner; use greedy",
            "Worker_TP0",
        )
    for key in ("dspark_target_layer_ids", "dspark_markov_rank"):
        if key not in checkpoint.text_config:
            raise LaunchError("AttributeError", f"'DeepseekV4Config' object has no attribute '{key}'", "Worker_TP0")
    if not checkpoint.has_noise_token:
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
