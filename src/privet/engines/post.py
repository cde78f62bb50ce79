"""Steps over released rows, on a connection that has no private tables and can read no file.

Columns come in and go out as lists or NumPy arrays. Everything here is public.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from privet.core.errors import EngineError, InvariantError, raise_alone
from privet.core.expression import Call, Expression
from privet.core.schema import Column as Facts
from privet.core.schema import Kind
from privet.query.functions import typed
from privet.query.nodes import Step

from .arrays import arithmetic
from .evaluation import evaluate_row
from .expressions import Renderer
from .rendered import Source
from .text import TYPES

if TYPE_CHECKING:
    import duckdb
    from numpy.typing import NDArray

Rows = Mapping[str, Sequence[Any] | Any]
"""Columns by name, all of one length: lists, or NumPy arrays of numbers or truth values."""

Kinds = Mapping[str, Kind]
"""What the columns hold, by declared facts: the values may all be NULL, or there may be none."""

_ARRAYS = "fiub"
"""Kinds of NumPy arrays that are read in place."""
_SERIAL = threading.Lock()

_FEW = 32
_SIMPLE = frozenset(("add", "subtract", "multiply", "divide", "negate", "abs", "nullif", "round_to", "is_null"))


def run_step(step: Step, rows: Rows, kinds: Kinds) -> tuple[dict[str, list[Any]], dict[str, Kind]]:
    """Return the rows that one SELECT makes of released rows, and their kinds. Ties keep the order of what came in.

    DISTINCT is left to the caller, who may carry columns along that do not count for it.
    """
    if _is_simple(step, rows):
        return _row_by_row(step, rows, kinds)
    columns, bound = _bound(rows, kinds)
    renderer = Renderer(columns)
    outputs = {output.name: renderer.render(output.expression) for output in step.outputs}
    made = {name: rendered.kind or "number" for name, rendered in outputs.items()}
    shown = {name: f"o{index}" for index, name in enumerate(outputs)}
    # an ORDER BY term sees the outputs, and behind them the columns that came in
    inputs = {name: source for name, source in columns.items() if name not in shown}
    sorter = Renderer({**inputs, **{name: Source(sql, _facts(made[name])) for name, sql in shown.items()}})
    terms = [
        f"{sorter.render(term.expression).sql} {'DESC' if term.descending else 'ASC'} "
        f"NULLS {'FIRST' if term.nulls_first else 'LAST'}"
        for term in step.order
    ]
    where = "" if step.where is None else f" WHERE {renderer.render(step.where).sql}"
    named = [f"{rendered.sql} AS {shown[name]}" for name, rendered in outputs.items()]
    carried = [source.sql for source in columns.values()]
    inner = f"SELECT {', '.join([*named, *carried, 'i'])} FROM ({_FROM.format(bound.sql)}){where}"
    order = ", ".join([*terms, "i"])
    limit = "" if step.limit is None else f" LIMIT {int(step.limit)}"
    offset = f" OFFSET {int(step.offset)}" if step.offset else ""
    found = _fetch(f"SELECT {', '.join(shown.values())} FROM ({inner}) ORDER BY {order}{limit}{offset}", bound)
    return {name: [row[index] for row in found] for index, name in enumerate(outputs)}, made


def _is_simple(step: Step, rows: Rows) -> bool:
    """Whether a step does no more than compute with a few numbers: then Python is done before an engine has begun."""
    if step.where is not None or step.order or step.limit is not None or step.offset:
        return False
    lengths = {len(values) for values in rows.values()}
    return (
        len(lengths) == 1
        and max(lengths) <= _FEW
        and all(_functions(output.expression) <= _SIMPLE for output in step.outputs)
    )


def _functions(expression: Expression) -> frozenset[str]:
    if not isinstance(expression, Call):
        return frozenset()
    return frozenset((expression.function,)).union(*map(_functions, expression.arguments))


def _row_by_row(step: Step, rows: Rows, kinds: Kinds) -> tuple[dict[str, list[Any]], dict[str, Kind]]:
    facts = {name: _facts(kinds[name]) for name in rows}
    listed = {
        name: [_tidy(value, kinds[name]) for value in (values.tolist() if hasattr(values, "tolist") else values)]
        for name, values in rows.items()
    }
    table = [dict(zip(listed, row, strict=True)) for row in zip(*listed.values(), strict=True)]
    found = {one.name: [evaluate_row(one.expression, row, facts) for row in table] for one in step.outputs}
    return found, {one.name: typed(one.expression, facts).kind or "number" for one in step.outputs}


def evaluate(expression: Expression, table: Rows, kinds: Kinds) -> NDArray[Any]:
    """Return an expression row by row over large columns: floats for numbers, with NaN where it is NULL."""
    import numpy as np

    plain = arithmetic(expression, table)
    if plain is not None:
        return plain
    columns, bound = _bound(table, kinds)
    rendered = Renderer(columns).render(expression)
    numeric = rendered.kind in ("integer", "number", "boolean", None)
    value = f"coalesce(CAST({rendered.sql} AS DOUBLE), 'nan'::DOUBLE)" if numeric else rendered.sql
    sql = f"SELECT {value} AS v FROM ({_FROM.format(bound.sql)}) ORDER BY i"
    if numeric:
        return np.asarray(_fetch(sql, bound, arrays=True)["v"], dtype=np.float64)
    return np.array([row[0] for row in _fetch(sql, bound)], dtype=object)


def fetch(sql: str, parameters: Mapping[str, list[Any]]) -> list[tuple[Any, ...]]:
    """Return the rows of a query over public lists that are bound to it."""
    bound = _Bound()
    bound.parameters = dict(parameters)
    found: list[tuple[Any, ...]] = _fetch(sql, bound)
    return found


_FROM = "SELECT *, row_number() OVER () AS i FROM ({})"


class _Bound:
    """Columns on their way into the engine: lists as parameters, arrays in place."""

    def __init__(self) -> None:
        self.parameters: dict[str, list[Any]] = {}
        self.arrays: dict[str, Any] = {}
        self.sql = ""


def _bound(rows: Rows, kinds: Kinds) -> tuple[dict[str, Source], _Bound]:
    bound = _Bound()
    columns: dict[str, Source] = {}
    lengths = {len(values) for values in rows.values()}
    if len(lengths) != 1:
        raise InvariantError("released columns must all have one length")
    listed, placed = [], []
    for index, (name, values) in enumerate(rows.items()):
        kind, column = kinds[name], f"c{index}"
        columns[name] = Source(column, _facts(kind))
        if _in_place(values):
            bound.arrays[column] = values
            placed.append(_from_array(column, kind))
        else:
            bound.parameters[column] = [_tidy(value, kind) for value in values]
            listed.append(f"unnest(${column}::{TYPES[kind]}[]) AS {column}")
    parts = ([f"(SELECT {', '.join(listed)})"] if listed else []) + (
        [f"(SELECT {', '.join(placed)} FROM released)"] if placed else []
    )
    bound.sql = f"SELECT * FROM {' POSITIONAL JOIN '.join(parts)}"
    return columns, bound


def _facts(kind: Kind) -> Facts:
    return Facts(kind=kind, nullable=True)


def _tidy(value: Any, kind: Kind) -> Any:
    if value is None:
        return None
    if kind == "number":
        number = float(value)
        return None if number != number else number
    if kind == "integer":
        whole = int(value)
        return whole if -(2**63) <= whole < 2**63 else None
    return value


def _in_place(values: Any) -> bool:
    return type(values).__name__ == "ndarray" and values.dtype.kind in _ARRAYS


def _from_array(column: str, kind: Kind) -> str:
    cast = f"CAST({column} AS {TYPES[kind]})"
    return f"CASE WHEN NOT isnan({cast}) THEN {cast} END AS {column}" if kind == "number" else f"{cast} AS {column}"


@cache
def _connection() -> duckdb.DuckDBPyConnection:
    import duckdb

    connection = duckdb.connect(":memory:", config={"threads": 1})
    for setting in (
        "autoinstall_known_extensions = false",
        "autoload_known_extensions = false",
        "allow_community_extensions = false",
        "pandas_analyze_sample = 0",
        "enable_external_access = false",
        "python_enable_replacements = false",
        "lock_configuration = true",
    ):
        connection.execute(f"SET {setting}").fetchall()
    return connection


def _fetch(sql: str, bound: _Bound, *, arrays: bool = False) -> Any:
    import duckdb

    with _SERIAL:
        connection = _connection()
        try:
            if bound.arrays:
                connection.register("released", bound.arrays)
            result = connection.execute(sql, bound.parameters or None)
            return result.fetchnumpy() if arrays else result.fetchall()
        except duckdb.Error:
            connection.abort()
            raise_alone(EngineError())
        finally:
            if bound.arrays:
                connection.unregister("released")
