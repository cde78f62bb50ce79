"""Relation -> SQL: tables derived from tables before a scan bounds and sums. Made of generated names and constants
only.

Each step returns its columns as c0, c1, ... in the order of its schema, clamped to their facts, and the unit as u.
Nothing here looks across units: rows of two units never meet in a join, and groups and ranks are taken within a unit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor
from typing import Literal

from privet.core.errors import InvariantError
from privet.core.relation import (
    By,
    Derive,
    Expression,
    GroupWithin,
    Join,
    Rank,
    Relation,
    RowSpan,
    Union,
    Within,
)
from privet.core.scan import Sum
from privet.core.schema import Schema
from privet.core.unit import unit_columns
from privet.query.shape import OVER, equal_sides, schema_of

from .dialect import Dialect, Rendered, Renderer, unified
from .row_values import Given, clamped, given, owner_of, physical, sources

# A join that makes no more pairs of one unit's rows than it may, as SQL. The pairs are counted before they are made.
#
# Counting takes time in proportion to a unit's own rows. Only units that could make more pairs than allowed have their
# rows ordered, by a hash with a key that is fresh for each query: the rows kept of a unit depend on its own rows alone.


@dataclass(frozen=True)
class Side:
    """One side of a join: its rows, the columns that order them, and what must be equal, all as SQL.

    `owner` is the column with the unit of a row, or None for public rows. `numbers` are those of the columns in which 0
    and -0 are equal and yet not the same.
    """

    rows: str
    owner: str | None
    columns: Sequence[str]
    numbers: Sequence[str]
    keys: Sequence[str]
    stored: bool
    """Whether the rows are a table's own, which is read again faster than its rows are kept."""

    def named(self, name: str, dialect: Dialect) -> str:
        """Return the rows under a name, each with what must be equal: of side a as a0, a1, ..."""
        keys = "".join(f", {key} AS {name}{index}" for index, key in enumerate(self.keys))
        return dialect.materialised(name, f"SELECT *{keys} FROM {dialect.nested(self.rows)}", kept=not self.stored)

    def order(self, secret: int, dialect: Dialect) -> str:
        """Return the order in which rows are kept: no two rows that differ in anything tie in it."""
        owner = [] if self.owner is None else [self.owner]
        signs = [dialect.sign(column) for column in self.numbers]
        return ", ".join(
            [dialect.keyed_hash([*owner, *self.columns], secret), *map(dialect.rising, self.columns), *signs]
        )


def join_sql(
    left: Side,
    right: Side,
    dialect: Dialect,
    *,
    kind: Literal["inner", "left"],
    on: str,
    columns: Sequence[str],
    most: int,
    secret: int,
) -> str:
    """Return the joined rows, with at most `most` pairs of each unit among those that are alike in their keys.

    With m(k) the rows of the right side for a key k, of the unit or public, and m at most M, a unit with n left rows
    makes at most n * M pairs: only where M > 1 and that is above `most`, its pairs are counted exactly, as the sum of
    m(k) over its left rows, in their order. A row before which t pairs are made is kept if t < most, and meets the
    first most - t rows of its key.

    Guarantee: the rows of a unit in the result are a function of its own rows on both sides, of public rows and of
    `secret`, not of the order in which they are read; their number is at most max(most, n), and in a left join n more.
    """
    if left.owner is None or most < 1 or len(left.keys) != len(right.keys):
        raise InvariantError("pairs are counted for each unit, over the same keys on both sides")
    u, v, nested = left.owner, right.owner, dialect.nested
    a, b = ([f"{side}{index}" for index in range(len(left.keys))] for side in "ab")
    alike = [f"{mine} = {other}" for mine, other in zip(a, b, strict=True)]
    owned = [] if v is None else [v]
    same = [] if v is None else [f"{u} = {v}"]
    some = f" WHERE {' AND '.join(f'{key} IS NOT NULL' for key in b)}" if b else ""
    steps = []
    if v is not None and b:
        # to count by unit is cheaper than by key, too; it leaves few to look at
        rows = f"SELECT {v}, count(*) AS m FROM b GROUP BY {v}"
        steps.append(dialect.materialised("l", _large(rows, u, same, most, dialect), kept=True))
        some = dialect.semi_join("l", f"ON b.{v} = l.{u}") + some
    many = f"SELECT {', '.join([*owned, 'count(*) AS m'])} FROM b{some}{_group([*owned, *b])}"
    widest = f"SELECT {', '.join([*owned, 'max(m) AS m'])} FROM {nested(many)}{_group(owned)}"
    steps.append(dialect.materialised("s", _large(widest, u, same, most, dialect), kept=True))
    theirs = "b" if v is None else nested(f"SELECT b.* FROM b{dialect.semi_join('s', f'ON b.{v} = s.{u}')}")
    counts = f"SELECT {', '.join([*owned, *b, 'count(*) AS m'])} FROM {theirs}{_group([*owned, *b])}"
    counted = [f"a.{u} = g.{v}"] if v is not None else []
    counted += [f"a.{mine} = g.{other}" for mine, other in zip(a, b, strict=True)]
    own = f"SELECT a.* FROM a{dialect.semi_join('s', f'USING ({u})')}"
    mine = f"SELECT a.*, coalesce(g.m, 0) AS m FROM ({own}) AS a LEFT JOIN g ON {_all(counted)}"
    over = f"PARTITION BY {u} ORDER BY {left.order(secret, dialect)} ROWS UNBOUNDED PRECEDING"
    before = f"SELECT *, sum(m) OVER ({over}) - m AS t FROM {nested(mine)}"
    kept = f"SELECT * FROM {nested(before)} WHERE t < {most}{' OR m = 0' if kind == 'left' else ''}"
    within = f"PARTITION BY {', '.join([*owned, *b])} " if owned or b else ""
    placed = f"SELECT *, row_number() OVER ({within}ORDER BY {right.order(secret, dialect)}) AS i FROM {theirs}"
    word = "JOIN" if kind == "inner" else "LEFT JOIN"
    shown = ", ".join(columns)
    # an ANTI JOIN could be put off until all pairs are made, for the engine orders joins as it likes; but not this: who
    # a row joins as is known only after it
    gone = nested(f"SELECT {u} AS x FROM s")
    small = f"SELECT a.*, CASE WHEN x IS NULL THEN {u} END AS w FROM a LEFT JOIN {gone} ON {u} = x"
    small = f"SELECT * FROM {nested(small)} WHERE w IS NOT NULL"
    as_one = [] if v is None else [f"w = {v}"]
    return (
        f"WITH {', '.join([left.named('a', dialect), right.named('b', dialect), *steps])}, g AS ({counts}) "
        f"SELECT {shown} FROM {nested(small)} {word} b ON {_all([*as_one, on])} UNION ALL "
        f"SELECT {shown} FROM {nested(kept)} {word} {nested(placed)} ON {_all([*same, *alike, f'i <= {most} - t', on])}"
    )


def _large(widest: str, unit: str, same: Sequence[str], most: int, dialect: Dialect) -> str:
    """Return the units whose rows could make more than `most` pairs, if each met as many rows as the widest key has."""
    wide = dialect.nested(f"SELECT * FROM {dialect.nested(widest)} WHERE m > 1")
    met = f"SELECT {unit} FROM a JOIN {wide} ON {_all(same)}"
    return f"{met} GROUP BY {unit} HAVING count(*) > {dialect.divide_whole(str(most), 'min(m)')}"


def _group(columns: Sequence[str]) -> str:
    return f" GROUP BY {', '.join(columns)}" if columns else ""


def _all(conditions: Sequence[str]) -> str:
    return " AND ".join(f"({condition})" for condition in conditions if condition) or "true"


# Computations within one unit, as SQL: groups and ranks over rows that carry their unit as u.
#
# Sums are of integers, and ranks are over orders that leave ties between equal rows only; so the result is a function
# of the unit's rows, whatever order they are read in.


def _key(renderer: Renderer, expression: Expression) -> str:
    return _grouped(renderer.render(expression))


def _grouped(made: Rendered) -> str:
    return made.dialect.unsigned_zero(made.sql) if made.kind == "number" else made.sql  # -0.0 and 0.0 are one value


def group_sql(
    relation: GroupWithin, source: Schema, made: Schema, rows: str, dialect: Dialect, *, owner: list[str]
) -> str:
    """Return one row for each unit and key, from rows u, c0, ...; `owner` is ["u"], or nothing for public rows.

    Guarantee: no two rows of a unit are alike in all keys, as they are shown; a join that finds one row stands on it.
    """
    renderer, nested = Renderer(sources(source), dialect), dialect.nested
    keys = [f"k{index}" for index in range(len(relation.keys))]
    parts = [_Part(aggregate, index, renderer) for index, aggregate in enumerate(relation.aggregates)]
    first = [*owner, *(f"{_key(renderer, key)} AS {k}" for k, (_, key) in zip(keys, relation.keys, strict=True))]
    first += [layer for part in parts for layer in part.first] or ([] if first else ["1 AS k"])
    where = "" if relation.where is None else f" WHERE {renderer.render(relation.where).sql}"
    sql = f"SELECT {', '.join(first)} FROM {nested(rows)}{where}"
    # a computed key is clamped to its facts before rows are grouped by it: several values may become one, and one group
    held = [
        k if key.column is not None else f"{clamped(k, made.columns[name], dialect)} AS {k}"
        for k, (name, key) in zip(keys, relation.keys, strict=True)
    ]
    second = [*owner, *held, *(layer for part in parts for layer in part.second)] or ["k"]
    sql = f"SELECT {', '.join(second)} FROM {nested(sql)}"
    by = [*owner, *keys]
    sql = f"SELECT {', '.join([*by, *(part.total for part in parts)])} FROM {nested(sql)}{_group(by)}"
    sql = f"SELECT {', '.join([*by, *(part.value for part in parts)])} FROM {nested(sql)}"
    places = [*keys, *(f"a{index}" for index in range(len(parts)))]
    columns = [
        f"{clamped(place, column, dialect)} AS c{index}"
        for index, (place, column) in enumerate(zip(places, made.columns.values(), strict=True))
    ]
    return f"SELECT {', '.join([*owner, *columns])} FROM {nested(sql)}"


def rank_sql(relation: Rank, source: Schema, made: Schema, rows: str, dialect: Dialect, *, owner: list[str]) -> str:
    """Return the rows with one more column, computed among those of the same unit and partition."""
    if relation.function in OVER:
        return over_sql(relation, source, made, rows, dialect, owner=owner)
    renderer, nested = Renderer(sources(source), dialect), dialect.nested
    own = [f"c{index}" for index in range(len(source.columns))]
    parts = [f"p{index}" for index in range(len(relation.partition))]
    places = [f"o{index}" for index in range(len(relation.order))]
    inner = [f"{_key(renderer, key)} AS {p}" for p, key in zip(parts, relation.partition, strict=True)]
    inner += [f"{renderer.render(term.expression).sql} AS {o}" for o, term in zip(places, relation.order, strict=True)]
    if relation.argument is not None:
        inner.append(f"{renderer.render(relation.argument).sql} AS a")
    order = [_term(place, term, dialect) for place, term in zip(places, relation.order, strict=True)]
    if relation.function in {"row_number", "lag", "lead"}:
        order += map(dialect.rising, own)  # rows that tie in all of their columns are the same
    function = {"lag": f"lag(a, {relation.places})", "lead": f"lead(a, {relation.places})"}.get(
        relation.function, f"{relation.function}()"
    )
    over = _window([*owner, *parts], order)
    sql = f"SELECT {', '.join([*owner, *own, *inner])} FROM {nested(rows)}"
    sql = f"SELECT {', '.join([*owner, *own])}, {function} OVER ({over}) AS n FROM {nested(sql)}"
    last = clamped("n", made.columns[relation.name], dialect)
    return f"SELECT {', '.join([*owner, *own])}, {last} AS c{len(own)} FROM {nested(sql)}"


def _window(partition: Sequence[str], order: Sequence[str] = ()) -> str:
    """Return what a window is over; public rows need no partition, for they have no unit."""
    words = [("PARTITION BY", partition), ("ORDER BY", order)]
    return " ".join(f"{word} {', '.join(columns)}" for word, columns in words if columns)


def over_sql(relation: Rank, source: Schema, made: Schema, rows: str, dialect: Dialect, *, owner: list[str]) -> str:
    """Return the rows with an aggregate over those of the same unit and partition that each sees.

    Where rows are counted, ties in the order are broken by all columns; where not, rows that tie see each other. So the
    result is a function of the unit's rows.
    """
    renderer, nested = Renderer(sources(source), dialect), dialect.nested
    own = [f"c{index}" for index in range(len(source.columns))]
    parts = [f"p{index}" for index in range(len(relation.partition))]
    places = [f"o{index}" for index in range(len(relation.order))]
    part = _Part(relation.within, 0, renderer)
    inner = [f"{_key(renderer, key)} AS {p}" for p, key in zip(parts, relation.partition, strict=True)]
    inner += [f"{renderer.render(term.expression).sql} AS {o}" for o, term in zip(places, relation.order, strict=True)]
    sql = f"SELECT {', '.join([*owner, *own, *inner, *part.first])} FROM {nested(rows)}"
    sql = f"SELECT {', '.join([*owner, *own, *parts, *places, *part.second])} FROM {nested(sql)}"
    span = relation.span or RowSpan(rows=False, start=None, end=0 if relation.order else None)
    order = [_term(place, term, dialect) for place, term in zip(places, relation.order, strict=True)]
    order += map(dialect.rising, own) if span.rows else []
    over = _window([*owner, *parts], order) + (f" {_span(span)}" if order else "")
    totals = [f"{total} OVER ({over}) AS {name}" for total, name in part.totals]
    sql = f"SELECT {', '.join([*owner, *own, *totals])} FROM {nested(sql)}"
    sql = f"SELECT {', '.join([*owner, *own, part.value])} FROM {nested(sql)}"
    last = clamped("a0", made.columns[relation.name], dialect)
    return f"SELECT {', '.join([*owner, *own])}, {last} AS c{len(own)} FROM {nested(sql)}"


def _span(span: RowSpan) -> str:
    ends = []
    for end, side in ((span.start, "PRECEDING"), (span.end, "FOLLOWING")):
        if end is None:
            ends.append(f"UNBOUNDED {side}")
        else:
            ends.append("CURRENT ROW" if not end else f"{abs(end)} {'PRECEDING' if end < 0 else 'FOLLOWING'}")
    return f"{'ROWS' if span.rows else 'RANGE'} BETWEEN {ends[0]} AND {ends[1]}"


class _Part:
    """One aggregate within a unit, in layers: what each needs of a row, its sum over rows, its value."""

    def __init__(self, one: Within, index: int, renderer: Renderer) -> None:
        self.index = index
        self.given: Given | None = None
        self.first: list[str] = []
        self.second: list[str] = []
        kept = None
        if one.where is not None:
            self.first.append(f"{renderer.render(one.where).sql} AS b{index}")
            self.second.append(f"b{index}")
            kept = f"b{index}"
        x = f"x{index}"
        if one.function in {"sum", "avg"}:
            self._sum(one, kept, renderer)
            return
        kind = None
        if one.argument is not None:
            made = renderer.render(one.argument)
            kind = made.kind
            self.first.append(f"{_grouped(made)} AS {x}")
            self.second.append(x)
        form = {"count_rows": "count(*)", "count": f"count({x})", "count_distinct": f"count(DISTINCT {x})"}
        total = form.get(one.function) or renderer.dialect.extreme(one.function, x, kind)
        total = renderer.dialect.total(total, kept)
        self.totals = [(total, f"t{index}")]
        self.value = f"t{index} AS a{index}"

    @property
    def total(self) -> str:
        """The sums over rows, under their names."""
        return ", ".join(f"{total} AS {name}" for total, name in self.totals)

    def _sum(self, within: Within, kept: str | None, renderer: Renderer) -> None:
        index = self.index
        if within.argument is None or within.step is None:
            raise InvariantError("a sum within a unit has an argument and a step")
        low, high = renderer.render(within.argument).argument.typed.bounds
        if low is None or high is None:
            raise InvariantError("a sum within a unit has bounds")
        ends = (floor(low / within.step), -floor(-high / within.step))
        summed = given(Sum(within.argument, *ends, step=within.step), index, renderer)
        if summed.x is None or summed.y is None:
            raise InvariantError("a sum within a unit is over a column")
        self.first.append(f"{summed.x} AS x{index}")
        self.second.append(f"{summed.y} AS y{index}")
        dialect = renderer.dialect
        total, count = dialect.total(dialect.sum(summed.value), kept), dialect.total(f"count({summed.value})", kept)
        self.totals = [(total, f"t{index}"), (count, f"n{index}")]
        whole = renderer.render(within.argument).kind == "integer"
        if whole and within.function == "sum":
            self.value = f"{dialect.cast_whole(f't{index}')} AS a{index}"
            return
        number = dialect.cast(f"t{index}", "number")
        if within.function == "avg":
            number = f"({number} / {dialect.cast(f'n{index}', 'number')})"
        self.value = f"CASE WHEN n{index} > 0 THEN {dialect.from_steps(number, within.step)} END AS a{index}"


def _term(place: str, term: By, dialect: Dialect) -> str:
    return dialect.order(place, descending=term.descending, nulls_first=term.nulls_first)


def relation_sql(
    relation: Relation, tables: Mapping[str, Schema], names: Mapping[str, str], secret: int, dialect: Dialect
) -> str:
    """Return what stands after FROM: a table's own name, or a sub-query with columns u, c0, c1, ...

    `tables` are the stored ones, with their links followed, and `names` what the engine calls them. `secret` is 128
    fresh random bits, by which pairs are chosen where a unit's rows make too many.

    Guarantee: that of `privet.query.shape.schema_of`, which is asked for every step.
    """
    if isinstance(relation, str):
        return names[relation]
    return f"({_Writer(tables, names, secret, dialect).write(relation)})"  # named by who reads it


class _Writer:
    def __init__(self, tables: Mapping[str, Schema], names: Mapping[str, str], secret: int, dialect: Dialect) -> None:
        self.dialect = dialect
        self.tables = tables
        self.names = names
        self.secret = secret
        self.known: dict[Relation, Schema] = {}

    def write(self, relation: Relation) -> str:
        match relation:
            case str():
                return self._stored(relation)
            case Derive():
                return self._derive(relation)
            case Join():
                return self._join(relation)
            case GroupWithin():
                source, made = self.schema(relation.source), self.schema(relation)
                rows = self.write(relation.source)
                return group_sql(relation, source, made, rows, self.dialect, owner=_carried(source))
            case Rank():
                source, made = self.schema(relation.source), self.schema(relation)
                rows = self.write(relation.source)
                return rank_sql(relation, source, made, rows, self.dialect, owner=_carried(source))
            case Union():
                return self._union(relation)
        raise InvariantError("an unknown kind of relation")

    def schema(self, relation: Relation) -> Schema:
        if relation not in self.known:
            stored = self.tables.get(relation) if isinstance(relation, str) else None
            self.known[relation] = stored or schema_of(relation, self.tables)
        return self.known[relation]

    def _stored(self, name: str) -> str:
        schema = self.tables[name]
        columns = [f"{clamped(f'r.{c}', schema.columns[n], self.dialect)} AS {c}" for n, c in physical(schema).items()]
        if not _carried(schema):
            return f"SELECT {', '.join(columns)} FROM {self.names[name]} AS r"
        owner, known = owner_of(schema, self.dialect, "r.")
        return f"SELECT {owner} AS u, {', '.join(columns)} FROM {self.names[name]} AS r WHERE {known}"

    def _derive(self, relation: Derive) -> str:
        source, made = self.schema(relation.source), self.schema(relation)
        nested = self.dialect.nested
        renderer, unit = Renderer(sources(source), self.dialect), _carried(source)
        first, last = list(unit), list(unit)
        for index, (name, expression) in enumerate(relation.columns):
            first.append(f"{renderer.render(expression).sql} AS c{index}")
            # a column of the source is clamped to its facts there; a computed one is clamped here
            held = f"{clamped(f'c{index}', made.columns[name], self.dialect)} AS c{index}"
            last.append(f"c{index}" if expression.column is not None else held)
        where = "" if relation.where is None else f" WHERE {renderer.render(relation.where).sql}"
        sql = f"SELECT {', '.join(first)} FROM {nested(self.write(relation.source))}{where}"
        return f"SELECT {', '.join(last)} FROM {nested(sql)}"

    def _join(self, join: Join) -> str:
        left, right = self.schema(join.left), self.schema(join.right)
        both, nested = bool(_carried(left) and _carried(right)), self.dialect.nested
        mine, theirs = physical(left), physical(right)
        made = physical(self.schema(join))
        renamed = [f"{theirs[column]} AS {made[name]}" for name, column in join.names]
        other = f"SELECT {', '.join((['u AS v'] if both else []) + renamed)} FROM {nested(self.write(join.right))}"
        renderer = Renderer(sources(self.schema(join)), self.dialect)
        on = "" if join.on is None else renderer.render(join.on).sql
        columns = [*_carried(left), *mine.values(), *(made[name] for name, _ in join.names)]
        rows = self.write(join.left)
        if join.most is None or not _carried(left):
            conditions = [*(["u = v"] if both else []), *([on] if on else [])]
            kind = "JOIN" if join.kind == "inner" else "LEFT JOIN"
            met = " AND ".join(conditions) or "true"
            return f"SELECT {', '.join(columns)} FROM {nested(rows)} {kind} {nested(other)} ON {met}"
        alike = [_alike(renderer, side, other) for side, other in equal_sides(join, left)]
        first = Side(
            rows, "u", list(mine.values()), _numbers(left, mine), [x for x, _ in alike], isinstance(join.left, str)
        )
        called = {column: made[name] for name, column in join.names}
        second = Side(
            other,
            "v" if both else None,
            list(called.values()),
            _numbers(right, called),
            [y for _, y in alike],
            isinstance(join.right, str),
        )
        return join_sql(
            first, second, self.dialect, kind=join.kind, on=on, columns=columns, most=join.most, secret=self.secret
        )

    def _union(self, relation: Union) -> str:
        made = self.schema(relation)
        parts = []
        for source in relation.sources:
            schema = self.schema(source)
            columns = _carried(schema)
            for index, (own, column) in enumerate(zip(schema.columns.values(), made.columns.values(), strict=True)):
                wider = f"{self.dialect.cast(f'c{index}', column.kind)} AS c{index}"
                columns.append(f"c{index}" if own.kind == column.kind else wider)
            parts.append(f"SELECT {', '.join(columns)} FROM {self.dialect.nested(self.write(source))}")
        return " UNION ALL ".join(parts)


def _alike(renderer: Renderer, one: Expression, other: Expression) -> tuple[str, str]:
    """Return two sides of an equality, of one kind; 0 and -0 are equal."""
    kind, (x, y) = unified("equal", [renderer.render(one), renderer.render(other)])
    one_zero = renderer.dialect.unsigned_zero
    return (one_zero(x), one_zero(y)) if kind == "number" else (x, y)


def _numbers(schema: Schema, names: Mapping[str, str]) -> list[str]:
    """Return the generated names of the columns of doubles."""
    return [names[name] for name, column in schema.columns.items() if column.kind == "number" and name in names]


def _carried(schema: Schema) -> list[str]:
    """Return the unit's column, where the rows of a relation have a unit."""
    return ["u"] if unit_columns(schema.unit) else []
