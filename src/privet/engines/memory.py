"""The oracle: scans over lists of rows in plain Python, as slow and as obvious as can be. For tests and small data."""

from __future__ import annotations

import math
import secrets
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import isqrt
from typing import Any

from privet.core.errors import BadParameter, InvariantError
from privet.core.links import followed, owner_column, target_of
from privet.core.scan import Discovery, Exact, Norm, Once, Scan, Sum, Truncate
from privet.core.schema import Column, Key, Schema, Table
from privet.core.unit import Person
from privet.query.functions import typed

from .evaluation import evaluate_row
from .grid import doubles

Row = Mapping[str, Any]
Cell = tuple[Key, ...]


class Memory:
    """Answers scans over tables whose sources are lists of rows, each a mapping of column names to values."""

    def __init__(self, tables: Mapping[str, Table]) -> None:
        self._rows: dict[str, list[Row]] = {}
        for name, table in tables.items():
            if not isinstance(table.source, (list, tuple)):
                raise BadParameter(f"source of table {name!r}", type(table.source).__name__, "a list of rows")
            self._rows[name] = list(table.source)
        owned = followed({name: table.schema for name, table in tables.items()})
        for name in owned:  # a table that others link to comes before them
            self._rows[name] = _with_owners(self._rows, name, owned)

    def scan(self, scan: Scan) -> Exact:
        """Return the exact sums of a scan, sealed."""
        return Exact(_scan(scan, self._rows[scan.table]))

    def close(self) -> None:
        """Let go of the rows."""
        self._rows.clear()


def _with_owners(stored: Mapping[str, list[Row]], name: str, tables: Mapping[str, Schema]) -> list[Row]:
    """Return the rows of a table, each of a linked one with the column that says whose row it is."""
    schema, rows = tables[name], stored[name]
    link = schema.link
    if link is None or owner_column(schema) == link.via:
        return rows
    owner, further = owner_column(schema), target_of(schema, tables)
    if further is None:
        return [{**row, owner: row.get(link.via)} for row in rows]
    return [
        {**row, owner: target.get(further)}
        for row in rows
        for target in stored[link.to]
        if row.get(link.via) is not None and row.get(link.via) == target.get(link.column)
    ]


def read(value: Any, column: Column) -> Any:
    """Return a stored value held to the declared facts: clamped to its bounds, None where it is no value at all."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    low, high = column.low, column.high
    if column.kind == "integer" and column.values is not None:
        listed = [one for one in column.values if isinstance(one, int)]
        return value if min(listed) <= value <= max(listed) else None
    if low is None or high is None:
        return value
    if column.kind == "integer":
        return min(max(value, int(low)), int(high))  # type: ignore[arg-type]
    if column.kind == "number":
        return min(max(float(value), float(low)), float(high))  # type: ignore[arg-type]
    return min(max(value, low), high)


def gives(total: Sum, row: Row, schema: Schema) -> int:
    """Return the integer that a row gives to a sum."""
    if total.where is not None and evaluate_row(total.where, row, schema.columns) is not True:
        return 0
    y: int | None = 1
    if total.expression is not None:
        x = evaluate_row(total.expression, row, schema.columns)
        kind = typed(total.expression, schema.columns).kind
        y = None if x is None else _whole(total, x) if kind == "integer" else _double(total, float(x))
    if y is None:
        y = total.null_as
    if y is None:
        return 0
    return int(min(max(y, total.low), total.high) ** total.power - total.offset)


def weight(norm: Norm, counts: Sequence[int]) -> int:
    """Return the largest whole weight that keeps a unit with these numbers of rows to the limit."""
    one = 2**norm.shift
    if norm.order == 1:
        return int(min(one, norm.limit * one // sum(counts)))
    return int(min(one, isqrt(norm.limit * one * one // sum(n * n for n in counts))))


def _whole(total: Sum, x: int) -> int:
    return math.floor((Fraction(x) - total.origin) / total.step + Fraction(1, 2))


def _double(total: Sum, x: float) -> int | None:
    scale = doubles(total)
    if math.isnan(x):
        return None
    moved = min(max(x, scale.low), scale.high) - scale.origin
    return math.floor((moved / scale.factor if scale.divides else moved * scale.factor) + 0.5)


def _scan(scan: Scan, stored: Sequence[Row]) -> dict[Cell, tuple[int, ...]]:
    schema = scan.schema
    units: dict[Any, dict[Cell, list[tuple[int, ...]]]] = defaultdict(lambda: defaultdict(list))
    for index, record in enumerate(stored):
        owner = record.get(schema.unit.column) if isinstance(schema.unit, Person) else index
        if owner is None or (isinstance(owner, float) and math.isnan(owner)):
            continue
        row = {name: read(record.get(name), column) for name, column in schema.columns.items()}
        if scan.where is not None and evaluate_row(scan.where, row, schema.columns) is not True:
            continue
        cell = tuple(evaluate_row(key.expression, row, schema.columns) for key in scan.keys)
        if all(_allowed(value, key.values, key.nullable) for value, key in zip(cell, scan.keys, strict=True)):
            units[owner][cell].append(tuple(gives(total, row, schema) for total in scan.sums))
    sums: dict[Cell, list[int]] = defaultdict(lambda: [0] * len(scan.sums))
    found: dict[Cell, int] = defaultdict(int)
    for cells in units.values():
        bounded = _bounded(scan, cells)
        for cell, row_sums in bounded.items():
            sums[cell] = [a + b for a, b in zip(sums[cell], row_sums, strict=True)]
        if scan.discovery is not None:
            kept = _sample(bounded, scan.discovery.most)
            for cell in kept:
                found[cell] += _share(scan.discovery, len(kept))
    if not scan.keys and not sums:
        sums[()] = [0] * len(scan.sums)
    if scan.discovery is None:
        return {cell: tuple(total) for cell, total in sums.items()}
    return {cell: (*sums[cell], part) for cell, part in found.items()}


def _allowed(value: Key, values: tuple[Key, ...] | None, nullable: bool) -> bool:
    if value is None:
        return nullable and (values is None or None in values)
    return values is None or value in values


def _bounded(scan: Scan, cells: Mapping[Cell, list[tuple[int, ...]]]) -> dict[Cell, list[int]]:
    """Return what one unit gives to each group."""
    if scan.distinct:
        cells = {cell: [tuple(map(max, zip(*rows, strict=True)))] for cell, rows in cells.items()}
    match scan.bounding:
        case Once():
            scale = 1
        case Norm() as norm:
            scale = weight(norm, [len(rows) for rows in cells.values()])
        case Truncate(groups=groups, rows=most):
            scale = 1
            cells = {cell: _sample(cells[cell], most) for cell in _sample(cells, groups)}
        case _:
            raise InvariantError("an unknown kind of bounding")
    return {cell: [scale * sum(column) for column in zip(*rows, strict=True)] for cell, rows in cells.items()}


def _sample(several: Iterable[Any], most: int) -> list[Any]:
    listed = list(several)
    return secrets.SystemRandom().sample(listed, min(most, len(listed)))


def _share(discovery: Discovery, keys: int) -> int:
    one = 2**discovery.shift
    if discovery.order == 0:
        return int(one)
    return one // keys if discovery.order == 1 else isqrt(one * one // keys)
