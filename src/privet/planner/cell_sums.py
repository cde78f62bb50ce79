"""How wide numbers are that sum released cells, from public facts alone: which cells each sums, and their noise.

What a question sums is known before a row is read where all its groups are public.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, Any

from privet.core.schema import ColumnFacts as Facts
from privet.core.schema import Kind
from privet.inference.bars import Law, half_width
from privet.inference.levels import mixed
from privet.query.functions import mentions, prepared
from privet.query.nodes import AggregateCall, OverRows, Query
from privet.query.resolve import linear_in, meanings

from .plan import Known, Plan

if TYPE_CHECKING:
    from privet.core.event import Floats

_MOST_CELLS = 4096
"""Sums over more cells are not counted beforehand."""


@dataclass(frozen=True)
class SummedNoise:
    """The noise of several sums: its variance, how much of it the largest term is, and all terms' squared shares."""

    variances: Floats
    largest: Floats
    fourth: Floats
    step: Floats
    pure: bool

    @classmethod
    def of(cls, laws: Sequence[Law], factors: Floats) -> SummedNoise:
        """Return the noise of sums that have a row of factors each, one for each independent noise."""
        import numpy as np

        pure = laws[0].family == "laplace"
        grid = [0.0 if pure else law.step**2 / 12 for law in laws]
        own = np.array([law.deviation**2 + more for law, more in zip(laws, grid, strict=True)])
        parts = factors**2 * own
        total = np.maximum(parts.sum(axis=1), 1e-300)
        steps = np.abs(factors) * np.array([law.step for law in laws])
        return cls(total, parts.max(axis=1) / total, (parts**2).sum(axis=1) / total**2, steps.max(axis=1), pure)

    def half_widths(self, confidence: float) -> Floats:
        """Return how far the noise of each sum reaches with this probability, as its interval does."""
        import numpy as np

        from privet.strategy.laplace_sums import half_widths, sum_widths

        if self.pure:
            wide: Any = sum_widths(confidence, self.largest, self.fourth)
        else:
            wide = half_widths(confidence, "gaussian")
        return np.asarray(np.sqrt(self.variances) * wide + self.step / 2)

    def from_shown(self, confidence: float) -> float:
        """Return how far from the sum that is shown its interval reaches, at most."""
        return float(self.half_widths(confidence).max())


@dataclass(frozen=True)
class EqualSums:
    """The noise of sums of equal noises, this many times each: the numbers of terms, and a factor."""

    law: Law
    terms: tuple[int, ...]
    factor: float
    rounding: float = 0.0
    """How far each term that is shown may be from the one with noise: what is weighted is shown as a whole number."""

    def half_widths(self, confidence: float) -> Floats:
        """Return how far the noise of each sum reaches with this probability: the very width of its interval."""
        import numpy as np

        laws = map(self._summed, self.terms)
        return np.array([half_width(law, law, np.zeros(1), 1 - confidence)[0] for law in laws]) * self.factor

    def from_shown(self, confidence: float) -> float:
        """Return how far from the sum that is shown its interval reaches, at most."""
        pairs = zip(self.half_widths(confidence).tolist(), self.terms, strict=True)
        return float(max(half + many * self.rounding * self.factor for half, many in pairs))

    def _summed(self, many: int) -> Law:
        law = self.law
        if many == 1 or not law.scale:
            return law
        if law.family == "gaussian":
            return Law("gaussian", math.sqrt((law.deviation**2 + law.step**2 / 12) * many), law.step)
        return mixed(((float(f"{law.scale:.9g}"), many),), law.step)


@dataclass(frozen=True)
class CellSums:
    """A question in which sums of cells stand for aggregates, and the noise of each, by name."""

    query: Query
    noises: Mapping[str, SummedNoise | EqualSums]

    def half_width(self, column: str, confidence: float) -> Fraction | None:
        """Return how wide a column is where it is widest; None where it is not linear in one sum."""
        line = linear_in(meanings(self.query)[column])
        if line is None or line.column not in self.noises:
            return None
        return Fraction(self.noises[line.column].from_shown(confidence)) * abs(line.factor)


def sums_of_groups(plan: Plan) -> CellSums | None:
    """Return what a question sums where its first step does no more than add up public groups; None where it is not so.

    The keys of the step, and which groups it keeps, are computed here from the values of public keys.
    """
    first, later = plan.query.steps[0], plan.query.steps[1:]
    sums = first.aggregates
    plain = first.keys is not None and not first.windows and not first.beside and first.having is None
    if not plain or plan.rounds > 1 or plan.discovers or not all(step.plain for step in later):
        return None
    readings = {one.name: one for one in plan.readings}
    added = [readings.get(_summed(one) or "") for one in sums]
    places = [None if one is None or one.aggregate.linear is None else one.places[0] for one in added]
    if not sums or any(place is None or isinstance(place, Known) for place in places):
        return None
    used = [key.expression for key in first.keys or ()] + ([first.where] if first.where is not None else [])
    cells = _groups(plan)
    if cells is None or any(mentions(one) & set(readings) for one in used):
        return None
    kinds = tuple(plan.kinds[key.name] for key in plan.query.keys)
    terms = _terms(plan.query, cells, kinds)
    if not terms:
        return None
    noises = {}
    for one, reading, place in zip(sums, added, places, strict=True):
        if reading is not None and place is not None and reading.aggregate.linear is not None:
            rounded = reading.aggregate.counts and not isinstance(place, Known) and plan.measure_at(place).shift > 0
            law, factor = plan.law(place), float(reading.aggregate.linear)
            noises[one.name] = EqualSums(law, terms, factor, 0.5 if rounded else 0.0)
    return CellSums(with_sums_as_aggregates(plan.query), noises)


def with_sums_as_aggregates(query: Query) -> Query:
    """Return a query whose first step sums rows as one that has these sums for aggregates."""
    first, later = query.steps[0], query.steps[1:]
    calls = tuple(AggregateCall(one.name, "count_rows") for one in first.aggregates)
    step = replace(first, keys=None, aggregates=(), where=None)
    return replace(query, keys=first.keys or (), aggregates=calls, steps=(step, *later), levels=(), groupings=())


def _summed(one: OverRows) -> str | None:
    """Return the column that is summed as it is; None where it is another function, or of some rows only."""
    whole = one.function == "sum" and one.where is None and not one.partition and not one.order
    (argument,) = one.arguments if len(one.arguments) == 1 else (None,)
    return argument.column if whole and argument is not None else None


def _groups(plan: Plan) -> tuple[tuple[Any, ...], ...] | None:
    """Return the groups of a plan, by its question's keys in their order; None where they are too many."""
    listed = plan.passes[0].scan.cells
    if listed is None:
        if math.prod(len(key.values or ()) for key in plan.groups) > _MOST_CELLS:
            return None
        listed = tuple(product(*(key.values or () for key in plan.groups)))
    if len(listed) > _MOST_CELLS:
        return None
    return tuple(tuple(cell[place] for place in plan.key_places) for cell in listed)


@lru_cache(maxsize=256)
def _terms(query: Query, cells: tuple[tuple[Any, ...], ...], kinds: tuple[Kind, ...]) -> tuple[int, ...]:
    """Return the different numbers of released groups that rows of the first step add up."""
    first, names = query.steps[0], [key.name for key in query.keys]
    facts = {name: Facts(kind=kind, nullable=True) for name, kind in zip(names, kinds, strict=True)}
    keys = [prepared(key.expression, facts) for key in first.keys or ()]
    kept = (lambda row: True) if first.where is None else prepared(first.where, facts)
    found: Counter[tuple[Any, ...]] = Counter()
    for cell in cells:
        row = dict(zip(names, cell, strict=True))
        if kept(row):
            found[tuple(key(row) for key in keys)] += 1
    return tuple(sorted(set(found.values())))
