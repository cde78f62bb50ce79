"""The columns of an answer before it is asked for, their names and kinds; and which answers never have rows.

All of it is computed from a plan. Nothing is read and nothing is charged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from privet.core.relation import Expression
from privet.core.schema import Kind
from privet.planner.from_strategy import FromStrategy
from privet.planner.groupings import Combined, Levels
from privet.planner.plan import Plan
from privet.planner.public_plan import PublicPlan, listings
from privet.planner.rounds import InSteps
from privet.query.expressions import evaluate_row, mentions
from privet.query.nodes import PublicRows, Query, Step

from .read import level_kinds
from .released_tables import ReleasedTable, after_steps


@dataclass(frozen=True)
class OutputColumn:
    """A column of an answer: its name, and the kind of its values."""

    name: str
    kind: Kind


def output_columns(plan: Plan) -> tuple[OutputColumn, ...]:
    """Return the columns that the answer to a plan has: those that its steps make of no rows at all."""
    last = plan.steps[-1] if isinstance(plan, InSteps) else plan
    tables = _tables(last)

    def rows_of(query: Query) -> ReleasedTable:
        return tables[replace(query, steps=())]

    made = after_steps(last.query.steps, rows_of(last.query), rows_of)
    return tuple(OutputColumn(name, made.kinds[name]) for name in made.columns)


def _tables(plan: Plan) -> dict[Query, ReleasedTable]:
    """Return the releases that a question stands on, each without rows."""
    if isinstance(plan, PublicPlan):
        kinds = [kinds for _, kinds in plan.schemas]
        return {
            replace(listing, steps=()): _empty(own) for listing, own in zip(listings(plan.query), kinds, strict=True)
        }
    if isinstance(plan, Combined):
        return {replace(part.query, steps=()): _of_plan(part) for part in plan.plans}
    return {replace(plan.query, steps=()): _of_plan(plan)}


def _of_plan(plan: Plan) -> ReleasedTable:
    if isinstance(plan, FromStrategy):
        kinds = plan.by_cell.kinds if plan.levels is None else level_kinds(plan.levels)
        estimated: dict[str, Kind] = {reading.name: "number" for reading in plan.by_cell.readings}
        return _empty({**kinds, **estimated})
    return _empty(level_kinds(plan) if isinstance(plan, Levels) else plan.kinds)


def _empty(kinds: Mapping[str, Kind]) -> ReleasedTable:
    return ReleasedTable({name: [] for name in kinds}, kinds)


def has_no_rows(plan: Plan) -> bool:
    """Whether the answer to a plan has no rows whatever is released: LIMIT 0, or a constant condition that is not true.

    Tools send such questions to learn the columns of an answer.
    """
    last = plan.steps[-1] if isinstance(plan, InSteps) else plan
    return _ends_empty(last.query.steps)


def _ends_empty(steps: Sequence[Step]) -> bool:
    empty = False
    for step in steps:
        for beside in step.beside:
            other = beside.source
            theirs = not isinstance(other, PublicRows) and _ends_empty(other.steps)
            match beside.kind:
                case "inner":
                    empty = empty or theirs
                case "right":
                    empty = theirs
                case "full" | "all":
                    empty = empty and theirs
        empty = empty or _never(step.where)
        if step.keys == ():  # sums over no rows are one row
            empty = False
        empty = empty or _never(step.having) or _never(step.qualify) or step.limit == 0
    return empty


def _never(condition: Expression | None) -> bool:
    """Whether a condition is a constant that is false or NULL."""
    return condition is not None and not mentions(condition) and evaluate_row(condition, {}, {}) is not True
