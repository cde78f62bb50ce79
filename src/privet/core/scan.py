"""The only request to an engine: within each unit bound the contributions, clamp, put on the grid, sum per group.

`Scan` is public and printable. `Exact` seals the results: no repr of values, no iteration, no pickle.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import ClassVar, Literal, NoReturn

from .errors import BadParameter, InvariantError, Unsupported, quote
from .given import check_fields
from .numbers import whole
from .relation import Expression, Relation
from .schema import Key, Schema
from .unit import Link
from .wire import wired

LONGEST_SHIFT = 30
"""No weight has more binary places than this: sums of weighted rows are to fit 128 bits."""

MOST_PLACES = 2**62
"""No grid that rows are counted on has more places than this, and no rank lies further off."""

FARTHEST = Fraction(10**60)
"""No number lies further from zero on a grid, and no step is smaller than one part of it."""

_WIDEST = 2**126
_MOST_KEPT = 2**62


@wired("Sum", "expression", "low", "high", "origin", "step", "where", "null_as", "power", "offset")
@dataclass(frozen=True)
class Sum:
    """One bounded integer sum: of `expression`, put on a grid and clamped there.

    A row yields y**power - offset, where y = floor((x - origin) / step + 1/2) clamped to [low, high]; it yields 0 where
    `where` is not true or x is NULL, unless `null_as` states which y a NULL counts as. `expression` None means
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

    def __post_init__(self) -> None:
        check_fields(self)
        if self.low > self.high:
            raise BadParameter("low", self.low, f"at most high, which is {quote(self.high)}")
        if self.step <= 0:
            raise BadParameter("step", self.step, "above 0")
        if self.power not in (1, 2):
            raise BadParameter("power", self.power, "1 or 2")
        self._check_range()
        if self.null_as is not None and not self.low <= self.null_as <= self.high:
            raise BadParameter("null_as", self.null_as, "within low and high: a NULL counts as a value within bounds")

    def _check_range(self) -> None:
        """Refuse what would overflow on the way, in integers or in the doubles that answers and their widths are in.

        The width of a variance takes fourth powers of what is summed, times noise and rows: a double holds 1e60 so.
        """
        if max(abs(self.low), abs(self.high)) ** self.power + abs(self.offset) >= _WIDEST:
            raise Unsupported(
                "what one row may add to this sum does not fit into 128 bits; declare narrower bounds, or a larger step"
            )
        far = max(abs(self.origin), max(abs(self.low), abs(self.high)) * self.step, self.step)
        if far > FARTHEST or self.step < 1 / FARTHEST:
            raise Unsupported(
                "numbers are summed and ranked between 1e-60 and 1e60, and these bounds or this step lie beyond; "
                "declare others, or clamp in the query: LEAST(GREATEST(x, low), high)"
            )

    @property
    def ends(self) -> tuple[int, int]:
        """The least and the largest number that a row which counts can yield."""
        corners = [self.low, self.high] + ([0] if self.low < 0 < self.high else [])
        given = [corner**self.power - self.offset for corner in corners]
        return min(given), max(given)

    @property
    def most(self) -> int:
        """How far from zero one row can move the sum."""
        low, high = self.ends
        return max(abs(low), abs(high))


@wired("Norm", "order", "limit", "shift")
@dataclass(frozen=True)
class Norm:
    """One integer weight per unit scales its contributions: the largest w <= 2**shift that keeps to the limit.

    With n(g) the unit's rows in released cell g: w * sum n(g) <= limit * 2**shift for order 1, and
    w**2 * sum n(g)**2 <= limit * 4**shift for order 2, whose `limit` is the square of the norm. All in integers.
    """

    order: Literal[1, 2]
    limit: int
    shift: int
    unbounded: ClassVar[bool] = False
    of: ClassVar[Expression | None] = None

    def __post_init__(self) -> None:
        check_fields(self)
        whole(self.limit, "limit", least=1)
        whole(self.shift, "shift", most=LONGEST_SHIFT)


@wired("Truncate", "groups", "rows")
@dataclass(frozen=True)
class Truncate:
    """At most `groups` groups per unit and `rows` rows per group, chosen by a keyed hash that is fresh each time."""

    groups: int
    rows: int
    order: ClassVar[int] = 1
    shift: ClassVar[int] = 0
    unbounded: ClassVar[bool] = False
    of: ClassVar[Expression | None] = None

    def __post_init__(self) -> None:
        check_fields(self)
        whole(self.groups, "groups", least=1, most=_MOST_KEPT)
        whole(self.rows, "rows", least=1, most=_MOST_KEPT)


@wired("Once")
@dataclass(frozen=True)
class Once:
    """Each row is a unit: nothing to bound."""

    order: ClassVar[int] = 1
    shift: ClassVar[int] = 0
    unbounded: ClassVar[bool] = True
    of: ClassVar[Expression | None] = None


@wired("Pairs", "of", "most")
@dataclass(frozen=True)
class Pairs:
    """At most `most` pairs of a group and a value of `of` per unit, chosen by a keyed hash that is fresh each time.

    A pair counts once, however many units have it: the one sum of such a scan counts the different values of a group,
    or adds them up, where it is of `of`.
    """

    of: Expression
    most: int
    order: ClassVar[int] = 1
    shift: ClassVar[int] = 0
    unbounded: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_fields(self)
        whole(self.most, "most", least=1, most=_MOST_KEPT)


@wired("Largest", "limit", "shift")
@dataclass(frozen=True)
class Largest:
    """One integer weight per unit, by its largest cell in each group: the largest w <= 2**shift within the limit.

    The options are the last key of the scan, and the groups are those of the keys before it. With n(g, v) the
    unit's rows in a cell: w * sum over g of max over v of n(g, v) <= limit * 2**shift. All in integers.
    """

    limit: int
    shift: int
    order: ClassVar[int] = 1
    unbounded: ClassVar[bool] = False
    of: ClassVar[Expression | None] = None

    def __post_init__(self) -> None:
        check_fields(self)
        whole(self.limit, "limit", least=1)
        whole(self.shift, "shift", most=LONGEST_SHIFT)


Bounding = Norm | Truncate | Once | Pairs | Largest
"""How the contributions of units are bounded.

Each answers in which `order` of norm, how many binary places its weights have (`shift`), whether it leaves every row as
it is (`unbounded`), and the different values of what it counts (`of`), None where rows or people are counted.
"""


@wired("GroupKey", "expression", "values", "nullable", later={"other": None})
@dataclass(frozen=True)
class GroupKey:
    """A grouping expression and its public values, each once; without values the keys are discovered in the data.

    Guarantee: a row is in one of the groups that `values` make, at most: each value is there once, all are of one type,
    and NULL is among them exactly where the key is `nullable`. A value that is listed twice would be released twice.
    """

    expression: Expression
    values: tuple[Key, ...] | None
    nullable: bool
    other: str | None = None
    """What rows are grouped under whose value is not among those that are found first, by a scan of this key alone."""

    def __post_init__(self) -> None:
        check_fields(self)
        if self.other == "":
            raise BadParameter("other", self.other, "a name, or None")
        if self.values is None:
            return
        distinct = set(self.values)
        if len(distinct) != len(self.values) or len({*map(type, distinct)} - {type(None)}) > 1:
            raise BadParameter("values", self.values, "different values, all of one type")
        if (None in distinct) != self.nullable:
            raise BadParameter("nullable", self.nullable, "True exactly where NULL is among the values")


@wired("Discovery", "most", "order", "shift")
@dataclass(frozen=True)
class Discovery:
    """For keys that are not public: each unit keeps at most `most` keys and adds an equal integer weight to each.

    With k keys a unit adds floor(2**shift / sqrt(k)) (order 2), floor(2**shift / k) (order 1) or 2**shift (order 0) to
    each; of order 0 and without a shift, units are counted.
    """

    most: int
    order: Literal[0, 1, 2]
    shift: int

    def __post_init__(self) -> None:
        check_fields(self)
        whole(self.most, "most", least=1, most=_MOST_KEPT)
        whole(self.shift, "shift", most=LONGEST_SHIFT)


@wired("Near", "share", "below", "above", "bits")
@dataclass(frozen=True)
class Near:
    """Which ranks are looked at closely where places are counted: `share` * n - `below` to `share` * n + `above`.

    n is the total weight of a group. The rows in a block of 2**bits places, the first of which starts at place 0, may
    all be counted at its first place, if the weight before the block is share * n + above or more, or the weight
    through it is share * n - below or less.
    """

    share: Fraction
    below: int
    above: int
    bits: int

    def __post_init__(self) -> None:
        check_fields(self)
        if not 0 <= self.share <= 1:
            raise BadParameter("share", self.share, "from 0 to 1")
        whole(self.below, "below", most=MOST_PLACES)
        whole(self.above, "above", most=MOST_PLACES)
        whole(self.bits, "bits", most=62)


@wired("Sizes", "of", "edges")
@dataclass(frozen=True)
class Sizes:
    """The units that are counted, instead of summing their values: in bin b those whose size exceeds b of the edges.

    With n(g) the unit's rows in released cell g, the size is sum n(g), or sum n(g)**2 under a norm of order 2 ("norm");
    or the loss of all its rows by its weight w, (2**shift - w) * sum n(g) ("lost"). All in integers.
    """

    of: Literal["norm", "lost"]
    edges: tuple[int, ...]

    def __post_init__(self) -> None:
        check_fields(self)
        rising = all(a < b for a, b in pairwise((-1, *self.edges)))
        if not self.edges or not rising or self.edges[-1] >= _WIDEST:
            raise BadParameter("edges", self.edges, "whole numbers of at least 0, each above the one before")


@wired("RowNorm", "order", "limit", "over", "shift")
@dataclass(frozen=True)
class RowNorm:
    """One integer weight per row scales all its factors: the largest w <= 2**shift that keeps the first to the limit.

    With v the first `over` factors of a row: w * sum |v| <= limit * 2**shift for order 1, and w**2 * sum v**2 <=
    limit * 4**shift for order 2, whose `limit` is the square of the norm. Each factor f of the row, also those after
    the first, becomes f * w / 2**shift, cut towards zero. All in integers.
    """

    order: Literal[1, 2]
    limit: int
    over: int
    shift: int

    def __post_init__(self) -> None:
        check_fields(self)
        whole(self.limit, "limit", least=1)
        whole(self.over, "over", least=1)
        whole(self.shift, "shift", most=LONGEST_SHIFT)


@wired("Products", "pairs", "norm")
@dataclass(frozen=True)
class Products:
    """The sums of a scan are factors: the sums over rows are of products of two of them, by their places."""

    pairs: tuple[tuple[int, int], ...]
    norm: RowNorm | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        rising = all(0 <= first <= second for first, second in self.pairs)
        if not self.pairs or not rising or len(set(self.pairs)) < len(self.pairs):
            raise BadParameter("pairs", self.pairs, "different pairs of places, the lower one first")


@wired(
    "Scan",
    "table",
    "schema",
    "where",
    "keys",
    "sums",
    "bounding",
    "discovery",
    "distinct",
    later={"places": None, "near": None, "cells": None, "sizes": None, "products": None},
)
@dataclass(frozen=True)
class Scan:
    """A question for an engine. Public: it may be printed, hashed and logged.

    `schema` has the facts of the relation that is read: those declared for a table, or their consequences.
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
    places: Sum | None = None
    """Where the rows of a group are counted by the place that this yields for each of them, instead of summed.

    It is a plain sum, of power 1 and without an offset; a row for which it yields nothing does not count.
    """
    near: Near | None = None
    """Where rows are counted by place: which of them may be treated alike. None: all are counted where they are."""
    cells: tuple[tuple[Key, ...], ...] | None = None
    """Which combinations of the values of the first keys are groups; None: all are. No row of another one counts."""
    sizes: Sizes | None = None
    """Where units are counted by size, over all groups together, instead of their rows summed."""
    products: Products | None = None
    """Where sums are factors: products of two of them are summed, over all rows together."""

    def __post_init__(self) -> None:
        check_fields(self)
        unit = self.schema.unit
        if unit.public or isinstance(unit, Link) or self.schema.contents is not None:
            raise InvariantError("a scan reads the rows of units, and names their owner")
        # of a unit with several rows every row would count in full, also towards the keys that are found
        if self.bounding.unbounded != unit.rowwise and self.bounding.of is None:
            raise InvariantError("only where each row is a unit may contributions go unbounded")
        self._check_places()
        if self.sizes is not None:
            alone = not self.sums and self.places is None and self.discovery is None
            if not alone or not isinstance(self.bounding, Norm):
                raise InvariantError("units are counted by size where a norm bounds them, and nothing else is asked")
        self._check_products()
        if isinstance(self.bounding, Largest) and not self.keys:
            raise InvariantError("the largest cells of a unit are those of its groups")
        if self.bounding.of is not None:
            counts = len(self.sums) == 1 and (self.sums[0].offset, self.sums[0].power) == (0, 1)
            counts = counts and self.sums[0].expression in (None, self.bounding.of)
            if not counts or self.discovery is not None or self.distinct or self.places is not None:
                raise InvariantError("a scan for different values counts them, or adds them up, and does nothing else")

    def _check_products(self) -> None:
        products = self.products
        if products is None:
            return
        other = self.places is not None or self.discovery is not None or self.sizes is not None
        if self.keys or self.distinct or other or self.cells is not None:
            raise InvariantError("products are summed over all rows together, and nothing else is asked")
        if not isinstance(self.bounding, (Once, Norm)) or self.bounding.order != 1:
            raise InvariantError("products are summed under an L1 norm")
        if any((factor.power, factor.offset) != (1, 0) for factor in self.sums):
            raise InvariantError("the factors of products are plain numbers on their grids")
        if max(second for _, second in products.pairs) >= len(self.sums):
            raise InvariantError("products are of factors that the scan has")
        if products.norm is not None and products.norm.over > len(self.sums):
            raise InvariantError("a norm of rows is over factors that the scan has")

    def _check_places(self) -> None:
        places = self.places
        if places is None:
            return
        if self.sums or self.discovery is not None or self.distinct:
            raise InvariantError("a scan counts by place, or sums")
        if self.bounding.order != 1:
            raise InvariantError("places are counted under an L1 norm")
        plain = (places.low, places.power, places.offset, places.null_as) == (0, 1, 0, None)
        if not plain or places.expression is None or places.high > MOST_PLACES:
            raise InvariantError("a grid starts at place 0, and a row that has no value has no place")


def asks(scan: Scan) -> bool:
    """Whether a scan queries the data: a sum, the places of rows, the present keys, or the sizes of units."""
    return bool(scan.sums) or not (scan.places is None and scan.discovery is None and scan.sizes is None)


Counts = tuple[Sequence[int], Sequence[int]]
"""The places of a group at which there are rows, rising, and the weight of the rows at each."""


class SealedSums:
    """Exact sums per group, or counts by place, sealed: only `privet.release` opens them."""

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
