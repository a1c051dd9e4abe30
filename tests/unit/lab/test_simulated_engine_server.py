from __future__ import annotations

import json
import threading
import time

import pytest
from engine_process import H20_ARGUMENTS, RunningEngine, write_model

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0, "maximum": 120}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
JSON_SCHEMA = {"type": "json_schema", "json_schema": {"name": "person", "schema": SCHEMA, "strict": True}}
FAST = {"SIMULATED_ENGINE_TOKENS_PER_SECOND": "20000"}
SMALL = ("--kv-cache-dtype=fp8", "--max-model-len=1000")


@pytest.fixture(scope="module")
def engine(start_engine):
    return start_engine(*H20_ARGUMENTS, "--served-model-name", "flash", "alias", environment=FAST)


@pytest.fixture(scope="module")
def small(start_engine):
    return start_engine(*SMALL, "--enable-prompt-tokens-details", "--block-size=256", environment=FAST)


def content(body):
    return body["choices"][0]["message"]["content"]


def events(text):
    return [line[len("data: ") :] for line in text.splitlines() if line.startswith("data: ")]


def test_the_small_endpoints(engine):
    assert engine.request("/health") == (200, "")
    assert json.loads(engine.request("/version")[1]) == {"version": "0.25.0"}
    models = json.loads(engine.request("/v1/models")[1])["data"]
    assert [model["id"] for model in models] == ["flash", "alias"]
    assert models[0]["max_model_len"] == 300000
    assert engine.request("/nowhere")[0] == 404


def test_an_answer_depends_on_the_prompt_alone(engine):
    _, first = engine.chat("one", model="alias")
    _, again = engine.chat("one", model="flash")
    _, other = engine.chat("two")
    assert first["model"] == "alias"
    assert content(first) == content(again) != content(other)
    assert first["choices"][0]["finish_reason"] == "stop"


def test_usage_counts_one_token_per_four_characters(engine):
    _, body = engine.chat("x" * 34)  # with `user: ` in front that is 40 characters
    assert body["usage"]["prompt_tokens"] == 10
    assert body["usage"]["completion_tokens"] == -(-len(content(body)) // 4)
    assert body["usage"]["total_tokens"] == 10 + body["usage"]["completion_tokens"]


@pytest.mark.parametrize("field", ["max_tokens", "max_completion_tokens"])
def test_the_limit_of_tokens_cuts(engine, field):
    _, body = engine.chat(**{field: 3})
    assert body["usage"]["completion_tokens"] == 3
    assert body["choices"][0]["finish_reason"] == "length"


def test_ignore_eos_gives_exactly_the_limit(engine):
    _, body = engine.chat(ignore_eos=True, max_tokens=500)
    assert body["usage"]["completion_tokens"] == 500
    assert body["choices"][0]["finish_reason"] == "length"


def test_json_schema_is_honoured(engine):
    _, body = engine.chat("who?", response_format=JSON_SCHEMA)
    person = json.loads(content(body))
    assert set(person) == {"name", "age"}
    assert isinstance(person["name"], str)
    assert 0 <= person["age"] <= 120
    assert body["choices"][0]["finish_reason"] == "stop"


def test_json_object_is_an_object(engine):
    _, body = engine.chat(response_format={"type": "json_object"})
    assert isinstance(json.loads(content(body)), dict)


def test_json_cut_by_the_limit_is_no_json(engine):
    _, body = engine.chat(response_format=JSON_SCHEMA, max_tokens=2)
    assert body["choices"][0]["finish_reason"] == "length"
    with pytest.raises(ValueError):
        json.loads(content(body))


def test_a_schema_that_cannot_be_met_is_a_400(engine):
    wanted = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "string", "pattern": "a"}}}
    status, body = engine.chat(response_format=wanted)
    assert status == 400
    assert "pattern" in body["error"]["message"]


def test_a_top_level_json_schema_is_ignored_and_logged(start_engine):
    engine = start_engine(*SMALL, environment={**FAST, "VLLM_LOGGING_LEVEL": "DEBUG"})
    _, body = engine.chat(json_schema=SCHEMA)
    with pytest.raises(ValueError):
        json.loads(content(body))
    engine.wait_for("The following fields were present in the request but ignored: {'json_schema'}")


def test_streaming_sends_the_same_text_in_chunks(engine):
    _, whole = engine.chat("stream me", max_tokens=20)
    body = {
        "messages": [{"role": "user", "content": "stream me"}],
        "max_tokens": 20,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    _, text = engine.request("/v1/chat/completions", body)
    *chunks, usage, done = events(text)
    assert done == "[DONE]"
    choices = [json.loads(chunk)["choices"][0] for chunk in chunks]
    assert "".join(choice["delta"].get("content", "") for choice in choices) == content(whole)
    assert [choice["finish_reason"] for choice in choices if choice["finish_reason"]] == ["length"]
    assert json.loads(usage)["usage"]["completion_tokens"] == 20
    # Under speculation a chunk carries several tokens: fewer chunks than tokens.
    assert len([choice for choice in choices if choice["delta"].get("content")]) == 10


def test_streaming_without_include_usage_sends_no_usage(engine):
    _, text = engine.request("/v1/chat/completions", {"messages": [{"role": "user", "content": "x"}], "stream": True})
    assert "usage" not in text


def test_an_unknown_model_is_a_404(engine):
    status, body = engine.chat(model="other")
    assert status == 404
    assert body["error"] == {
        "message": "The model `other` does not exist.",
        "type": "NotFoundError",
        "param": "model",
        "code": 404,
    }


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (
            {"max_tokens": 998},
            "This model's maximum context length is 1000 tokens. However, you requested 998 output "
            "tokens and your prompt contains 3 input tokens, for a total of 1001 tokens.",
        ),
        ({"max_tokens": 1001}, "max_tokens=1001 cannot be greater than max_model_len=max_total_tokens=1000."),
        ({"prompt": "y" * 4000}, "your prompt contains 1002 input tokens"),
        ({"max_tokens": 0}, "max_tokens must be at least 1, got 0."),
        ({"max_tokens": "5"}, "valid integer"),
        ({"response_format": {"type": "json_schema"}}, "'json_schema' field must be provided"),
        ({"response_format": {"type": "yaml"}}, "response_format"),
        ({"messages": []}, "messages"),
        ({"stream_options": {"include_usage": True}}, "Stream options can only be defined when `stream=True`."),
    ],
)
def test_a_bad_request_is_a_400_with_the_words_of_vllm(small, fields, words):
    status, body = small.chat(**fields)
    assert status == 400
    assert body["error"]["type"] == "BadRequestError"
    assert words in body["error"]["message"]


def test_a_body_that_is_no_json_is_a_400(small):
    assert small.request("/v1/chat/completions", b"{")[0] == 400


def test_the_last_fitting_request_is_served(small):
    assert small.chat(max_tokens=997)[0] == 200


def test_a_repeated_long_prompt_is_found_in_the_cache(small):
    prompt = "z" * 2400
    before = small.chat(prompt, max_tokens=1)[1]["usage"]["prompt_tokens_details"]
    after = small.chat(prompt, max_tokens=1)[1]["usage"]["prompt_tokens_details"]
    assert (before, after) == ({"cached_tokens": 0}, {"cached_tokens": 512})
    assert small.metric("vllm:prefix_cache_hits_total") == 512


def test_requests_are_counted_by_how_they_ended(start_engine):
    engine = start_engine(*SMALL, "--served-model-name=counted", environment=FAST)
    for _ in range(3):
        engine.chat("three times")
    engine.chat(max_tokens=1)
    name = "vllm:request_success_total"
    assert engine.metric(name, model_name="counted", engine="0", finished_reason="stop") == 3
    assert engine.metric(name, finished_reason="length") == 1
    assert engine.metric("vllm:e2e_request_latency_seconds_count") == 4
    assert "spec_decode" not in engine.request("/metrics")[1]


def test_drafts_are_counted_with_speculation(start_engine):
    engine = start_engine(*H20_ARGUMENTS, environment={**FAST, "SIMULATED_ENGINE_SPECULATION_RATIO": "3"})
    engine.chat(ignore_eos=True, max_tokens=300)
    assert engine.metric("vllm:spec_decode_num_drafts_total") == 100
    assert engine.metric("vllm:spec_decode_num_draft_tokens_total") == 700
    assert engine.metric("vllm:spec_decode_num_accepted_tokens_total") == 200
    positions = [
        engine.metric("vllm:spec_decode_num_accepted_tokens_per_pos_total", position=str(at)) for at in range(7)
    ]
    assert positions == [100, 100, 0, 0, 0, 0, 0]


def seconds_for(engine, tokens):
    started = time.monotonic()
    engine.chat(ignore_eos=True, max_tokens=tokens)
    return time.monotonic() - started


def test_speculation_changes_the_rate(start_engine, tmp_path):
    rate = {"SIMULATED_ENGINE_TOKENS_PER_SECOND": "200"}
    plain = seconds_for(start_engine(*SMALL, environment=rate), 200)
    drafted = seconds_for(start_engine(*H20_ARGUMENTS, environment=rate), 200)
    assert plain >= 1.0
    assert drafted >= 0.5
    assert drafted < 0.8 * plain
    empty = write_model(tmp_path, tensors=["embed.weight"])
    assert seconds_for(start_engine(*H20_ARGUMENTS, model=empty, environment=rate), 200) >= 1.0


def test_requests_beyond_max_num_seqs_wait(start_engine):
    engine = start_engine(*SMALL, "--max-num-seqs=1", environment={"SIMULATED_ENGINE_TOKENS_PER_SECOND": "100"})
    threads = [threading.Thread(target=engine.chat, kwargs={"ignore_eos": True, "max_tokens": 60}) for _ in range(2)]
    started = time.monotonic()
    for thread in threads:
        thread.start()
    time.sleep(0.3)
    assert engine.metric("vllm:num_requests_running") == 1
    assert engine.metric("vllm:num_requests_waiting") == 1
    for thread in threads:
        thread.join()
    assert time.monotonic() - started >= 1.2
    assert engine.metric("vllm:num_requests_waiting") == 0


def test_the_load_is_logged_only_after_requests(start_engine):
    engine = start_engine(*H20_ARGUMENTS, environment={**FAST, "VLLM_LOG_STATS_INTERVAL": "0.2"})
    time.sleep(0.5)
    assert "Engine 000:" not in engine.log
    engine.chat()
    engine.wait_for("Engine 000: Avg prompt throughput: ")
    engine.wait_for("SpecDecoding metrics: Mean acceptance length: ")


def test_the_access_log_leaves_out_what_was_asked(start_engine):
    engine = start_engine(*SMALL, "--disable-access-log-for-endpoints", "/metrics")
    engine.request("/metrics")
    engine.request("/health")
    engine.wait_for('"GET /health HTTP/1.1" 200 OK')
    assert "GET /metrics" not in engine.log


def test_an_api_key_is_asked_for(start_engine):
    engine = start_engine(*SMALL, "--api-key", "lab-key")
    assert engine.request("/v1/models")[0] == 401
    assert engine.request("/v1/models", headers={"Authorization": "Bearer lab-key"})[0] == 200
    assert engine.request("/health")[0] == 200


def test_nothing_listens_before_the_start_is_over(start_engine):
    engine = start_engine(*SMALL, environment={"SIMULATED_ENGINE_STARTUP_SECONDS": "1.5"}, ready=False)
    engine.wait_for("Resolved architecture")
    with pytest.raises(OSError):
        engine.request("/health")
    engine.wait_for("Application startup complete.")
    assert engine.request("/health")[0] == 200


def failing(start_engine, failure):
    return start_engine(*SMALL, environment={**FAST, "SIMULATED_ENGINE_FAIL": failure})


def test_told_to_fence_json(start_engine):
    text = content(failing(start_engine, "fenced_json").chat(response_format=JSON_SCHEMA)[1])
    assert text.startswith("```json\n")
    assert text.endswith("\n```")


def test_told_to_truncate(start_engine):
    _, body = failing(start_engine, "truncated").chat(response_format=JSON_SCHEMA)
    assert body["choices"][0]["finish_reason"] == "length"
    with pytest.raises(ValueError):
        json.loads(content(body))


def test_told_to_be_busy(start_engine):
    engine = failing(start_engine, "busy_429")
    status, body = engine.chat()
    assert (status, body["error"]["code"]) == (429, 429)
    assert engine.request("/health")[0] == 200


@pytest.mark.parametrize("moment", ["starting", "serving", "generating"])
def test_sigterm_ends_it_within_a_second(model_directory, moment):
    environment = {
        "SIMULATED_ENGINE_STARTUP_SECONDS": "30" if moment == "starting" else "0",
        "SIMULATED_ENGINE_TOKENS_PER_SECOND": "10",
    }
    engine = RunningEngine([str(model_directory), *SMALL], environment)
    engine.wait_for("Resolved architecture" if moment == "starting" else "Application startup complete.")
    if moment == "generating":

        def ask():
            with pytest.raises(OSError):
                engine.chat(ignore_eos=True, max_tokens=500)

        client = threading.Thread(target=ask)
        client.start()
        time.sleep(0.3)
    started = time.monotonic()
    assert engine.stop() == 0
    assert time.monotonic() - started < 1.0
    engine.process.stdout.close()
