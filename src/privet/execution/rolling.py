"""Reports over the last blocks of a calendar: each block is answered once, and its stored answer is used again."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from privet.answer import Answer, Series
from privet.core.errors import BadParameter, RequestError, Unsupported
from privet.core.estimate import Estimate
from privet.core.event import Receipt
from privet.core.numbers import whole
from privet.core.schema import Schema
from privet.inference.bars import Law
from privet.inference.levels import mixed
from privet.planner.plan import Plan
from privet.query.block_reads import block_count, in_blocks, members_of
from privet.query.nodes import Query, Step
from privet.query.normal import conjunction
from privet.results.released_counts import CountTable

BLOCK, ROLLED_TOTAL = "block", "total"


@dataclass(frozen=True, repr=False)
class RollingReport(CountTable):
    """Numbers of the last blocks of a table, and their totals in the last row, with intervals.

    Example:
        >>> calls.rolling("SELECT COUNT(*) AS n FROM calls", last=2, epsilon=0.5).total("n").standard_error > 0
        True
    """

    receipts: tuple[Receipt, ...] = ()
    """The receipt of each block's answer, in order."""

    def total(self, column: str) -> Estimate:
        """Return the total of a column over all blocks of the report."""
        series = self[column]
        if series.low is None or series.high is None or series.error is None:
            raise BadParameter("column", column, "a column of numbers")
        ends = (series.values[-1], series.low[-1], series.high[-1], series.error[-1])
        value, low, high, error = map(float, ends)
        return Estimate(
            value=value, low=low, high=high, confidence=self.confidence, standard_error=error, covers="noise"
        )


def blocks_to_report(query: Query, tables: Mapping[str, Schema], last: int) -> list[tuple[str, Query]]:
    """Return the question about each of the last blocks, oldest first, by the name of the block."""
    name = query.table
    schema = tables.get(name) if isinstance(name, str) else None
    if schema is None or schema.blocks is None or not schema.blocks.timed or members_of(schema) is None:
        raise RequestError(
            "a rolling report is about one table that is divided by time, where blocks have budgets of their own; "
            "declare blocks=privet.Blocks('day', length='1 month', origin=...) for its rows or windows"
        )
    if query.keys or query.levels or query.others or len(query.steps) != 1:
        raise Unsupported("a rolling report is of counts and sums of all rows together; leave out groups and joins")
    _check_shown(query.steps[0])
    many, first = block_count(schema), schema.blocks.first
    wanted = whole(last, "last", least=1, most=max(1, many - first))
    return [
        (
            schema.blocks.name(number),
            replace(query, where=conjunction(query.where, in_blocks(((number, number + 1),), schema))),
        )
        for number in range(many - wanted, many)
    ]


def _check_shown(step: Step) -> None:
    """Raise unless each answer is one row of counts and sums as they are: only these add up over blocks."""
    kept = step.where is None and step.limit is None and not step.offset
    if not (kept and step.plain and all(output.expression.column is not None for output in step.outputs)):
        raise Unsupported(
            "a rolling report shows counts and sums as they are; leave out HAVING, LIMIT and what is computed from "
            "them, and compute it from the report"
        )
    if any(output.name == BLOCK for output in step.outputs):
        raise RequestError(f"the column {BLOCK} of a rolling report has the names of the blocks; choose another name")


def run_rolling(asked: Sequence[tuple[str, Query]], ask: Callable[[Query], Answer], confidence: float) -> RollingReport:
    """Return the answers for some blocks side by side, and their totals.

    Guarantee: each answer has noise of its own, drawn once and stored, so that the noise of a total is the sum of
    independent ones, and its interval is that of their sum. Totals are post-processing, and cost nothing.
    """
    answers = [ask(question) for _, question in asked]
    names = [series.name for series in answers[0].series]
    labels = Series(BLOCK, (*(name for name, _ in asked), ROLLED_TOTAL))
    columns = tuple(_stacked([answer[name] for answer in answers], answers, confidence) for name in names)
    notes = tuple(dict.fromkeys(note for answer in answers for note in answer.notes if not note.startswith("Reads ")))
    return RollingReport((labels, *columns), confidence, notes, tuple(answer.receipt for answer in answers))


def check_additive(plan: Plan) -> None:
    """Raise unless every aggregate of a plan adds up over blocks, each read from one noisy sum."""
    for reading in plan.readings:
        if not reading.aggregate.additive or len(reading.places) != 1:
            raise Unsupported(
                f"a rolling report adds up what blocks have, and {reading.name} does not add up; ask for COUNT and SUM"
            )


def _stacked(columns: Sequence[Series], answers: Sequence[Answer], confidence: float) -> Series:
    """Return the only number of each answer and their sum as one column."""
    if any(column.low is None or column.high is None or column.error is None for column in columns):
        raise Unsupported(f"{columns[0].name} has no noise of its own, and is not added up")
    values = [column.values[0] for column in columns]
    errors = [column.error[0] for column in columns if column.error is not None]
    half = _law(errors, answers).reach(1 - confidence)
    total = sum(values)
    return Series(
        columns[0].name,
        (*values, total),
        (*(column.low[0] for column in columns if column.low is not None), total - half),
        (*(column.high[0] for column in columns if column.high is not None), total + half),
        (*errors, math.hypot(*errors)),
        may_be_low=any(column.may_be_low for column in columns),
        may_be_high=any(column.may_be_high for column in columns),
    )


def _law(errors: Sequence[float], answers: Sequence[Answer]) -> Law:
    """Return the law of a sum of independent noises with these standard deviations."""
    families = {measure.mechanism for answer in answers for measure in answer.measurements()}
    if families <= {"Gaussian"}:
        return Law("gaussian", math.hypot(*errors))
    return mixed(tuple((error / math.sqrt(2), 1) for error in errors), 0.0)
