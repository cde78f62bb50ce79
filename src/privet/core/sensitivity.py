"""How far one unit can move an answer. A sensitivity always names the neighbouring relation that it is for.

Most published mistakes with sensitivities are silent mixes of the two relations, so neither is a default here.
Everything is exact; the L2 norm is kept squared so that it stays rational.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement
from math import comb
from typing import Literal, TypeVar, cast, get_args

from .errors import BadParameter, RequestError, quote
from .given import called, choice, listed, set_fields
from .given import function as function_given
from .numbers import Number, rational, whole
from .wire import wired

Neighbors = Literal["add-remove", "change-one"]
"""`add-remove`: neighbours differ by one unit present or absent. `change-one`: same size, one unit differs."""

T = TypeVar("T")
_MOST_EVALUATIONS = 2_000_000
_MOST_UNITS = 10**18
_LEAST_BOUND = Fraction(1, 2**1100)


@wired("Sensitivity", "neighbors", "l1", "l2_squared")
@dataclass(frozen=True, init=False)
class Sensitivity:
    """The largest change of an answer between neighbours, in the L1 norm and in the L2 norm, squared.

    Args:
        neighbors: "add-remove" or "change-one"; there is no default.
        l1: a bound in the L1 norm.
        l2_squared: a bound in the L2 norm, squared.

    Raises:
        BadParameter: if a number is out of range.

    Example:
        >>> privet.Sensitivity.sum(0, 120, neighbors="add-remove").l1
        Fraction(120, 1)

    Guarantee: for all neighbours x, y under `neighbors`, |f(x) - f(y)|_1 <= l1 and |f(x) - f(y)|_2^2 <= l2_squared.
    Cites: [DMNS06, L1 sensitivity], [KM11, bounded and unbounded].
    """

    neighbors: Neighbors
    l1: Fraction
    l2_squared: Fraction

    def __init__(self, *, neighbors: Neighbors, l1: Number, l2_squared: Number) -> None:
        relation = read_neighbors(neighbors)
        set_fields(self, neighbors=relation, l1=_size(l1, "l1"), l2_squared=_size(l2_squared, "l2_squared"))

    @classmethod
    def count(cls, *, neighbors: Neighbors) -> Sensitivity:
        """Return the sensitivity of counting the rows that meet a condition: 1 under both relations."""
        return cls._scalar(Fraction(1), neighbors)

    @classmethod
    def sum(cls, low: Number, high: Number, *, neighbors: Neighbors) -> Sensitivity:
        """Return the sensitivity of a sum of values clamped to [low, high].

        A row that comes or goes moves the sum by at most max(|low|, |high|); a row that changes, by high - low.
        """
        bottom, top = _bounds(low, high)
        if read_neighbors(neighbors) == "add-remove":
            return cls._scalar(max(abs(bottom), abs(top)), neighbors)
        return cls._scalar(top - bottom, neighbors)

    @classmethod
    def mean(cls, low: Number, high: Number, *, size: int, neighbors: Neighbors) -> Sensitivity:
        """Return the sensitivity of the mean of `size` values clamped to [low, high], where `size` is public."""
        bottom, top = _bounds(low, high)
        n = whole(size, "size", least=1, most=_MOST_UNITS)
        if read_neighbors(neighbors) == "add-remove":
            raise RequestError(
                "under add-remove neighbours the number of rows is private, so a mean with public size does not "
                "exist; release a sum and a count and divide them, or declare neighbors='change-one'"
            )
        return cls._scalar((top - bottom) / n, neighbors)

    @classmethod
    def histogram(cls, *, neighbors: Neighbors) -> Sensitivity:
        """Return the sensitivity of a histogram: one cell moves under add-remove, two under change-one."""
        cells = 1 if read_neighbors(neighbors) == "add-remove" else 2
        return cls(neighbors=neighbors, l1=Fraction(cells), l2_squared=Fraction(cells))

    @classmethod
    def counts(cls, queries: int, *, neighbors: Neighbors) -> Sensitivity:
        """Return the sensitivity of that many arbitrary counting queries: a row may move each of them by 1."""
        k = Fraction(whole(queries, "queries", least=1, most=_MOST_UNITS))
        return cls(neighbors=neighbors, l1=k, l2_squared=k)

    def of_group(self, size: int) -> Sensitivity:
        """Return the sensitivity towards that many units changing together: a chain of this many neighbours."""
        k = whole(size, "size", least=1, most=_MOST_UNITS)
        return Sensitivity(neighbors=self.neighbors, l1=self.l1 * k, l2_squared=self.l2_squared * k * k)

    @classmethod
    def _scalar(cls, most: Fraction, neighbors: Neighbors) -> Sensitivity:
        return cls(neighbors=neighbors, l1=most, l2_squared=most * most)


def sensitivity_by_enumeration(
    function: Callable[[tuple[T, ...]], object],
    domain: Iterable[T],
    size: int,
    *,
    neighbors: Neighbors,
    least: int = 0,
) -> Sensitivity:
    """Return the exact sensitivity of `function` over every data set from a small domain.

    Data sets are multisets, passed as tuples; the function must not depend on their order. Under add-remove
    they have `least` to `size` rows; under change-one exactly `size`. The function returns a number or a sequence
    of numbers, always of the same length.

    Args:
        function: returns a number, or a sequence of them, for a tuple of rows.
        domain: the values that a row can have.
        size: the largest number of rows.
        neighbors: "add-remove" or "change-one".
        least: the least number of rows, under add-remove.

    Raises:
        RequestError: if there are too many data sets to enumerate.

    Example:
        >>> privet.sensitivity_by_enumeration(max, [0, 5, 9], 2, neighbors="change-one").l1
        Fraction(9, 1)

    Guarantee: exact for data sets of those sizes over that domain, and for nothing else: a larger domain or
    size may have a larger sensitivity.
    """
    computed = function_given(function, "function")
    values = tuple(listed(domain, "domain", "a non-empty collection of values", most=_MOST_EVALUATIONS, texts=True))
    if not values:
        raise BadParameter("domain", values, "a non-empty collection of values")
    most = whole(size, "size", least=1, most=_MOST_EVALUATIONS)
    fewest = whole(least, "least", most=most)
    sizes = range(fewest, most + 1) if read_neighbors(neighbors) == "add-remove" else range(most, most + 1)
    work = sum(comb(len(values) + n - 1, n) for n in sizes) * len(values)
    if work > _MOST_EVALUATIONS:
        raise RequestError(
            f"enumerating {len(values)} values in up to {most} rows takes about {work:,} comparisons; "
            f"the most allowed is {_MOST_EVALUATIONS:,}: use a smaller domain or size"
        )
    indices = range(len(values))
    answers = {
        rows: _vector(called(computed, "function", tuple(values[i] for i in rows)))
        for n in sizes
        for rows in combinations_with_replacement(indices, n)
    }
    l1 = l2_squared = Fraction(0)
    for rows, answer in answers.items():
        for position in range(len(rows)):
            rest = rows[:position] + rows[position + 1 :]
            if neighbors == "add-remove":
                others = [rest]
            else:
                others = [tuple(sorted((*rest, i))) for i in indices]
            for other in others:
                if other in answers:
                    moves = _moves(answer, answers[other])
                    l1 = max(l1, sum(moves, Fraction(0)))
                    l2_squared = max(l2_squared, sum((move * move for move in moves), Fraction(0)))
    return Sensitivity(neighbors=neighbors, l1=l1, l2_squared=l2_squared)


def l1_of(sensitivity: Number | Sensitivity) -> Number:
    """Return the bound in the L1 norm, of a Sensitivity or as it was given."""
    return sensitivity.l1 if isinstance(sensitivity, Sensitivity) else sensitivity


def read_neighbors(neighbors: object) -> Neighbors:
    """Return the neighbouring relation that was named, or say which ones there are."""
    return cast(Neighbors, choice(neighbors, "neighbors", get_args(Neighbors)))


def _size(value: Number, parameter: str) -> Fraction:
    fraction = rational(value, parameter)
    if fraction < 0:
        raise BadParameter(parameter, value, "at least 0")
    return fraction


def _bounds(low: Number, high: Number) -> tuple[Fraction, Fraction]:
    bottom, top = rational(low, "low"), rational(high, "high")
    for name, end in (("low", bottom), ("high", top)):
        if end and not _LEAST_BOUND <= abs(end) <= 1 / _LEAST_BOUND:
            raise BadParameter(name, end, "0, or of a size from 2**-1100 to 2**1100, whose square is still a number")
    if bottom > top:
        raise BadParameter("low", low, f"at most high, which is {quote(high)}")
    return bottom, top


def _vector(answer: object) -> tuple[Fraction, ...]:
    listed = answer.tolist() if hasattr(answer, "tolist") else answer  # an array's entries, a scalar itself
    parts: Sequence[object] = listed if isinstance(listed, (tuple, list)) else (listed,)
    return tuple(rational(part, "the function's answer") for part in parts)


def _moves(one: tuple[Fraction, ...], other: tuple[Fraction, ...]) -> list[Fraction]:
    if len(one) != len(other):
        raise RequestError("the function must return the same number of answers for every data set")
    return [abs(a - b) for a, b in zip(one, other, strict=True)]
