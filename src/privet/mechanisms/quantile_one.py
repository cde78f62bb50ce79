"""A private quantile: the exponential mechanism on the runs of grid places between sorted values.

All places of one run have the same rank, so a run is one option, as wide as it has places; the choice inside it
is uniform. Ties, bounds, duplicates, empty and constant data are ordinary cases of the same arithmetic.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from privet import noise
from privet.core.errors import BadParameter, BadValue, RequestError
from privet.core.given import set_fields
from privet.core.numbers import Number, float_up, inflate, positive, rational
from privet.core.unit import Neighbors, read_neighbors
from privet.noise.choosing import accepts
from privet.noise.coins import Below

from .lattice import Ruler, read_numbers, read_ruler, tail_of
from .mechanism import Mechanism, read_times, shown
from .selection import ExponentialEvent

# Private numbers on a ruler, sorted or counted, as the choice of a quantile uses them: ranks of places.
#
# Both forms answer the same three questions. Nothing here draws, and nothing here may quote a number.


Places = NDArray[np.int64]

_MOST_ROWS = 2**40


@dataclass(frozen=True, repr=False)
class PlaceWindow:
    """The places that have numbers, within some ranks: how many numbers lie below all of them, and through each."""

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

    def window(self, low: int, high: int) -> PlaceWindow:
        """Return places in order that include all numbers of the ranks low + 1 to high, at least."""
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

    def window(self, low: int, high: int) -> PlaceWindow:
        """Return places in order that include all numbers of the ranks low + 1 to high, at least."""
        start, end = _clip(low, high, self.total)
        if not self.total:
            return PlaceWindow(self.places, self.places, 0)
        start, end = self.ranks(int(self.places[start]))[0], self.ranks(int(self.places[end - 1]))[1]
        rows = self.places[start:end]
        ends = np.flatnonzero(rows[1:] != rows[:-1])
        ends = np.append(ends, rows.size - 1)
        return PlaceWindow(rows[ends], ends.astype(np.int64) + (start + 1), start)

    def split(self, place: int) -> tuple[Tally, Tally]:
        """Return the numbers at or below a place, and those above."""
        cut = self.ranks(place)[1]
        return Listed(self.places[:cut]), Listed(self.places[cut:])


@dataclass(frozen=True, repr=False)
class CountedTally:
    """The places that have numbers, in order, and how many numbers lie at each or below."""

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

    def window(self, low: int, high: int) -> PlaceWindow:
        """Return places in order that include all numbers of the ranks low + 1 to high, at least."""
        start, end = _clip(low, high, self.total)
        first = int(np.searchsorted(self.through, start, side="right"))
        last = int(np.searchsorted(self.through, end)) + 1
        return PlaceWindow(self.places[first:last], self.through[first:last], self._through(first))

    def split(self, place: int) -> tuple[Tally, Tally]:
        """Return the numbers at or below a place, and those above."""
        cut = int(np.searchsorted(self.places, place, side="right"))
        above = CountedTally(self.places[cut:], self.through[cut:] - self._through(cut))
        return CountedTally(self.places[:cut], self.through[:cut]), above

    def _through(self, index: int) -> int:
        return int(self.through[index - 1]) if index else 0


def list_places(places: Places) -> Listed:
    """Return private places, which are sorted where they are."""
    if places.size > _MOST_ROWS:
        raise BadValue("values", "more", "at most 2**40 numbers")
    places.sort()
    return Listed(places)


def count_places(counts: Any, last: int) -> CountedTally:
    """Return private counts, one for each place from 0 to last; refuse without quoting."""
    allowed = f"an array of {last + 1} counts, one for each place of the grid: whole, not negative, 2**40 together"
    numbers = read_numbers(counts, "counts")
    if numbers.shape != (last + 1,) or not numbers.whole or numbers.values.dtype != np.int64:
        raise BadValue("counts", "something else", allowed)
    array: Places = numbers.values
    if (array < 0).any() or array.sum(dtype=np.float64) > _MOST_ROWS:
        raise BadValue("counts", "other numbers", allowed)
    places = np.flatnonzero(array).astype(np.int64)
    return CountedTally(places, np.cumsum(array[places], dtype=np.int64))


def _clip(low: int, high: int, total: int) -> tuple[int, int]:
    """Return ranks inside the numbers, with at least one number between them where there are any."""
    start = min(max(low, 0), max(total - 1, 0))
    return start, max(start + 1, min(high, total))


_LARGEST_DENOMINATOR = 2**20
_MOST_SHOWN = 10**6
_REACH = 100
"""Places further off than this many times 1 / rate are taken together: all of them weigh next to nothing."""


@dataclass(frozen=True, init=False, repr=False)
class Quantile(Mechanism):
    """Release the q-quantile of numbers between two public bounds: a place of the grid whose rank is near q n.

    Numbers are clamped to [low, high] and placed on the nearest of the places low, low + step, ...; `step` is a 2**40th
    of the range by default, and 1 is right for whole numbers. A place is right if no more than q n numbers lie below it
    and no fewer than that at or below it; otherwise its score is minus the number of ranks it is off. `q` is rounded to
    a fraction with a denominator of at most 2**20.

    Args:
        q: the share of the values below: 0.5 for the median.
        low: the lower public bound.
        high: the upper public bound.
        epsilon: the privacy loss of one release, above 0.
        step: the grid of the answers; a fine one is chosen if left out.
        neighbors: "add-remove" or "change-one".

    Raises:
        BadParameter: if a number is out of range.

    Example:
        >>> mechanism = privet.Quantile(q=0.5, low=0, high=120, epsilon=1)
        >>> mechanism.event.pure()
        Fraction(1, 1)

    Guarantee: epsilon-DP, with a privacy loss of range epsilon. With L numbers below a place and T at or below it, the
    score is -max(0, L - q n, q n - T). A row that comes adds 0 or 1 to L and T and 1 to n, so L - q n moves by 1 - q or
    -q, q n - T by q or q - 1, and a maximum by no more than its terms: by max(q, 1 - q), which is 1/2 for a median. A
    row that changes leaves n alone and moves the score by 1. So all moves lie in a range of twice that. For q = 0 the
    score is -L and for q = 1 it is T - n: a row moves all of them by 0 or 1 in one direction, a range of 1. The rate is
    epsilon over the range, and the choice is exact. Placing a number is a function of that number alone.
    Cites: [Smi11, Alg. 2], [MT07, Thm 6].
    """

    q: Fraction
    ruler: Ruler
    rate: Fraction
    neighbors: Neighbors

    def __init__(
        self,
        *,
        q: Number,
        low: Number,
        high: Number,
        epsilon: Number,
        step: Number | None = None,
        neighbors: Neighbors = "add-remove",
    ) -> None:
        share = read_share(q, "q")
        distance = half_range(share, read_neighbors(neighbors))
        set_fields(
            self,
            q=share,
            ruler=read_ruler(low, high, step),
            rate=positive(epsilon, "epsilon") / (2 * distance),
            neighbors=neighbors,
        )

    @cached_property
    def event(self) -> ExponentialEvent:
        """The event of one release."""
        return ExponentialEvent(epsilon=2 * half_range(self.q, self.neighbors) * self.rate)

    def release(self, values: Any) -> Any:
        """Return the quantile of a list or one-dimensional array: an int where every place is whole, else a float."""
        return self._answer(list_places(self.ruler.place(values)))

    def simulate(self, values: Any, times: int) -> NDArray[Any]:
        """Return this many releases of the same values. Each costs the event once more."""
        tally = list_places(self.ruler.place(values))
        places, where = np.unique(self._places(tally, read_times(times)), return_inverse=True)
        return np.asarray(self.ruler.at(places.tolist()))[where]

    def release_counts(self, counts: Any) -> Any:
        """Return the quantile of numbers from their counts at each place of the grid."""
        return self._answer(count_places(counts, self.ruler.last))

    def probabilities(self, values: Any) -> NDArray[np.float64]:
        """Return each place's probability of being released. It is as private as the values: not for release."""
        last = self.ruler.last
        if last >= _MOST_SHOWN:
            raise RequestError(f"the grid has {last + 1} places; pass a step that makes at most {_MOST_SHOWN}")
        tally = list_places(self.ruler.place(values))
        widths, off = options(tally.window(0, tally.total), self.q, tally.total, first=0, last=last)
        gaps = (off - off[widths > 0].min()).astype(np.float64)
        weights = np.repeat(np.exp(-float(self.rate / self.q.denominator) * np.maximum(gaps, 0)), widths)
        return np.asarray(weights / weights.sum(), dtype=np.float64)

    def error(self, confidence: Number = 0.95, *, width: Number | None = None) -> float:
        """Return how many ranks the release is off, at most, with this probability, for any data.

        If the right places are known to span a `width` (the gap between the values next to the quantile, where there
        is one), the bound is closer.

        Guarantee: P[ranks off >= (ln(places / right places) + t) / rate] <= e^-t.
        Cites: [DR14, Thm 3.11].
        """
        right = 1
        if width is not None:
            right = max(1, math.floor(positive(width, "width") / self.ruler.step))
        deep = max(0.0, math.log(self.ruler.last + 1) - math.log(right)) - math.log(tail_of(confidence))
        return float_up(Fraction(inflate(deep)) / self.rate)

    def _places(self, tally: Tally, times: int) -> Places:
        return choose_places(tally, self.q, self.rate, first=0, last=self.ruler.last, size=times)

    def _answer(self, tally: Tally) -> Any:
        place = choose_place(tally, self.q, self.rate, first=0, last=self.ruler.last)
        return self.ruler.at([place]).tolist()[0]

    def __repr__(self) -> str:
        bounds = f"low={shown(self.ruler.low)}, high={shown(self.ruler.high)}"
        return f"Quantile(q={shown(self.q)}, {bounds}, epsilon={self.epsilon:.6g}, neighbors={self.neighbors!r})"


def quantile(
    values: Any,
    q: Number,
    low: Number,
    high: Number,
    epsilon: Number,
    *,
    step: Number | None = None,
    neighbors: Neighbors = "add-remove",
) -> Any:
    """Return a private q-quantile of numbers in [low, high], as `Quantile` releases it.

    Args:
        values: private numbers, one for each row.
        q: the share of the values below: 0.5 for the median.
        low: the lower public bound.
        high: the upper public bound.
        epsilon: the privacy loss of one release, above 0.
        step: the grid of the answers; a fine one is chosen if left out.
        neighbors: "add-remove" or "change-one".

    Example:
        >>> 0 <= mechanisms.quantile([30, 40, 50], 0.5, 0, 120, 1) <= 120
        True

    Guarantee: as `Quantile`.
    """
    return Quantile(q=q, low=low, high=high, epsilon=epsilon, step=step, neighbors=neighbors).release(values)


def half_range(q: Fraction, neighbors: Neighbors) -> Fraction:
    """Return half the range of the moves of all places' scores: max(q, 1 - q) if rows come and go, 1 if they change.

    For the least and the greatest number, q = 0 and q = 1, it is 1/2: all scores move by 0 or by 1, the same way.

    Guarantee: the proof is at `Quantile`.
    """
    if q in (0, 1):
        return Fraction(1, 2)
    return max(q, 1 - q) if neighbors == "add-remove" else Fraction(1)


def choose_place(found: Tally, q: Fraction, rate: Fraction, *, first: int, last: int) -> int:
    """Return a place from first to last with probability proportional to exp(-rate * ranks off), exactly.

    The options are the places with numbers, one by one, and the runs between them. Only numbers near the right
    rank are used: everything beyond, on either side, is one option with the score of its best place, and a place
    that is drawn from it is kept with probability exp(-rate * ranks further off), or all is drawn again.

    Guarantee: exactly this distribution on all places, given a uniform operating system source.
    Cites: [Smi11, Alg. 2], [Dev86, Sec. II.3] for rejection.
    """
    steepness, near, widths, off = _near(found, q, rate, first, last)
    while True:
        chosen = noise.choose(widths, off, steepness)
        if chosen % 2:
            return int(near.places[chosen // 2])
        start = int(near.places[chosen // 2 - 1]) + 1 if chosen else first
        place = start + Below(int(widths[chosen])).draw()
        if 0 < chosen < widths.size - 1:
            return place
        further = _off(*found.ranks(place), q, found.total) - int(off[chosen])
        if accepts(Fraction(1), steepness * further):
            return place


def choose_places(found: Tally, q: Fraction, rate: Fraction, *, first: int, last: int, size: int) -> Places:
    """Return this many independent choices of `choose_place`: the same options, drawn and kept or refused together."""
    steepness, near, widths, off = _near(found, q, rate, first, last)
    chosen = noise.choose(widths, off, steepness, size)
    places = np.empty(size, dtype=np.int64)
    odd = chosen % 2 == 1
    places[odd] = near.places[chosen[odd] // 2]
    for option in np.unique(chosen[~odd]).tolist():
        lanes = np.flatnonzero(chosen == option)
        start = int(near.places[option // 2 - 1]) + 1 if option else first
        places[lanes] = start + noise.uniform_below(int(widths[option]), lanes.size)
        if 0 < option < widths.size - 1:
            continue
        for place in np.unique(places[lanes]).tolist():
            further = _off(*found.ranks(place), q, found.total) - int(off[option])
            for lane in lanes[places[lanes] == place].tolist() if further else ():
                if not accepts(Fraction(1), steepness * further):
                    places[lane] = choose_place(found, q, rate, first=first, last=last)  # all is drawn again
    return places


def _near(
    tally: Tally, q: Fraction, rate: Fraction, first: int, last: int
) -> tuple[Fraction, PlaceWindow, Places, Places]:
    target, steepness = q * tally.total, rate / q.denominator
    reach = math.ceil(_REACH / rate)
    near = tally.window(math.floor(target) - reach, math.ceil(target) + reach)
    return steepness, near, *options(near, q, tally.total, first=first, last=last)


def options(near: PlaceWindow, q: Fraction, total: int, *, first: int, last: int) -> tuple[Places, Places]:
    """Return the width of each option, and the ranks that it is off at the least, times the denominator of q.

    Runs have even indices, and places with numbers odd ones.
    """
    d = near.places.size
    widths = np.ones(2 * d + 1, dtype=np.int64)
    edges = np.concatenate(([first - 1], near.places, [last + 1]))
    widths[::2] = np.diff(edges) - 1
    ranks = np.concatenate(([near.before], near.through))
    ranks *= q.denominator
    ranks -= q.numerator * total
    off = np.empty(2 * d + 1, dtype=np.int64)
    np.abs(ranks, out=off[::2])
    off[1::2] = np.maximum(np.maximum(ranks[:-1], -ranks[1:]), 0)
    return widths, off


def _off(below: int, through: int, q: Fraction, total: int) -> int:
    target = q.numerator * total
    return max(0, q.denominator * below - target, target - q.denominator * through)


def read_share(q: Number, parameter: str) -> Fraction:
    """Return a quantile's share of the numbers, from 0 to 1, with a small denominator."""
    share = rational(q, parameter, "a share from 0 to 1, such as 0.5 for the median")
    if not 0 <= share <= 1:
        raise BadParameter(parameter, q, "a share from 0 to 1, such as 0.5 for the median")
    return share.limit_denominator(_LARGEST_DENOMINATOR)
