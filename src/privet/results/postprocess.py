"""Post-processing: steps over released rows, on a connection that has no private tables and can read no file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from privet.core.errors import InvariantError
from privet.core.relation import Call, Expression
from privet.core.schema import ColumnFacts as Facts
from privet.core.schema import Kind
from privet.engines.dialects.duckdb import DUCKDB, TYPES
from privet.engines.duckdb.public import Bound, fetch
from privet.engines.scan_sql.dialect import Renderer, RowSource
from privet.query.expressions import evaluate_row, typed
from privet.query.nodes import Step
from privet.query.typed import INT64

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privet.core.event import Floats


# Plain arithmetic over columns of released numbers, in NumPy: what simulated error bars need most, without an engine.
#
# Numbers are doubles and NULL is NaN. Everything else in an expression is left to the engine.


_OPERATIONS = frozenset(("add", "subtract", "multiply", "divide", "negate", "nullif"))


def arithmetic(expression: Expression, table: Mapping[str, Any]) -> Floats | None:
    """Return an expression row by row, as the engine would but for the last digits; None where it is not arithmetic."""
    import numpy as np

    with np.errstate(all="ignore"):
        result = _value(expression, table)
    if result is None:
        return None
    values, _ = result
    return np.broadcast_to(values, next((len(column) for column in table.values()), 1)).astype(np.float64)


def _value(expression: Expression, table: Mapping[str, Any]) -> tuple[Floats, bool] | None:
    """Return the values, and whether they are whole numbers by type, which are NULL beyond 64 bits."""
    import numpy as np

    if expression.column is not None:
        column = table[expression.column]
        kind = column.dtype.kind if type(column) is np.ndarray else ""
        return (_known(column.astype(np.float64)), kind == "i") if kind and kind in "if" else None
    if expression.is_constant:
        value = expression.constant
        if isinstance(value, bool) or not isinstance(value, (int, Fraction)):
            return None
        return np.asarray(float(value)), isinstance(value, int)
    if expression.function not in _OPERATIONS:
        return None
    parts = [_value(argument, table) for argument in expression.arguments]
    if any(part is None for part in parts):
        return None
    (x, whole), *others = [part for part in parts if part is not None]
    if not others:
        return _held(-x, whole)
    ((y, also),) = others
    match expression.function:
        case "add":
            return _held(x + y, whole and also)
        case "subtract":
            return _held(x - y, whole and also)
        case "multiply":
            return _held(x * y, whole and also)
        case "nullif":
            return np.where(x == y, np.nan, x), whole
    return _held(x / y, False)


def _held(values: Floats, whole: bool) -> tuple[Floats, bool]:
    import numpy as np

    return (np.where(np.abs(values) <= INT64[1], values, np.nan) if whole else _known(values)), whole


def _known(values: Floats) -> Floats:
    import numpy as np

    return np.where(np.isfinite(values), values, np.nan)


# Steps over released rows, on a connection that has no private tables and can read no file.
#
# Columns come in and go out as lists or NumPy arrays. Everything here is public.


Rows = Mapping[str, Sequence[Any] | Any]
"""Columns by name, all of one length: lists, or NumPy arrays of numbers or truth values."""

Kinds = Mapping[str, Kind]
"""The kinds of the columns, by declared facts: the values may all be NULL, or there may be none."""

_ARRAYS = "fiub"
"""Kinds of NumPy arrays that are read in place."""

_MAX_SIMPLE_ROWS = 32
_SIMPLE = frozenset(("add", "subtract", "multiply", "divide", "negate", "abs", "nullif", "round_to", "is_null"))


def run_step(step: Step, rows: Rows, kinds: Kinds) -> tuple[dict[str, list[Any]], dict[str, Kind]]:
    """Return the rows that one SELECT makes of released rows, and their kinds. Ties keep the order of what came in.

    DISTINCT is left to the caller, who may carry columns along that do not count for it.
    """
    if _is_simple(step, rows):
        return _row_by_row(step, rows, kinds)
    columns, bound = _bound(rows, kinds)
    renderer = Renderer(columns, DUCKDB)
    outputs = {output.name: renderer.render(output.expression) for output in step.outputs}
    made = {name: rendered.kind or "number" for name, rendered in outputs.items()}
    shown = {name: f"o{index}" for index, name in enumerate(outputs)}
    # an ORDER BY term may name the columns that came in, and after them the outputs
    made_here = {name: RowSource(sql, facts_of_kind(made[name])) for name, sql in shown.items()}
    sorter = Renderer({**made_here, **columns}, DUCKDB)
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
    fetched = fetch(f"SELECT {', '.join(shown.values())} FROM ({inner}) ORDER BY {order}{limit}{offset}", bound)
    return {name: [row[index] for row in fetched] for index, name in enumerate(outputs)}, made


def _is_simple(step: Step, rows: Rows) -> bool:
    """Whether a step does no more than compute with a few numbers: then Python is done before an engine has begun."""
    if step.where is not None or step.order or step.limit is not None or step.offset:
        return False
    lengths = {len(values) for values in rows.values()}
    return (
        len(lengths) == 1
        and max(lengths) <= _MAX_SIMPLE_ROWS
        and all(_functions(output.expression) <= _SIMPLE for output in step.outputs)
    )


def _functions(expression: Expression) -> frozenset[str]:
    if not isinstance(expression, Call):
        return frozenset()
    return frozenset((expression.function,)).union(*map(_functions, expression.arguments))


def _row_by_row(step: Step, rows: Rows, kinds: Kinds) -> tuple[dict[str, list[Any]], dict[str, Kind]]:
    facts = {name: facts_of_kind(kinds[name]) for name in rows}
    listed = {
        name: [tidy(value, kinds[name]) for value in (values.tolist() if hasattr(values, "tolist") else values)]
        for name, values in rows.items()
    }
    table = [dict(zip(listed, row, strict=True)) for row in zip(*listed.values(), strict=True)]
    columns = {output.name: [evaluate_row(output.expression, row, facts) for row in table] for output in step.outputs}
    return columns, {output.name: typed(output.expression, facts).kind or "number" for output in step.outputs}


def evaluate(expression: Expression, table: Rows, kinds: Kinds) -> NDArray[Any]:
    """Return an expression row by row over large columns: floats for numbers, with NaN where it is NULL."""
    import numpy as np

    plain = arithmetic(expression, table)
    if plain is not None:
        return plain
    columns, bound = _bound(table, kinds)
    rendered = Renderer(columns, DUCKDB).render(expression)
    numeric = rendered.kind in ("integer", "number", "boolean", None)
    value = f"coalesce(CAST({rendered.sql} AS DOUBLE), 'nan'::DOUBLE)" if numeric else rendered.sql
    sql = f"SELECT {value} AS v FROM ({_FROM.format(bound.sql)}) ORDER BY i"
    if numeric:
        return np.asarray(fetch(sql, bound, arrays=True)["v"], dtype=np.float64)
    return np.array([row[0] for row in fetch(sql, bound)], dtype=object)


_FROM = "SELECT *, row_number() OVER () AS i FROM ({})"


def _bound(rows: Rows, kinds: Kinds) -> tuple[dict[str, RowSource], Bound]:
    bound = Bound()
    columns: dict[str, RowSource] = {}
    lengths = {len(values) for values in rows.values()}
    if len(lengths) != 1:
        raise InvariantError("released columns must all have one length")
    listed, placed = [], []
    for index, (name, values) in enumerate(rows.items()):
        kind, column = kinds[name], f"c{index}"
        columns[name] = RowSource(column, facts_of_kind(kind))
        if _in_place(values):
            bound.arrays[column] = values
            placed.append(_from_array(column, kind))
        else:
            bound.parameters[column] = [tidy(value, kind) for value in values]
            listed.append(f"unnest(${column}::{TYPES[kind]}[]) AS {column}")
    parts = ([f"(SELECT {', '.join(listed)})"] if listed else []) + (
        [f"(SELECT {', '.join(placed)} FROM released)"] if placed else []
    )
    bound.sql = f"SELECT * FROM {' POSITIONAL JOIN '.join(parts)}"
    return columns, bound


def facts_of_kind(kind: Kind) -> Facts:
    """Return the facts of a released column: its kind."""
    return Facts(kind=kind, nullable=True)


def tidy(value: Any, kind: Kind) -> Any:
    """Return a value as the engine takes it: NULL for NaN and for a whole number beyond 64 bits."""
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
