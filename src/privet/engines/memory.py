"""The oracle: scans over lists of rows in plain Python, as slow and as obvious as can be. For tests and small data."""

from __future__ import annotations

import secrets
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isqrt
from typing import Any

from privet.core.errors import BadParameter, InvariantError
from privet.core.links import followed
from privet.core.scan import Counts, Discovery, Exact, Largest, Norm, Once, Pairs, Scan, Sum, Truncate
from privet.core.schema import Key, Schema, Table
from privet.core.unit import Nobody
from privet.query.functions import typed

from .evaluation import evaluate_row
from .memory_relations import rows_of, stored_rows, with_owners
from .memory_within import Owned, Row, on_grid, read

__all__ = ["Memory", "gives", "read", "weight"]

Cell = tuple[Key, ...]


class Memory:
    """Answers scans over tables whose sources are lists of rows, each a mapping of column names to values."""

    def __init__(self, tables: Mapping[str, Table]) -> None:
        self._rows: dict[str, list[Row]] = {}
        for name, table in tables.items():
            if not isinstance(table.source, (list, tuple)):
                raise BadParameter(f"source of table {name!r}", type(table.source).__name__, "a list of rows")
            self._rows[name] = list(table.source)
        self._tables = followed({name: table.schema for name, table in tables.items()})
        for name in self._tables:  # a table that others link to comes before them
            self._rows[name] = with_owners(self._rows, name, self._tables)

    def scan(self, scan: Scan) -> Exact:
        """Return the exact sums of a scan, sealed."""
        if isinstance(scan.table, str):
            rows = stored_rows(scan.schema, self._rows[scan.table])
        else:
            rows = rows_of(scan.table, self._tables, self._rows)
        return Exact(_scan(scan, rows)) if scan.places is None else Exact({}, _count(scan, scan.places, rows))

    def public_rows(self, name: str) -> list[tuple[Any, ...]]:
        """Return the different rows of a public table, held to its facts."""
        schema = self._tables[name]
        if not isinstance(schema.unit, Nobody):
            raise InvariantError("the rows of a private table are read by scans only")
        rows = (tuple(row[column] for column in schema.columns) for _, row in stored_rows(schema, self._rows[name]))
        return list(dict.fromkeys(rows))

    def close(self) -> None:
        """Let go of the rows."""
        self._rows.clear()


def gives(total: Sum, row: Row, schema: Schema) -> int:
    """Return the integer that a row gives to a sum."""
    y = place(total, row, schema)
    return 0 if y is None else int(y**total.power - total.offset)


def place(total: Sum, row: Row, schema: Schema) -> int | None:
    """Return where on its grid a sum finds a row, within its bounds; None where the row gives nothing."""
    if total.where is not None and evaluate_row(total.where, row, schema.columns) is not True:
        return None
    y: int | None = 1
    if total.expression is not None:
        x = evaluate_row(total.expression, row, schema.columns)
        kind = typed(total.expression, schema.columns).kind
        y = None if x is None else on_grid(total, x, kind)
    if y is None:
        y = total.null_as
    return None if y is None else min(max(y, total.low), total.high)


def weight(norm: Norm, counts: Sequence[int]) -> int:
    """Return the largest whole weight that keeps a unit with these numbers of rows to the limit."""
    one = 2**norm.shift
    if norm.order == 1:
        return int(min(one, norm.limit * one // sum(counts)))
    return int(min(one, isqrt(norm.limit * one * one // sum(n * n for n in counts))))


def _scan(scan: Scan, rows: Sequence[Owned]) -> dict[Cell, tuple[int, ...]]:
    if isinstance(scan.bounding, Pairs):
        return _different(scan, scan.bounding, rows)
    units: dict[Any, dict[Cell, list[tuple[int, ...]]]] = defaultdict(lambda: defaultdict(list))
    for owner, row, cell in _counted(scan, rows):
        units[owner][cell].append(tuple(gives(total, row, scan.schema) for total in scan.sums))
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


def _count(scan: Scan, places: Sum, rows: Sequence[Owned]) -> dict[Cell, Counts]:
    """Return the weights of the rows of each group at each place."""
    units: dict[Any, dict[Cell, list[tuple[int, ...]]]] = defaultdict(lambda: defaultdict(list))
    for owner, row, cell in _counted(scan, rows):
        where = place(places, row, scan.schema)
        if where is not None:
            units[owner][cell].append((where,))
    found: dict[Cell, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for cells in units.values():
        scale, kept = _kept(scan, cells)
        for cell, several in kept.items():
            for (where,) in several:
                found[cell][where] += scale
    listed = {cell: {where: n for where, n in sorted(one.items()) if n} for cell, one in found.items()}
    return {cell: (list(one), list(one.values())) for cell, one in listed.items() if one}


def _counted(scan: Scan, rows: Sequence[Owned]) -> Iterator[tuple[Any, Row, Cell]]:
    """Yield the rows that meet the condition and lie in a group that is asked about."""
    columns, cells = scan.schema.columns, frozenset(scan.cells or ())
    for owner, row in rows:
        if scan.where is not None and evaluate_row(scan.where, row, columns) is not True:
            continue
        cell = tuple(evaluate_row(key.expression, row, columns) for key in scan.keys)
        if scan.cells is not None and cell[: len(scan.cells[0])] not in cells:
            continue
        if all(_allowed(value, key.values, key.nullable) for value, key in zip(cell, scan.keys, strict=True)):
            yield owner, row, cell


def _different(scan: Scan, pairs: Pairs, rows: Sequence[Owned]) -> dict[Cell, tuple[int, ...]]:
    """Return how many different values the units keep in each group."""
    held: dict[Any, set[tuple[Cell, Any]]] = defaultdict(set)
    for owner, row, cell in _counted(scan, rows):
        value = evaluate_row(pairs.of, row, scan.schema.columns)
        if value is not None and gives(scan.sums[0], row, scan.schema):
            held[owner].add((cell, value))
    kept = {pair for several in held.values() for pair in _sample(several, pairs.most)}
    counts = Counter(cell for cell, _ in kept)
    if not scan.keys:
        counts[()] += 0
    return {cell: (count,) for cell, count in counts.items()}


def _allowed(value: Key, values: tuple[Key, ...] | None, nullable: bool) -> bool:
    if value is None:
        return nullable and (values is None or None in values)
    return values is None or value in values


def _bounded(scan: Scan, cells: Mapping[Cell, list[tuple[int, ...]]]) -> dict[Cell, list[int]]:
    """Return what one unit gives to each group."""
    if scan.distinct:
        cells = {cell: [tuple(map(max, zip(*rows, strict=True)))] for cell, rows in cells.items()}
    scale, kept = _kept(scan, cells)
    return {cell: [scale * sum(column) for column in zip(*rows, strict=True)] for cell, rows in kept.items()}


def _kept(scan: Scan, cells: Mapping[Cell, list[tuple[int, ...]]]) -> tuple[int, Mapping[Cell, list[tuple[int, ...]]]]:
    """Return the weight of one unit, and the rows of it that count in each group."""
    match scan.bounding:
        case Once():
            return 1, cells
        case Norm() as norm:
            return weight(norm, [len(rows) for rows in cells.values()]), cells
        case Largest(limit=limit, shift=shift):
            largest: dict[Cell, int] = defaultdict(int)
            for cell, rows in cells.items():
                largest[cell[:-1]] = max(largest[cell[:-1]], len(rows))
            return weight(Norm(1, limit, shift), list(largest.values())), cells
        case Truncate(groups=groups, rows=most):
            return 1, {cell: _sample(cells[cell], most) for cell in _sample(cells, groups)}
    raise InvariantError("an unknown kind of bounding")


def _sample(several: Iterable[Any], most: int) -> list[Any]:
    listed = list(several)
    return secrets.SystemRandom().sample(listed, min(most, len(listed)))


def _share(discovery: Discovery, keys: int) -> int:
    one = 2**discovery.shift
    if discovery.order == 0:
        return int(one)
    return one // keys if discovery.order == 1 else isqrt(one * one // keys)
