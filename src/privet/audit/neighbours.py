"""How far a function moves between neighbouring inputs, by trying them all: the white box for sensitivities."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any, Literal

from privet.core.errors import BadParameter, RequestError
from privet.core.exact import read_rational, whole
from privet.core.sensitivity import Neighbors, Sensitivity, read_neighbors

_MOST = 2_000_000
"""Pairs of neighbours that are tried at most."""

Rows = tuple[Any, ...]


@dataclass(frozen=True)
class Enumerated:
    """The farthest that a function moved, in L1 and in squared L2, and the neighbours between which it did."""

    l1: Fraction
    l2_squared: Fraction
    worst: tuple[Rows, Rows]
    """Neighbours between which it moves that far in L1."""
    pairs: int
    """How many pairs were tried."""
    neighbors: Neighbors

    @property
    def sensitivity(self) -> Sensitivity:
        """What was found, as a sensitivity: that of the function on inputs of this size, and a lower bound beyond."""
        return Sensitivity(l1=self.l1, l2_squared=self.l2_squared, neighbors=self.neighbors)

    def __str__(self) -> str:
        return (
            f"moves by {float(self.l1):.6g} in L1 and {math.sqrt(self.l2_squared):.6g} in L2 at most, "
            f"in {self.pairs:,} pairs of neighbours; the worst: {self.worst[0]!r} and {self.worst[1]!r}"
        )


def enumerate_sensitivity(
    function: Callable[[list[Any]], Any],
    values: Iterable[Any],
    *,
    size: int,
    neighbors: Neighbors = "add-remove",
    order: Literal["any", "kept"] = "any",
) -> Enumerated:
    """Return how far a function of a list of rows moves between all neighbours of up to `size` rows out of `values`.

    The function returns a number, or several. `neighbors` says whether a row comes or goes, or changes into another.
    With `order="kept"` lists that differ in their order alone are different inputs, for functions on which it bears.

    Guarantee: exact for these inputs: outputs are compared as the rationals that they are. What larger inputs or other
    rows would do is not tried, so a claim that holds here may fail there, and one that fails here is refuted.
    Cites: [DMNS06, Def. 3].
    """
    options = tuple(values)
    rows = whole(size, "size", least=1, most=64)
    if not options:
        raise BadParameter("values", "nothing", "at least one row to make inputs of")
    if order not in ("any", "kept"):
        raise BadParameter("order", order, "'any' or 'kept'")
    kind = read_neighbors(neighbors)
    if _how_many(len(options), rows, kind, order == "kept") > _MOST:
        raise RequestError(f"more than {_MOST:,} pairs of neighbours; give fewer values or a smaller size")
    known: dict[Rows, tuple[Fraction, ...]] = {}

    def of(index: Rows) -> tuple[Fraction, ...]:
        if index not in known:
            known[index] = _read(function([options[i] for i in index]))
        return known[index]

    l1, l2_squared, pairs = Fraction(0), Fraction(0), 0
    worst: tuple[Rows, Rows] = ((), ())
    for one, other in _neighbours(len(options), rows, kind, order == "kept"):
        moves = _moves(of(one), of(other))
        far = sum(moves, Fraction(0))
        pairs += 1
        if far > l1 or worst == ((), ()):
            worst = (one, other)
        l1, l2_squared = max(l1, far), max(l2_squared, sum((move * move for move in moves), Fraction(0)))
    named = (tuple(options[i] for i in worst[0]), tuple(options[i] for i in worst[1]))
    return Enumerated(l1, l2_squared, named, pairs, kind)


def _neighbours(options: int, size: int, kind: Neighbors, kept: bool) -> Iterator[tuple[Rows, Rows]]:
    for count in range(1, size + 1):
        lists = product(range(options), repeat=count) if kept else combinations_with_replacement(range(options), count)
        for rows in lists:
            for place in range(count):
                if not kept and place and rows[place] == rows[place - 1]:
                    continue  # the same row goes
                rest = (rows[:place], rows[place + 1 :])
                if kind == "add-remove":
                    yield rows, (*rest[0], *rest[1])
                    continue
                for new in range(rows[place] + 1, options):
                    changed = (*rest[0], new, *rest[1])
                    yield rows, changed if kept else tuple(sorted(changed))


def _how_many(options: int, size: int, kind: Neighbors, kept: bool) -> int:
    lists = sum(options**n if kept else math.comb(options + n - 1, n) for n in range(1, size + 1))
    return lists * size * (1 if kind == "add-remove" else options)


def _moves(one: Sequence[Fraction], other: Sequence[Fraction]) -> list[Fraction]:
    if len(one) != len(other):
        raise RequestError("the function returns lists of different lengths, which tell how many rows there are")
    return [abs(a - b) for a, b in zip(one, other, strict=True)]


def _read(output: Any) -> tuple[Fraction, ...]:
    several = output.tolist() if hasattr(output, "tolist") else output
    parts = list(several) if isinstance(several, (list, tuple)) else [several]
    exact = [read_rational(int(part) if isinstance(part, bool) else part) for part in parts]
    if any(part is None for part in exact):
        raise BadParameter("function", "something else", "one that returns a finite number, or a list of them")
    return tuple(part for part in exact if part is not None)
