"""Many counts at one charge: from names to a plan, and from a plan to an object that answers again for free."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from privet.core.errors import BadParameter, RequestError, UnknownName
from privet.core.given import choice, is_a, listed
from privet.core.numbers import Number, rational, whole
from privet.core.relation import Expression
from privet.core.scan import GroupKey
from privet.core.schema import Schema
from privet.display import Figures
from privet.planner.keys import group_key
from privet.planner.make import private_schema
from privet.planner.many_counts import (
    CountsPlan,
    Ordered,
    marginal_design,
    marginal_workload,
    plan_counts,
    range_design,
    spans_workload,
)
from privet.planner.stability import loses
from privet.planner.verify import verify
from privet.query.evaluation import bucket
from privet.query.expressions import typed
from privet.query.frame import Frame
from privet.query.nodes import Query
from privet.query.terms import Term, col, count, histogram
from privet.results.released_counts import Marginals, rising
from privet.results.released_ranges import Ranges

from .counted_plan import CountedPlan, error_figures
from .executor import Executor, Kept
from .request import AskOptions, Catalog, spend_of

if TYPE_CHECKING:
    from privet.strategy import Workload

Columns = Sequence[str | Term]
Weights = Mapping[str | tuple[str, ...], Number]

_ROWS = "rows_of_a_cell"
_MOST_LISTED = 40
_LARGEST_WEIGHT = 10**9


@dataclass(frozen=True, repr=False)
class MarginalsPlan(CountedPlan):
    """Everything about marginals before they are charged: the measurements, the price, and every error to expect.

    Example:
        >>> plan = session.plan_marginals("visits", ["ward", "age"], epsilon=1)
        >>> plan.price["epsilon"], list(plan.errors)
        (1.0, [('ward', 'age')])
    """

    asked: tuple[tuple[str, ...], ...]
    ordered: Mapping[str, Ordered] = field(default_factory=dict)
    """The ranges or prefixes asked for along some columns, besides their single values."""

    @property
    def errors(self) -> dict[tuple[str, ...], float]:
        """The standard error of a count of each table: the root of the mean variance, where cells differ."""
        return {table: self._error(table, {}) for table in self.asked}

    @property
    def range_errors(self) -> dict[tuple[str, ...], float]:
        """The same for the ranges or prefixes of each table that has columns asked for in these."""
        listed = [table for table in self.asked if any(name in self.ordered for name in table)]
        return {table: self._error(table, self.ordered) for table in listed}

    def _error(self, names: tuple[str, ...], ordered: Mapping[str, Ordered]) -> float:
        from privet.strategy import marginals

        noise = self.counts.measure
        axes = dict(zip(self.counts.names, self.counts.axes, strict=True))
        keys = dict(zip(self.counts.names, self.counts.keys, strict=True))
        factors = {axes[name]: _spans(keys[name], ordered[name]) for name in names if name in ordered}
        asked = [sorted(axes[name] for name in names)]
        return marginals(noise.strategy.shape, asked, factors=factors).rmse(noise.covariance)

    def to_dict(self) -> dict[str, Any]:
        """Return everything public about the plan as plain data that JSON can represent."""
        errors = [{"columns": list(table), "standard_error": error} for table, error in self.errors.items()]
        ranges = [
            {"columns": list(table), "ordered": {name: self.ordered[name] for name in table if name in self.ordered}}
            | {"standard_error": error}
            for table, error in self.range_errors.items()
        ]
        return {**self.counts.plan.to_dict(), "tables": errors, **({"ranges": ranges} if ranges else {})}

    def _figures(self) -> list[Figures]:
        errors = {", ".join(table) or "all rows": error for table, error in list(self.errors.items())[:_MOST_LISTED]}
        for table, error in list(self.range_errors.items())[:_MOST_LISTED]:
            columns = (f"{name} ({self.ordered[name]})" if name in self.ordered else name for name in table)
            errors[", ".join(columns)] = error
        return error_figures("counts by", errors, self.counts)


def plan_marginals(
    frame: Frame,
    columns: Columns,
    catalog: Catalog,
    options: AskOptions,
    *,
    ways: int | None = None,
    subsets: Sequence[Sequence[str]] | None = None,
    weights: Weights | None = None,
    ordered: Mapping[str, Ordered] | None = None,
) -> MarginalsPlan:
    """Return the plan of marginals over some columns of a table: those of this many ways, or those listed."""
    query = cells_of(frame, columns)
    names = tuple(key.name for key in query.keys)
    asked = _subsets(names, ways, subsets)
    amounts = _weights(asked, weights)
    # the strategy numbers attributes in an order of its own, which the digest shall not depend on
    order = _order(query)
    axes = tuple(tuple(sorted(order[name] for name in table)) for table in asked)
    ranked = sorted(zip(axes, amounts, strict=True))
    sets, shares = tuple(axes_of for axes_of, _ in ranked), tuple(share for _, share in ranked)
    kinds = _ordered(names, ordered)
    factors: dict[int, Workload] = {}
    if kinds:
        schema = private_schema(query.table, catalog.schemas)
        keys = {key.name: group_key(key.expression, schema.columns) for key in query.keys}
        # keys without declared values are refused below, with all others
        some = {name: kind for name, kind in kinds.items() if keys[name].values}
        for name, kind in some.items():
            _check_ordered(name, keys[name])
            factors[order[name]] = _spans(keys[name], kind)

    def workload(sizes: tuple[int, ...]) -> Workload:
        return marginal_workload(sizes, sets, shares, factors)

    plan = plan_counts(
        query,
        catalog.schemas,
        spend=spend_of(catalog.budget, options),
        design=marginal_design(sets, shares, factors),
        workload=workload,
        bound=options.bound,
        contribution=options.stated,
    )
    return MarginalsPlan(plan, asked, kinds)


_MOST_ORDERED = 1024
"""The most values of a column whose ranges are planned together with other columns."""


def _ordered(names: tuple[str, ...], ordered: object) -> dict[str, Ordered]:
    """Return which columns are asked for in ranges or prefixes."""
    if ordered is None:
        return {}
    if not isinstance(ordered, Mapping):
        raise BadParameter("ordered", type(ordered).__name__, "a mapping of columns, such as {'age': 'ranges'}")
    kinds = {}
    for name, kind in ordered.items():
        if not isinstance(name, str):
            raise BadParameter("ordered", type(name).__name__, f"names of columns: {', '.join(names)}")
        if name not in names:
            raise UnknownName("column", name, names)
        kinds[name] = cast(Ordered, choice(kind, "ordered", get_args(Ordered)))
    return kinds


def _check_ordered(name: str, key: GroupKey) -> None:
    """Refuse ranges of a column whose values have no order, or that has too many of them."""
    values = [value for value in key.values or () if value is not None]
    if not rising(values):
        raise RequestError(
            f"the declared values of {name} are not numbers or dates that rise, so there are no ranges or prefixes of "
            f"them; leave {name} out of ordered=, or declare its values in their order"
        )
    if len(values) > _MOST_ORDERED:
        raise RequestError(
            f"{name} has {len(values):,} values, and ranges beside other columns are planned over at most "
            f"{_MOST_ORDERED:,}; group them into bins, privet.col({name!r}).bin(width), or ask session.ranges for "
            f"{name} alone"
        )


def _spans(key: GroupKey, kind: Ordered) -> Workload:
    values = key.values or ()
    return spans_workload(kind, len(values), None in values)


def run_marginals(
    executor: Executor, plan: MarginalsPlan, *, nonnegative: bool, whole: bool, key: str | None
) -> Marginals:
    """Return the release of a plan of marginals: from the ledger, or charged, read and drawn."""
    kept = run_counts(executor, plan.counts, key)
    return _marginals_of(plan, held_of(plan.counts, kept), nonnegative=nonnegative, whole=whole)


def rehearsed_marginals(plan: MarginalsPlan) -> Marginals:
    """Return marginals as the plan's, of zeros: questions they cannot answer are refused before anything is charged."""
    return _marginals_of(plan, _held(plan.counts, _zeros(plan.counts)), nonnegative=False, whole=False)


def _marginals_of(plan: MarginalsPlan, held: dict[str, Any], *, nonnegative: bool, whole: bool) -> Marginals:
    return Marginals(**held, nonnegative=nonnegative, whole=whole, asked=plan.asked)


@dataclass(frozen=True, repr=False)
class RangesPlan(CountedPlan):
    """Everything about the ranges of a column before they are charged: the measurements, the price, the errors.

    Example:
        >>> session.plan_ranges("visits", "age", epsilon=1).price["epsilon"]
        1.0
    """

    kind: Literal["integer", "number", "date"]
    starts: tuple[Any, ...]
    ends: tuple[Any, ...]

    @property
    def errors(self) -> dict[str, float]:
        """The standard errors: of a range, on average over all; of a prefix; of a single cell; of all rows."""
        from privet.strategy import all_ranges, identity, prefixes, total

        n, covariance = len(self.starts), self.counts.measure.covariance
        asked = {"range": all_ranges(n), "prefix": prefixes(n), "cell": identity(n), "all rows": total(n)}
        return {name: workload.rmse(covariance) for name, workload in asked.items()}

    def to_dict(self) -> dict[str, Any]:
        """Return everything public about the plan as plain data that JSON can represent."""
        errors = [{"of": name, "standard_error": error} for name, error in self.errors.items()]
        return {**self.counts.plan.to_dict(), "errors": errors}

    def _figures(self) -> list[Figures]:
        return error_figures("count of", self.errors, self.counts)


_CELLS, _MOST_CELLS = 256, 4096
"""How many bins numbers are counted in, unless another number is asked for; and the most cells."""


def plan_ranges(
    frame: Frame, column: str | Term, catalog: Catalog, options: AskOptions, *, bins: int | None = None
) -> RangesPlan:
    """Return the plan for all ranges of a column: of every value, or of bins."""
    if not is_a(column, (str, Term)) or (isinstance(column, str) and not column):
        raise BadParameter("column", column, "the name of a column, such as 'age'")
    many = None if bins is None else whole(bins, "bins", least=1, most=_MOST_CELLS)
    if not isinstance(frame, Frame) or frame._keys:
        raise BadParameter("table", type(frame).__name__, "a table of this session, before group_by")
    counted = frame.agg(**{_ROWS: count(column)}).query()
    schema = private_schema(counted.table, catalog.schemas)
    over = counted.aggregates[0].argument
    kind = None if over is None else typed(over, schema.columns).kind
    name = column if isinstance(column, str) else "value"
    if kind == "number":
        query = frame.agg(histogram(column, _CELLS if many is None else many)).query()
        edges = _edges(query.keys[0].expression)
        cells = tuple(edges[:-1]), tuple(edges[1:])
    elif kind in ("integer", "date"):
        query, cells = _listed_cells(frame, column, cells_of(frame, [column]), schema, many, kind)
    else:
        raise RequestError(
            f"{name} holds {kind or 'NULL'} values, and ranges are of numbers and dates; count its values with "
            f"marginals instead"
        )
    query = replace(query, keys=(replace(query.keys[0], name=name),), each=False)
    plan = plan_counts(
        query,
        catalog.schemas,
        spend=spend_of(catalog.budget, options),
        design=range_design,
        workload=_all_ranges,
        bound=options.bound,
        contribution=options.stated,
        nulls=False,
    )
    return RangesPlan(plan, kind, *cells)


def _all_ranges(sizes: tuple[int, ...]) -> Workload:
    from privet.strategy import all_ranges

    return all_ranges(sizes[0])


def _edges(bins: Expression) -> list[float]:
    """Return where the bins of a histogram start, and where the last one ends.

    Engines compute bins in doubles, by which 0.29 is below the 29th hundredth of 1: a bin starts at the least number
    that is not in one before it, and numbers that only differ from its start by rounding may be in it.
    """
    low, high, number = (argument.constant for argument in bins.arguments[1:])
    first, last, count = Fraction(cast(Any, low)), Fraction(cast(Any, high)), int(str(number))
    edges = [float(first + (last - first) * place / count) for place in range(count + 1)]
    for place in range(1, count):
        before, start = edges[place], edges[place]
        if bucket((start, low, high, count), ()) < place:
            start = edges[place + 1]
            while before < (middle := before + (start - before) / 2) < start:
                before, start = (before, middle) if bucket((middle, low, high, count), ()) >= place else (middle, start)
            edges[place] = start
    return edges


def _listed_cells(
    frame: Frame, column: str | Term, query: Query, schema: Schema, bins: int | None, kind: str
) -> tuple[Query, tuple[tuple[Any, ...], tuple[Any, ...]]]:
    """Return the question whose groups are the values of a column or bins of them, and the ends of these."""
    asked = query.keys[0]
    facts = typed(asked.expression, schema.columns)
    if kind == "integer" and facts.values is None and facts.low is not None and facts.high is not None:
        low, high = int(cast(Any, facts.low)), int(cast(Any, facts.high))
        count_of = high - low + 1
        if bins is not None and bins < count_of:
            width = -(-count_of // bins)
            made = cells_of(frame, [_term(column).bin(width)])
            values = _values(made, schema)
            return made, (
                tuple(max(value, low) for value in values),
                tuple(min(value + width - 1, high) for value in values),
            )
        if count_of > _MOST_CELLS:
            raise RequestError(
                f"{asked.name} has {count_of:,} values, and ranges are measured over at most {_MOST_CELLS:,} cells; "
                f"group them into bins: bins=1024 makes each {-(-count_of // 1024):,} values wide"
            )
    elif bins is not None:
        raise RequestError(f"bins= is for numbers, and {asked.name} is counted value by value; leave bins= out")
    values = _values(query, schema)
    if len(values) > _MOST_CELLS:
        raise RequestError(
            f"{asked.name} has {len(values):,} values, and ranges are measured over at most {_MOST_CELLS:,} cells; "
            f"choose fewer of them with a condition, or count by week or month"
        )
    if list(values) != sorted(values):
        raise RequestError(f"the declared values of {asked.name} do not rise; declare them in their order")
    return query, (values, values)


def _term(column: str | Term) -> Term:
    return col(column) if isinstance(column, str) else column


def _values(query: Query, schema: Schema) -> tuple[Any, ...]:
    key = group_key(query.keys[0].expression, schema.columns)
    if key.values is None:
        raise RequestError(
            f"the bounds of {query.keys[0].name} are not declared, or too far apart, and cells are those of declared "
            f"values only; declare low and high for it"
        )
    return tuple(value for value in key.values if value is not None)


def run_ranges(executor: Executor, plan: RangesPlan, *, nonnegative: bool, whole: bool, key: str | None) -> Ranges:
    """Return the release of a plan of ranges: from the ledger, or charged, read and drawn."""
    kept = run_counts(executor, plan.counts, key)
    return _ranges_of(plan, held_of(plan.counts, kept), nonnegative=nonnegative, whole=whole)


def rehearsed_ranges(plan: RangesPlan) -> Ranges:
    """Return ranges as the plan's, of zeros: questions they cannot answer are refused before anything is charged."""
    return _ranges_of(plan, _held(plan.counts, _zeros(plan.counts)), nonnegative=False, whole=False)


def _ranges_of(plan: RangesPlan, held: dict[str, Any], *, nonnegative: bool, whole: bool) -> Ranges:
    facts: dict[str, Any] = {"kind": plan.kind, "starts": plan.starts, "ends": plan.ends}
    return Ranges(**held, nonnegative=nonnegative, whole=whole, **facts)


def run_counts(executor: Executor, counts: CountsPlan, key: str | None) -> Kept:
    """Return the stored release of a plan of many counts, or else charge, scan, draw and store."""
    executor.check_open()
    verify(counts.plan, executor.schemas)
    kept = executor.find(counts.plan, key)
    if kept is None:
        with executor.turn(counts.plan.digest):
            kept = executor.release(counts.plan, key)
    return kept


def held_of(counts: CountsPlan, kept: Kept) -> dict[str, Any]:
    """Return the content of an object that answers again: released numbers, and public facts about them."""
    (column,) = kept.released.sums[0]
    return _held(counts, tuple(column))


def _zeros(counts: CountsPlan) -> tuple[int, ...]:
    return (0,) * counts.measure.strategy.rows


def _held(counts: CountsPlan, released: tuple[int, ...]) -> dict[str, Any]:
    pass_ = counts.plan.passes[0]
    low = loses(pass_)
    notes = ["Rows whose values are not declared are in no cell, and were dropped before anyone was scaled down."]
    if low:
        notes.append(
            "Contributions above the declared limit are scaled down, so totals may be too low; intervals do not cover "
            "this."
        )
    return {
        "table": tables_in(counts),
        "names": counts.names,
        "values": tuple(key.values or () for key in counts.keys),
        "axes": counts.axes,
        "measure": counts.measure,
        "released": released,
        "digest": counts.plan.digest,
        "version": pass_.scan.schema.version,
        "price": dict(counts.plan.price),
        "total": None if counts.total is None else counts.total.value,
        "may_be_low": low,
        "notes": tuple(notes),
    }


def tables_in(counts: CountsPlan) -> str:
    """Return the names of the tables that are read."""
    from privet.core.relation import tables_of

    return " and ".join(tables_of(counts.plan.passes[0].scan.table))


def cells_of(frame: Frame, columns: Columns) -> Query:
    """Return the question whose groups are the cells: a count of rows by some columns."""
    if not isinstance(frame, Frame):
        raise BadParameter("table", type(frame).__name__, "the name of a table, or a table of this session")
    if isinstance(columns, str):
        raise BadParameter("columns", columns, "a list of columns, such as ['ward', 'sex']")
    given = listed(columns, "columns", "a list of columns, such as ['ward', 'sex']", most=1000)
    if not given or not all(is_a(column, (str, Term)) for column in given):
        raise BadParameter("columns", columns, "a list of columns, such as ['ward', 'sex'], at least one")
    names = [column for column in given if isinstance(column, str)]
    if len(set(names)) < len(names):
        raise BadParameter("columns", ", ".join(names), "different columns")
    query = frame.group_by(*given).agg(**{_ROWS: count()}).query()
    if len(query.keys) != len(given) or query.levels or query.others:
        raise BadParameter("columns", columns, "different columns of rows that are not grouped yet")
    if len({key.expression for key in query.keys}) < len(given):
        raise BadParameter("columns", columns, "different columns")
    return replace(query, each=False)


def _order(query: Query) -> dict[str, int]:
    """Return which attribute each key of a question is, in the order of a scan's own."""
    from privet.core.wire import canonical

    texts = sorted(canonical(key.expression) for key in query.keys)
    return {key.name: texts.index(canonical(key.expression)) for key in query.keys}


_MOST_TABLES = 10_000


def _subsets(
    names: tuple[str, ...], ways: int | None, subsets: Sequence[Sequence[str]] | None
) -> tuple[tuple[str, ...], ...]:
    if subsets is None:
        many = whole(min(2, len(names)) if ways is None else ways, "ways", least=1, most=len(names))
        if math.comb(len(names), many) > _MOST_TABLES:
            raise RequestError(
                f"there are {math.comb(len(names), many):,} sets of {many} of these columns, and at most "
                f"{_MOST_TABLES:,} are measured at once; list those that matter: subsets=[['ward', 'sex'], ...]"
            )
        return tuple(combinations(names, many))
    if ways is not None:
        raise RequestError("pass either ways= or subsets=, not both")
    allowed = "a list of lists of columns, such as [['ward', 'sex'], ['age']]"
    sets: dict[frozenset[str], tuple[str, ...]] = {}
    for subset in listed(subsets, "subsets", allowed, most=_MOST_TABLES):
        if isinstance(subset, str):
            raise BadParameter("subsets", subset, allowed)
        columns = tuple(listed(subset, "subsets", allowed, most=len(names)))
        _check_named(columns, names, "subsets", allowed)
        if frozenset(columns) in sets or len(set(columns)) < len(columns):
            raise BadParameter("subsets", ", ".join(columns), f"{allowed}, each once")
        sets[frozenset(columns)] = columns
    if not sets:
        raise BadParameter("subsets", "an empty list", allowed)
    return tuple(sets.values())


def _weights(asked: tuple[tuple[str, ...], ...], weights: Weights | None) -> tuple[float, ...]:
    """Return how much the squared error of each table matters: 1 where nothing is stated."""
    if weights is None:
        return (1.0,) * len(asked)
    allowed = "a mapping of sets of columns to numbers above 0, such as {('ward', 'sex'): 3}"
    if not isinstance(weights, Mapping):
        raise BadParameter("weights", type(weights).__name__, allowed)
    places = {frozenset(table): place for place, table in enumerate(asked)}
    amounts, seen = [1.0] * len(asked), set()
    for columns, amount in weights.items():
        named = (columns,) if isinstance(columns, str) else tuple(columns) if isinstance(columns, tuple) else None
        if named is None or not all(isinstance(name, str) for name in named):
            raise BadParameter("weights", columns, allowed)
        if frozenset(named) not in places or len(set(named)) < len(named):
            listed_sets = "; ".join(", ".join(table) for table in asked[:_MOST_LISTED])
            raise BadParameter("weights", ", ".join(named), f"sets of columns that are asked for: {listed_sets}")
        number = rational(amount, "weights")
        if not 0 < number <= _LARGEST_WEIGHT:
            raise BadParameter("weights", amount, f"numbers above 0, up to {_LARGEST_WEIGHT:,}")
        place = places[frozenset(named)]
        if place in seen:
            raise BadParameter("weights", ", ".join(named), "sets of different columns, each with one weight")
        seen.add(place)
        amounts[place] = float(number)
    return tuple(amounts)


def _check_named(given: tuple[object, ...], names: tuple[str, ...], parameter: str, allowed: str) -> None:
    for name in given:
        if not isinstance(name, str):
            raise BadParameter(parameter, type(name).__name__, allowed)
        if name not in names:
            raise UnknownName("column", name, names)
