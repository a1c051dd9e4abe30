# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which instances find a place on the hosts of one accelerator."""

from __future__ import annotations

import collections
import dataclasses


@dataclasses.dataclass(frozen=True)
class Wanted:
    name: str
    cards: int
    #: Of the memory of each card it uses.
    share: float
    instances: int


def left_over(deployments, hosts):
    """[(deployment, instances without a place)]; an instance uses cards of one host. `hosts`: name to cards.

    The largest come first, and each goes where the fewest cards have room for it. For sizes that divide one another, as
    the powers of two that engines ask for, no other order places more.
    """
    # Hosts in the same state are one entry, so that 500 hosts cost as little as one.
    free = collections.Counter((1.0,) * cards for cards in hosts.values())
    without = []
    for each in sorted(deployments, key=lambda one: (-one.cards, -one.share)):
        left = each.instances
        while left:
            state = _best(each, free)
            if state is None:
                without.append((each, left))
                break
            placed = min(left, free[state])
            free[state] -= placed
            free[_with(each, state)] += placed
            left -= placed
    return without


def _best(wanted, free):
    """The state of the hosts with room on the fewest cards, or None."""
    room = {state: len(_usable(wanted, state)) for state, hosts in free.items() if hosts}
    fitting = [state for state, cards in room.items() if cards >= wanted.cards]
    return min(fitting, key=lambda state: (room[state], state), default=None)


def _usable(wanted, state):
    return [index for index, space in enumerate(state) if space >= wanted.share]


def _with(wanted, state):
    """The state after one instance more, on the fullest cards that have room."""
    cards = sorted(_usable(wanted, state), key=lambda index: state[index])[: wanted.cards]
    # Shares are decimal fractions that people write: 0.3, 0.6 and 0.1 fill one card.
    return tuple(
        sorted(round(space - wanted.share, 6) if index in cards else space for index, space in enumerate(state))
    )
