"""Plans for many counts at one charge: public cells, a strategy over them, its noise and price. Reads no data.

Decided from declared facts alone, so that the same question has the same plan, and its stored answer is found again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from privet.aggregates.aggregate import rows
from privet.core.errors import InvariantError, RequestError
from privet.core.scan import GroupKey, Scan, Sum
from privet.core.schema import ColumnFacts, Contribution, Schema
from privet.query.nodes import Query
from privet.query.shape import schema_within_limits

from .contributions import refuse_chosen
from .keys import MOST_KEYS, Choice, bounded_values, choices, has_group
from .make import known_rows, private_schema, scan_keys
from .matrix import MatrixMeasure
from .plan import Known, Pass, Plan, Spend
from .stability import Rule, bounding_for, reach_of

if TYPE_CHECKING:
    from privet.strategy import MarginalWorkload, MatrixStrategy, Strategy, StrategyMeasure, TreeStrategy, Workload
    from privet.strategy.strategies import Noise

MOST_MEASURED = 2**20
"""The most numbers that one release measures, and the most cells of a domain that is counted cell by cell."""

_DIGITS = 6
"""The binary digits of weights that an optimisation chose: more of them would gain nothing, and differ by machine."""

Design = Callable[[tuple[int, ...], "Noise"], "Strategy"]
"""Returns the strategy for a domain of some sizes, and a kind of noise."""


@dataclass(frozen=True, repr=False)
class CountsPlan:
    """A plan for many counts: the one that is charged, where each key is among its cells, and their known total."""

    plan: Plan
    names: tuple[str, ...]
    keys: tuple[GroupKey, ...]
    """The keys by the names that they were asked by, in that order."""
    axes: tuple[int, ...]
    """For each name, which attribute of the strategy it is."""
    total: Known | None
    """The number of all rows, where public facts fix it and every row is in a cell."""

    @property
    def measure(self) -> StrategyMeasure:
        """The strategy and its noise."""
        measure = self.plan.passes[0].measure
        if not isinstance(measure, MatrixMeasure):
            raise InvariantError("many counts are measured by a strategy")
        noise: StrategyMeasure = measure.noise
        return noise

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of values of each key, in the order of the strategy."""
        return tuple(len(key.values or ()) for key in self.plan.passes[0].scan.keys)


def plan_counts(
    query: Query,
    tables: Mapping[str, Schema],
    *,
    spend: Spend,
    design: Design,
    workload: Callable[[tuple[int, ...]], Workload],
    bound: Rule = "norm",
    contribution: Contribution | None = None,
    nulls: bool = True,
    total: Callable[[Schema, Mapping[str, ColumnFacts]], Sum] | None = None,
) -> CountsPlan:
    """Return the plan with the least error for a workload over the cells of a query's keys.

    `design` chooses a strategy, for each noise that the spend allows; the workload decides which of them errs least.
    Without `nulls`, rows in which a key is NULL are in no cell. Rows are counted, or summed by `total`.
    """
    schema = private_schema(query.table, tables)
    refuse_chosen(query.table, tables, contribution, "for many counts at once")
    limits = schema_within_limits(query.table, tables, contribution)
    keys = _public_keys(query, schema)
    keys = keys if nulls else tuple(map(_without_null, keys))
    bounding = bounding_for(schema, limits.contribution, rule=bound, grouped=True, order=1, distinct=False)
    summed = rows(None) if total is None else total(schema, limits.columns)
    scan = Scan(query.table, schema, query.where, keys, (summed,), bounding)
    sizes = tuple(len(key.values or ()) for key in keys)
    wanted = workload(sizes)
    measures = [strategy_measure(scan, design(sizes, _noise(choice)), choice) for choice in choices(spend, 1)]
    best = min(measures, key=lambda measure: wanted.rmse(measure.covariance))
    asked = replace(query, keys=(), aggregates=(), steps=(), levels=(), groupings=())
    plan = Plan(asked, (Pass(scan, MatrixMeasure(best)),), (), spend)
    order = [keys.index(next(key for key in keys if key.expression == own.expression)) for own in query.keys]
    names = tuple(key.name for key in query.keys)
    known = known_total(query, schema) if nulls and total is None else None
    return CountsPlan(plan, names, tuple(keys[axis] for axis in order), tuple(order), known)


def strategy_measure(scan: Scan, strategy: Strategy, choice: Choice) -> StrategyMeasure:
    """Return a strategy with noise for the units of a scan, at a share of a spend.

    Guarantee: `MatrixMeasure.verify` computes all of it again before anything is charged.
    """
    from privet.strategy import StrategyMeasure
    from privet.strategy.residuals import MarginalStrategy, ResidualStrategy

    if strategy.rows > MOST_MEASURED:
        raise _too_many(strategy.rows, "measurements")
    if strategy.cells > MOST_MEASURED and not isinstance(strategy, (MarginalStrategy, ResidualStrategy)):
        raise _too_many(strategy.cells, "cells")
    shift = scan.bounding.shift
    price = {"epsilon" if strategy.measure == "pure" else "rho": choice.share}
    return StrategyMeasure(
        strategy,
        neighbors=scan.schema.moves,
        contribution=reach_of(scan) / 2**shift,
        shift=shift,
        **price,
    )


def known_total(query: Query, schema: Schema) -> Known | None:
    """Return the sum of all cells, where public facts fix it.

    Guarantee: under change-one, where each row is a unit and their number is declared, neighbours have equally many
    rows; nothing chooses rows, and whatever a row holds it is in one cell. No data is read for it.
    """
    whole = isinstance(query.table, str) and query.where is None and schema.units is not None and known_rows(schema)
    if not whole or any(has_group(key.expression, schema.columns) is not None for key in query.keys):
        return None
    return None if schema.units is None else Known(schema.units)


def _noise(choice: Choice) -> Noise:
    return "pure" if choice.family == "laplace" else "gaussian"


def _public_keys(query: Query, schema: Schema) -> tuple[GroupKey, ...]:
    keys = scan_keys(query, schema)
    if not keys:
        raise RequestError("name at least one column whose values are declared")
    values = {key.expression: key.values for key in keys}
    hidden = [asked.name for asked in query.keys if values[asked.expression] is None]
    wide = {asked.name: many for asked in query.keys if (many := bounded_values(asked.expression, schema.columns))}
    for name in hidden:
        if name in wide:
            raise RequestError(
                f"{name} has {wide[name]:,} values between its declared bounds, and a column that is counted by has at "
                f"most {MOST_KEYS:,}; group numbers into bins, privet.col({name!r}).bin(width), and days into weeks or "
                f"months"
            )
    if hidden:
        raise RequestError(
            f"the values of {', '.join(hidden)} are not declared, and cells are those of declared values only; declare "
            f"them (category([...]), or low and high), or group them into bins"
        )
    empty = [asked.name for asked in query.keys if not values[asked.expression]]
    if empty:
        raise RequestError(f"{', '.join(empty)} has no values at all, so that there is no cell to count")
    return keys


def _without_null(key: GroupKey) -> GroupKey:
    return replace(key, values=tuple(value for value in key.values or () if value is not None), nullable=False)


def range_design(sizes: tuple[int, ...], noise: Noise) -> Strategy:
    """Return the best strategy for all ranges of a column that is the same on every machine, within a second.

    For Laplace noise, kept ones or parts of them, and closed forms: the result of an optimisation depends on how a
    machine rounds, and a plan that differs by that would be charged again. The optimum for Gaussian noise is unique,
    and its rows are rounded far above such differences; over more cells the root of all ranges, in closed form, is as
    good.
    """
    from privet.strategy import TreeStrategy, all_ranges, optimize

    (cells,) = sizes
    quick = noise == "pure" or cells > _MOST_OPTIMISED
    best = optimize(all_ranges(cells), measure=noise, effort="low" if quick else "normal").strategy
    return _with_short_levels(best) if isinstance(best, TreeStrategy) else best


_MOST_OPTIMISED = 1024
"""The most cells whose strategy for Gaussian noise is optimised when it is asked for."""


def _with_short_levels(tree: TreeStrategy) -> TreeStrategy:
    """Return a tree with weights of levels that have a few binary digits."""
    from privet.strategy.hierarchies import tree as made

    held = dict(zip(tree.spans, tree.level_weights, strict=True))
    spans = [1]
    while spans[-1] < tree.cells:
        spans.append(spans[-1] * tree.branching)
    weights = [significant(held[span]) if span in held else 0 for span in spans[::-1]]
    common = math.gcd(*weights)
    short = [weight // common for weight in weights]
    return made(tree.cells, branching=tree.branching, measure=tree.measure, weights=short, name=tree.name)


def _too_many(many: int, what: str) -> RequestError:
    return RequestError(
        f"this needs {many:,} {what}, and one release has at most {MOST_MEASURED:,}; ask for marginals of fewer "
        f"columns (ways=1 or 2), group values into wider bins, or leave out a column"
    )


Ordered = Literal["ranges", "prefixes"]
"""The questions along a column whose values have an order."""


@lru_cache(maxsize=32)
def spans_workload(kind: Ordered, cells: int, null: bool) -> Workload:
    """Return all ranges or all prefixes of the values of a column; NULL, which is in none, is a cell of its own."""
    import numpy as np

    from privet.strategy import RangeWorkload, all_ranges, prefixes

    size = cells - null
    listed = all_ranges(size) if kind == "ranges" else prefixes(size)
    if not null:
        return listed
    last = np.array([cells - 1])
    return RangeWorkload(
        f"{listed.name} and NULL", cells, np.concatenate([listed.lows, last]), np.concatenate([listed.highs, last])
    )


def marginal_workload(
    sizes: tuple[int, ...],
    subsets: tuple[tuple[int, ...], ...],
    weights: tuple[float, ...],
    factors: Mapping[int, Workload],
) -> MarginalWorkload:
    """Return the workload of marginals, of which each counts as much as it has cells, however many ranges it has."""
    from privet.strategy import marginals

    shares = [
        weight * math.prod(sizes[axis] / factors[axis].mass for axis in axes if axis in factors)
        for axes, weight in zip(subsets, weights, strict=True)
    ]
    return marginals(sizes, subsets, weights=shares, factors=factors)


def marginal_design(
    subsets: tuple[tuple[int, ...], ...], weights: tuple[float, ...], factors: Mapping[int, Workload]
) -> Design:
    """Return the choice of a strategy for marginals: residuals for Gaussian noise, and for Laplace noise the best of
    weighted marginals and of single cells, whose products are optimised.

    Where ranges are asked for along a column, a product of the best strategy of each column is tried beside residuals:
    for one table it is the optimum.
    """

    def design(sizes: tuple[int, ...], noise: Noise) -> Strategy:
        from privet.strategy import ProductStrategy, optimize, plan_marginals, plan_residuals
        from privet.strategy.residuals import MarginalStrategy

        asked = marginal_workload(sizes, subsets, weights, factors)
        if noise == "gaussian":
            residuals: Strategy = with_short_weights(plan_residuals(asked))
            if not factors or asked.cells > MOST_MEASURED:
                return residuals
            product = _best_product(sizes, subsets, factors)
            return min(residuals, product, key=lambda strategy: strategy.rmse(asked))
        if asked.cells > MOST_MEASURED:
            weighted: Strategy = with_short_weights(plan_marginals(asked, measure=noise))
            return weighted
        best = optimize(asked, measure=noise, effort="low").strategy
        if factors and isinstance(best, ProductStrategy):
            return ProductStrategy(tuple(map(_with_short_weights_of_levels, best.factors)))
        strategy: Strategy = with_short_weights(best) if isinstance(best, MarginalStrategy) else best
        return strategy

    return design


def _with_short_weights_of_levels(factor: MatrixStrategy) -> MatrixStrategy:
    from privet.strategy import TreeStrategy

    return _with_short_levels(factor) if isinstance(factor, TreeStrategy) else factor


def _best_product(
    sizes: tuple[int, ...], subsets: tuple[tuple[int, ...], ...], factors: Mapping[int, Workload]
) -> Strategy:
    """Return the product of the best strategies of each column for Gaussian noise; only totals where it is in none."""
    from privet.strategy import MatrixStrategy, ProductStrategy, identity_strategy

    used = {axis for axes in subsets for axis in axes}
    parts: list[MatrixStrategy] = []
    for axis, size in enumerate(sizes):
        if axis not in used:
            parts.append(MatrixStrategy("total", "gaussian", [[1] * size], [1]))
        elif axis in factors:
            parts.append(_best_along(factors[axis]))
        else:
            parts.append(identity_strategy(size, measure="gaussian"))
    return ProductStrategy(tuple(parts))


_MOST_BESIDE = 256
"""The most values of a column whose strategy beside other columns is optimised for Gaussian noise."""


@lru_cache(maxsize=16)
def _best_along(workload: Workload) -> MatrixStrategy:
    from privet.strategy import MatrixStrategy, optimize

    # a closed form is as good there, and an optimum of this many rows differs from machine to machine
    closed = workload.cells > _MOST_BESIDE and getattr(workload, "name", "") in ("all ranges", "prefixes")
    best = optimize(workload, measure="gaussian", effort="low" if closed else "normal").strategy
    if not isinstance(best, MatrixStrategy):
        raise InvariantError("the best strategy of one column has a matrix")
    return best


def significant(weight: int, digits: int = _DIGITS) -> int:
    """Return a positive whole number with its first binary digits only, the rest rounded off."""
    extra = max(0, weight.bit_length() - digits)
    return max(1, round(Fraction(weight, 2**extra))) << extra


def with_short_weights(strategy: Any) -> Any:
    """Return a strategy of marginals with weights of a few digits, in lowest terms."""
    weights = [significant(weight) for weight in strategy.weights]
    common = math.gcd(*weights)
    return replace(strategy, weights=tuple(weight // common for weight in weights))
