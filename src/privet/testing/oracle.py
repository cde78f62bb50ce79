"""The oracle: scans over lists of rows in plain Python, as slow and as obvious as can be. For tests and small data."""

from __future__ import annotations

import datetime
import math
import secrets
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cmp_to_key
from itertools import pairwise
from math import isqrt
from typing import Any

from privet.core.errors import BadParameter, InvariantError
from privet.core.relation import Call, Derive, Expression, GroupWithin, Join, Rank, Relation, Union, Within, tables_of
from privet.core.scan import (
    Counts,
    Discovery,
    Largest,
    Norm,
    Once,
    Pairs,
    Products,
    Scan,
    SealedSums,
    Sizes,
    Sum,
    Truncate,
)
from privet.core.schema import ColumnFacts, Key, Kind, Schema, Table, fetched_columns, followed
from privet.core.unit import Window, person_column, unit_columns
from privet.engines.dialects.duckdb import DuckDBDialect
from privet.engines.scan_sql.dialect import Form
from privet.engines.scan_sql.row_values import doubles
from privet.engines.scan_sql.statement import write_scan
from privet.query.evaluation import as_kind
from privet.query.expressions import evaluate_row, typed
from privet.query.shape import OVER, equal_sides, schema_of
from privet.query.typed import longest

__all__ = ["Memory", "gives", "read", "weight"]


# The oracle within one unit: groups, ranks, and values clamped to their facts, one row at a time in plain Python.


Row = Mapping[str, Any]
Owned = tuple[Any, Row]
"""Whose row it is, and its values."""


def read(value: Any, column: ColumnFacts) -> Any:
    """Return a stored value by the declared facts: clamped to its bounds, None where it is no value at all."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    low, high = column.low, column.high
    if column.kind == "text":
        return value[: longest(column)]
    if column.kind == "integer" and column.values is not None:
        listed = [option for option in column.values if isinstance(option, int)]
        return value if min(listed) <= value <= max(listed) else None
    if low is None or high is None:
        return value
    if column.kind == "integer":
        return min(max(value, int(low)), int(high))  # type: ignore[arg-type]
    if column.kind == "number":
        return min(max(float(value), float(low)), float(high))  # type: ignore[arg-type]
    return min(max(value, low), high)


def on_grid(total: Sum, x: Any, kind: Kind | None) -> int | None:
    """Return a value in steps of a sum's grid, not yet clamped to it."""
    return _whole(total, x) if kind == "integer" else _double(total, float(x))


def _whole(total: Sum, x: int) -> int:
    return math.floor((Fraction(x) - total.origin) / total.step + Fraction(1, 2))


def _double(total: Sum, x: float) -> int | None:
    scale = doubles(total)
    if math.isnan(x):
        return None
    return scale.place(min(max(x, scale.low), scale.high))


def grouped(relation: GroupWithin, rows: list[Owned], facts: Mapping[str, ColumnFacts], schema: Schema) -> list[Owned]:
    """Return one row for each owner and key."""
    groups: dict[tuple[Any, tuple[Any, ...]], list[Row]] = {}
    if not relation.keys:
        groups[None, ()] = []
    for owner, row in rows:
        found_keys = tuple(read(evaluate_row(key, row, facts), schema.columns[name]) for name, key in relation.keys)
        groups.setdefault((owner, found_keys), []).append(row)
    result: list[Owned] = []
    for (owner, keys), members in groups.items():
        values = [*keys, *(_aggregate(aggregate, members, facts) for aggregate in relation.aggregates)]
        named = zip(schema.columns.items(), values, strict=True)
        result.append((owner, {name: read(value, column) for (name, column), value in named}))
    return result


def ranked(relation: Rank, rows: list[Owned], facts: Mapping[str, ColumnFacts], schema: Schema) -> list[Owned]:
    """Return the rows with one more column, computed among those of one owner and partition."""
    parts: dict[tuple[Any, ...], list[Row]] = {}
    for owner, row in rows:
        keys = tuple(evaluate_row(key, row, facts) for key in relation.partition)
        parts.setdefault((owner, *keys), []).append(row)
    result: list[Owned] = []
    for (owner, *_), members in parts.items():

        def compare(a: Row, b: Row) -> int:
            return _ahead(relation, a, b, facts) or _further(a, b)

        ordered = sorted(members, key=cmp_to_key(compare))
        for place, row in enumerate(ordered):
            value = read(_rank(relation, ordered, place, facts), schema.columns[relation.name])
            result.append((owner, {**row, relation.name: value}))
    return result


def _seen(relation: Rank, ordered: list[Row], place: int, facts: Mapping[str, ColumnFacts]) -> list[Row]:
    """Return the rows that an aggregate beside a row is over."""
    span = relation.span
    if span is not None and span.rows:
        start = 0 if span.start is None else max(place + span.start, 0)
        end = len(ordered) if span.end is None else max(place + span.end + 1, 0)
        return ordered[start:end]
    start_, end_ = (None, 0 if relation.order else None) if span is None else (span.start, span.end)
    rows = []
    for row in ordered:
        ahead = _ahead(relation, row, ordered[place], facts)
        if (ahead >= 0 or start_ is None) and (ahead <= 0 or end_ is None):
            rows.append(row)
    return rows


def _rank(relation: Rank, ordered: list[Row], place: int, facts: Mapping[str, ColumnFacts]) -> Any:
    if relation.function in OVER:
        return _aggregate(relation.within, _seen(relation, ordered, place, facts), facts)
    if relation.function == "row_number":
        return place + 1
    if relation.function in {"rank", "dense_rank"}:
        before = [row for row in ordered[:place] if _ahead(relation, row, ordered[place], facts)]
        if relation.function == "rank":
            return len(before) + 1
        steps = pairwise(before)
        return 1 + bool(before) + sum(bool(_ahead(relation, a, b, facts)) for a, b in steps)
    there = place + (relation.places if relation.function == "lead" else -relation.places)
    if relation.argument is None or not 0 <= there < len(ordered):
        return None
    return evaluate_row(relation.argument, ordered[there], facts)


def _ahead(relation: Rank, a: Row, b: Row, facts: Mapping[str, ColumnFacts]) -> int:
    """Return below 0 if a comes before b in the order asked for, above 0 if after, 0 if they tie."""
    for term in relation.order:
        x, y = (evaluate_row(term.expression, row, facts) for row in (a, b))
        if x is None or y is None:
            sign = 0 if x is y else (1 if (x is None) != term.nulls_first else -1)
        else:
            sign = ((x > y) - (x < y)) * (-1 if term.descending else 1)
        if sign:
            return sign
    return 0


def _further(a: Row, b: Row) -> int:
    for x, y in zip(a.values(), b.values(), strict=True):
        if x is None or y is None:
            sign = 0 if x is y else (1 if x is None else -1)
        else:
            sign = (x > y) - (x < y)
        if sign:
            return sign
    return 0


def _aggregate(within: Within, rows: list[Row], facts: Mapping[str, ColumnFacts]) -> Any:
    kept = [row for row in rows if within.where is None or evaluate_row(within.where, row, facts) is True]
    if within.argument is None:
        return len(kept)
    values = [value for row in kept if (value := evaluate_row(within.argument, row, facts)) is not None]
    if within.function == "count":
        return len(values)
    if within.function == "count_distinct":
        return len(set(values))
    if not values:
        return None
    if within.function in {"min", "max"}:
        return min(values) if within.function == "min" else max(values)
    known = typed(within.argument, facts)
    low, high = known.bounds
    if within.step is None or low is None or high is None:
        raise InvariantError("a sum within a unit has bounds and a step")
    total = Sum(within.argument, math.floor(low / within.step), math.ceil(high / within.step), step=within.step)
    placed = [min(max(on_grid(total, value, known.kind) or 0, total.low), total.high) for value in values]
    if known.kind == "integer" and within.function == "sum":
        return sum(placed) if abs(sum(placed)) < 2**63 else None
    number = float(sum(placed)) / (len(placed) if within.function == "avg" else 1)
    inverse = 1 / within.step
    return number / float(inverse) if inverse.denominator == 1 else number * float(within.step)


# The oracle's relations: tables derived from tables, over lists of rows in plain Python, as slow and obvious as can be.


def rows_of(relation: Relation, tables: Mapping[str, Schema], stored: Mapping[str, Sequence[Row]]) -> list[Owned]:
    """Return the rows of a relation with their owners; those without one are dropped, unless the table is public."""
    schema = schema_of(relation, tables)
    match relation:
        case str():
            return stored_rows(schema, stored[relation])
        case Derive(source=source):
            facts = schema_of(source, tables).columns
            return [
                (
                    owner,
                    {
                        name: read(evaluate_row(expression, row, facts), schema.columns[name])
                        for name, expression in relation.columns
                    },
                )
                for owner, row in _kept(rows_of(source, tables, stored), relation.where, facts)
            ]
        case Join():
            return _join(relation, tables, stored, schema)
        case GroupWithin(source=source):
            facts = schema_of(source, tables).columns
            return grouped(relation, _kept(rows_of(source, tables, stored), relation.where, facts), facts, schema)
        case Rank(source=source):
            return ranked(relation, rows_of(source, tables, stored), schema_of(source, tables).columns, schema)
        case Union(sources=sources):
            rows = [owned for source in sources for owned in rows_of(source, tables, stored)]
            return [(owner, _renamed(row, schema)) for owner, row in rows]
    raise InvariantError("an unknown kind of relation")


def stored_rows(schema: Schema, rows: Sequence[Row]) -> list[Owned]:
    """Return the rows of a table that have an owner, clamped to its facts."""
    owned: list[Owned] = []
    for index, record in enumerate(rows):
        row = {name: read(record.get(name), column) for name, column in schema.columns.items()}
        owner = index if schema.unit.rowwise else _owner(schema, record, row)
        if owner is not None or schema.unit.public:
            owned.append((owner, row))
    return owned


def _owner(schema: Schema, record: Row, row: Row) -> Any:
    """Return whose row it is: the person, or the person and the bucket of time; None without an owner."""
    person = record.get(person_column(schema.unit) or "")
    if person is None or (isinstance(person, float) and math.isnan(person)):
        return None
    if not isinstance(schema.unit, Window):
        return person
    if row[schema.unit.time] is None:
        return None
    # as it is stored: the bounds of one table are not those of another
    time = read(record.get(schema.unit.time), replace(schema.columns[schema.unit.time], low=None, high=None))
    origin = datetime.datetime.combine(schema.unit.origin, datetime.time())
    return person, (as_kind("timestamp", time) - origin) // schema.unit.length


def _kept(rows: list[Owned], where: Expression | None, facts: Mapping[str, ColumnFacts]) -> list[Owned]:
    return [(owner, row) for owner, row in rows if where is None or evaluate_row(where, row, facts) is True]


def _join(join: Join, tables: Mapping[str, Schema], stored: Mapping[str, Sequence[Row]], schema: Schema) -> list[Owned]:
    left, right = schema_of(join.left, tables), schema_of(join.right, tables)
    both = bool(unit_columns(right.unit))
    mine, theirs = rows_of(join.left, tables, stored), rows_of(join.right, tables, stored)
    alike = list(equal_sides(join, left))
    equal = [Call("equal", sides) for sides in alike]
    pairs: list[list[Row]] = []
    for owner, row in mine:
        joined = [
            {**row, **{name: r[column] for name, column in join.names}} for o, r in theirs if not both or o == owner
        ]
        pairs.append(
            [pair for pair in joined if all(evaluate_row(equality, pair, schema.columns) is True for equality in equal)]
        )
    for owner in {owner for owner, _ in mine} if join.most is not None and unit_columns(left.unit) else ():
        those = [row for other, row in theirs if not both or other == owner]
        keys = [_keys(join, row, [side for _, side in alike], schema) for row in those]
        if any(count > 1 for key, count in Counter(keys).items() if None not in key):
            _cut([place for place, (other, _) in enumerate(mine) if other == owner], pairs, join.most or 0)
    result: list[Owned] = []
    for (owner, row), partners in zip(mine, pairs, strict=True):
        if partners is _GONE:
            continue
        met = [pair for pair in partners if join.on is None or evaluate_row(join.on, pair, schema.columns) is True]
        if not met and join.kind == "left":
            met.append({**row, **{name: None for name, _ in join.names}})
        result += [(owner, pair) for pair in met]
    return result


_GONE: list[Row] = []
"""Stands for the pairs of a row that is left without any."""


def _keys(join: Join, row: Row, expressions: Sequence[Expression], schema: Schema) -> tuple[Any, ...]:
    """Return what must be equal of a row of the right side."""
    named = {name: row[column] for name, column in join.names}
    return tuple(evaluate_row(expression, named, schema.columns) for expression in expressions)


def _cut(places: list[int], pairs: list[list[Row]], most: int) -> None:
    """Keep `most` pairs of a unit's rows, at most; which, is chosen anew each time."""
    draw = secrets.SystemRandom()
    made = 0
    for place in draw.sample(places, len(places)):
        candidates = pairs[place]
        if candidates:
            kept = draw.sample(candidates, min(len(candidates), max(most - made, 0)))
            pairs[place] = kept or _GONE
            made += len(kept)


def _renamed(row: Row, schema: Schema) -> Row:
    cells = zip(schema.columns.items(), row.values(), strict=True)
    return {name: as_kind(column.kind, value) for (name, column), value in cells}


def _apart(name: str, column: str, schema: Schema) -> str:
    """Return a linked table's own column as its schema calls it."""
    return f"{name}.{column}" if f"{name}.{column}" in schema.columns else column


def with_owners(stored: Mapping[str, list[Row]], name: str, tables: Mapping[str, Schema]) -> list[Row]:
    """Return the rows of a table, each of a linked one with the column that identifies the person."""
    schema, rows = tables[name], stored[name]
    link = schema.link
    if link is not None:
        rows = [{_apart(name, column, schema): value for column, value in row.items()} for row in rows]
    if link is None or link.via in unit_columns(schema.unit):
        return rows
    fetched = fetched_columns(schema, tables)
    if not fetched:
        return [{**row, unit_columns(schema.unit)[0]: row.get(link.via)} for row in rows]
    return [
        {**row, **{column: target.get(column) for column in fetched}}
        for row in rows
        for target in stored[link.to]
        if row.get(link.via) is not None and row.get(link.via) == target.get(link.column)
    ]


# The oracle: scans over lists of rows in plain Python, as slow and as obvious as can be. For tests and small data.


Cell = tuple[Key, ...]


class _Unread(DuckDBDialect):
    """Writes SQL that is never run: all that may be refused is refused on the way, but no function for its name."""

    def form(self, function: str) -> Form:
        return self.forms.get(
            function, lambda bind, name, inputs, safe: f"{name}({', '.join(part.sql for part in inputs)})"
        )


_UNREAD = _Unread()


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

    def check(self, scan: Scan) -> None:
        """Raise a `RequestError` where the numbers of a scan may not fit what engines compute in. Reads nothing."""
        write_scan(scan, self._tables, {name: name for name in self._tables}, 0, _UNREAD)

    def scan(self, scan: Scan) -> SealedSums:
        """Return the exact sums of a scan, sealed."""
        if isinstance(scan.table, str):
            rows = stored_rows(scan.schema, self._rows[scan.table])
        else:
            rows = rows_of(scan.table, self._tables, self._rows)
        if scan.sizes is not None and isinstance(scan.bounding, Norm):
            return SealedSums(_sized(scan, scan.bounding, scan.sizes, rows))
        return SealedSums(_scan(scan, rows)) if scan.places is None else SealedSums({}, _count(scan, scan.places, rows))

    def public_rows(self, name: str) -> list[tuple[Any, ...]]:
        """Return the different rows of a public table, clamped to its facts."""
        schema = self._tables[name]
        if not schema.unit.public:
            raise InvariantError("the rows of a private table are read by scans only")
        rows = (tuple(row[column] for column in schema.columns) for _, row in stored_rows(schema, self._rows[name]))
        return list(dict.fromkeys(rows))

    def list_public(self, relation: Relation, most: int) -> list[tuple[Any, ...]] | None:
        """Return the rows of a relation over public tables, or None where there are more than `most`."""
        if not all(name in self._tables and self._tables[name].unit.public for name in tables_of(relation)):
            raise InvariantError("the rows of a private table are read by scans only")
        names = list(schema_of(relation, self._tables).columns)
        rows = [tuple(row[name] for name in names) for _, row in rows_of(relation, self._tables, self._rows)]
        return rows if len(rows) <= most else None

    def close(self) -> None:
        """Let go of the rows."""
        self._rows.clear()


def gives(total: Sum, row: Row, schema: Schema) -> int:
    """Return the integer that a row contributes to a sum."""
    y = place(total, row, schema)
    return 0 if y is None else int(y**total.power - total.offset)


def place(total: Sum, row: Row, schema: Schema) -> int | None:
    """Return where on its grid a sum finds a row, within its bounds; None where the row contributes nothing."""
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
    unit = 2**norm.shift
    if norm.order == 1:
        return int(min(unit, norm.limit * unit // sum(counts)))
    return int(min(unit, isqrt(norm.limit * unit * unit // sum(n * n for n in counts))))


def _scan(scan: Scan, rows: Sequence[Owned]) -> dict[Cell, tuple[int, ...]]:
    if isinstance(scan.bounding, Pairs):
        return _different(scan, scan.bounding, rows)
    units: dict[Any, dict[Cell, list[tuple[int, ...]]]] = defaultdict(lambda: defaultdict(list))
    columns = len(scan.sums if scan.products is None else scan.products.pairs)
    for owner, row, cell in _counted(scan, rows):
        given = tuple(gives(total, row, scan.schema) for total in scan.sums)
        units[owner][cell].append(given if scan.products is None else _multiplied(scan.products, given))
    sums: dict[Cell, list[int]] = defaultdict(lambda: [0] * columns)
    shares: dict[Cell, int] = defaultdict(int)
    for cells in units.values():
        bounded = _bounded(scan, cells)
        for cell, row_sums in bounded.items():
            sums[cell] = [a + b for a, b in zip(sums[cell], row_sums, strict=True)]
        if scan.discovery is not None:
            kept = _sample(bounded, scan.discovery.most)
            for cell in kept:
                shares[cell] += _share(scan.discovery, len(kept))
    if not scan.keys and not sums:
        sums[()] = [0] * columns
    if scan.discovery is None:
        return {cell: tuple(total) for cell, total in sums.items()}
    return {cell: (*sums[cell], part) for cell, part in shares.items()}


def _multiplied(products: Products, given: Sequence[int]) -> tuple[int, ...]:
    """Return the products of the factors of one row, scaled down first where a norm of rows is over."""
    factors = list(given)
    norm = products.norm
    if norm is not None:
        size = sum(abs(factor) ** norm.order for factor in factors[: norm.over])
        unit = 2**norm.shift
        limit = norm.limit * unit**norm.order // max(size, 1)
        scale = min(unit, limit if norm.order == 1 else isqrt(limit))
        factors = [(abs(each) * scale // unit) * (1 if each > 0 else -1) for each in factors]
    return tuple(factors[first] * factors[second] for first, second in products.pairs)


def _sized(scan: Scan, norm: Norm, sizes: Sizes, rows: Sequence[Owned]) -> dict[Cell, tuple[int, ...]]:
    """Return the number of units of each size."""
    units: dict[Any, Counter[Cell]] = defaultdict(Counter)
    for owner, _, cell in _counted(scan, rows):
        units[owner][cell] += 1
    bins: Counter[int] = Counter()
    for cells in units.values():
        counts = [1] * len(cells) if scan.distinct else list(cells.values())
        if sizes.of == "norm":
            size = sum(n**norm.order for n in counts)
        else:
            size = (2**norm.shift - weight(norm, counts)) * sum(counts)
        bins[sum(size > edge for edge in sizes.edges)] += 1
    return {(place,): (count,) for place, count in bins.items()}


def _count(scan: Scan, places: Sum, rows: Sequence[Owned]) -> dict[Cell, Counts]:
    """Return the weights of the rows of each group at each place."""
    units: dict[Any, dict[Cell, list[tuple[int, ...]]]] = defaultdict(lambda: defaultdict(list))
    for owner, row, cell in _counted(scan, rows):
        where = place(places, row, scan.schema)
        if where is not None:
            units[owner][cell].append((where,))
    weights: dict[Cell, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for cells in units.values():
        scale, kept = _rows_kept(scan, cells)
        for cell, members in kept.items():
            for (where,) in members:
                weights[cell][where] += scale
    listed = {cell: {where: n for where, n in sorted(by_place.items()) if n} for cell, by_place in weights.items()}
    return {cell: (list(by_place), list(by_place.values())) for cell, by_place in listed.items() if by_place}


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
    """Return how many different values the units keep in each group, or what they add up to."""
    held: dict[Any, set[tuple[Cell, Any]]] = defaultdict(set)
    (total,) = scan.sums
    worth: dict[tuple[Cell, Any], int] = {}
    for owner, row, cell in _counted(scan, rows):
        value = evaluate_row(pairs.of, row, scan.schema.columns)
        if value is not None and gives(Sum(None, 1, 1, where=total.where), row, scan.schema):
            held[owner].add((cell, value))
            worth[cell, value] = gives(total, row, scan.schema)
    kept = {pair for values in held.values() for pair in _sample(values, pairs.most)}
    counts: Counter[Cell] = Counter()
    for pair in kept:
        counts[pair[0]] += worth[pair]
    if not scan.keys:
        counts[()] += 0
    return {cell: (count,) for cell, count in counts.items()}


def _allowed(value: Key, values: tuple[Key, ...] | None, nullable: bool) -> bool:
    if value is None:
        return nullable and (values is None or None in values)
    return values is None or value in values


def _bounded(scan: Scan, cells: Mapping[Cell, list[tuple[int, ...]]]) -> dict[Cell, list[int]]:
    """Return one unit's contribution to each group."""
    if scan.distinct:
        cells = {cell: [tuple(map(max, zip(*rows, strict=True)))] for cell, rows in cells.items()}
    scale, kept = _rows_kept(scan, cells)
    return {cell: [scale * sum(column) for column in zip(*rows, strict=True)] for cell, rows in kept.items()}


def _rows_kept(
    scan: Scan, cells: Mapping[Cell, list[tuple[int, ...]]]
) -> tuple[int, Mapping[Cell, list[tuple[int, ...]]]]:
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


def _sample(items: Iterable[Any], most: int) -> list[Any]:
    listed = list(items)
    return secrets.SystemRandom().sample(listed, min(most, len(listed)))


def _share(discovery: Discovery, keys: int) -> int:
    unit = 2**discovery.shift
    if discovery.order == 0:
        return int(unit)
    return unit // keys if discovery.order == 1 else isqrt(unit * unit // keys)
