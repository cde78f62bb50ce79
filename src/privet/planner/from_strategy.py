"""Counting questions that are read from a strategy over the cells of one release, where that errs less than each cell.

Which strategy is measured is decided by public facts: the questions, the kind of noise and what neighbours move.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Self

from privet.core.errors import InvariantError, PrivetError, RequestError, raise_alone
from privet.core.scan import Bounding, Scan
from privet.core.wire import canonical
from privet.mechanisms import Laplace

from .blocks import SharedRelease
from .groupings import Several
from .keys import Choice, group_key
from .many_counts import strategy_measure
from .matrix import MatrixMeasure
from .plan import Pass, Plan

if TYPE_CHECKING:
    from privet.core.event import Floats
    from privet.strategy import MatrixStrategy, StrategyMeasure
    from privet.strategy.strategies import Noise

_LESS = 1 - 1e-6
_MOST_MEASURED, _MOST_CELLS = 512, 128
"""Strategies of more measurements, or over more cells, are not tried: each of them takes time to price."""


@dataclass(frozen=True, repr=False)
class FromStrategy(Several):
    """A counting question that is read from what a strategy measures: the plan of the release is its only one.

    The keys of its query are those of the cells, and its steps sum them. `counted` is the plan that would count each
    cell by itself: what bounding does to an answer is the same, and so are the kinds of its columns.
    """

    counted: Plan | None = None
    matrix: Floats | None = field(default=None, compare=False, repr=False)
    """Of which cells each number of the answer is the sum."""

    @classmethod
    def over(cls, counted: Plan, measured: Plan, matrix: Floats) -> FromStrategy:
        """Return the plan that reads a question from a strategy, instead of from each cell."""
        return cls(counted.query, measured.passes, (), counted.spend, plans=(measured,), counted=counted, matrix=matrix)

    def again(self, plans: tuple[Plan, ...]) -> Self:
        """Return the plan of the same question from another plan of its release."""
        return replace(self, passes=plans[0].passes, plans=plans)

    def verify(self) -> None:
        """Raise unless every number of the answer can be reconstructed from what is measured, over the same cells."""
        cells, measured = self.by_cell.passes[0].scan, self.plans[0].passes[0].scan
        same = (cells.table, cells.where) == (measured.table, measured.where) and len(self.plans) == 1
        keys = [key.expression for key in measured.keys]
        asked = [key.expression for key in self.query.keys]
        if not same or sorted(keys, key=canonical) != sorted(asked, key=canonical) or self.matrix is None:
            raise InvariantError("a question is read from a strategy over other cells than its own")
        try:
            self.noise.covariance.of_rows(self.matrix)
        except RequestError:
            raise_alone(InvariantError("a question is no sum of what its strategy measures"))

    @property
    def by_cell(self) -> Plan:
        """The plan that would count each cell by itself."""
        if self.counted is None:
            raise InvariantError("a question that is read from a strategy has a plan for its cells")
        return self.counted

    @property
    def by_row(self) -> Plan:
        """The plan by which the widths of its columns are predicted: none are, as for all sums of released rows."""
        return self.by_cell

    @property
    def noise(self) -> StrategyMeasure:
        """The strategy that is measured, with its noise."""
        measure = self.plans[0].passes[0].measure
        if not isinstance(measure, MatrixMeasure):
            raise InvariantError("cells are reconstructed from what a strategy measured")
        found: StrategyMeasure = measure.noise
        return found

    @property
    def strategy(self) -> str:
        """The name of the strategy."""
        return self.noise.strategy.name


def best_strategy(
    release: SharedRelease, plan: Plan, weights: Sequence[int], bounding: Bounding, power: int
) -> tuple[MatrixStrategy, tuple[float, ...]] | None:
    """Return the strategy by which the questions of a release err least, and their variances at a unit of the price.

    None where the cells themselves are best. `plan` counts each cell, at some price.
    """
    import numpy as np

    found = _scanned(plan, bounding)
    if found is None:
        return None
    scan, choice = found
    scale = float(choice.share) ** power
    shares = np.array(weights, dtype=np.float64)
    cell = plan.passes[0].measures[0].standard_deviation ** 2
    best, least = None, cell * scale * float(shares @ np.array(release.terms)) * _LESS
    for strategy in _strategies(release, "pure" if choice.family == "laplace" else "gaussian"):
        try:
            measure = strategy_measure(scan, strategy, choice)
            each = np.array([measure.covariance.of_rows(rows).mean() for rows in release.matrices]) * scale
        except PrivetError:
            continue
        if float(shares @ each) < least:
            best, least = (strategy, tuple(each.tolist())), float(shares @ each)
    return best


def with_strategy(
    release: SharedRelease, strategy: MatrixStrategy, plans: Sequence[Plan], bounding: Bounding
) -> list[tuple[int, Plan, float]]:
    """Return plans that read the questions of a release from a strategy, and the variances of their noise.

    `plans` are those that read the cells, at the same price.

    Guarantee: the noise is for what one unit adds to all cells together, in L1, which `MatrixMeasure.verify` computes
    anew; the price is that of the one sum which the strategy stands for.
    """
    first = plans[release.places[0]]
    found = _scanned(first, bounding)
    if found is None:
        raise InvariantError("a strategy stands for one sum over cells")
    scan, choice = found
    made = strategy_measure(scan, strategy, choice)
    asked = replace(first.query, keys=(), aggregates=(), steps=())
    measured = Plan(asked, (Pass(scan, MatrixMeasure(made)),), (), first.spend)
    return [
        (place, FromStrategy.over(plans[place], measured, rows), float(made.covariance.of_rows(rows).mean()))
        for place, rows in zip(release.places, release.matrices, strict=True)
    ]


def _scanned(plan: Plan, bounding: Bounding) -> tuple[Scan, Choice] | None:
    """Return the scan of all cells, with what one unit gives bounded in L1, and the noise of one sum over them."""
    one = plan.passes[0]
    if len(plan.passes) != 1 or len(one.measures) != 1 or not one.plain:
        return None
    columns, noise = one.scan.schema.columns, one.measures[0].mechanism
    keys = tuple(group_key(key.expression, columns) for key in one.scan.keys)
    price = noise.event.pure() if isinstance(noise, Laplace) else noise.event.rho()
    return replace(one.scan, keys=keys, cells=None, bounding=bounding), Choice(noise.family, Fraction(price))


def _strategies(release: SharedRelease, noise: Noise) -> Iterator[MatrixStrategy]:
    """Yield the strategies that are tried: whole numbers alone, which are the same on every machine."""
    import numpy as np

    from privet.strategy import MatrixStrategy, haar, tree

    asked = np.unique(np.concatenate(release.matrices).astype(np.int64), axis=0)
    cells = asked.shape[1]
    if len(asked) + cells > _MOST_MEASURED or cells > _MOST_CELLS:
        return
    yield MatrixStrategy("the questions", noise, asked, [1] * len(asked))
    both = np.concatenate([np.eye(cells, dtype=np.int64), asked[asked.sum(axis=1) > 1]])
    for own, other in ((1, 1), (2, 1), (1, 2), (4, 1), (1, 4)):
        weights = [own] * cells + [other] * (len(both) - cells)
        yield MatrixStrategy(f"cells and questions, {own} to {other}", noise, both, weights)
    if len(release.queries[0].keys) == 1:
        for branching in (2, 3, 4, 8):
            if branching < cells:
                yield tree(cells, branching=branching, measure=noise)
        yield haar(cells, measure=noise)
