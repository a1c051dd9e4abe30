# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How many requests of which length the KV cache of one device holds."""

from __future__ import annotations

import dataclasses
import math

from ansible_collections.inferops.gpustack.plugins.plugin_utils._kv_layout import Layout, NotModelled

_GIB = 2**30
# The k of this collection's launch profiles.
_SPECULATIVE_TOKENS = 7


class CapacityError(ValueError):
    """A question that makes no sense, with what was found and what to write instead."""


def capacity(config, **asked):
    """What the engine prints at start, what it holds later, and what it needs to start.

    The printed concurrency prices every request as if it were at full length and in its prefill: the caches of sliding
    windows and of compressor states must then hold all tokens in flight, max_num_batched_tokens for each concurrent
    batch. Past its prefill a request has one decode step in flight for each concurrent batch, 1 + k tokens with k
    speculative ones. `steady_concurrency` is the pool's blocks divided by the pages of a request under that load, from
    the same page table. It counts pages, as the pool does, also where the engine prints a figure weighted by bytes.
    """
    nothing = dict.fromkeys(
        ("tokens", "admission_concurrency", "steady_concurrency", "minimum_gib", "blocks", "reason")
    )
    try:
        pool = _Pool(config, asked)
    except NotModelled as error:
        return dict(nothing, reason=str(error))
    length = pool.length
    return dict(
        nothing,
        tokens=int(pool.concurrency(length) * length),
        admission_concurrency=round(pool.concurrency(length), 2),
        steady_concurrency=round(pool.blocks / pool.layout.pages(length, pool.decode_in_flight), 2),
        minimum_gib=round(pool.layout.minimum_bytes(length, pool.in_flight(pool.batched)) / _GIB, 2),
        blocks=pool.blocks,
    )


def context(config, requests, **asked):
    """The largest max_model_len for so many requests at once as the engine prints it, and what to lower first.

    The lever is whichever of max_model_len and max_num_batched_tokens admits more requests when it is halved; where
    both do the same, max_num_batched_tokens, which costs no context.
    """
    _whole("requests", requests)
    nothing = dict.fromkeys(("max_model_len", "lever", "halved", "reason"))
    try:
        pool = _Pool(config, asked)
    except NotModelled as error:
        return dict(nothing, reason=str(error))
    halved = {
        "max_num_batched_tokens": pool.concurrency(pool.length, _half(pool.batched)),
        "max_model_len": pool.concurrency(_half(pool.length)),
    }
    return dict(
        nothing,
        max_model_len=_largest(lambda length: pool.holds(length, requests), config.get("max_position_embeddings")),
        lever=max(halved, key=halved.get),
        halved={name: round(value, 2) for name, value in halved.items()},
    )


class _Pool:
    """The blocks that the memory of one device makes, and the load they are asked to carry."""

    def __init__(self, config, asked):
        if not isinstance(config, dict):
            raise CapacityError(f"config is {_shown(config)}; give the content of config.json, a dictionary")
        question = _Question.of(asked)
        self.length, self.batched = question.max_model_len, question.max_num_batched_tokens
        self.layout = Layout(config, question.release, question.platform, question.dspark)
        self._batches = question.batches(self.layout.concurrent_batches)
        self._bytes = int(question.gib_per_device * _GIB)
        self.blocks = self._bytes // self.layout.bytes_per_block
        self.decode_in_flight = self.in_flight(1 + question.drafted())

    def in_flight(self, tokens_per_batch):
        return tokens_per_batch * self._batches

    def concurrency(self, length, batched=None):
        return self.blocks / self.layout.blocks_per_request(length, self.in_flight(batched or self.batched))

    def holds(self, length, requests):
        in_flight = self.in_flight(self.batched)
        return (
            self.layout.blocks_per_request(length, in_flight) * requests <= self.blocks
            and self.layout.minimum_bytes(length, in_flight) <= self._bytes
        )


def _largest(holds, limit):
    """The largest length that holds, 0 where none does; what fits never grows with the length."""
    if not holds(1):
        return 0
    fits, too_long = 1, 2
    while holds(too_long):
        fits, too_long = too_long, too_long * 2
    while too_long - fits > 1:
        middle = (fits + too_long) // 2
        fits, too_long = (middle, too_long) if holds(middle) else (fits, middle)
    return min(fits, limit) if isinstance(limit, int) else fits


def _half(number):
    return max(1, number // 2)


@dataclasses.dataclass(frozen=True)
class _Question:
    """What is asked about a checkpoint. The two optional values default to what the release and the profiles do."""

    release: str
    platform: str
    max_model_len: int
    max_num_batched_tokens: int
    gib_per_device: float
    dspark: bool
    max_concurrent_batches: int | None = None
    speculative_tokens: int | None = None

    def __post_init__(self):
        for name, value, example in (("release", self.release, "0.26.0"), ("platform", self.platform, "cuda")):
            if not isinstance(value, str):
                raise CapacityError(f"{name} is {_shown(value)}; write text in quotes, such as {example!r}")
        if not isinstance(self.dspark, bool):
            raise CapacityError(f"dspark is {_shown(self.dspark)}; write true or false")
        _whole("max_model_len", self.max_model_len)
        _whole("max_num_batched_tokens", self.max_num_batched_tokens)
        gib = self.gib_per_device
        if not isinstance(gib, (int, float)) or isinstance(gib, bool) or not 0 < gib * _GIB < math.inf:
            raise CapacityError(f"gib_per_device is {_shown(gib)}; write the GiB that the engine's log names, above 0")
        if self.max_concurrent_batches is not None:
            _whole("max_concurrent_batches", self.max_concurrent_batches)
        if self.speculative_tokens is not None:
            _whole("speculative_tokens", self.speculative_tokens, least=0)
        if self.speculative_tokens and not self.dspark:
            raise CapacityError(
                f"speculative_tokens is {self.speculative_tokens} without dspark, the only speculation modelled; "
                "set dspark, or leave it out"
            )

    @classmethod
    def of(cls, asked):
        fields = {field.name: field.default is dataclasses.MISSING for field in dataclasses.fields(cls)}
        unknown = [str(name) for name in asked if name not in fields]
        if unknown:
            raise CapacityError(f"unknown: {', '.join(unknown)}; known are {', '.join(fields)}")
        missing = [name for name, required in fields.items() if required and name not in asked]
        if missing:
            raise CapacityError(f"nothing is said about {', '.join(missing)}; give them as options")
        return cls(**asked)

    def drafted(self):
        if self.speculative_tokens is None:
            return _SPECULATIVE_TOKENS if self.dspark else 0
        return self.speculative_tokens

    def batches(self, counted):
        if self.max_concurrent_batches is None:
            return counted
        if counted == 1 and self.max_concurrent_batches != 1:
            raise CapacityError(
                f"max_concurrent_batches is {self.max_concurrent_batches}, but release {self.release} reserves for one "
                "batch however many run; leave it out"
            )
        return self.max_concurrent_batches


def _whole(name, value, least=1):
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise CapacityError(f"{name} is {_shown(value)}; write a whole number of at least {least}")


def _shown(value):
    """The value where it is one number or word, its type where it is not."""
    kind = type(value).__name__
    return f"{value!r} ({kind})" if isinstance(value, (str, int, float)) else kind
