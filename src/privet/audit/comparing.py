"""What a pass of a plan claims about two neighbours, and how much of it two readings use: in integers, exactly.

Knows plans and what an engine read; never touches tables. What is measured is private, like the readings.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

from privet.core.scan import Discovery
from privet.mechanisms import Laplace
from privet.mechanisms.frequent import Frequent
from privet.mechanisms.rank_choice import RankChoice
from privet.planner.plan import KeyRelease, KeyRule, Noise, Pass

Cell = tuple[Any, ...]
Norm = Literal["L1", "L2", "range", "most", "number", "part"]
"""In which measure a claim is: added up, squares added up, the ranges of groups added up, the most at one place, how
many there are, or the square of the part of what is allowed."""


@dataclass(frozen=True)
class Seen:
    """What a scan gave in one world: integers by cell; or the weight at each place, by group. Private."""

    cells: Mapping[Cell, tuple[int, ...]] = field(default_factory=dict)
    places: Mapping[Cell, Mapping[int, int]] = field(default_factory=dict)

    def column(self, place: int) -> dict[Cell, int]:
        """Return one of the integers of each cell."""
        return {cell: int(row[place]) for cell, row in self.cells.items()}


Measured = Callable[[Seen, Seen], "Fraction | int"]


@dataclass(frozen=True)
class Claim:
    """How far neighbours may be apart, in integers that are worth `unit` each, and what measures it.

    `size` is squared for L2 and for a part.
    """

    what: str
    norm: Norm
    size: Fraction
    unit: Fraction
    measured: Measured

    def read(self, size: Fraction | int) -> float:
        """Return a size, or the root of a squared one, in the units of what is counted or summed."""
        return math.sqrt(size) * float(self.unit) if self.norm in ("L2", "part") else float(size * self.unit)


def claims_of(one: Pass) -> tuple[Claim, ...]:
    """Return all that the events of a pass rest on: what each of its mechanisms takes for granted about neighbours.

    A key to be found that only one of two neighbours holds is hidden by the rule for keys. So sums and choices are
    compared over the keys that both hold; how many others there are, and what they weigh, are claims of their own.
    """
    found = list(_of_sums(one))
    if one.keys is not None and one.scan.discovery is not None:
        found += _of_keys(one.keys, one.scan.discovery, touches=one.scan.schema.unit.touches)
    if one.winners is not None:
        found.append(_of_winners(one, one.winners))
    for draw in one.selection.draws if one.selection else ():
        found.append(_of_rank(draw, one) if isinstance(draw, RankChoice) else _of_ranks(draw.norm, one))
    return tuple(found)


def _weight(one: Pass) -> Fraction:
    """Return what one of a scan's integers is worth, in rows."""
    return Fraction(1, 2 ** getattr(one.scan.bounding, "shift", 0))


def _norm_of(noise: Noise) -> tuple[Norm, Fraction]:
    """Return what noise is made for: the noise itself says so, and not the plan around it."""
    return ("L1", noise.sensitivity) if isinstance(noise, Laplace) else ("L2", noise.sensitivity_squared)


def _of_sums(one: Pass) -> Iterator[Claim]:
    common = one.scan.discovery is not None
    for place, measure in enumerate(one.measures):
        norm, size = _norm_of(measure.mechanism)
        counted = measure.sum.expression is None
        unit = (Fraction(1) if counted else measure.sum.step) / 2**measure.shift
        yield Claim("a count" if counted else "a sum", norm, size, unit, _moved(place, norm, common=common))


def _moved(place: int, norm: Norm, *, common: bool = False) -> Measured:
    def measured(before: Seen, after: Seen) -> int:
        steps = _steps(before.column(place), after.column(place), common=common).values()
        match norm:
            case "L1":
                return sum(map(abs, steps))
            case "L2":
                return sum(step * step for step in steps)
        return max(map(abs, steps), default=0)

    return measured


def _steps(one: Mapping[Any, int], other: Mapping[Any, int], *, common: bool) -> dict[Any, int]:
    cells = one.keys() & other.keys() if common else one.keys() | other.keys()
    return {cell: other.get(cell, 0) - one.get(cell, 0) for cell in cells}


# --- keys that are found ----------------------------------------------------------------------------------------------


def _of_keys(rule: KeyRelease | KeyRule, discovery: Discovery, *, touches: int) -> Iterator[Claim]:
    """Yield what a rule for keys rests on: how far weights move, and how many keys only one side holds, how heavy."""
    one = Fraction(1, 2**discovery.shift)
    if isinstance(rule, KeyRule):
        made = rule.mechanism
        sides = 1 if made.neighbors == "add-remove" else 2
        size = Fraction(sides * made.group * made.keys)
        yield Claim("the people of a key", "L1", size, one, _moved(-1, "L1"))
        yield Claim("the people of one key", "most", Fraction(made.group), one, _moved(-1, "most"))
    else:
        norm, size = _norm_of(rule.mechanism)
        yield Claim("the people of a key", norm, size, one, _moved(-1, norm))
        what, alone = "the heaviest key that one side alone has", _heaviest(discovery, touches)
        yield Claim(what, "part", Fraction(1), Fraction(1), alone)
    most = Fraction(discovery.most * touches)
    yield Claim("the keys that one side alone has", "number", most, Fraction(1), _alone)


def _alone(before: Seen, after: Seen) -> int:
    return max(len(before.cells.keys() - after.cells.keys()), len(after.cells.keys() - before.cells.keys()))


def _heaviest(discovery: Discovery, touches: int) -> Measured:
    """Return what measures the heaviest key of one side alone, by what a threshold allows for so many of them.

    Cites: [DVGM22] for the threshold, and `privet.mechanisms.threshold` for what it takes for granted.
    """
    full = 2**discovery.shift

    def measured(before: Seen, after: Seen) -> Fraction:
        found = Fraction(0)
        for one, other in ((before, after), (after, before)):
            weights = [weight for cell, weight in one.column(-1).items() if cell not in other.cells]
            # w <= full / t for order 1, and w^2 <= full^2 / t for order 2: compared as squares, which are exact
            shared = 1 if touches > 1 or discovery.order == 0 else len(weights) ** (3 - discovery.order)
            found = max(found, Fraction(max(weights, default=0) ** 2 * shared, (touches * full) ** 2))
        return found

    return measured


# --- choices ----------------------------------------------------------------------------------------------------------


def _of_winners(one: Pass, draw: Frequent) -> Claim:
    """Return the claim of a choice of frequent values: the ranges in which the counts of groups move, added up."""

    def measured(before: Seen, after: Seen) -> int:
        ranges: dict[Cell, list[int]] = {}
        for cell, step in _steps(before.column(0), after.column(0), common=one.scan.discovery is not None).items():
            ranges.setdefault(cell[:-1], [0]).append(step)  # what stands for nothing never moves
        return sum(max(steps) - min(steps) for steps in ranges.values())

    return Claim("the rows of frequent values", "range", draw.span, _weight(one), measured)


def _of_ranks(norm: Fraction, one: Pass) -> Claim:
    """Return the claim of quantiles that are chosen together: the weights at all places of all groups."""

    def measured(before: Seen, after: Seen) -> int:
        pairs = _sides(before, after)
        return sum(sum(map(abs, _steps(mine, theirs, common=False).values())) for mine, theirs in pairs)

    return Claim("the rows of quantiles", "L1", norm, _weight(one), measured)


def _of_rank(draw: RankChoice, one: Pass) -> Claim:
    """Return the claim of one quantile or end: the ranges in which ranks off the aim move, added up over groups."""

    def measured(before: Seen, after: Seen) -> Fraction:
        return sum((_range(draw, mine, theirs) for mine, theirs in _sides(before, after)), Fraction(0))

    return Claim("the ranks of a quantile", "range", draw.span, _weight(one), measured)


def _sides(before: Seen, after: Seen) -> list[tuple[Mapping[int, int], Mapping[int, int]]]:
    nothing: Mapping[int, int] = {}
    cells = before.places.keys() | after.places.keys()
    return [(before.places.get(cell, nothing), after.places.get(cell, nothing)) for cell in cells]


def _range(draw: RankChoice, mine: Mapping[int, int], theirs: Mapping[int, int]) -> Fraction:
    """Return the length of the range about 0 in which places of a group move off the aim."""
    import numpy as np

    weights = [_together(one, draw.shift) for one in (mine, theirs)]
    last, scale = draw.last, draw.share.denominator
    held = sorted(weights[0].keys() | weights[1].keys())
    # off is the same from one place that holds something to the next
    places = sorted({0, last, *held, *(min(place + 1, last) for place in held), *(max(place - 1, 0) for place in held)})
    off = []
    for one in weights:
        at = np.array([one.get(place, 0) for place in places], dtype=object)
        upto, total = np.cumsum(at), int(at.sum())
        aim = draw.share.numerator * total + draw.offset * scale
        below, pad = (upto - at) * scale, abs(draw.offset) * scale
        # what lies before the first place and after the last, where there is an offset
        low = np.concatenate(([-pad], below, [total * scale])) if pad else below
        high = np.concatenate(([0], upto * scale, [total * scale + pad])) if pad else upto * scale
        off.append(np.maximum(np.maximum(low - aim, aim - high), 0))
    moves = [0, *(off[1] - off[0])]
    return Fraction(int(max(moves)) - int(min(moves)), scale)


def _together(weights: Mapping[int, int], shift: int) -> dict[int, int]:
    found: dict[int, int] = {}
    for place, weight in weights.items():
        found[int(place) >> shift] = found.get(int(place) >> shift, 0) + int(weight)
    return found
