"""The Prometheus series of the real engine that a run without a model can fill truthfully."""

from __future__ import annotations

import threading
from collections import defaultdict

_SECONDS = (0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 480.0)

COUNTERS = {
    "prompt_tokens": "Number of prefill tokens processed.",
    "generation_tokens": "Number of generation tokens processed.",
    "num_preemptions": "Cumulative number of preemption from the engine.",
    "prefix_cache_queries": "Prefix cache queries, in terms of number of queried tokens.",
    "prefix_cache_hits": "Prefix cache hits, in terms of number of cached tokens.",
}
SPECULATION_COUNTERS = {
    "spec_decode_num_drafts": "Number of spec decoding drafts.",
    "spec_decode_num_draft_tokens": "Number of draft tokens.",
    "spec_decode_num_accepted_tokens": "Number of accepted tokens.",
}
HISTOGRAMS = {
    "time_to_first_token_seconds": "Histogram of time to first token in seconds.",
    "inter_token_latency_seconds": "Histogram of inter-token latency in seconds.",
    "request_time_per_output_token_seconds": "Histogram of time_per_output_token_seconds per request.",
    "e2e_request_latency_seconds": "Histogram of e2e request latency in seconds.",
    "request_queue_time_seconds": "Histogram of time spent in WAITING phase for request.",
}
FINISHED_REASONS = ("stop", "length", "abort", "error", "repetition")


class Metrics:
    def __init__(self, model_name: str, draft_length: int):
        self._lock = threading.Lock()
        self._labels = {"engine": "0", "model_name": model_name}
        self._draft_length = draft_length
        self.totals = defaultdict(int)
        self.finished = dict.fromkeys(FINISHED_REASONS, 0)
        self.accepted_at = [0] * draft_length
        self._observed = {name: [0] * (len(_SECONDS) + 1) for name in HISTOGRAMS}
        self._sums = defaultdict(float)

    def add(self, **amounts) -> None:
        with self._lock:
            for name, amount in amounts.items():
                self.totals[name] += amount

    def count_finished(self, reason: str) -> None:
        with self._lock:
            self.finished[reason] += 1

    def count_draft(self, accepted: int) -> None:
        with self._lock:
            self.totals["spec_decode_num_drafts"] += 1
            self.totals["spec_decode_num_draft_tokens"] += self._draft_length
            self.totals["spec_decode_num_accepted_tokens"] += accepted
            for position in range(accepted):
                self.accepted_at[position] += 1

    def observe(self, name: str, seconds: float) -> None:
        bucket = next((index for index, edge in enumerate(_SECONDS) if seconds <= edge), len(_SECONDS))
        with self._lock:
            self._observed[name][bucket] += 1
            self._sums[name] += seconds

    def snapshot(self) -> dict:
        with self._lock:
            return dict(self.totals)

    def render(self, gauges: dict, cache_info: dict) -> str:
        with self._lock:
            return "\n".join(self._lines(gauges, cache_info)) + "\n"

    def _lines(self, gauges, cache_info):
        for name, (text, value) in gauges.items():
            yield from self._head(name, "gauge", text)
            yield self._sample(name, value)
        yield from self._head("num_requests_waiting_by_reason", "gauge", "Number of requests waiting, by reason.")
        yield self._sample("num_requests_waiting_by_reason", gauges["num_requests_waiting"][1], reason="capacity")
        yield self._sample("num_requests_waiting_by_reason", 0, reason="deferred")
        for name, text in {**COUNTERS, **(SPECULATION_COUNTERS if self._draft_length else {})}.items():
            yield from self._head(name + "_total", "counter", text)
            yield self._sample(name + "_total", self.totals[name])
        if self._draft_length:
            name = "spec_decode_num_accepted_tokens_per_pos_total"
            yield from self._head(name, "counter", "Accepted tokens per draft position.")
            for position, value in enumerate(self.accepted_at):
                yield self._sample(name, value, position=str(position))
        yield from self._head("request_success_total", "counter", "Count of successfully processed requests.")
        for reason, value in self.finished.items():
            yield self._sample("request_success_total", value, finished_reason=reason)
        for name, text in HISTOGRAMS.items():
            yield from self._histogram(name, text)
        yield from self._head("cache_config_info", "gauge", "Information of the LLMEngine CacheConfig")
        yield self._sample("cache_config_info", 1, **cache_info)

    def _histogram(self, name, text):
        yield from self._head(name, "histogram", text)
        total = 0
        for edge, count in zip((*map(str, _SECONDS), "+Inf"), self._observed[name]):
            total += count
            yield self._sample(name + "_bucket", total, le=edge)
        yield self._sample(name + "_count", total)
        yield self._sample(name + "_sum", self._sums[name])

    @staticmethod
    def _head(name, kind, text):
        return f"# HELP vllm:{name} {text}", f"# TYPE vllm:{name} {kind}"

    def _sample(self, name, value, **labels):
        pairs = {**self._labels, **labels}
        text = ",".join(f'{key}="{_escaped(pairs[key])}"' for key in sorted(pairs))
        return f"vllm:{name}{{{text}}} {float(value)}"


def _escaped(value):
    return str(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
