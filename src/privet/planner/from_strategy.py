"""Counting questions that are read from a strategy over the cells of one release, where that errs less than each cell.

The strategy is chosen by public facts: the questions, the kind of noise and the movement between neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any, Self

from privet.core.errors import InvariantError, PrivetError, RequestError, raise_alone
from privet.core.scan import Bounding, Scan
from privet.core.schema import Key
from privet.core.wire import canonical
from privet.inference.bars import Law
from privet.mechanisms import Laplace

from .accuracy import CellSums, SummedNoise, with_sums_as_aggregates
from .cells import SharedRelease
from .groupings import Levels, Several
from .keys import Choice, group_key
from .many_counts import significant, strategy_measure
from .matrix import MatrixMeasure
from .plan import Pass, Plan

if TYPE_CHECKING:
    from privet.core.event import Floats
    from privet.strategy import CellCovariance, MatrixStrategy, StrategyMeasure
    from privet.strategy.strategies import Noise

_LESS = 1 - 1e-6
_MOST_MEASURED, _MOST_CELLS = 512, 128
"""Strategies of more measurements, or over more cells, are not tried: each of them takes time to price."""
_MOST_WEIGHTED, _MOST_GROUPINGS = 256, 32
"""Over more cells, or with more groupings, weights are not optimised."""
_ORDER = 32
_WEIGHT_BITS = 12
"""The least weight of a grouping is a part of the largest: 2 to the power of minus this."""
_UNMEASURED = 8
"""Groupings of which one is measured a 500th as precisely as the most precise are not measured."""


@dataclass(frozen=True, repr=False)
class FromStrategy(Several):
    """A counting question that is read from a strategy's measurements: the plan of the release is its only one.

    The keys of its query are those of the cells, and its steps sum them; where it has several groupings, its query is
    as it was asked, and `matrix` sums cells. `counted` is the plan that would count each cell separately: the effect of
    bounding on an answer is the same, and so are the kinds of its columns. `alone` is the plan of the question alone.
    """

    counted: Plan | None = None
    matrix: Floats | None = field(default=None, compare=False, repr=False)
    """The cells of which each number of the answer is the sum."""
    alone: Plan | None = field(default=None, compare=False, repr=False)

    @classmethod
    def over(cls, counted: Plan, measured: Plan, matrix: Floats, alone: Plan) -> FromStrategy:
        """Return the plan that reads a question from a strategy, instead of from each cell."""
        query = alone.query if isinstance(alone, Levels) else counted.query
        made = {"plans": (measured,), "counted": counted, "matrix": matrix, "alone": alone}
        return cls(query, measured.passes, (), counted.spend, **made)  # type: ignore[arg-type]

    def again(self, plans: tuple[Plan, ...]) -> Self:
        """Return the plan of the same question from another plan of its release."""
        return replace(self, passes=plans[0].passes, plans=plans)

    def verify(self) -> None:
        """Raise unless every number of the answer can be reconstructed from the measurements, over the same cells."""
        cells, measured = self.by_cell.passes[0].scan, self.plans[0].passes[0].scan
        same = (cells.table, cells.where) == (measured.table, measured.where) and len(self.plans) == 1
        keys = [key.expression for key in measured.keys]
        asked = [key.expression for key in self.by_cell.query.keys]
        if not same or sorted(keys, key=canonical) != sorted(asked, key=canonical) or self.matrix is None:
            raise InvariantError("a question is read from a strategy over other cells than its own")
        if self.levels is not None and len(self.groups_of_levels) != len(self.matrix):
            raise InvariantError("a question with several groupings has other rows than its matrix")
        try:
            self.noise.covariance.of_rows(self.matrix)
        except RequestError:
            raise_alone(InvariantError("a question is no sum of what its strategy measures"))

    @property
    def by_cell(self) -> Plan:
        """The plan that would count each cell separately."""
        if self.counted is None:
            raise InvariantError("a question that is read from a strategy has a plan for its cells")
        return self.counted

    @property
    def levels(self) -> Levels | None:
        """The plan of the question alone, where it has several groupings."""
        return self.alone if isinstance(self.alone, Levels) else None

    @cached_property
    def groups_of_levels(self) -> list[tuple[int, tuple[Key, ...]]]:
        """The rows of a question with several groupings, as `matrix` has them: the level, and the group at it."""
        if self.levels is None:
            return []
        values = key_values(self.levels)
        return [
            (place, cell)
            for place, axes in enumerate(self.levels.query.levels)
            for cell in product(*(values[axis] for axis in axes))
        ]

    def by_level(self) -> list[tuple[str, Plan]]:
        """Return the plan of each grouping, with the rows of the matrix that it has, and its name."""
        if self.levels is None or self.matrix is None:
            return [("", self)]
        plans: list[tuple[str, Plan]] = []
        for level in range(len(self.levels.plans)):
            rows = [row for row, (place, _) in enumerate(self.groups_of_levels) if place == level]
            plans.append((self.levels.named(level), replace(self, matrix=self.matrix[rows])))
        return plans

    @cached_property
    def sums(self) -> CellSums | None:
        """The noise of its counts, by name, and the question in which these are aggregates."""
        own = self.query.steps if self.levels is not None else self.query.steps[1:]
        if self.matrix is None or not all(step.plain for step in own):
            return None
        (reading,) = self.by_cell.readings
        noises = {reading.name: SummedNoise.of(self.laws, self.matrix @ self.factors)}
        if self.levels is not None:
            return CellSums(replace(self.query, levels=(), groupings=()), noises)
        return CellSums(with_sums_as_aggregates(self.query), noises)

    @cached_property
    def factors(self) -> Floats:
        """How many times each measurement counts in the estimate of each cell: least squares."""
        import numpy as np

        noise: Any = self.noise
        held = noise.strategy.matrix
        matrix = np.asarray(held.toarray() if hasattr(held, "toarray") else held, dtype=np.float64)
        weighted = matrix / np.sqrt(noise.variances)[:, None]
        inverse = np.linalg.pinv(weighted) / np.sqrt(noise.variances)[None, :]
        inverse[np.abs(inverse) < 1e-12] = 0.0
        return np.asarray(inverse)

    @cached_property
    def laws(self) -> list[Law]:
        """The law of the noise of each measurement, in rows."""
        noise = self.noise
        step = 0.5**noise.exponent
        laws: list[Law] = []
        for scale, many in noise.noises:
            pure = noise.strategy.measure == "pure"
            law = Law("laplace", float(scale), step) if pure else Law("gaussian", math.sqrt(float(scale)), step)
            laws += [law] * many
        return laws

    @property
    def noise(self) -> StrategyMeasure:
        """The strategy that is measured, with its noise."""
        measure = self.plans[0].passes[0].measure
        if not isinstance(measure, MatrixMeasure):
            raise InvariantError("cells are reconstructed from what a strategy measured")
        noise: StrategyMeasure = measure.noise
        return noise

    @property
    def strategy(self) -> str:
        """The name of the strategy."""
        return self.noise.strategy.name


def key_values(levels: Levels) -> list[tuple[Key, ...]]:
    """Return the values of each key of a question with several public groupings, all of which are whole."""
    known = {key.expression: key.values or () for plan in levels.plans for key in plan.groups}
    return [known.get(key.expression, ()) for key in levels.query.keys]


def best_strategy(
    release: SharedRelease, plan: Plan, weights: Sequence[int], bounding: Bounding, power: int
) -> tuple[MatrixStrategy, tuple[float, ...]] | None:
    """Return the strategy by which the questions of a release err least, and their variances at a unit of the price.

    None where the cells themselves are best. `plan` counts each cell, at some price. Questions with several groupings
    are read from some strategy always, be it that of single cells.
    """
    import numpy as np

    scanned = _scanned(plan, bounding)
    if scanned is None:
        return None
    scan, choice = scanned
    scale = float(choice.share) ** power
    shares = np.array(weights, dtype=np.float64)
    cell = plan.passes[0].measures[0].standard_deviation ** 2
    best, least = None, cell * scale * float(shares @ np.array(release.terms))
    if release.grouped_several_times:
        least = math.inf
    for strategy in _strategies(release, "pure" if choice.family == "laplace" else "gaussian", weights):
        try:
            measure = strategy_measure(scan, strategy, choice)
            each = np.array(errors_of(release, measure.covariance)) * scale
        except PrivetError:
            continue
        if float(shares @ each) < least * _LESS:
            best, least = (strategy, tuple(each.tolist())), float(shares @ each)
    return best


def errors_of(release: SharedRelease, covariance: CellCovariance) -> list[float]:
    """Return the error of each question of a release, from the covariance of its cells."""
    numbered = enumerate(release.matrices)
    return [release.error(question, covariance.of_rows(rows)) for question, rows in numbered]


def with_strategy(
    release: SharedRelease,
    strategy: MatrixStrategy,
    plans: Sequence[Plan],
    bounding: Bounding,
    alone: Sequence[Plan],
) -> list[tuple[int, Plan, float]]:
    """Return plans that read the questions of a release from a strategy, and the variances of their noise.

    `plans` are those that read the cells, at the same price; `alone` those of all questions alone.

    Guarantee: the noise is for what one unit adds to all cells together, in L1, which `MatrixMeasure.verify` computes
    anew; the price is that of the one sum which the strategy stands for.
    """
    first = plans[release.places[0]]
    scanned = _scanned(first, bounding)
    if scanned is None:
        raise InvariantError("a strategy stands for one sum over cells")
    scan, choice = scanned
    made = strategy_measure(scan, strategy, choice)
    asked = replace(first.query, keys=(), aggregates=(), steps=())
    measured = Plan(asked, (Pass(scan, MatrixMeasure(made)),), (), first.spend)
    errors = errors_of(release, made.covariance)
    return [
        (place, FromStrategy.over(plans[place], measured, rows, alone[place]), error)
        for place, rows, error in zip(release.places, release.matrices, errors, strict=True)
    ]


def _scanned(plan: Plan, bounding: Bounding) -> tuple[Scan, Choice] | None:
    """Return the scan of all cells, with one unit's contributions bounded in L1, and the noise of one sum over them."""
    pass_ = plan.passes[0]
    if len(plan.passes) != 1 or len(pass_.measures) != 1 or not pass_.plain:
        return None
    columns, noise = pass_.scan.schema.columns, pass_.measures[0].mechanism
    keys = tuple(group_key(key.expression, columns) for key in pass_.scan.keys)
    price = noise.event.pure() if isinstance(noise, Laplace) else noise.event.rho()
    return replace(pass_.scan, keys=keys, cells=None, bounding=bounding), Choice(noise.family, Fraction(price))


def _strategies(release: SharedRelease, noise: Noise, weights: Sequence[int]) -> Iterator[MatrixStrategy]:
    """Yield the strategies that are tried: whole numbers alone, which are the same on every machine."""
    import numpy as np

    from privet.strategy import MatrixStrategy, haar, identity_strategy, tree

    asked = np.unique(np.concatenate(release.matrices).astype(np.int64), axis=0)
    cells = asked.shape[1]
    if release.grouped_several_times:
        yield identity_strategy(cells, measure=noise)
    weighted = _weighted_groupings(release, noise, weights)
    if weighted is not None:
        yield weighted
    if len(asked) + cells > _MOST_MEASURED or cells > _MOST_CELLS:
        return
    yield MatrixStrategy("the questions", noise, asked, [1] * len(asked))
    both = np.concatenate([np.eye(cells, dtype=np.int64), asked[asked.sum(axis=1) > 1]])
    for own, other in ((1, 1), (2, 1), (1, 2), (4, 1), (1, 4)):
        precision = [own] * cells + [other] * (len(both) - cells)
        yield MatrixStrategy(f"cells and questions, {own} to {other}", noise, both, precision)
    if len(release.queries[0].keys) == 1:
        for branching in (2, 3, 4, 8):
            if branching < cells:
                yield tree(cells, branching=branching, measure=noise)
        yield haar(cells, measure=noise)


def _weighted_groupings(release: SharedRelease, noise: Noise, weights: Sequence[int]) -> MatrixStrategy | None:
    """Return all groupings of all questions and the cells, each as precise as makes the questions err least.

    With weights w of groupings whose rows are B, the precision is q = w for Gaussian noise and w^2 / 2 for Laplace's;
    the total of the questions' variances is tr(G X^-1) with X the sum of q B'B, and its slope along q_b is
    -tr(X^-1 G X^-1 B_b'B_b). The norm, which is the most that the weights of a cell add up to, is a smooth one here, of
    order 32. Weights are rounded to four binary digits, so that they are the same on every machine; none is sought that
    would be rounded up, since the inverse of X is then known to fewer digits than that.
    """
    import numpy as np
    from scipy import optimize

    from privet.strategy import MatrixStrategy

    cells = release.matrices[0].shape[1]
    tables, wanted = _groupings(release, weights)
    if cells > _MOST_WEIGHTED or len(tables) > _MOST_GROUPINGS or sum(map(len, tables)) > _MOST_MEASURED + cells:
        return None
    grams = np.array([table.T @ table for table in tables])
    covers = np.array([table.sum(axis=0) for table in tables])
    power = 2 if noise == "pure" else 1

    def loss(logs: Floats) -> tuple[float, Floats]:
        share = np.exp(logs - logs.max())
        precision = share**power
        inverse = np.linalg.inv(np.tensordot(precision, grams, axes=1))
        middle = inverse @ wanted @ inverse
        total = float(np.vdot(inverse, wanted))
        slopes = power * precision * np.tensordot(grams, middle, axes=2) / total
        moved = share @ covers
        top = float(moved.max())
        parts = (moved / top) ** _ORDER
        norm = math.log(top) + math.log(float(parts.sum())) / _ORDER
        shares = (covers @ (parts / moved)) * share / float(parts.sum())
        return math.log(total) + power * norm, power * shares - slopes

    start = np.zeros(len(tables))
    ends = optimize.Bounds(-_WEIGHT_BITS / 2 * math.log(2), _WEIGHT_BITS / 2 * math.log(2))
    optimum = optimize.minimize(loss, start, jac=True, method="L-BFGS-B", bounds=ends)
    raw = np.exp(optimum.x - optimum.x.max())
    least = [significant(max(1, round(float(weight) * 2**_WEIGHT_BITS)), 4) for weight in raw]
    kept = [place for place, weight in enumerate(least) if weight > _UNMEASURED or place == 0]
    common = math.gcd(*(least[place] for place in kept))
    rows = np.concatenate([tables[place] for place in kept]).astype(np.int64)
    precise = [least[place] // common for place in kept for _ in range(len(tables[place]))]
    return MatrixStrategy("weighted groupings", noise, rows, precise)


def _groupings(release: SharedRelease, weights: Sequence[int]) -> tuple[list[Floats], Floats]:
    """Return the cells and each different grouping of the questions, and the weighted sum of W'W of all of them.

    Each grouping counts as one question: by the mean of its variances.
    """
    import numpy as np

    cells = release.matrices[0].shape[1]
    wanted = np.zeros((cells, cells))
    groupings: dict[bytes, Floats] = {}
    for matrix, levels, weight in zip(release.matrices, release.levels, weights, strict=True):
        first = 0
        for size in levels:
            rows = matrix[first : first + size]
            first += size
            wanted += weight / size * (rows.T @ rows)
            if (rows.sum(axis=1) > 1).any():
                groupings.setdefault(rows.tobytes(), rows)
    return [np.eye(cells), *(groupings[key] for key in sorted(groupings))], wanted
