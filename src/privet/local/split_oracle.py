"""Several questions, of which each person answers one: which one follows from the report's random identifier."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.accounting.amplify import Shuffled
from privet.accounting.events import PureEvent
from privet.core.event import Event

from .hashing import parts_of
from .randomizer import Bytes, Integers, Randomizer, Words


@dataclass(frozen=True, repr=False, eq=False)
class SplitOracle(Randomizer):
    """Oracles of which each person reports to one.

    Guarantee: epsilon-DP for each person by themselves, with the largest epsilon of the parts: which part a person
    answers does not depend on the answers, and no person answers two.
    """

    @property
    @abstractmethod
    def parts(self) -> tuple[Randomizer, ...]:
        """The oracles, of which a person's report is to one."""

    @abstractmethod
    def _answers_to(self, part: int, answers: Any) -> Any:
        """Return people's answers to a part."""

    @property
    def width(self) -> int:
        return max(part.width for part in self.parts)

    @property
    def event(self) -> Event:
        """The event of one report: that of every part if they are equal, else the largest epsilon of all."""
        events = [part.event for part in self.parts]
        if all(event == events[0] for event in events):
            return events[0]
        return PureEvent(max(Fraction(event.pure()) for event in events))

    def shuffled(self, n: int) -> Event:
        """Return the event of n honest people's reports, of which only the multiset is public.

        Args:
            n: the number of honest people; missing, repeated and forged reports do not count.

        Cites: [FMT21].
        """
        return Shuffled(self.event, n)

    @property
    def _told(self) -> list[Any]:
        return [[part.digest.hex() for part in self.parts], self.survey]

    def _part_of(self, ids: Words) -> Integers:
        return parts_of(ids, self.digest, len(self.parts))

    def _chosen(self, ids: Words) -> Iterator[tuple[int, Randomizer, Integers]]:
        """Yield each part that is reported to, and the places of its reports."""
        numbers = self._part_of(ids)
        order = np.argsort(numbers, kind="stable")
        ends = np.searchsorted(numbers[order], np.arange(len(self.parts) + 1))
        for number, part in enumerate(self.parts):
            places = order[ends[number] : ends[number + 1]]
            if len(places):
                yield number, part, places

    def _randomise(self, answers: Any, ids: Words) -> Bytes:
        data = np.zeros((len(answers), self.width), dtype=np.uint8)
        for number, part, places in self._chosen(ids):
            data[places, : part.width] = part._randomise(self._answers_to(number, answers[places]), ids[places])
        return data

    def _allowed(self, data: Bytes, ids: Words) -> NDArray[np.bool_]:
        allowed = np.zeros(len(data), dtype=np.bool_)
        for _, part, places in self._chosen(ids):
            own = data[places]
            allowed[places] = part._allowed(own[:, : part.width], ids[places]) & ~own[:, part.width :].any(axis=1)
        return allowed

    @property
    def _bounds(self) -> Integers:
        """Where the integers of each part begin and end, after the numbers of reports to each."""
        sizes = [int(np.prod(part._tally_shape)) for part in self.parts]
        return len(self.parts) + np.concatenate(([0], np.cumsum(sizes)))

    @property
    def _tally_shape(self) -> tuple[int, ...]:
        return (int(self._bounds[-1]),)

    def _count_into(self, tally: Integers, data: Bytes, ids: Words) -> None:
        for number, part, places in self._chosen(ids):
            tally[number] += len(places)
            part._count_into(self._tally_of(tally, number), data[places][:, : part.width], ids[places])

    def _tally_of(self, tally: Integers, number: int) -> Integers:
        """Return the integers of one part, as a view."""
        bounds = self._bounds
        return tally[bounds[number] : bounds[number + 1]].reshape(self.parts[number]._tally_shape)
