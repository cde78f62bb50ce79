"""All that an engine is ever asked: within each unit bound the contributions, clamp, put on the grid, sum per group.

`Scan` is public and printable. `Exact` seals what comes back: no repr of values, no iteration, no pickle.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, NoReturn

from .expression import Expression
from .relation import Relation
from .schema import Key, Schema


@dataclass(frozen=True)
class Sum:
    """One bounded integer sum: of `expression`, put on a grid and clamped there.

    A row gives y**power - offset, where y = floor((x - origin) / step + 1/2) clamped to [low, high]; it gives 0 where
    `where` does not hold or x is NULL, unless `null_as` says which y a NULL counts as. `expression` None stands for
    y = 1: each row counts.
    """

    expression: Expression | None
    low: int
    high: int
    origin: Fraction = Fraction(0)
    step: Fraction = Fraction(1)
    where: Expression | None = None
    null_as: int | None = None
    power: int = 1
    offset: int = 0

    @property
    def ends(self) -> tuple[int, int]:
        """The least and the largest number that a row which counts can give."""
        corners = [self.low, self.high] + ([0] if self.low < 0 < self.high else [])
        given = [corner**self.power - self.offset for corner in corners]
        return min(given), max(given)

    @property
    def most(self) -> int:
        """How far from zero one row can move the sum."""
        low, high = self.ends
        return max(abs(low), abs(high))


@dataclass(frozen=True)
class Norm:
    """One integer weight per unit scales all it gives: the largest w <= 2**shift that keeps to the limit.

    With n(g) the unit's rows in released cell g: w * sum n(g) <= limit * 2**shift for order 1, and
    w**2 * sum n(g)**2 <= limit * 4**shift for order 2, whose `limit` is the square of the norm. All in integers.
    """

    order: Literal[1, 2]
    limit: int
    shift: int


@dataclass(frozen=True)
class Truncate:
    """At most `groups` groups per unit and `rows` rows per group, chosen by a keyed hash that is fresh each time."""

    groups: int
    rows: int


@dataclass(frozen=True)
class Once:
    """Each row is a unit of its own: nothing to bound."""


@dataclass(frozen=True)
class Pairs:
    """At most `most` pairs of a group and a value of `of` per unit, chosen by a keyed hash that is fresh each time.

    A pair counts once, however many units hold it: the one sum of such a scan counts the different values of a group.
    """

    of: Expression
    most: int


@dataclass(frozen=True)
class Largest:
    """One integer weight per unit, by its largest cell in each group: the largest w <= 2**shift within the limit.

    The last key of the scan is what is chosen from, and the groups are those of the keys before it. With n(g, v) the
    unit's rows in a cell: w * sum over g of max over v of n(g, v) <= limit * 2**shift. All in integers.
    """

    limit: int
    shift: int


Bounding = Norm | Truncate | Once | Pairs | Largest


@dataclass(frozen=True)
class GroupKey:
    """A grouping expression and its public values; without values the keys are discovered in the data."""

    expression: Expression
    values: tuple[Key, ...] | None
    nullable: bool
    other: str | None = field(default=None, metadata={"later": True})
    """What rows are grouped under whose value is not among those that are found first, by a scan of this key alone."""


@dataclass(frozen=True)
class Discovery:
    """For keys that are not public: each unit keeps at most `most` keys and gives each an equal integer weight.

    With k keys a unit gives floor(2**shift / sqrt(k)) (order 2), floor(2**shift / k) (order 1) or 2**shift (order 0) to
    each; of order 0 and without a shift, units are counted.
    """

    most: int
    order: Literal[0, 1, 2]
    shift: int


@dataclass(frozen=True)
class Near:
    """Which ranks are looked at closely where places are counted: `share` * n - `below` to `share` * n + `above`.

    n is what a group weighs in all. The rows in a block of 2**bits places, the first of which starts at place 0, may
    all be counted at its first place, if the weight before the block is share * n + above or more, or the weight
    through it is share * n - below or less.
    """

    share: Fraction
    below: int
    above: int
    bits: int


@dataclass(frozen=True)
class Scan:
    """A question for an engine. Public: it may be printed, hashed and logged.

    `schema` holds the facts of the relation that is read: those declared for a table, or what follows from them.
    """

    table: Relation
    schema: Schema
    where: Expression | None
    keys: tuple[GroupKey, ...]
    sums: tuple[Sum, ...]
    bounding: Bounding
    discovery: Discovery | None = None
    distinct: bool = False
    """Whether a unit counts at most once in a cell: its rows there are merged, keeping the largest of each value."""
    places: Sum | None = field(default=None, metadata={"later": True})
    """Where the rows of a group are counted by the place that this gives each of them, instead of summed.

    It is a plain sum, of power 1 and without an offset; a row to which it gives nothing is not there at all.
    """
    near: Near | None = field(default=None, metadata={"later": True})
    """Where rows are counted by place: which of them need not be told apart. None: all are counted where they are."""
    cells: tuple[tuple[Key, ...], ...] | None = field(default=None, metadata={"later": True})
    """Which combinations of the values of the first keys are groups; None: all are. No row of another one counts."""


def asks(scan: Scan) -> bool:
    """Whether a scan asks anything of the data: a sum, where rows are, or which keys there are."""
    return bool(scan.sums) or scan.places is not None or scan.discovery is not None


Counts = tuple[Sequence[int], Sequence[int]]
"""The places of a group at which there are rows, rising, and the weight of the rows at each."""


class Exact:
    """Exact sums per group, or counts by place, sealed: only the release room opens them."""

    __slots__ = ("_groups", "_places")

    def __init__(
        self,
        groups: dict[tuple[Key, ...], tuple[int, ...]],
        places: Mapping[tuple[Key, ...], Counts] | None = None,
    ) -> None:
        self._groups = groups
        self._places = {} if places is None else places

    def __repr__(self) -> str:
        return "Exact(sealed)"

    def __iter__(self) -> NoReturn:
        raise TypeError("exact sums are sealed")

    def __reduce__(self) -> NoReturn:
        raise TypeError("exact sums are sealed")
