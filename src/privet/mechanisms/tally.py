"""Private numbers on a ruler, sorted or counted, as the choice of a quantile sees them: ranks of places.

Both forms answer the same three questions. Nothing here draws, and nothing here may quote a number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from privet.core.errors import BadValue

from .reading import read_numbers

Places = NDArray[np.int64]

_MOST_ROWS = 2**40


@dataclass(frozen=True, repr=False)
class Window:
    """The places that hold numbers, within some ranks: how many numbers lie below all of them, and through each."""

    places: Places
    through: Places
    before: int

    def __repr__(self) -> str:
        return "Window(private)"


class Tally(Protocol):
    """How many numbers lie where."""

    @property
    def total(self) -> int:
        """How many numbers there are."""
        ...

    def ranks(self, place: int) -> tuple[int, int]:
        """Return how many numbers lie below a place, and how many at or below it."""
        ...

    def window(self, low: int, high: int) -> Window:
        """Return places in order that hold all numbers of the ranks low + 1 to high, at least."""
        ...

    def split(self, place: int) -> tuple[Tally, Tally]:
        """Return the numbers at or below a place, and those above."""
        ...


@dataclass(frozen=True, repr=False)
class Listed:
    """Numbers one by one, as places in order."""

    places: Places

    def __repr__(self) -> str:
        return "Listed(private)"

    @property
    def total(self) -> int:
        """How many numbers there are."""
        return int(self.places.size)

    def ranks(self, place: int) -> tuple[int, int]:
        """Return how many numbers lie below a place, and how many at or below it."""
        return int(np.searchsorted(self.places, place)), int(np.searchsorted(self.places, place, side="right"))

    def window(self, low: int, high: int) -> Window:
        """Return places in order that hold all numbers of the ranks low + 1 to high, at least."""
        start, end = _clip(low, high, self.total)
        if not self.total:
            return Window(self.places, self.places, 0)
        start, end = self.ranks(int(self.places[start]))[0], self.ranks(int(self.places[end - 1]))[1]
        rows = self.places[start:end]
        ends = np.flatnonzero(rows[1:] != rows[:-1])
        ends = np.append(ends, rows.size - 1)
        return Window(rows[ends], ends.astype(np.int64) + (start + 1), start)

    def split(self, place: int) -> tuple[Tally, Tally]:
        """Return the numbers at or below a place, and those above."""
        cut = self.ranks(place)[1]
        return Listed(self.places[:cut]), Listed(self.places[cut:])


@dataclass(frozen=True, repr=False)
class Counted:
    """The places that hold numbers, in order, and how many numbers lie at each or below."""

    places: Places
    through: Places

    def __repr__(self) -> str:
        return "Counted(private)"

    @property
    def total(self) -> int:
        """How many numbers there are."""
        return self._through(self.places.size)

    def ranks(self, place: int) -> tuple[int, int]:
        """Return how many numbers lie below a place, and how many at or below it."""
        below, through = np.searchsorted(self.places, place), np.searchsorted(self.places, place, side="right")
        return self._through(int(below)), self._through(int(through))

    def window(self, low: int, high: int) -> Window:
        """Return places in order that hold all numbers of the ranks low + 1 to high, at least."""
        start, end = _clip(low, high, self.total)
        first = int(np.searchsorted(self.through, start, side="right"))
        last = int(np.searchsorted(self.through, end)) + 1
        return Window(self.places[first:last], self.through[first:last], self._through(first))

    def split(self, place: int) -> tuple[Tally, Tally]:
        """Return the numbers at or below a place, and those above."""
        cut = int(np.searchsorted(self.places, place, side="right"))
        above = Counted(self.places[cut:], self.through[cut:] - self._through(cut))
        return Counted(self.places[:cut], self.through[:cut]), above

    def _through(self, index: int) -> int:
        return int(self.through[index - 1]) if index else 0


def list_places(places: Places) -> Listed:
    """Return private places, which are sorted where they are."""
    if places.size > _MOST_ROWS:
        raise BadValue("values", "more", "at most 2**40 numbers")
    places.sort()
    return Listed(places)


def count_places(counts: Any, last: int) -> Counted:
    """Return private counts, one for each place from 0 to last; refuse without quoting."""
    allowed = f"an array of {last + 1} counts, one for each place of the grid: whole, not negative, 2**40 together"
    numbers = read_numbers(counts, "counts")
    if numbers.shape != (last + 1,) or not numbers.whole or numbers.values.dtype != np.int64:
        raise BadValue("counts", "something else", allowed)
    array: Places = numbers.values
    if (array < 0).any() or array.sum(dtype=np.float64) > _MOST_ROWS:
        raise BadValue("counts", "other numbers", allowed)
    places = np.flatnonzero(array).astype(np.int64)
    return Counted(places, np.cumsum(array[places], dtype=np.int64))


def _clip(low: int, high: int, total: int) -> tuple[int, int]:
    """Return ranks inside the numbers, with at least one number between them where there are any."""
    start = min(max(low, 0), max(total - 1, 0))
    return start, max(start + 1, min(high, total))
