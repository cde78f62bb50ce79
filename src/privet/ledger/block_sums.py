"""What blocks of tables were charged beyond what all data was, and the most that any one unit paid of it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any, cast

from privet.accounting.filters import compact
from privet.core.errors import LedgerError
from privet.core.event import Exact
from privet.core.touched import Members, Touched

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

    def add(self, touched: Touched, amounts: Amounts) -> DivisionSums:
        """Return the sums after some blocks took amounts. Equal neighbours are one step."""
        nothing: Amounts = (Fraction(0),) * len(amounts)
        ranges = _pairs(touched.ranges) if self.members == "windows" else touched.ranges
        opens, closes = {start for start, _ in ranges}, {end for _, end in ranges}
        made: list[Step] = []
        held, inside, taken = nothing, False, 0
        for at in sorted({*opens, *closes, *(start for start, _ in self.steps)}):
            if taken < len(self.steps) and self.steps[taken][0] == at:
                held, taken = self.steps[taken][1], taken + 1
            inside = at in opens or (inside and at not in closes)
            value = plus(held, amounts) if inside else held
            if value != (made[-1][1] if made else nothing):
                made.append((at, value))
        return DivisionSums(self.table, self.members, max(self.reach, touched.reach), tuple(made))

    def worst(self) -> Amounts:
        """Return the most that one unit can have paid, measure by measure.

        Guarantee: a unit that lies in `reach` blocks, or pairs of them, has paid for each of these, at most the sum of
        what the largest were charged. Taking each measure by itself is no less than what any one unit paid.
        """
        runs = list(self.runs())
        measures = range(len(self.steps[0][1]) if self.steps else 0)
        return tuple(self._worst([(end - start, value[index]) for start, end, value in runs]) for index in measures)

    def _worst(self, widths: list[tuple[int, Exact]]) -> Exact:
        most = max((value for _, value in widths), default=Fraction(0))
        if self.reach == 1 or isinstance(most, float):
            return most
        if self.members == "windows":
            return most * self.reach
        left, total = self.reach, cast(Exact, Fraction(0))
        for width, value in sorted(widths, key=lambda one: one[1], reverse=True):
            many = min(width, left)
            total = _plus(total, value * many)
            left -= many
            if not left:
                break
        return total

    def runs(self) -> Iterator[tuple[int, int, Amounts]]:
        """Yield where sums are the same: from a number to before another, and what each was charged."""
        for (start, value), (end, _) in pairwise(self.steps):
            yield start, end, value

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

    Guarantee: with `common` what was charged for all data, no unit has paid more than `common` and `worst` together.
    A row is in one table: it pays for its own table's blocks, in each of that table's divisions. A person's rows may
    be in every table of people, so those add up.
    """

    divisions: Mapping[str, DivisionSums] = field(default_factory=dict)

    def add(self, touched: Touched, amounts: Amounts) -> BlockSums:
        """Return the sums after some blocks took amounts."""
        name = touched.division
        known = self.divisions.get(name) or DivisionSums(touched.table, touched.members, touched.reach)
        if (known.table, known.members) != (touched.table, touched.members):
            raise LedgerError("a charge in the ledger names a division of another table")
        return BlockSums({**self.divisions, name: known.add(touched, amounts)})

    def worst(self) -> Amounts | None:
        """Return the most that one unit can have paid beyond what was charged for all data; None for nothing."""
        if not self.divisions:
            return None
        rows: dict[str, Amounts] = {}
        people: Amounts | None = None
        for one in self.divisions.values():
            most = one.worst()
            if not most:
                continue
            if one.members == "rows":
                rows[one.table] = plus(rows[one.table], most) if one.table in rows else most
            else:
                people = most if people is None else plus(people, most)
        found = [*rows.values(), *([] if people is None else [people])]
        return _largest(found) if found else None

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
        found[str(name)] = DivisionSums(str(table), members, int(reach), rows)
    return BlockSums(found)


NO_BLOCKS = BlockSums()


def _largest(several: Iterable[Amounts]) -> Amounts:
    return tuple(max(column) for column in zip(*several, strict=True))
