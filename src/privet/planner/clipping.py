"""Questions about what clamping and bounding take away from another question. Public: made from its tree alone.

They are ordinary questions, planned, bounded and charged like any other: the planner proves how far one unit can move
each of their sums, and nothing here needs a proof of its own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from privet.core.expression import Call, Column, Expression, Literal
from privet.core.scan import Norm, Truncate
from privet.core.schema import Column as Facts
from privet.core.schema import Schema
from privet.core.unit import Person, unit_columns
from privet.query.aggregating import count, count_units
from privet.query.aggregating import sum as total
from privet.query.frame import Frame
from privet.query.functions import typed
from privet.query.join import standing_on
from privet.query.nodes import Aggregate, Output, Query, Step
from privet.query.normal import conjunction, text
from privet.query.relation import OVER_NUMBERS, aggregate
from privet.query.shape import typical_of
from privet.query.terms import Term, col

from .derive import columns_of
from .plan import Plan

SHARES = (Fraction(1, 100), Fraction(99, 100))
"""Between these quantiles lies what better bounds would hold."""


@dataclass(frozen=True)
class Clamp:
    """A clamp of a question: what is clamped to which ends, what it may be before by declared facts, and for what.

    A column is clamped to its declared bounds as it is read, so nobody can tell a value at an end from one beyond it;
    where the question itself clamps more narrowly (`at_ends` is false), what lies beyond can be counted.
    """

    value: Expression
    clamped: Expression
    low: Fraction | None
    high: Fraction | None
    at_ends: bool
    outer: tuple[Fraction | None, Fraction | None]
    function: str
    where: Expression | None

    @property
    def name(self) -> str:
        """What is clamped, in the words of a question."""
        return self.value.name if isinstance(self.value, Column) else text(self.value)

    @property
    def bounded(self) -> bool:
        """Whether declared facts bound what is clamped, so that it can be asked about without the clamp."""
        return None not in self.outer


def clamps_of(query: Query, tables: Mapping[str, Schema]) -> tuple[Clamp, ...]:
    """Return the clamps that a question's aggregates stand on, each once."""
    facts = typical_of(query.table, tables).columns
    found: dict[tuple[Expression, Fraction | None, Fraction | None], Clamp] = {}
    for asked in query.aggregates:
        if asked.function not in OVER_NUMBERS:
            continue
        for given in (asked.argument, asked.other):
            for clamp in () if given is None else _clamps(given, asked, facts):
                found.setdefault((clamp.value, clamp.low, clamp.high), clamp)
    return tuple(found.values())


def _clamps(given: Expression, asked: Aggregate, facts: Mapping[str, Facts]) -> list[Clamp]:
    inner, low, high = _peeled(given)
    if inner != given:
        outer = typed(inner, facts).bounds
        return [Clamp(inner, given, low, high, False, outer, asked.function, asked.where)]
    found = []
    for name in sorted(columns_of(given)):
        column = Column(name)
        ends = typed(column, facts).bounds
        if typed(column, facts).kind in ("integer", "number") and None not in ends:
            found.append(Clamp(column, column, *ends, True, ends, asked.function, asked.where))
    return found


def _peeled(given: Expression) -> tuple[Expression, Fraction | None, Fraction | None]:
    """Return an expression without the LEAST and GREATEST of a constant around it, and the constants."""
    low: Fraction | None = None
    high: Fraction | None = None
    while isinstance(given, Call) and given.function in ("least", "greatest") and len(given.arguments) == 2:
        constants = [one for one in given.arguments if isinstance(one, Literal)]
        others = [one for one in given.arguments if not isinstance(one, Literal)]
        if len(constants) != 1 or isinstance(constants[0].value, (bool, str)):
            break
        value = constants[0].value
        if not isinstance(value, (int, Fraction)):
            break
        end = Fraction(value)
        if given.function == "least":
            high = end if high is None else min(high, end)
        else:
            low = end if low is None else max(low, end)
        given = others[0]
    return given, low, high


def clamping_question(query: Query, clamps: tuple[Clamp, ...]) -> Query:
    """Return a question about all rows of another: which part of them lies beyond each clamp, and where most lie."""
    aggregates: list[Aggregate] = []
    outputs: list[Output] = []

    def ask(name: str, function: str, of: Expression | None, where: Expression | None, share: str = "") -> None:
        options: tuple[tuple[str, int | str], ...] = (("share", share),) if share else ()
        aggregates.append(Aggregate(name, function, of, where, options))

    for index, clamp in enumerate(clamps):
        ask(f"n{index}", "count", clamp.value, clamp.where)
        names = {"below": (clamp.low, "less"), "above": (clamp.high, "greater")}
        for name, (end, relation) in names.items():
            if end is None:
                continue
            beyond = Call(f"{relation}_equal" if clamp.at_ends else relation, (clamp.value, _constant(end)))
            ask(f"{name}{index}", "count_rows", None, conjunction(clamp.where, beyond))
            part = Call("divide", (Column(f"{name}{index}"), Column(f"n{index}")))
            outputs.append(Output(f"{name}{index}", part))
        if not clamp.bounded:
            continue
        for place, share in enumerate(SHARES):
            ask(f"quantile{index}_{place}", "quantile", clamp.value, clamp.where, str(share))
            outputs.append(Output(f"quantile{index}_{place}", Column(f"quantile{index}_{place}")))
        if not clamp.at_ends and clamp.function in ("sum", "avg"):
            for name, one in (("clamped", clamp.clamped), ("unclamped", clamp.value)):
                ask(f"{name}{index}", clamp.function, one, clamp.where)
                outputs.append(Output(f"{name}{index}", Column(f"{name}{index}")))
    return Query(query.table, (), tuple(aggregates), query.where, (Step(tuple(outputs)),))


def bounding_question(plan: Plan, tables: Mapping[str, Schema]) -> Query | None:
    """Return a question about the people of another: which part of them gives more than it lets count.

    None where nobody's rows are cut or scaled together: each row is its own unit, or a window of time is.
    """
    bounding = bounding_of(plan)
    if bounding is None:
        return None
    schema = plan.passes[0].scan.schema
    source = standing_on(plan.query.table, tables, {name: Column(name) for name in schema.columns})
    rows, names = Frame(source, plan.query.where), {}
    for index, key in enumerate(plan.query.keys):
        names[f"key_{index}"] = Term(key.expression)
    if not names:
        people = rows.per_unit(given=count())
        beyond = col("given") > (bounding.rows if isinstance(bounding, Truncate) else _rows_of(bounding))
    else:
        units = {name: col(name) for name in unit_columns(schema.unit)}
        cells = rows.select(**units, **names).per_unit(*names, given=count())
        if isinstance(bounding, Truncate):
            people = cells.per_unit(groups=count(), most=Term(aggregate("max", Column("given"))))
            beyond = (col("groups") > bounding.groups) | (col("most") > bounding.rows)
        else:
            power = col("given") if bounding.order == 1 else col("given") * col("given")
            people = cells.per_unit(norm=total(power))
            beyond = col("norm") > bounding.limit
    asked = people.agg(people=count_units(), beyond=count_units(where=beyond))
    return asked.select(beyond=col("beyond") / col("people")).query()


def bounding_of(plan: Plan) -> Norm | Truncate | None:
    """Return how a plan bounds what people give, where it does."""
    for one in plan.passes:
        bounding = one.scan.bounding
        if (
            isinstance(one.scan.schema.unit, Person)
            and isinstance(bounding, (Norm, Truncate))
            and not one.scan.distinct
        ):
            return bounding
    return None


def _rows_of(bounding: Norm) -> int:
    """Return how many rows in one cell a norm lets count in full."""
    return bounding.limit if bounding.order == 1 else math.isqrt(bounding.limit)


def _constant(end: Fraction) -> Literal:
    return Literal(int(end) if end.denominator == 1 else end)
