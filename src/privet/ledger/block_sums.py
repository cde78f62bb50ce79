"""What blocks of tables were charged beyond what all data was, and the most that any one unit paid of it."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import reduce
from heapq import nlargest
from itertools import pairwise
from operator import itemgetter
from typing import Any

from privet.accounting.filters import compact
from privet.core.division import Members, Touched
from privet.core.errors import LedgerError
from privet.core.event import Exact

from . import codec

Amounts = tuple[Exact, ...]
"""What a filter takes for an event, in the order of the sums that it keeps."""

Step = tuple[int, Amounts]
"""From this block on, each was charged these amounts, up to the next step."""


def plus(one: Amounts, other: Amounts) -> Amounts:
    """Return two amounts together, measure by measure."""
    return tuple(_plus(a, b) for a, b in zip(one, other, strict=True))


def _plus(one: Exact, other: Exact) -> Exact:
    if isinstance(one, float) or isinstance(other, float):
        return math.inf
    return compact(one + other) if other else one


@dataclass(frozen=True)
class DivisionSums:
    """What the blocks of one division were charged: the same from each step on, and nothing before the first.

    A window lies in two adjacent blocks, as none is shorter than it, and pays once for what reads both. So of windows
    the sums are of pairs: number n stands for the blocks n - 1 and n.
    """

    table: str
    members: Members
    reach: int
    steps: tuple[Step, ...] = ()
    best: tuple[tuple[tuple[Exact, int], ...], ...] = field(default=(), compare=False)
    """In each measure the largest sums with their numbers, as many as one unit can pay for: kept up as sums grow."""

    def add(self, touched: Touched, amounts: Amounts) -> DivisionSums:
        """Return the sums after some blocks took amounts. Equal neighbours are one step.

        Guarantee: sums only grow, so the largest ones are among those that were, and those that took something.
        """
        reach = max(self.reach, touched.reach)
        ranges = _pairs(touched.ranges) if self.members == "windows" else touched.ranges
        steps, grown = list(self.steps), list[tuple[int, int, Amounts]]()
        nothing: Amounts = (Fraction(0),) * len(amounts)
        for start, end in ranges:
            grown += _raise(steps, start, end, amounts, nothing)
        several = self.best if self.best and reach == self.reach else ((),) * len(amounts)
        news = grown if several is self.best else list(_runs(steps))
        kept = 1 if self.members == "windows" else reach
        best = tuple(_largest_of(one, news, index, kept) for index, one in enumerate(several))
        return DivisionSums(self.table, self.members, reach, tuple(steps), best)

    def worst(self) -> Amounts:
        """Return the most that one unit can have paid, measure by measure.

        Guarantee: a unit that lies in `reach` blocks, or pairs of them, has paid for each of these, at most the sum of
        what the largest were charged. Taking each measure by itself is no less than what any one unit paid.
        """
        times = self.reach if self.members == "windows" else 1
        return tuple(_times(_sum(value for value, _ in one), times) for one in self.best)

    def runs(self) -> Iterator[tuple[int, int, Amounts]]:
        """Yield where sums are the same: from a number to before another, and what each was charged."""
        yield from _runs(self.steps)

    def blocks(self) -> Iterator[tuple[int, int, Amounts]]:
        """Yield runs of blocks whose units have paid the same at most: first, end, and what they paid."""
        if self.members != "windows":
            yield from ((start, end, value) for start, end, value in self.runs() if any(value))
            return
        ends = sorted({max(0, at - back) for at, _ in self.steps for back in (0, 1)})
        for start, end in pairwise(ends):
            both = [value for first, last, value in self.runs() if first <= start + 1 and start < last]
            if both:
                yield start, end, _largest(both)


def _runs(steps: Sequence[Step]) -> Iterator[tuple[int, int, Amounts]]:
    return ((start, end, value) for (start, value), (end, _) in pairwise(steps))


def _raise(
    steps: list[Step], start: int, end: int, amounts: Amounts, nothing: Amounts
) -> list[tuple[int, int, Amounts]]:
    """Raise the sums from one number to before another, in place, and return the runs that were raised."""
    low, high = (bisect_left(steps, at, key=itemgetter(0)) for at in (start, end))
    before = steps[low - 1][1] if low else nothing
    last = steps[high - 1][1] if high > low else before
    # what begins at the end keeps what it had; a run that goes on past it begins anew there
    inner = steps[low:high] if low < high and steps[low][0] == start else [(start, before), *steps[low:high]]
    made = [(at, plus(value, amounts)) for at, value in inner]
    after = [] if high < len(steps) and steps[high][0] == end else [(end, last)]
    steps[low:high] = [*made, *after]
    for place in (low + len(made), low):  # the seams: equal neighbours are one step
        if place < len(steps) and steps[place][1] == (steps[place - 1][1] if place else nothing):
            del steps[place]
    ends = [at for at, _ in made[1:]] + [end]
    return [(at, until, value) for (at, value), until in zip(made, ends, strict=True)]


def _largest_of(
    held: Sequence[tuple[Exact, int]], grown: Sequence[tuple[int, int, Amounts]], index: int, kept: int
) -> tuple[tuple[Exact, int], ...]:
    """Return the largest sums of one measure, of those that were the largest and did not grow, and those that did."""
    starts = [start for start, _, _ in grown]
    same = [one for one in held if not _inside(one[1], grown, starts)]
    if kept == 1:
        top = max(grown, key=lambda one: one[2][index])
        several = [*same, (top[2][index], top[0])]
        return (max(several, key=itemgetter(0)),)
    wide = ((value[index], number) for start, end, value in grown for number in range(start, min(end, start + kept)))
    return tuple(nlargest(kept, [*same, *wide], key=itemgetter(0)))


def _inside(number: int, runs: Sequence[tuple[int, int, Amounts]], starts: Sequence[int]) -> bool:
    place = bisect_right(starts, number) - 1
    return place >= 0 and number < runs[place][1]


def _sum(values: Iterable[Exact]) -> Exact:
    total: Exact = Fraction(0)
    for value in values:
        total = _plus(total, value)
    return total


def _times(value: Exact, times: int) -> Exact:
    return value if times == 1 or isinstance(value, float) else value * times


def _pairs(ranges: tuple[tuple[int, int], ...]) -> list[tuple[int, int]]:
    """Return the numbers of the pairs that have one of some blocks, as ranges that do not touch."""
    found: list[tuple[int, int]] = []
    for start, end in ranges:
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], end + 1)
        else:
            found.append((start, end + 1))
    return found


@dataclass(frozen=True)
class BlockSums:
    """What all blocks were charged from one filter, by the divisions that they are of.

    Guarantee: with `common` what was charged for all data, no unit has paid more than `common` and `worst` together. A
    unit pays for its own blocks in each division; divisions add up, of one table and of several, as a person may have
    rows in every table, and a row may stand in two tables, or in one that was given another name.
    """

    divisions: Mapping[str, DivisionSums] = field(default_factory=dict)
    _after: list[tuple[Touched, Amounts, BlockSums]] = field(default_factory=list, compare=False, repr=False)
    """What came of the last amounts: they are priced first, and then paid."""

    def add(self, touched: Touched, amounts: Amounts) -> BlockSums:
        """Return the sums after some blocks took amounts."""
        for blocks, taken, after in self._after:
            if taken == amounts and blocks == touched:
                return after
        after = self._added(touched, amounts)
        if self.divisions:  # what has none is shared by all accounts, and would hold on to all that came of it
            self._after[:] = [(touched, amounts, after)]
        return after

    def _added(self, touched: Touched, amounts: Amounts) -> BlockSums:
        name = touched.division
        known = self.divisions.get(name) or DivisionSums(touched.table, touched.members, touched.reach)
        if (known.table, known.members) != (touched.table, touched.members):
            raise LedgerError("a charge in the ledger names a division of another table")
        return BlockSums({**self.divisions, name: known.add(touched, amounts)})

    def worst(self) -> Amounts | None:
        """Return the most that one unit can have paid beyond what was charged for all data; None for nothing."""
        if not self.divisions:
            return None
        found = [most for one in self.divisions.values() if (most := one.worst())]
        return reduce(plus, found) if found else None

    def snapshot(self) -> dict[str, Any]:
        """Return the sums as plain data."""
        return {
            name: [
                one.table,
                one.members,
                one.reach,
                [[start, *map(codec.write_amount, value)] for start, value in one.steps],
            ]
            for name, one in self.divisions.items()
        }


def read_block_sums(data: Any) -> BlockSums:
    """Return the sums that `snapshot` wrote."""
    found = {}
    for name, (table, members, reach, steps) in data.items():
        rows = tuple((int(start), tuple(map(codec.read_amount, value))) for start, *value in steps)
        found[str(name)] = _with_best(DivisionSums(str(table), members, int(reach), rows))
    return BlockSums(found)


def _with_best(one: DivisionSums) -> DivisionSums:
    """Return sums as they were read, with the largest ones looked up again."""
    runs, kept = list(_runs(one.steps)), 1 if one.members == "windows" else one.reach
    measures = range(len(one.steps[0][1])) if runs else range(0)
    return replace(one, best=tuple(_largest_of((), runs, index, kept) for index in measures))


NO_BLOCKS = BlockSums()


def _largest(several: Iterable[Amounts]) -> Amounts:
    return tuple(max(column) for column in zip(*several, strict=True))
