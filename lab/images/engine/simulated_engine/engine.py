"""The engine: at most max-num-seqs requests at a time, each at the configured token rate, and its counters."""

from __future__ import annotations

import hashlib
import threading
import time

from simulated_engine import kv_table, log
from simulated_engine.metrics import Metrics

_PREFILL_TOKENS_PER_SECOND = 50_000
_REMEMBERED_PROMPTS = 10_000


class Engine:
    def __init__(self, launch, settings):
        self.launch = launch
        self.settings = settings
        self.metrics = Metrics(launch.served_names[0], launch.draft_length)
        self._slots = threading.Semaphore(launch.max_num_seqs)
        self._lock = threading.Lock()
        self._running = 0
        self._waiting = 0
        self._tokens_held = 0
        self._figures = kv_table.lookup(launch, settings.kv_tokens_factor)
        self._seen_prompts = {}

    def cached_tokens(self, request) -> int:
        """Whole blocks of a prompt that was served before."""
        if not self.launch.prefix_caching:
            return 0
        key = hashlib.sha256(request.prompt.encode()).digest()
        with self._lock:
            known = key in self._seen_prompts
            self._seen_prompts[key] = True
            if len(self._seen_prompts) > _REMEMBERED_PROMPTS:
                self._seen_prompts.pop(next(iter(self._seen_prompts)))
        cached = request.prompt_tokens // self.launch.block_size * self.launch.block_size if known else 0
        self.metrics.add(prefix_cache_queries=request.prompt_tokens, prefix_cache_hits=cached)
        return cached

    def run(self, request, answer):
        """Yield the text of each decoding step when its time has come."""
        arrived = time.monotonic()
        reason = "abort"
        self._enter(request.prompt_tokens)
        started = time.monotonic()
        try:
            self.metrics.observe("request_queue_time_seconds", started - arrived)
            self.metrics.add(prompt_tokens=request.prompt_tokens)
            yield from self._decode(request, answer, arrived, started)
            reason = answer.finish_reason
        finally:
            self._leave(request.prompt_tokens)
            self.metrics.count_finished(reason)
            self.metrics.observe("e2e_request_latency_seconds", time.monotonic() - arrived)

    def _decode(self, request, answer, arrived, started):
        prefill_end = started + request.prompt_tokens / _PREFILL_TOKENS_PER_SECOND
        sent, first, last = 0, None, None
        for step, size in enumerate(self._step_sizes(len(answer.tokens)), start=1):
            _sleep_until(prefill_end + step / self.settings.tokens_per_second)
            now = time.monotonic()
            if first is None:
                first = now
                self.metrics.observe("time_to_first_token_seconds", now - arrived)
            else:
                self.metrics.observe("inter_token_latency_seconds", now - last)
            last = now
            self.metrics.add(generation_tokens=size)
            if self.launch.draft_length:
                self.metrics.count_draft(accepted=size - 1)
            yield "".join(answer.tokens[sent : sent + size])
            sent += size
        if sent > 1:
            self.metrics.observe("request_time_per_output_token_seconds", (last - first) / (sent - 1))

    def _step_sizes(self, total):
        """One token per step; with speculation as many as make the configured ratio on average."""
        ratio, due, sent = self._ratio(), 0.0, 0
        while sent < total:
            due += ratio
            size = min(int(due + 1e-9) - sent, total - sent)
            yield size
            sent += size

    def _ratio(self) -> float:
        # A draft without weights proposes nothing that is accepted, and vLLM starts with it all the same.
        if not self.launch.draft_length or self.launch.draft_tensors == 0:
            return 1.0
        return min(self.settings.speculation_ratio, 1.0 + self.launch.draft_length)

    def _enter(self, prompt_tokens):
        with self._lock:
            self._waiting += 1
        self._slots.acquire()
        with self._lock:
            self._waiting -= 1
            self._running += 1
            self._tokens_held += prompt_tokens

    def _leave(self, prompt_tokens):
        with self._lock:
            self._running -= 1
            self._tokens_held -= prompt_tokens
        self._slots.release()

    def _cache_usage(self) -> float:
        return min(1.0, self._tokens_held / self._figures.tokens) if self._figures else 0.0

    def render_metrics(self) -> str:
        gauges = {
            "num_requests_running": ("Number of requests in model execution batches.", self._running),
            "num_requests_waiting": ("Number of requests waiting to be processed.", self._waiting),
            "kv_cache_usage_perc": ("KV-cache usage. 1 means 100 percent usage.", self._cache_usage()),
        }
        launch = self.launch
        cache_info = {
            "block_size": launch.block_size,
            "cache_dtype": launch.kv_cache_dtype,
            "enable_prefix_caching": launch.prefix_caching,
            "gpu_memory_utilization": launch.gpu_memory_utilization,
        }
        return self.metrics.render(gauges, cache_info)

    def log_periodically(self, interval: float) -> None:
        before, busy = self.metrics.snapshot(), False
        while True:
            time.sleep(interval)
            after = self.metrics.snapshot()
            gained = {name: total - before.get(name, 0) for name, total in after.items()}
            active = any(gained.values())
            if active or busy:
                self._log_load(gained, interval)
            before, busy = after, active

    def _log_load(self, gained, interval):
        queries = self.metrics.totals["prefix_cache_queries"]
        hit_rate = 100 * self.metrics.totals["prefix_cache_hits"] / queries if queries else 0.0
        log.line(
            f"Engine 000: Avg prompt throughput: {gained.get('prompt_tokens', 0) / interval:.1f} tokens/s, "
            f"Avg generation throughput: {gained.get('generation_tokens', 0) / interval:.1f} tokens/s, "
            f"Running: {self._running} reqs, Waiting: {self._waiting} reqs, "
            f"GPU KV cache usage: {100 * self._cache_usage():.1f}%, Prefix cache hit rate: {hit_rate:.1f}%",
            "loggers.py:271",
        )
        drafts = gained.get("spec_decode_num_drafts", 0)
        if drafts:
            self._log_acceptance(gained, drafts, interval)

    def _log_acceptance(self, gained, drafts, interval):
        drafted = gained["spec_decode_num_draft_tokens"]
        accepted = gained["spec_decode_num_accepted_tokens"]
        all_drafts = self.metrics.totals["spec_decode_num_drafts"]
        positions = ", ".join(f"{count / all_drafts:.3f}" for count in self.metrics.accepted_at)
        log.line(
            f"SpecDecoding metrics: Mean acceptance length: {1 + accepted / drafts:.2f}, "
            f"Accepted throughput: {accepted / interval:.2f} tokens/s, "
            f"Drafted throughput: {drafted / interval:.2f} tokens/s, "
            f"Accepted: {accepted} tokens, Drafted: {drafted} tokens, "
            f"Per-position acceptance rate: {positions}, "
            f"Avg Draft acceptance rate: {100 * accepted / drafted:.1f}%",
            "metrics.py:121",
        )


def _sleep_until(moment):
    remaining = moment - time.monotonic()
    if remaining > 0:
        time.sleep(remaining)
