"""How wide numbers are that sum released cells, from public facts alone: which cells each sums, and their noise.

What a question sums is known before a row is read where all its groups are public.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

from privet.core.schema import ColumnFacts as Facts
from privet.inference.bars import Law
from privet.query.functions import mentions, prepared
from privet.query.nodes import AggregateCall, OverRows, Query

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

    @classmethod
    def of_equal(cls, law: Law, terms: Sequence[int], factor: float) -> SummedNoise:
        """Return the noise of sums of this many equal noises."""
        import numpy as np

        many = np.array(sorted(set(terms)), dtype=np.float64)
        pure = law.family == "laplace"
        each = (law.deviation**2 + (0.0 if pure else law.step**2 / 12)) * factor**2
        return cls(many * each, 1 / many, 1 / many, np.full(len(many), law.step * factor), pure)

    def half_widths(self, confidence: float) -> Floats:
        """Return how far the noise of each sum reaches with this probability, as its interval does."""
        import numpy as np

        from privet.strategy.laplace_sums import half_widths, sum_widths

        if self.pure:
            wide: Any = sum_widths(confidence, self.largest, self.fourth)
        else:
            wide = half_widths(confidence, "gaussian")
        return np.asarray(np.sqrt(self.variances) * wide + self.step / 2)


@dataclass(frozen=True)
class CellSums:
    """A question in which sums of cells stand for aggregates, and the noise of each, by name."""

    query: Query
    noises: Mapping[str, SummedNoise]


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
    terms = _terms(plan, cells)
    if not terms:
        return None
    noises = {}
    for one, reading, place in zip(sums, added, places, strict=True):
        if reading is not None and place is not None and reading.aggregate.linear is not None:
            noises[one.name] = SummedNoise.of_equal(plan.law(place), terms, float(reading.aggregate.linear))
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


def _groups(plan: Plan) -> list[tuple[Any, ...]] | None:
    """Return the groups of a plan, by its question's keys in their order; None where they are too many."""
    listed = plan.passes[0].scan.cells
    if listed is None:
        if math.prod(len(key.values or ()) for key in plan.groups) > _MOST_CELLS:
            return None
        listed = tuple(product(*(key.values or () for key in plan.groups)))
    return None if len(listed) > _MOST_CELLS else [tuple(cell[place] for place in plan.key_places) for cell in listed]


def _terms(plan: Plan, cells: Sequence[tuple[Any, ...]]) -> list[int]:
    """Return how many released groups each row of the first step adds up."""
    first = plan.query.steps[0]
    facts = {key.name: Facts(kind=plan.kinds[key.name], nullable=True) for key in plan.query.keys}
    keys = [prepared(key.expression, facts) for key in first.keys or ()]
    kept = (lambda row: True) if first.where is None else prepared(first.where, facts)
    names = [key.name for key in plan.query.keys]
    found: Counter[tuple[Any, ...]] = Counter()
    for cell in cells:
        row = dict(zip(names, cell, strict=True))
        if kept(row):
            found[tuple(key(row) for key in keys)] += 1
    return list(found.values())
