"""A chat completion request: what vLLM checks, and with which words it refuses."""

from __future__ import annotations

from dataclasses import dataclass

from simulated_engine import log

CHARACTERS_PER_TOKEN = 4

_FIELDS = """
    messages model frequency_penalty logit_bias logprobs top_logprobs max_tokens max_completion_tokens n
    presence_penalty response_format seed stop stream stream_options temperature top_p tools tool_choice
    parallel_tool_calls reasoning_effort include_reasoning user use_beam_search top_k min_p repetition_penalty
    length_penalty stop_token_ids include_stop_str_in_output ignore_eos min_tokens skip_special_tokens
    spaces_between_special_tokens truncate_prompt_tokens prompt_logprobs allowed_token_ids bad_words echo
    add_generation_prompt continue_final_message add_special_tokens documents chat_template chat_template_kwargs
    mm_processor_kwargs structured_outputs priority request_id return_tokens_as_token_ids return_token_ids
    cache_salt kv_transfer_params vllm_xargs
"""


class RequestError(Exception):
    def __init__(self, status: int, kind: str, message: str, param=None):
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.message = message
        self.param = param

    def body(self) -> dict:
        return {"error": {"message": self.message, "type": self.kind, "param": self.param, "code": self.status}}


@dataclass(frozen=True)
class ChatRequest:
    model: str
    prompt: str
    prompt_tokens: int
    limit: int
    schema: object  # None for prose
    stream: bool
    include_usage: bool
    ignore_eos: bool
    min_tokens: int


def count_tokens(text: str) -> int:
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def parse(data, launch) -> ChatRequest:
    if not isinstance(data, dict):
        raise bad_request("Input should be a valid dictionary or object to extract fields from")
    ignored = set(data) - set(_FIELDS.split())
    if ignored:
        log.debug(f"The following fields were present in the request but ignored: {ignored}", "protocol.py:54")
    model = data.get("model") or launch.served_names[0]
    if model not in launch.served_names:
        raise RequestError(404, "NotFoundError", f"The model `{model}` does not exist.", "model")
    if data.get("n") not in (None, 1):
        raise bad_request("simulated engine: only n=1 is supported", "n")
    prompt = _prompt(data.get("messages"))
    prompt_tokens = max(1, count_tokens(prompt))
    stream = bool(data.get("stream"))
    stream_options = data.get("stream_options") or {}
    if stream_options and not stream:
        raise bad_request("Stream options can only be defined when `stream=True`.", "stream_options")
    return ChatRequest(
        model=model,
        prompt=prompt,
        prompt_tokens=prompt_tokens,
        limit=_limit(data, prompt_tokens, launch.max_model_len),
        schema=_schema(data.get("response_format")),
        stream=stream,
        include_usage=bool(stream_options.get("include_usage")),
        ignore_eos=bool(data.get("ignore_eos")),
        min_tokens=_whole_number(data, "min_tokens", 0) or 0,
    )


def bad_request(message, param=None):
    return RequestError(400, "BadRequestError", message, param)


def _prompt(messages):
    if not isinstance(messages, list) or not messages:
        raise bad_request("messages: Field required and must be a non-empty list", "messages")
    texts = []
    for message in messages:
        if not isinstance(message, dict) or "role" not in message:
            raise bad_request("messages: every message must be an object with a role", "messages")
        content = message.get("content") or ""
        if isinstance(content, list):
            content = "".join(part.get("text", "") for part in content if isinstance(part, dict))
        texts.append(f"{message['role']}: {content}")
    return "\n".join(texts)


def _whole_number(data, name, minimum):
    value = data.get(name)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool):
        raise bad_request(f"{name}: Input should be a valid integer", name)
    if value < minimum:
        raise bad_request(f"{name} must be at least {minimum}, got {value}.", name)
    return value


def _limit(data, prompt_tokens, context):
    name = "max_tokens" if data.get("max_completion_tokens") is None else "max_completion_tokens"
    wanted = _whole_number(data, name, 1)
    if wanted is not None and wanted > context:
        raise bad_request(
            f"{name}={wanted} cannot be greater than max_model_len=max_total_tokens={context}. "
            "Please request fewer output tokens.",
            name,
        )
    requested = wanted or 0
    if prompt_tokens > context - requested:
        raise bad_request(
            f"This model's maximum context length is {context} tokens. However, you requested {requested} output "
            f"tokens and your prompt contains {prompt_tokens} input tokens, for a total of "
            f"{prompt_tokens + requested} tokens. Please reduce the length of the input prompt or the number of "
            "requested output tokens.",
            "input_tokens",
        )
    return requested or context - prompt_tokens


# What `json_object` answers, as it names no schema.
_ANY_OBJECT = {
    "type": "object",
    "properties": {"answer": {"type": "string"}, "confidence": {"type": "number", "minimum": 0, "maximum": 1}},
    "required": ["answer", "confidence"],
}


def _schema(response_format):
    if response_format is None:
        return None
    kind = response_format.get("type") if isinstance(response_format, dict) else None
    if kind == "text":
        return None
    if kind == "json_object":
        return _ANY_OBJECT
    if kind != "json_schema":
        raise bad_request("response_format: type must be text, json_object or json_schema", "response_format")
    wrapper = response_format.get("json_schema")
    if not isinstance(wrapper, dict) or not isinstance(wrapper.get("schema"), (dict, bool)):
        raise bad_request(
            "When response_format type is 'json_schema', the 'json_schema' field must be provided with a schema.",
            "response_format",
        )
    return wrapper["schema"]
