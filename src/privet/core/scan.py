"""All that an engine is ever asked: within each unit bound the contributions, clamp, put on the grid, sum per group.

`Scan` is public and printable. `Exact` seals what comes back: no repr of values, no iteration, no pickle.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NoReturn

from .expression import Expression
from .schema import Key, Schema


@dataclass(frozen=True)
class Sum:
    """One bounded integer sum: of `expression` clamped to [low, high] grid steps of size `step` from `origin`.

    A row contributes floor((x - origin) / step + 1/2), clamped again to [low, high]; nothing (0) where `where` does
    not hold or x is NULL, unless `null_as` says what a NULL counts as. `expression` None counts rows: each gives 1.
    `numerator`/`denominator` of the step are exact; `exact` says that the expression is computed in integers.
    """

    expression: Expression | None
    low: int
    high: int
    origin: tuple[int, int] = (0, 1)
    step: tuple[int, int] = (1, 1)
    where: Expression | None = None
    null_as: int | None = None
    power: int = 1  # the grid value is raised to this power before it is summed


@dataclass(frozen=True)
class Norm:
    """One integer weight per unit scales all it gives: the largest w <= 2**shift with w * |n| <= limit * 2**shift.

    |n| is the L1 or L2 norm of the unit's numbers of rows over the released cells; the test is in integers.
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


Bounding = Norm | Truncate | Once


@dataclass(frozen=True)
class GroupKey:
    """A grouping expression and its public values; without values the keys are discovered in the data."""

    expression: Expression
    values: tuple[Key, ...] | None
    nullable: bool


@dataclass(frozen=True)
class Discovery:
    """For keys that are not public: each unit keeps at most `most` keys and gives each an equal integer weight.

    With k keys a unit gives floor(2**shift / sqrt(k)) (order 2) or floor(2**shift / k) (order 1) to each.
    """

    most: int
    order: Literal[1, 2]
    shift: int


@dataclass(frozen=True)
class Scan:
    """A question for an engine. Public: it may be printed, hashed and logged."""

    table: str
    schema: Schema
    where: Expression | None
    keys: tuple[GroupKey, ...]
    sums: tuple[Sum, ...]
    bounding: Bounding
    discovery: Discovery | None = None


class Exact:
    """Exact sums per group, sealed: only the release room opens them."""

    __slots__ = ("_groups",)

    def __init__(self, groups: dict[tuple[Key, ...], tuple[int, ...]]) -> None:
        self._groups = groups

    def __repr__(self) -> str:
        return "Exact(sealed)"

    def __iter__(self) -> NoReturn:
        raise TypeError("exact sums are sealed")

    def __reduce__(self) -> NoReturn:
        raise TypeError("exact sums are sealed")
