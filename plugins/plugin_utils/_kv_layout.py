# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The page table of a model's KV cache on one device, as an engine's release lays it out (data/kv_layouts.yml)."""

from __future__ import annotations

import re

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _data


class NotModelled(Exception):
    """Nobody has checked figures for this checkpoint, release or platform; the text says which of them and why."""


class Layout:
    """What blocks cost and requests need, for a length in tokens and so many tokens scheduled but not yet settled."""

    def __init__(self, config, release, platform, dspark):
        known = _data.load("kv_layouts.yml")
        platform = _platform(known, platform)
        self._rule = _rule(platform, release)
        main, drafts = _layers(known, config, dspark)
        self._groups = _groups(platform["groups"], main, drafts, self._rule["split"])
        self._tuple_bytes = sum(self._groups[0].layers)
        self.concurrent_batches = self._rule["batches"]
        self.bytes_per_block = self._bytes_per_block(drafts)

    def pages(self, length, in_flight):
        """Pages of all groups: the blocks that one request takes from the pool."""
        return sum(group.pages(length, in_flight) for group in self._groups)

    def blocks_per_request(self, length, in_flight):
        """The blocks by which the engine divides when it prints its concurrency."""
        if self._rule["request"] == "pages":
            return self.pages(length, in_flight)
        size = sum(group.pages(length, in_flight) * group.page_bytes for group in self._groups)
        return _ceil(size, self._groups[0].page_bytes)

    def minimum_bytes(self, length, in_flight):
        """The least memory with which the engine starts."""
        pages = self.pages(length, in_flight)
        if self._rule["minimum"] == "blocks":
            return (pages + 1) * self.bytes_per_block
        return pages * max(group.repeats for group in self._groups) * self._tuple_bytes

    def _bytes_per_block(self, drafts):
        if self._rule["block"] == "widest":
            return max(group.page_bytes for group in self._groups)
        if self._rule["block"] == "tuples":
            return (max(group.main_repeats for group in self._groups) + drafts) * self._tuple_bytes
        most = {}
        for group in self._groups:
            for size, count in group.layers.items():
                most[size] = max(count, most.get(size, 0))
        return sum(size * count for size, count in most.items())


class _Group:
    def __init__(self, tokens, window, layers, drafts=0):
        self._tokens, self._window = tokens, window
        self.layers = layers
        self.repeats = max(layers.values())
        self.main_repeats = self.repeats - drafts
        self.page_bytes = sum(size * count for size, count in layers.items())

    @property
    def balanced(self):
        return len(set(self.layers.values())) == 1

    def pages(self, length, in_flight):
        if self._window is None:
            return _ceil(length, self._tokens)
        # A window need not begin where a page does, so it can reach into one more.
        return _ceil(min(self._window - 1 + in_flight, length), self._tokens) + 1


def _groups(described, main, drafts, split):
    """The groups of this model. The windows of all layers are split into groups about as wide as the others."""
    counts = {"c4": main.count(4), "c128": main.count(128), "all": len(main) + drafts}
    whole = [
        _Group(
            entry["tokens"],
            entry.get("window"),
            {size: counts[kind] for kind, sizes in entry["layers"].items() for size in sizes},
        )
        for entry in described
    ]
    repeats = _repeats([group for group in whole if split == "all" or group.balanced])
    groups = []
    for entry, group in zip(described, whole):
        if "all" not in entry["layers"]:
            groups.append(group)
            continue
        parts = _ceil(group.repeats, repeats)
        for part in range(parts):
            # Layers are dealt out in turn, draft stages last.
            of_all = len(range(part, counts["all"], parts))
            of_main = len(range(part, len(main), parts))
            layers = dict.fromkeys(group.layers, of_all)
            groups.append(_Group(entry["tokens"], entry["window"], layers, drafts=of_all - of_main))
    return groups


def _repeats(groups):
    """Layers of one size in a split group: least padding over all groups, the larger number where two pad the same."""
    counts = [group.repeats for group in groups]
    least = max(group.repeats for group in groups if len(group.layers) > 1)
    return min(range(least, max(counts) + 1), key=lambda width: (sum(-count % width for count in counts), -width))


def _platform(known, platform):
    if platform not in known["platforms"]:
        raise NotModelled(f"platform {platform!r} is not modelled; modelled are {', '.join(known['platforms'])}")
    return known["platforms"][platform]


def _rule(platform, release):
    found = re.match(r"v?(\d+\.\d+)(?![\d])", release)
    rule = platform["releases"].get(found.group(1)) if found else None
    if rule is None:
        raise NotModelled(f"release {release!r} is not modelled; modelled are {', '.join(platform['releases'])}")
    return rule


def _layers(known, config, dspark):
    """The compress ratio of every main layer, and the number of draft stages."""
    family = config.get("model_type")
    if "text_config" in config or family != known["model_type"]:
        nested = ", with a nested text_config" if "text_config" in config else ""
        raise NotModelled(f"model_type {family!r}{nested} is not modelled; modelled is {known['model_type']}")
    for name, modelled in known["dimensions"].items():
        if config.get(name, modelled) != modelled:
            raise NotModelled(f"config.json has {name} {config[name]!r}; modelled is {modelled}")
    ratios = _ratios(config)
    if not dspark:
        return ratios, 0
    drafts = config.get("n_mtp_layers") or known["draft_stages"]
    if not _is_count(drafts):
        raise NotModelled(f"config.json has n_mtp_layers {drafts!r}, which is no number of draft stages")
    return ratios, drafts


def _ratios(config):
    count, ratios = config.get("num_hidden_layers"), config.get("compress_ratios")
    if not _is_count(count):
        raise NotModelled(f"config.json has num_hidden_layers {count!r}, which is no number of layers")
    if not isinstance(ratios, list) or len(ratios) < count:
        raise NotModelled(f"config.json has no list compress_ratios with one entry for each of its {count} layers")
    main = ratios[:count]
    if set(map(str, main)) - {"0", "4", "128"} or not {4, 128} <= set(main):
        raise NotModelled("config.json has compress_ratios other than 0, 4 and 128 with both of the latter")
    return main


def _is_count(value):
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _ceil(dividend, divisor):
    return -(-dividend // divisor)
