# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Settings laid over one another, each remembering who wrote it and what it replaced."""

from __future__ import annotations

import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True)
class Written:
    """One value as one layer wrote it. None takes the setting out."""

    name: str
    value: Any
    layer: str
    source: str = ""

    def as_dict(self):
        return dataclasses.asdict(self)


class Settings:
    """Key -> what was written for it, the latest last. The order is that of the first writing."""

    def __init__(self, key=str, chains=None):
        self._key = key
        self._chains = dict(chains or {})

    @classmethod
    def of(cls, layer, values, sources=None, key=str):
        """The settings of one layer alone."""
        settings = cls(key)
        for name, value in (values or {}).items():
            written = Written(name, value, layer, (sources or {}).get(name, ""))
            settings._chains[key(name)] = (*settings._chains.get(key(name), ()), written)
        return settings

    def under(self, above):
        """Both together; where both write, `above` wins. a.under(b).under(c) is a.under(b.under(c))."""
        chains = dict(self._chains)
        for key, chain in above._chains.items():
            chains[key] = (*chains.get(key, ()), *chain)
        return Settings(self._key, chains)

    def get(self, name, default=None):
        chain = self._chains.get(self._key(name))
        return default if not chain or chain[-1].value is None else chain[-1].value

    def items(self, order=()):
        """(what holds, what it replaced) of every setting that is not taken out, those of `order` first."""
        place = {self._key(name): number for number, name in enumerate(order)}
        keys = sorted(self._chains, key=lambda key: place.get(key, len(place)))
        for chain in (self._chains[key] for key in keys):
            if chain[-1].value is not None:
                yield chain[-1], chain[:-1]

    def removed(self):
        """What a layer took out that another had written."""
        return [chain for chain in self._chains.values() if chain[-1].value is None and len(chain) > 1]

    def __eq__(self, other):
        return list(self._chains.items()) == list(other._chains.items())
