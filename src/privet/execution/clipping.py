"""Questions about the losses of another question to clamping and bounding. Public: made from its tree alone.

They are ordinary questions, planned, bounded and charged like any other: the planner proves how far one unit can move
each of their sums, and nothing here needs a proof of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from privet.aggregates import entry_of
from privet.answer import Answer
from privet.core.errors import RequestError, UnknownName, Unsupported
from privet.core.estimate import Estimate
from privet.core.event import Receipt
from privet.core.numbers import Number, in_digits, in_full
from privet.core.relation import Call, ColumnRef, Expression, Literal
from privet.core.scan import Norm, Truncate
from privet.core.schema import AUTO, Contribution, Schema
from privet.core.schema import ColumnFacts as Facts
from privet.core.unit import Person, unit_columns
from privet.planner.contributions import refuse_chosen
from privet.planner.make import make_plan
from privet.planner.plan import Plan
from privet.planner.public_plan import is_about_public
from privet.query.expressions import mentions, typed
from privet.query.frame import Frame
from privet.query.frame import table as frame
from privet.query.join import standing_on
from privet.query.nodes import AggregateCall, Output, Query, Step, aggregate
from privet.query.normal import conjunction, text
from privet.query.shape import schema_within_limits
from privet.query.terms import Term, col, count, count_units
from privet.query.terms import sum as total

from .batches import plan_questions, run_batch
from .executor import Executor, run_plan
from .request import AskOptions, Catalog, Question, plan_question, read_question, spend_of

SHARES = (Fraction(1, 100), Fraction(99, 100))
"""Better bounds would contain the values between these quantiles."""


@dataclass(frozen=True)
class Clamp:
    """A clamp of a question: the value and its ends, its range before by declared facts, and its aggregate.

    A column is clamped to its declared bounds as it is read, so a value at an end cannot be distinguished from one
    beyond it; where the question itself clamps more narrowly (`at_ends` is false), values beyond can be counted.
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
        """The clamped value, in the words of a question."""
        return text(self.value) if self.value.column is None else self.value.column

    @property
    def bounded(self) -> bool:
        """Whether declared facts bound the clamped value, so that it can be asked about without the clamp."""
        return None not in self.outer


def clamps_of(query: Query, tables: Mapping[str, Schema]) -> tuple[Clamp, ...]:
    """Return the clamps of a question's aggregates, each once."""
    facts = schema_within_limits(query.table, tables).columns
    clamps: dict[tuple[Expression, Fraction | None, Fraction | None], Clamp] = {}
    for asked in query.aggregates:
        if not entry_of(asked.function).aggregate.bounded:
            continue
        for given in (asked.argument, asked.other):
            for clamp in () if given is None else _clamps(given, asked, facts):
                clamps.setdefault((clamp.value, clamp.low, clamp.high), clamp)
    return tuple(clamps.values())


def _clamps(given: Expression, asked: AggregateCall, facts: Mapping[str, Facts]) -> list[Clamp]:
    inner, low, high = _peeled(given)
    if inner != given:
        outer = typed(inner, facts).bounds
        return [Clamp(inner, given, low, high, False, outer, asked.function, asked.where)]
    clamps = []
    for name in sorted(mentions(given)):
        column = ColumnRef(name)
        ends = typed(column, facts).bounds
        if typed(column, facts).kind in ("integer", "number") and None not in ends:
            clamps.append(Clamp(column, column, *ends, True, ends, asked.function, asked.where))
    return clamps


def _peeled(given: Expression) -> tuple[Expression, Fraction | None, Fraction | None]:
    """Return an expression without the LEAST and GREATEST of a constant around it, and the constants."""
    low: Fraction | None = None
    high: Fraction | None = None
    while given.function in ("least", "greatest") and len(given.arguments) == 2:
        constants = [argument.constant for argument in given.arguments if argument.is_constant]
        others = [argument for argument in given.arguments if not argument.is_constant]
        if len(constants) != 1 or isinstance(constants[0], (bool, str)):
            break
        value = constants[0]
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
    aggregates: list[AggregateCall] = []
    outputs: list[Output] = []

    def ask(name: str, function: str, of: Expression | None, where: Expression | None, share: str = "") -> None:
        options: tuple[tuple[str, int | str], ...] = (("share", share),) if share else ()
        aggregates.append(AggregateCall(name, function, of, where, options))

    for index, clamp in enumerate(clamps):
        ask(f"n{index}", "count", clamp.value, clamp.where)
        names = {"below": (clamp.low, "less"), "above": (clamp.high, "greater")}
        for name, (end, relation) in names.items():
            if end is None:
                continue
            beyond = Call(f"{relation}_equal" if clamp.at_ends else relation, (clamp.value, _constant(end)))
            ask(f"{name}{index}", "count_rows", None, conjunction(clamp.where, beyond))
            part = Call("divide", (ColumnRef(f"{name}{index}"), ColumnRef(f"n{index}")))
            outputs.append(Output(f"{name}{index}", part))
        if not clamp.bounded:
            continue
        for place, share in enumerate(SHARES):
            ask(f"quantile{index}_{place}", "quantile", clamp.value, clamp.where, str(share))
            outputs.append(Output(f"quantile{index}_{place}", ColumnRef(f"quantile{index}_{place}")))
        if not clamp.at_ends and clamp.function in ("sum", "avg"):
            for name, value in (("clamped", clamp.clamped), ("unclamped", clamp.value)):
                ask(f"{name}{index}", clamp.function, value, clamp.where)
                outputs.append(Output(f"{name}{index}", ColumnRef(f"{name}{index}")))
    return Query(query.table, (), tuple(aggregates), query.where, (Step(tuple(outputs)),))


def bounding_question(plan: Plan, tables: Mapping[str, Schema]) -> Query | None:
    """Return a question about the people of another: which part of them contributes more than it lets count.

    None where no rows are cut or scaled together: each row is its own unit, or a window of time is.
    """
    bounding = bounding_of(plan)
    if bounding is None:
        return None
    schema = plan.passes[0].scan.schema
    source = standing_on(plan.query.table, tables, {name: ColumnRef(name) for name in schema.columns})
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
            people = cells.per_unit(groups=count(), most=Term(aggregate("max", ColumnRef("given"))))
            beyond = (col("groups") > bounding.groups) | (col("most") > bounding.rows)
        else:
            power = col("given") if bounding.order == 1 else col("given") * col("given")
            people = cells.per_unit(norm=total(power))
            beyond = col("norm") > bounding.limit
    asked = people.agg(people=count_units(), beyond=count_units(where=beyond))
    return asked.select(beyond=col("beyond") / col("people")).query()


def bounding_of(plan: Plan) -> Norm | Truncate | None:
    """Return how a plan bounds people's contributions, where it does."""
    for scan in (pass_.scan for pass_ in plan.passes if not pass_.scan.distinct):
        match scan.schema.unit, scan.bounding:
            case Person(), (Norm() | Truncate()) as bounding:
                return bounding
    return None


def _rows_of(bounding: Norm) -> int:
    """Return how many rows in one cell a norm lets count in full."""
    return bounding.limit if bounding.order == 1 else math.isqrt(bounding.limit)


def _constant(end: Fraction) -> Literal:
    return Literal(int(end) if end.denominator == 1 else end)


# Losses to clamping and bounding: asked about on request, charged like any question, and reported with advice.


_WIDEN_ABOVE, _NARROW_BELOW = 0.05, 0.01
"""A larger part beyond a bound than the first calls for a wider one, a smaller part than the second for a narrower."""


@dataclass(frozen=True)
class Clamped:
    """Which part of the rows lies beyond each end of a clamp, and the answer without it, if known.

    `middle` are the 1% and the 99% quantile of the clamped value.
    """

    clamp: Clamp
    below: Estimate | None
    above: Estimate | None
    middle: tuple[Estimate, Estimate] | None
    clamped: Estimate | None
    unclamped: Estimate | None

    def lines(self) -> Iterator[str]:
        """Yield the estimates, and advice on better bounds."""
        name, where = self.clamp.name, "at or " if self.clamp.at_ends else ""
        for part, end, side in ((self.below, self.clamp.low, "below"), (self.above, self.clamp.high, "above")):
            if part is not None and end is not None:
                yield f"About {_part(part)} of the rows have {name} {where}{side} {in_full(float(end))}."
        if self.clamped is not None and self.unclamped is not None:
            function = self.clamp.function.upper()
            yield (
                f"{function} of {name} is {_number(self.clamped)} as it is clamped, and {_number(self.unclamped)} "
                f"without."
            )
        yield from self._advice()

    def _advice(self) -> Iterator[str]:
        much = [part for part in (self.below, self.above) if part is not None and part.low > _WIDEN_ABOVE]
        little = all(part is None or part.high < _NARROW_BELOW for part in (self.below, self.above))
        if much and self.clamp.at_ends:
            yield f"Wider bounds for {self.clamp.name}, if such are public, would lose less and need more noise."
        elif much:
            yield f"A wider clamp of {self.clamp.name} would lose less and need more noise."
        low, high = self.clamp.low, self.clamp.high
        if self.middle is None or not (much or little) or low is None or high is None:
            return
        bottom, top = (end.value for end in self.middle)
        if self.clamp.function == "sum":
            now, then = max(abs(low), abs(high)), max(abs(bottom), abs(top))
        else:
            now, then = high - low, top - bottom
        if top > bottom and now and (not little or then < 0.9 * float(now)):
            yield (
                f"Bounds of {in_digits(bottom, 4)} to {in_digits(top, 4)} hold about 98 of 100 rows, with "
                f"{then / float(now):.0%} of the noise."
            )


@dataclass(frozen=True, repr=False)
class Clipping:
    """The losses of a question to clamping and bounding: estimates with intervals, their cost, and advice."""

    columns: tuple[Clamped, ...]
    beyond: Estimate | None
    bounding: Norm | Truncate | None
    cost: dict[str, float]
    receipt: Receipt
    confidence: float

    def lines(self) -> list[str]:
        """Return the findings, in sentences."""
        lines = [line for column in self.columns for line in column.lines()]
        if self.beyond is not None:
            what = "scaled down" if isinstance(self.bounding, Norm) else "cut"
            lines.append(
                f"About {_part(self.beyond)} of the people contribute more than counts in full, and are {what}."
            )
            if self.beyond.low > _WIDEN_ABOVE:
                lines.append("A larger contribution would lose less of what they contribute, and need more noise.")
            elif self.beyond.high < _NARROW_BELOW:
                lines.append("Hardly anyone does: a smaller contribution would need less noise, and cut more of them.")
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data that JSON can represent."""
        return {
            "clamped": [
                {
                    "value": column.clamp.name,
                    "low": None if column.clamp.low is None else float(column.clamp.low),
                    "high": None if column.clamp.high is None else float(column.clamp.high),
                    "below": _plain(column.below),
                    "above": _plain(column.above),
                    "middle": None if column.middle is None else [_plain(end) for end in column.middle],
                    "answer": _plain(column.clamped),
                    "answer_without": _plain(column.unclamped),
                }
                for column in self.columns
            ],
            "people_beyond": _plain(self.beyond),
            "confidence": self.confidence,
            "cost": self.cost,
            "entry": self.receipt.entry,
            "lines": self.lines(),
        }

    def __repr__(self) -> str:
        price = ", ".join(f"{name} {value:.4g}" for name, value in self.cost.items())
        return "\n".join(
            [
                *self.lines(),
                f"Each interval covers the added noise with probability {self.confidence:.3g}. Cost {price}.",
            ]
        )


def clipping_report(
    executor: Executor,
    question: Question,
    options: AskOptions,
    catalog: Catalog,
    *,
    confidence: Number | None,
    key: str | None,
) -> Clipping:
    """Return a private estimate of a question's losses to clamping and bounding, charged like any other."""
    query, _, _ = read_question(question, catalog)
    if is_about_public(query, catalog.schemas):
        raise Unsupported("this asks about public tables only: nothing is clamped or bounded, and the answer is exact")
    spend, tables = spend_of(catalog.budget, options), catalog.schemas
    refuse_chosen(query.table, tables, options.stated, "for a report on what another limit removes")
    plan = make_plan(query, tables, spend=spend, bound=options.bound, contribution=options.stated)
    clamps = clamps_of(query, tables)
    people = bounding_question(plan, tables)
    questions: list[Question] = [
        *([clamping_question(query, clamps)] if clamps else []),
        *([people] if people else []),
    ]
    if not questions:
        raise RequestError(
            "nothing is clamped or bounded here: each row counts once, and in full; every interval covers the noise"
        )
    batch = plan_questions(questions, options, catalog)
    answers = list(run_batch(executor, batch, confidence=confidence, key=key))
    columns = tuple(_read(clamp, index, answers[0]) for index, clamp in enumerate(clamps))
    beyond = _share(answers[-1], "beyond") if people else None
    return Clipping(columns, beyond, bounding_of(plan), batch.cost(), answers[0].receipt, answers[0].confidence)


@dataclass(frozen=True)
class ContributionProposal:
    """A contribution limit that was chosen privately for a table, and its cost."""

    contribution: Contribution
    people: float
    """About this many people are meant to exceed it, at this cost for each answer."""
    cost: Mapping[str, float]
    receipt: Receipt


def propose_contribution(
    executor: Executor,
    table: str,
    *,
    epsilon: Number | None = None,
    rho: Number | None = None,
    key: str | None = None,
) -> ContributionProposal:
    """Return the limit on the rows of one person at which noise and loss are least together, at a stated cost.

    It is the limit that COUNT(*) over the table chooses with contribution="auto": charged first, then free.
    """
    catalog = Catalog(executor.schemas, {}, executor.ledger.budget_of(executor.account))
    if table not in executor.schemas:
        raise UnknownName("table", table, executor.schemas)
    question = frame(table, executor.schemas[table], executor.schemas).agg(n=count())
    plan, _ = plan_question(question, AskOptions(epsilon=epsilon, rho=rho, contribution=AUTO), catalog)
    answer = run_plan(executor, plan, confidence=None, key=key)
    sizes = plan.passes[plan.choosing[0]].sizes
    people = 0.0 if sizes is None or sizes.people is None else float(sizes.people)
    return ContributionProposal(Contribution(groups=1, rows=answer.limits[0]), people, plan.price, answer.receipt)


def _read(clamp: Clamp, index: int, answer: Answer) -> Clamped:
    ends = [_estimate(answer, f"quantile{index}_{place}") for place in (0, 1)]
    bottom, top = ends
    return Clamped(
        clamp,
        _share(answer, f"below{index}"),
        _share(answer, f"above{index}"),
        None if bottom is None or top is None else (bottom, top),
        _estimate(answer, f"clamped{index}"),
        _estimate(answer, f"unclamped{index}"),
    )


def _estimate(answer: Answer, name: str) -> Estimate | None:
    """Return a number of an answer with its interval; None where it was not asked for."""
    for series in answer.series:
        if series.name == name and series.low is not None and series.high is not None and series.error is not None:
            value = math.nan if series.values[0] is None else float(series.values[0])
            return Estimate(
                value=value,
                low=series.low[0],
                high=series.high[0],
                confidence=answer.confidence,
                standard_error=series.error[0],
                covers="the noise",
            )
    return None


def _share(answer: Answer, name: str) -> Estimate | None:
    """Return a part of a whole: its interval lies between 0 and 1, and is all of that where nothing is known."""
    share = _estimate(answer, name)
    if share is None:
        return None
    low, high = (0.0 if math.isnan(share.low) else share.low), (1.0 if math.isnan(share.high) else share.high)
    low, high = min(max(low, 0.0), 1.0), min(max(high, 0.0), 1.0)
    return Estimate(
        value=share.value,
        low=low,
        high=max(low, high),
        confidence=share.confidence,
        standard_error=share.standard_error,
        covers=share.covers,
    )


def _part(part: Estimate) -> str:
    shown = min(max(part.value, 0.0), 1.0) if not math.isnan(part.value) else part.high
    return f"{shown * 100:.3g}% ({part.low * 100:.3g}% to {part.high * 100:.3g}%)"


def _number(estimate: Estimate) -> str:
    return f"{in_full(estimate.value)} ({in_full(estimate.low)} to {in_full(estimate.high)})"


def _plain(estimate: Estimate | None) -> dict[str, float | None] | None:
    if estimate is None:
        return None
    numbers = {"value": estimate.value, "low": estimate.low, "high": estimate.high}
    return {name: value if math.isfinite(value) else None for name, value in numbers.items()}
