"""Plans for running totals of a history at one charge: prefixes of a key in order, in each group. Reads no data."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from privet.aggregates.column_sums import Total
from privet.core.errors import BadParameter, InvariantError, RequestError
from privet.core.scan import GroupKey, Sum
from privet.core.schema import ColumnFacts, Contribution, Schema
from privet.core.wire import canonical
from privet.query.nodes import Query

from .make import aggregate_of
from .many_counts import CountsPlan, Design, plan_counts, significant
from .plan import Spend
from .stability import Rule

if TYPE_CHECKING:
    from privet.strategy import MatrixStrategy, Strategy, Workload
    from privet.strategy.strategies import Noise

FEWEST_OPTIMISED = 8
"""Below this many steps a tree gains nothing on single cells."""


@dataclass(frozen=True)
class HistorySteps:
    """Where the steps of a history are among the values of its key: `first`, and then `count` in order."""

    first: int
    count: int


def plan_prefixes(
    query: Query,
    tables: Mapping[str, Schema],
    *,
    spend: Spend,
    bound: Rule = "norm",
    contribution: Contribution | None = None,
) -> CountsPlan:
    """Return the plan of running totals by a query's first key, in each group of the others.

    The query has one aggregate: COUNT(*), or the SUM of an expression. Laplace noise is added to the nodes of a tree,
    and Gaussian noise to the square root factorisation, whose matrix is fixed and of integers.
    """
    (asked,) = query.aggregates
    axis = sorted(canonical(key.expression) for key in query.keys).index(canonical(query.keys[0].expression))

    def total(schema: Schema, limited: Mapping[str, ColumnFacts]) -> Sum:
        aggregate = aggregate_of(asked, schema, limited, query.where)
        if type(aggregate) is not Total:
            raise InvariantError("running totals are of counts and sums")
        return aggregate.sums()[0]

    def workload(sizes: tuple[int, ...]) -> Workload:
        from privet.strategy import identity, prefixes, product

        factors = [prefixes(size) if place == axis else identity(size) for place, size in enumerate(sizes)]
        return product(*factors) if len(factors) > 1 else factors[0]

    plan = plan_counts(
        query,
        tables,
        spend=spend,
        design=_design(axis),
        workload=workload,
        bound=bound,
        contribution=contribution,
        total=None if asked.argument is None else total,
    )
    steps_of(plan.keys[0], plan.names[0])
    return plan


def steps_of(key: GroupKey, name: str) -> HistorySteps:
    """Return where the steps of a history are among the values of a key, which must be in order."""
    values: tuple[Any, ...] = key.values or ()
    places = [place for place, value in enumerate(values) if value is not None]
    listed = [values[place] for place in places]
    kinds = {type(value) for value in listed}
    ordered = len(kinds) == 1 and kinds <= {int, datetime.date, datetime.datetime}
    if not ordered or listed != sorted(listed) or places != list(range(places[0], places[0] + len(places))):
        raise BadParameter("by", name, "a column of dates or whole numbers with declared bounds, or bins of one")
    return HistorySteps(places[0], len(places))


def _design(axis: int) -> Design:
    def design(sizes: tuple[int, ...], noise: Noise) -> Strategy:
        from privet.strategy import ProductStrategy, identity_strategy

        factors = tuple(
            _over_steps(size, noise) if place == axis else identity_strategy(size, measure=noise)
            for place, size in enumerate(sizes)
        )
        return ProductStrategy(factors) if len(factors) > 1 else factors[0]

    return design


def _over_steps(size: int, noise: Noise) -> MatrixStrategy:
    """Return the strategy along the steps: the square root of prefixes, or the best tree for them."""
    from privet.strategy import best_tree, identity_strategy, prefixes, square_root

    if noise == "gaussian":
        return square_root(size)
    if size < FEWEST_OPTIMISED:
        return identity_strategy(size, measure=noise)
    tree = best_tree(prefixes(size), measure=noise)
    # weights of a few digits, so that another machine's optimum is the same plan
    return replace(tree, weights=tuple(significant(weight) for weight in tree.weights))


def check_asked(query: Query) -> None:
    """Raise unless a question has the form of running totals: one count or sum, by at least one key."""
    if len(query.aggregates) != 1 or not query.keys or query.levels or query.others:
        raise RequestError("running totals are of one count or sum, by a column that is in order")
