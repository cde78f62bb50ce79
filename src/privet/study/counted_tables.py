"""From an answer of counts to the noisy table that a test reads, and what its plan says about the rows behind it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from privet.answer import Answer
from privet.core.errors import RequestError, Unsupported
from privet.core.numbers import float_near
from privet.core.scan import Norm, Once, Truncate
from privet.core.schema import Schema
from privet.inference.noisy_tables import CellNoise
from privet.inference.table_tests import MOST_CELLS, NoisyTable
from privet.planner.keys import group_key
from privet.planner.make import known_rows
from privet.planner.plan import Plan
from privet.query.functions import typed
from privet.query.nodes import Query

Labels = tuple[tuple[Any, ...], ...]
"""The values of each key, NULL left out, in the order of the table."""


def declared_values(query: Query, schema: Schema) -> Labels:
    """Return the values of each key that public facts list, NULL left out; refuse keys whose values they do not.

    Guarantee: reads declared facts alone, so that what is refused does not depend on data.
    """
    found = []
    for key in query.keys:
        values = group_key(key.expression, schema.columns).values
        if values is None:
            raise RequestError(f"the values of {key.name} are not declared; declare it as a category")
        found.append(tuple(value for value in values if value is not None))
    cells = 1
    for values in found:
        cells *= max(1, len(values))
    if cells > MOST_CELLS:
        raise RequestError(f"a test takes at most {MOST_CELLS} cells, and this has {cells:,}; join values, or use bins")
    return tuple(found)


def released_values(plan: Plan) -> Labels:
    """Return the values of each key of a question that a plan releases groups of, NULL left out.

    They are fewer than the declared ones where a condition on keys rules some out.

    Guarantee: reads the plan alone.
    """
    known = {key.expression: key.values or () for key in plan.groups}
    return tuple(tuple(one for one in known[key.expression] if one is not None) for key in plan.query.keys)


def table_of_two(answer: Answer) -> NoisyTable:
    """Return the released counts of two keys in the order of the plan's groups.

    Guarantee: whichever key a question names first, the table is the same, and so are the points of a simulation: the
    order in which columns are named chooses no p-value.
    """
    expressions = [key.expression for key in answer.plan.query.keys]
    first, second = (expressions.index(key.expression) for key in answer.plan.groups)
    found = noisy_table(answer, released_values(answer.plan))
    return found if first < second else replace(found, counts=found.counts.T.copy())


def check_released(plan: Plan) -> None:
    """Refuse a plan that leaves fewer than two values of a key, or releases some pairs of values and others not."""
    for key, values in zip(plan.query.keys, released_values(plan), strict=True):
        if len(values) < 2:
            raise RequestError(
                f"the condition leaves fewer than two values of {key.name}, so there is nothing to compare; choose "
                f"rows by other columns"
            )
    if plan.passes[0].scan.cells is not None:
        raise RequestError(
            "the condition rules out some combinations of the values that are compared; choose rows by other columns, "
            "or by each of these columns alone"
        )


def rows_of_each(plan: Plan) -> int:
    """Return how many rows one person counts with at most, and refuse counts that have no such limit.

    Guarantee: with weights w of at most 1 and w times a person's rows at most C, the variance of counts is at most C
    times that of as many independent rows. Counts that are scaled to an L2 norm have no such C but the number of cells.
    """
    match plan.passes[0].scan.bounding if len(plan.passes) == 1 else None:
        case Once():
            return 1
        case Truncate(groups=groups, rows=rows):
            return groups * rows
        case Norm(order=1, limit=limit):
            return limit
    raise Unsupported(
        "counts that are scaled to an L2 norm cannot be tested: leave out contribution=, and each person counts once; "
        'or pass bound="groups"'
    )


def public_size(plan: Plan) -> int | None:
    """Return the number of rows in the table where it is public: declared, and nothing chooses rows.

    Guarantee: reads declared facts alone. Under change-one with each row a unit, neighbours have equally many rows.
    """
    query, schema = plan.query, plan.passes[0].scan.schema
    if not known_rows(schema) or not isinstance(query.table, str) or query.where is not None:
        return None
    if any(typed(key.expression, schema.columns).nullable for key in query.keys):
        return None
    return schema.units


def noisy_table(answer: Answer, labels: Labels) -> NoisyTable:
    """Return the released counts as a table: a row for each value of the first key, a column for each of the second.

    One key makes a table of one row.
    """
    import numpy as np

    plan = answer.plan
    across = labels[-1]
    down = labels[0] if len(labels) == 2 else (None,)
    rows, noise = np.zeros((len(down), len(across))), None
    for one in answer.measurements():
        key = tuple(one.group.values())
        place = (None, *key) if len(labels) == 1 else key
        if place[0] in down and place[1] in across and one.law is not None and one.step is not None:
            rows[down.index(place[0]), across.index(place[1])] = float_near(one.released * one.step)
            noise = CellNoise(one.law, one.step)
    if noise is None:
        raise RequestError("the answer has no noisy counts of these values")
    return NoisyTable(rows, noise, public_size(plan), rows_of_each(plan), answer.receipt.digest)


def counted_how(plan: Plan) -> tuple[str, ...]:
    """Return which shares a test is about where people may have several rows."""
    limit = rows_of_each(plan)
    match plan.passes[0].scan.bounding:
        case Truncate(groups=1, rows=1):
            return ("Each person counts once, in one of their groups that is chosen at random: shares are of people.",)
        case Truncate():
            return (f"Shares are of at most {limit} rows of each person, in groups that are chosen at random.",)
        case Norm():
            return (f"Shares are weighted: each person counts with at most {limit} row{'s' * (limit > 1)} in all.",)
    return ()
