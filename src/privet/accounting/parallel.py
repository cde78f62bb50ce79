"""Parallel composition: different computations on the disjoint blocks of a partition that was fixed in advance.

Each record goes to its block by a public rule that looks at that record alone. A partition chosen from the data, or
from other records, is no partition in this sense.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from privet.core.event import Atom, Event, Exact, Repeated, add_up, read_events
from privet.core.exact import read_order
from privet.core.pair import NoPair, Pair
from privet.core.sensitivity import Neighbors, read_neighbors


@dataclass(frozen=True)
class Parallel(Atom):
    """Events on disjoint blocks: the costliest under add-remove, the two costliest together under change-one.

    Guarantee: under add-remove a unit lies in one block, and every answer is the largest over the blocks. Under
    change-one it may move from one block to another, and every answer is the sum of the two largest; each event's
    cost must then hold for a unit of its block that is added, removed or changed.
    Cites: [McS09, Thm 4].
    """

    events: tuple[Event, ...]
    neighbors: Neighbors

    def __post_init__(self) -> None:
        object.__setattr__(self, "events", read_events(self.events))
        object.__setattr__(self, "neighbors", read_neighbors(self.neighbors))

    def pure(self) -> Exact:
        return sum(self._worst(event.pure() for event in self.events), Fraction(0))

    def rho(self) -> Exact:
        return sum(self._worst(event.rho() for event in self.events), Fraction(0))

    def slack(self) -> Fraction:
        worst = self._worst(event.slack() for event in self.events)
        return min(Fraction(1), sum((Fraction(value) for value in worst), Fraction(0)))

    def rdp(self, order: float) -> float:
        at = read_order(order)
        return add_up(map(float, self._worst(event.rdp(at) for event in self.events)))

    def pair(self) -> Pair:
        raise NoPair("different events on disjoint blocks have no single pair that is known to dominate them all")

    def _worst(self, costs: Iterable[Exact]) -> list[Exact]:
        return sorted(costs, reverse=True)[: 1 if self.neighbors == "add-remove" else 2]


def parallel(events: Iterable[Event], *, neighbors: Neighbors) -> Event:
    """Return the event of computations on disjoint blocks; equal events on all blocks need no new one.

    Guarantee: as `Parallel`.
    Cites: [McS09, Thm 4].
    """
    every = Parallel(read_events(events), neighbors)
    if not every.events or any(event != every.events[0] for event in every.events):
        return every
    return Repeated(every.events[0], 1 if neighbors == "add-remove" or len(every.events) == 1 else 2)
