"""A question as a form of tables, groups, aggregates and conditions: written as SQL, and read back; and in one line.

A question is shown in the form only where the SQL of the form releases the very same: the two plans have one digest.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from privet.core.errors import RequestError
from privet.core.relation import Call, ColumnRef, Expression, Literal
from privet.execution.describe import TableDescription
from privet.execution.request import read_question
from privet.query.to_sql import shown_name
from privet.server.identity import AskedQuestion
from privet.session import Session

AGGREGATES = {
    "rows": "number of rows",
    "people": "number of different",
    "avg": "average of",
    "sum": "sum of",
    "median": "median of",
    "min": "smallest",
    "max": "largest",
}
COMPARISONS = {"=": "equal", "<>": "not_equal", "<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal"}
_BACK = {"count_rows": "rows", "count_units": "people", "count_distinct": "people"}
_NUMBER = re.compile(r"-?\d{1,15}(\.\d{1,15})?", re.ASCII)
_ROWS = 3


@dataclass(frozen=True)
class BuiltQuestion:
    """The form's contents. Aggregates are (function, column) and conditions (column, comparison, value), as texts."""

    table: str
    groups: tuple[str, ...] = ()
    aggregates: tuple[tuple[str, str], ...] = (("rows", ""),)
    conditions: tuple[tuple[str, str, str], ...] = ()

    def padded_aggregates(self) -> list[tuple[str, str]]:
        """Return the aggregates, with empty ones up to the places of the form."""
        return [*self.aggregates[:_ROWS], *[("", "")] * (_ROWS - len(self.aggregates))]

    def padded_conditions(self) -> list[tuple[str, str, str]]:
        """Return the conditions, with empty ones up to the places of the form."""
        return [*self.conditions[:_ROWS], *[("", "=", "")] * (_ROWS - len(self.conditions))]


def read_form(values: Mapping[str, str], several: Sequence[str]) -> BuiltQuestion:
    """Return the contents of a form; `several` are the checked groups."""
    aggregates = [(values.get(f"function{row}", ""), values.get(f"of{row}", "")) for row in range(_ROWS)]
    conditions = [
        (values.get(f"column{row}", ""), values.get(f"is{row}", "="), values.get(f"value{row}", ""))
        for row in range(_ROWS)
    ]
    return BuiltQuestion(
        values.get("table", ""),
        tuple(several),
        tuple(aggregate for aggregate in aggregates if aggregate[0]),
        tuple(condition for condition in conditions if condition[0]),
    )


def built_sql(built: BuiltQuestion, table: TableDescription) -> str:
    """Return the question of a form as SQL; refuse by name a part that does not fit."""
    kinds = {column.name: column.kind for column in table.columns}
    for name in (*built.groups, *(col for _, col in built.aggregates if col), *(col for col, _, _ in built.conditions)):
        if name not in kinds:
            raise RequestError(f"{table.name} has no column {name!r}; choose the table again")
    outputs = [*map(shown_name, built.groups), *(_aggregate(function, column) for function, column in built.aggregates)]
    if not built.aggregates:
        raise RequestError("choose at least one number, such as the number of rows")
    where = [
        f"{shown_name(column)} {_sign(sign)} {_value(value, kinds[column])}" for column, sign, value in built.conditions
    ]
    lines = [f"SELECT {', '.join(outputs)}", f"FROM {shown_name(built.table)}"]
    lines += [f"WHERE {' AND '.join(where)}"] if where else []
    lines += [f"GROUP BY {', '.join(map(shown_name, built.groups))}"] if built.groups else []
    return "\n".join(lines)


def _aggregate(function: str, column: str) -> str:
    if function not in AGGREGATES:
        raise RequestError(f"there is no number {function!r} in the form")
    if function == "rows":
        return "COUNT(*) AS n"
    if not column:
        raise RequestError(f"choose a column for: {AGGREGATES[function]}")
    named = re.sub(r"\W", "_", column)
    if function == "people":
        return f"COUNT(DISTINCT {shown_name(column)}) AS different_{named}"
    return f"{function.upper()}({shown_name(column)}) AS {function}_{named}"


def _sign(sign: str) -> str:
    if sign not in COMPARISONS:
        raise RequestError(f"there is no comparison {sign!r} in the form")
    return sign


def _value(value: str, kind: str) -> str:
    if not value:
        raise RequestError("a condition needs a value; empty its column to leave it out")
    if kind in ("integer", "number"):
        if not _NUMBER.fullmatch(value.strip()):
            raise RequestError(f"{value[:40]!r} is not a number")
        return value.strip()
    quoted = "'" + value.replace("'", "''") + "'"
    return (
        f"{kind.upper()} {quoted}" if kind in ("date", "timestamp") else value.upper() if kind == "boolean" else quoted
    )


def read_sql(sql: str, session: Session) -> BuiltQuestion:
    """Return a question in SQL as the form has it, or refuse where the form cannot express all of it."""
    richer = RequestError("this question has more than the form can show; edit it as SQL")
    query = read_question(sql, session._catalog)[0]
    if not isinstance(query.table, str) or query.levels or query.others or any(not step.plain for step in query.steps):
        raise richer
    groups = [key.expression.column for key in query.keys]
    calls = [
        (_function(agg.function, dict(agg.options)), agg.argument, agg.where or agg.other) for agg in query.aggregates
    ]
    owner = {known.name for known in session.describe(query.table).columns if known.use.startswith("identifies")}
    aggregates = []
    for function, argument, more in calls:
        if function is None or more is not None or (argument is not None and argument.column is None):
            raise richer
        column = "" if argument is None else str(argument.column)
        aggregates.append((function, column if function != "people" or column else next(iter(owner), "")))
    if None in groups:
        raise richer
    conditions = tuple(_conditions(query.where, richer))
    built = BuiltQuestion(query.table, tuple(map(str, groups)), tuple(aggregates), conditions)
    again = built_sql(built, session.describe(query.table))
    if session.plan(again).digest != session.plan(sql).digest:
        raise richer
    return built


def _function(name: str, options: Mapping[str, Any]) -> str | None:
    if name == "quantile":
        return {"0": "min", "1/2": "median", "1": "max"}.get(str(options.get("share")))
    return _BACK.get(name) or (name if name in AGGREGATES else None)


def _conditions(where: Expression | None, richer: RequestError) -> list[tuple[str, str, str]]:
    if where is None:
        return []
    signs = {name: sign for sign, name in COMPARISONS.items()}
    match where:
        case Call(function="and", arguments=parts):
            return [condition for part in parts for condition in _conditions(part, richer)]
        case Call(function=function, arguments=(ColumnRef(name=column), Literal(value=value))) if function in signs:
            return [(column, signs[function], str(value))]
    raise richer


TESTS: Mapping[str, str] = {
    "MeanTest": "Is a mean what you expect?",
    "MeansTest": "Do means differ between groups?",
    "PairedTest": "Do paired measurements differ?",
    "Proportion": "Is a proportion what you expect?",
    "TwoProportions": "Do two proportions differ?",
    "EqualProportions": "Do several proportions differ?",
    "GoodnessOfFit": "Are shares what you expect?",
    "Independence": "Are two columns independent?",
    "SameRanks": "Are values of a group larger?",
}
"""Every test of `privet.study`, as the question that it answers."""


def question_words(asked: AskedQuestion) -> str:
    """Return a question in one line: SQL as it is, and the rest in words."""
    body = asked.body
    table = str(body.get("table") or body.get("rows") or "")
    where = f" where {body['where']}" if body.get("where") else ""
    match asked.operation:
        case "ask" | "clipping":
            return str(body.get("question", ""))
        case "marginals":
            return f"Counts of {table}{where} by {_list(body.get('columns'))}"
        case "ranges":
            return f"Ranges of {body.get('column')} in {table}{where}"
        case "running":
            return f"Running totals of {table}{where} by {body.get('by')}"
        case "regress":
            return f"Regression on {table}{where}: {body.get('formula')}"
        case "test":
            return f"Test on {table}{where}: {_test(body.get('hypothesis'))}"
        case "choose":
            return f"Choice from {_list(body.get('options'))}: {body.get('score')}"
    return f"{asked.operation} {table}".strip()


def _list(values: Any) -> str:
    listed = [str(value) for value in values] if isinstance(values, list) else [str(values)]
    return ", ".join(listed[:8]) + (" …" if len(listed) > 8 else "")


def _test(hypothesis: Any) -> str:
    """Return a hypothesis by its kind and its fields."""
    if not isinstance(hypothesis, Mapping):
        return "a hypothesis"
    fields = [f"{name} {_field(value)}" for name, value in hypothesis.items() if name != "kind" and value is not None]
    return f"{TESTS.get(str(hypothesis.get('kind')), hypothesis.get('kind'))} {', '.join(fields)}"


def _field(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {item}" for name, item in value.items())
    return _list(value) if isinstance(value, list) else str(value)
