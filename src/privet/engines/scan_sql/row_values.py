"""What one row contributes to each sum, as SQL: weighted, clamped, on the grid, clamped again, in integers."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor, sqrt
from typing import Any

from privet.core.errors import InvariantError, RequestError, Unsupported
from privet.core.relation import ColumnRef as Name
from privet.core.scan import Discovery, Norm, Sum
from privet.core.schema import ColumnFacts, Schema, fetched_columns
from privet.core.unit import Person, Window, unit_columns
from privet.query.typed import INT64, LONGEST, longest

from .dialect import FIRST, FIRST_MOMENT, LAST, LAST_MOMENT, Dialect, Renderer, RowSource

# One whole weight per unit, as SQL over its number of rows or keys. A float square root is only ever a guess.


def with_weight(units: str, norm: Norm, dialect: Dialect) -> str:
    """Return units with their weight w, from the size q of their contributions: the largest that keeps to the limit."""
    unit = 2**norm.shift
    limit = norm.limit * unit**norm.order
    # beyond the limit the weight is 0 however large q is, so q is cut where it fits into 64 bits: they divide far
    # faster
    whole, least, divide = dialect.whole, dialect.least, dialect.divide_whole
    q = dialect.narrow(least("q", whole(limit + 1))) if limit < INT64[1] else "q"
    wide = limit >= INT64[1]
    if norm.order == 1:
        weight = dialect.narrow(least(whole(unit), divide(whole(limit), q, wide=wide)))
        return f"SELECT *, {weight} AS w FROM {dialect.computed(units)}"
    # w^2 q <= L is w <= isqrt(floor(L / q))
    largest = dialect.narrow(least(divide(whole(limit), q, wide=wide), whole(unit * unit)))
    return _with_root(f"SELECT *, {largest} AS p FROM {dialect.computed(units)}", "p", "w", dialect)


def with_share(units: str, discovery: Discovery, dialect: Dialect) -> str:
    """Return units with the weight d that each adds to each of the keys it keeps."""
    whole, rows = dialect.whole, dialect.computed(units)
    if discovery.order == 0:
        return f"SELECT *, {whole(2**discovery.shift)} AS d FROM {rows}"
    share = dialect.least("c", whole(discovery.most))
    if discovery.order == 1:
        return f"SELECT *, {dialect.divide_whole(whole(2**discovery.shift), share)} AS d FROM {rows}"
    square = dialect.divide_whole(whole(4**discovery.shift), share)
    return _with_root(f"SELECT *, {square} AS p FROM {rows}", "p", "d", dialect)


def _with_root(rows: str, of: str, name: str, dialect: Dialect) -> str:
    """Return rows with the whole part of a square root: a guess in doubles, corrected in integers."""
    guess = f"SELECT *, {dialect.root_guess(of)} AS e FROM {dialect.computed(rows)}"
    low, high = dialect.from_truth(f"e * e > {of}"), dialect.from_truth(f"(e + 1) * (e + 1) <= {of}")
    return f"SELECT {dialect.all_but('e', of)}, e - {low} + {high} AS {name} FROM {dialect.computed(guess)}"


# The contribution of one row to each sum, as SQL: clamped, on the grid, clamped again, in integers.
#
# The columns that are read here are the table's own, under generated names, already of the engine's type for their
# kind.


LARGEST = 2**126
RAW = "raw"
"""What the generated name of a column ends in where it is read as it is stored, not yet clamped."""

_EXACT = 2**53
"""Whole numbers up to here are doubles."""


def physical(schema: Schema) -> dict[str, str]:
    """Return the generated name under which each declared column is read."""
    return {name: f"c{index}" for index, name in enumerate(schema.columns)}


def sources(schema: Schema) -> dict[str, RowSource]:
    """Return the declared columns as expressions see them: clamped, under their generated names."""
    names = physical(schema)
    return {name: RowSource(names[name], column) for name, column in schema.columns.items()}


def clamped(sql: str, column: ColumnFacts, dialect: Dialect) -> str:
    """Return a stored value by the declared facts: clamped to its bounds, NULL where it is no value at all."""
    low, high, whole, constant = column.low, column.high, dialect.whole, dialect.constant
    match column.kind:
        case "integer" if column.values is not None:
            listed = [value for value in column.values if isinstance(value, int)]
            return f"CASE WHEN {sql} >= {whole(min(listed))} AND {sql} <= {whole(max(listed))} THEN {sql} END"
        case "integer" if isinstance(low, Fraction) and isinstance(high, Fraction):
            return between(sql, whole(int(low)), whole(int(high)))
        case "number" if isinstance(low, Fraction) and isinstance(high, Fraction):
            return between_doubles(sql, float(low), float(high), dialect)
        case "number":
            return f"CASE WHEN NOT {dialect.is_nan(sql)} THEN {sql} END"
        case "date" | "timestamp":
            if low is not None and high is not None:
                return between(sql, constant(low), constant(high))
            first, last = (FIRST, LAST) if column.kind == "date" else (FIRST_MOMENT, LAST_MOMENT)
            return f"CASE WHEN {sql} >= {constant(first)} AND {sql} <= {constant(last)} THEN {sql} END"
        case "text":
            return dialect.cut(sql, longest(column))
    return sql


def between(sql: str, low: str, high: str) -> str:
    """Return a value clamped to two constants; NULL stays NULL."""
    return f"CASE WHEN {sql} < {low} THEN {low} WHEN {sql} > {high} THEN {high} ELSE {sql} END"


def between_doubles(sql: str, low: float, high: float, dialect: Dialect) -> str:
    """Return a double clamped to two constants; NULL and NaN, which sorts above infinity, become NULL."""
    bottom, top = dialect.double(low), dialect.double(high)
    return (
        f"CASE WHEN {sql} < {bottom} THEN {bottom} WHEN {sql} <= {top} THEN {sql} "
        f"WHEN {sql} <= {dialect.infinity} THEN {top} END"
    )


@dataclass(frozen=True)
class Given:
    """A row's contribution to one sum, in three layers, each over the names of the one before.

    `x` is over the table's columns and called x0, x1, ...; `y` is over x and called y0, ...; `value` is over y.
    """

    x: str | None
    y: str | None
    value: str
    where: str | None
    condition: str | None
    dialect: Dialect
    one: bool = False
    """Whether each row that meets the condition contributes 1, so that counting is enough."""
    raw: str | None = None
    """The column that `x` reads as it is stored."""
    wide: bool = False
    """Whether `value` has more than 64 bits."""

    @property
    def plain(self) -> str:
        """The value, or 0 where the row does not count."""
        counted = self.value if self.condition is None else f"CASE WHEN {self.condition} THEN {self.value} END"
        return counted if self.one and self.condition is None else f"coalesce({counted}, {self.dialect.whole(0)})"

    @property
    def total(self) -> str:
        """The sum over rows."""
        return self.dialect.total("count(*)" if self.one else self.dialect.sum(self.value), self.condition)

    def fitting_total(self, most: int) -> str:
        """Return the sum over rows of at most `most` each, and anything where it has more than 64 bits."""
        if self.one or self.wide:
            return self.dialect.cast_whole(self.total)
        return self.dialect.fitting_sum(self.value, self.condition, most)


def grid_of(total: Sum) -> Sum:
    """Return a sum over the same grid, alike for all that read the same numbers from a row: x, and x squared."""
    return replace(total, where=None, null_as=None, power=1, offset=0)


def given(total: Sum, index: int, renderer: Renderer, *, stored: bool = False, like: int | None = None) -> Given:
    """Return a row's contribution to a sum; refuse one that is not proven to fit into 128 bits.

    With `stored`, columns can also be read as they are stored, under names that end in `RAW`. A sum over the same grid
    as an earlier one reads x and y of that one: they are computed once.
    """
    if like is not None and like != index:
        like_sum = given(total, like, renderer, stored=stored)
        condition = None if like_sum.condition is None else f"b{index}"
        return replace(like_sum, x=None, y=None, condition=condition)
    corners = [total.low, total.high, total.low**total.power, total.high**total.power, *total.ends, total.offset]
    widest = max(abs(corner) for corner in corners)
    if widest >= LARGEST:
        raise Unsupported("what one row may add to this sum does not fit into 128 bits; declare narrower bounds")
    dialect, whole = renderer.dialect, renderer.dialect.whole
    where = condition = None
    if total.where is not None:
        where, condition = renderer.render(total.where).sql, f"b{index}"
    if total.expression is None:
        gives = min(max(1, total.low), total.high) ** total.power - total.offset
        return Given(None, None, whole(gives), where, condition, dialect, one=gives == 1)
    rendered = renderer.render(total.expression)
    x, raw, facts = rendered.sql, None, rendered.argument.typed
    if rendered.kind == "integer":
        y, value = _whole_grid(total, f"x{index}", f"y{index}", dialect)
        if total.null_as is not None:
            value = f"coalesce({value}, {whole(total.null_as)})"
        narrow = facts.values is None and _clamps_whole(total, *facts.bounds)
    elif rendered.kind == "number":
        y, value = _double_grid(total, f"x{index}", f"y{index}", dialect)
        narrow = _clamps_alone(total, *facts.bounds)
    else:
        raise InvariantError("only numbers are summed")
    if stored and isinstance(total.expression, Name) and narrow:
        raw, x = total.expression.name, f"{rendered.sql}{RAW}"
    if widest > INT64[1]:
        value = dialect.wide(value)
    if total.power > 1:
        value = " * ".join([f"({value})"] * total.power)
    if total.offset:
        value = f"({value} - {whole(total.offset)})"
    return Given(x, y, value, where, condition, dialect, raw=raw, wide=widest > INT64[1])


def _whole_grid(total: Sum, x: str, y: str, dialect: Dialect) -> tuple[str, str]:
    """Return floor((x - origin) / step + 1/2) in integers, and what it is within [low, high].

    Whatever is known of x, it is clamped here: before it moves by whole steps, where that is all that happens to it;
    otherwise first so that nothing overflows, and then on the grid.
    """
    form, whole = line(total), dialect.whole
    if form.most > LARGEST:
        raise Unsupported("the grid of this sum does not fit into 128 bits; declare a larger step")
    wide = form.most > INT64[1]
    bottom, top = total.low - form.shift, total.high - form.shift
    if form.factor == 1 and form.divisor == 1 and INT64[0] <= bottom and top <= INT64[1]:
        held = between(x, whole(bottom), whole(top))
        if not form.shift:
            return held, y
        return dialect.wide(held) if wide else held, f"({y} + {whole(form.shift)})"
    # a 64-bit x lies between these in any case, where they are beyond 64 bits
    ends = (whole(min(max(end, INT64[0]), INT64[1])) for end in (form.low, form.high))
    moved = f"({between(x, *ends)})"
    moved = dialect.wide(moved) if wide else moved
    moved = moved if form.factor == 1 else f"{moved} * {whole(form.factor)}"
    moved = moved if form.shift == 0 else f"({moved} + {whole(form.shift)})"
    if form.divisor != 1:
        # whole division cuts towards zero, so everything is first moved up by a multiple of the divisor
        up = -(-form.most // form.divisor)
        raised = f"({dialect.wide(moved)} + {whole(up * form.divisor)})"
        moved = f"({dialect.divide_whole(raised, whole(form.divisor), wide=True)} - {whole(up)})"
    return moved, between(y, whole(total.low), whole(total.high))


def _double_grid(total: Sum, x: str, y: str, dialect: Dialect) -> tuple[str, str]:
    """Return floor((x - origin) / step + 1/2) in doubles, and the integer that is made of it within [low, high].

    Every operation of the grid is monotone, so where x at the ends comes to lie at them too, clamping on the grid is
    clamping x: what is cast was just checked to lie between two doubles that are whole, and is whole itself. Otherwise
    x is clamped first and the integer again. NULL and NaN, which sorts above infinity, are neither below nor above.
    """
    if (own := dialect.grid(total, x, y)) is not None:
        return own
    whole, double = dialect.whole, dialect.double
    scale, low, high = doubles(total), whole(total.low), whole(total.high)
    alone = _clamps_alone(total, Fraction(scale.low), Fraction(scale.high))
    x = x if alone else f"({between_doubles(x, scale.low, scale.high, dialect)})"
    moved = f"({x} - {double(scale.origin)})" if scale.origin else x
    placed = dialect.floor(f"{moved} {'/' if scale.divides else '*'} {double(scale.factor)} + {double(0.5)}")
    missing = "" if total.null_as is None else f" ELSE {whole(total.null_as)}"
    if not alone:
        cast = dialect.cast_whole(y)
        return placed, f"CASE WHEN {cast} IS NOT NULL THEN {between(cast, low, high)}{missing} END"
    bottom, top = double(float(total.low)), double(float(total.high))
    return placed, (
        f"CASE WHEN {y} >= {bottom} AND {y} <= {top} THEN {dialect.cast_placed(y)} WHEN {y} < {bottom} THEN {low} "
        f"WHEN {y} <= {dialect.infinity} THEN {high}{missing} END"
    )


def _clamps_alone(total: Sum, low: Fraction | None, high: Fraction | None) -> bool:
    """Whether clamping on the grid, at ends that are doubles, is the same as clamping x to [low, high] before it."""
    if low is None or high is None or max(abs(total.low), abs(total.high)) > _EXACT:
        return False
    scale = doubles(total)
    return scale.place(float(low)) <= total.low and total.high <= scale.place(float(high))


def _clamps_whole(total: Sum, low: Fraction | None, high: Fraction | None) -> bool:
    """Whether clamping on the grid is the same as clamping a whole x to [low, high] before it."""
    if low is None or high is None:
        return False
    form = line(total)
    return form.apply(int(low)) <= total.low and total.high <= form.apply(int(high))


# Whose row it is, as SQL over a stored table: the unit of a row, and the test that it has one.


_DAY = datetime.timedelta(days=1)
_MICROSECOND = datetime.timedelta(microseconds=1)


def owner_of(schema: Schema, dialect: Dialect, prefix: str = "") -> tuple[str, str]:
    """Return the unit of a row, and the condition under which it has one.

    The person is as it is stored and neither clamped nor cut: that would make one person of several. For a window of
    time the unit is the person and the bucket that contains the row's time.

    Guarantee: rows of a person within a window of the unit's length have one of at most two units, over all tables:
    buckets are that long, and a row's is that of its time as it is stored. Held to the bounds of its own table, a time
    would be elsewhere than the same time in another; held to the calendar, it moves no further from any other.
    """
    unit, names = schema.unit, physical(schema)
    if not isinstance(unit, (Person, Window)):
        raise InvariantError("contributions are bounded only where units own several rows")
    column = unit.column if isinstance(unit, Person) else unit.person
    owner = f"{prefix}{names[column]}"
    known = f"{owner} IS NOT NULL"
    if schema.columns[column].kind == "number":
        known += f" AND NOT {dialect.is_nan(owner)}"
    if schema.columns[column].kind == "text":
        # joins copy it: one that is too long stands as its fingerprint, so that people stay apart; and that is longer
        # than any that stands for itself, or one person's id could equal another's fingerprint
        owner = dialect.known_by(owner, LONGEST)
    if isinstance(unit, Person):
        return owner, known
    time, dates = f"{prefix}{names[unit.time]}", schema.columns[unit.time].kind == "date"
    first, last = (FIRST, LAST) if dates else (FIRST_MOMENT, LAST_MOMENT)
    within = f"({between(time, dialect.constant(first), dialect.constant(last))})"
    bucket = _bucket(unit, within, dialect, dates=dates)
    known += f" AND ({clamped(time, schema.columns[unit.time], dialect)}) IS NOT NULL"
    return dialect.record({"p": owner, "b": bucket}), known


def _bucket(unit: Window, time: str, dialect: Dialect, *, dates: bool) -> str:
    """Return the number of the bucket that contains a time, counted so that it is never negative."""
    since = datetime.timedelta(days=unit.origin.toordinal() - 1)
    size, start = (
        (unit.length // _DAY, since // _DAY) if dates else (unit.length // _MICROSECOND, since // _MICROSECOND)
    )
    passed = dialect.days(time) if dates else dialect.microseconds(time)
    return f"({dialect.divide_whole(f'({passed} + {dialect.whole(-start % size)})', dialect.whole(size))})"


# Tables as their owners see them: linked ones with the column that identifies the person, public ones checked.
#
# Only the custodian meets this module: it runs when tables are opened, or when the custodian asks for a check.


Fetch = Callable[[str], list[tuple[Any, ...]]]


def linked_view(own: str, name: str, tables: Mapping[str, Schema], relations: Mapping[str, str]) -> str:
    """Return a table's own columns and, where it links to others, the one that identifies the person.

    `tables` are followed; `relations` has the names of those that it may link to.
    """
    schema = tables[name]
    link = schema.link
    if link is None or link.via in unit_columns(schema.unit):
        return own
    names = physical(schema)
    via, fetched = names[link.via], fetched_columns(schema, tables)
    if not fetched:
        return f"SELECT *, {via} AS {names[unit_columns(schema.unit)[0]]} FROM ({own}) AS r"
    theirs = physical(tables[link.to])
    owners = ", ".join(f"o.{theirs[column]} AS {names[column]}" for column in fetched)
    return f"SELECT r.*, {owners} FROM ({own}) AS r JOIN {relations[link.to]} AS o ON r.{via} = o.{theirs[link.column]}"


def check_public(fetch: Fetch, name: str, schema: Schema, relation: str, dialect: Dialect) -> None:
    """Raise unless a public table has no more rows than declared, and no value twice in its key."""
    if fetch(f"SELECT count(*) FROM {relation}")[0][0] > schema.rows:
        raise RequestError(
            f"public table {name!r} has more than the {schema.rows:,} rows that are declared for it; declare rows="
        )
    if schema.key is not None:
        # joins compare values that are clamped to their bounds, where several may have become one
        key = clamped(physical(schema)[schema.key], schema.columns[schema.key], dialect)
        if _comes_twice(fetch, relation, key):
            raise RequestError(f"public table {name!r} has a value twice in its key {schema.key!r}")


def _comes_twice(fetch: Fetch, relation: str, column: str) -> bool:
    values = f"SELECT {column} AS k FROM {relation}"
    return bool(fetch(f"SELECT 1 FROM ({values}) AS r WHERE k IS NOT NULL GROUP BY k HAVING count(*) > 1 LIMIT 1"))


def broken_links(fetch: Fetch, tables: Mapping[str, Schema], relations: Mapping[str, str]) -> list[str]:
    """Return the faults of the links between tables, for the custodian alone: it reveals facts about the data.

    A value that comes twice in a column that a link leads to may give a row two owners.
    """
    problems = []
    for name, schema in tables.items():
        if schema.key is not None and _comes_twice(fetch, relations[name], physical(schema)[schema.key]):
            problems.append(f"table {name!r} has a value twice in its key {schema.key!r}; leave the key out")
        link = schema.link
        if link is None or not fetched_columns(schema, tables):
            continue
        column, relation = physical(tables[link.to])[link.column], relations[link.to]
        if _comes_twice(fetch, relation, column):
            problems.append(
                f"table {name!r} links to {link.to!r} by {link.column!r}, where some value comes twice: rows that "
                f"lead there may have several owners, and nothing that is promised about them holds"
            )
    return problems


# The grid of a sum: how a value becomes an integer. One description, so that all engines agree to the last bit.
#
# Whole numbers are mapped by integer arithmetic, numbers by doubles, and the result is clamped as an integer again.


_LARGEST = 2**62
"""Numbers are put on a grid through doubles, which cast safely to 64 bits within this."""


@dataclass(frozen=True)
class GridLine:
    """y = floor((factor * x + shift) / divisor) for whole x, clamped first to [low, high] so that nothing overflows."""

    factor: int
    shift: int
    divisor: int
    low: int
    high: int

    def apply(self, x: int) -> int:
        """Return y."""
        return (self.factor * x + self.shift) // self.divisor

    @property
    def most(self) -> int:
        """The largest number, in size, that comes up on the way."""
        return max(abs(self.factor * end) + abs(self.shift) for end in (self.low, self.high))


@dataclass(frozen=True)
class Doubles:
    """y = floor((x - origin) * factor + 0.5), or the same with a division, for doubles x clamped to [low, high]."""

    origin: float
    factor: float
    divides: bool
    low: float
    high: float

    def place(self, x: float) -> int:
        """Return y."""
        moved = x - self.origin
        return floor((moved / self.factor if self.divides else moved * self.factor) + 0.5)


def line(total: Sum) -> GridLine:
    """Return the grid of a sum of whole numbers: floor((x - origin) / step + 1/2) in integers.

    With origin a/b and step p/q it is floor((2 q b x - 2 q a + p b) / (2 p b)).
    """
    a, b = total.origin.numerator, total.origin.denominator
    p, q = total.step.numerator, total.step.denominator
    factor, shift, divisor = 2 * q * b, p * b - 2 * q * a, 2 * p * b
    if factor % divisor == 0:
        factor, shift, divisor = factor // divisor, shift // divisor, 1
    low = floor(total.origin + (total.low - 1) * total.step)
    high = ceil(total.origin + (total.high + 1) * total.step)
    return GridLine(factor, shift, divisor, low, high)


def doubles(total: Sum) -> Doubles:
    """Return the grid of a sum of numbers, by the operation that is exact for decimal and binary steps alike."""
    if max(abs(total.low), abs(total.high)) > _LARGEST:
        raise Unsupported("the grid of this sum is too fine for its bounds; declare a larger step")
    low, high = (float(total.origin + end * total.step) for end in (total.low, total.high))
    inverse = 1 / total.step
    if inverse.denominator == 1 and Fraction(float(inverse)) == inverse:
        return Doubles(float(total.origin), float(inverse), False, low, high)
    return Doubles(float(total.origin), float(total.step), True, low, high)


LITTLE = 0.001
"""Totals that are too low by no more than this share of rows hardly show it."""


@dataclass(frozen=True)
class Excess:
    """What the limit of a table takes away, found in the data: for the custodian alone.

    `above` is the share of units over the limit and `lost` the share of rows by which totals come out too low, for
    questions without groups, or with the groups of `by`. `enough` is the least number of rows of a unit at
    which no more than the share `LITTLE` of all rows is lost, whatever the groups.
    """

    by: str | None
    above: float
    lost: float
    enough: int


def excesses(
    fetch: Fetch, tables: Mapping[str, Schema], relations: Mapping[str, str], dialect: Dialect
) -> dict[str, tuple[Excess, ...]]:
    """Return what the limit of each table of people takes away: of all its rows, and by each column of declared values.

    The loss by groups is that under an L2 norm, which Gaussian noise has; under an L1 norm it is that of all rows.
    """
    return {
        name: tuple(_excesses(fetch, schema, relations[name], dialect))
        for name, schema in tables.items()
        if not schema.unit.rowwise and not schema.unit.public
    }


def _excesses(fetch: Fetch, schema: Schema, relation: str, dialect: Dialect) -> Iterator[Excess]:
    limit, (owner, known) = schema.contribution, owner_of(schema, dialect)
    names, enough = physical(schema), 1
    for column in (None, *(name for name, facts in schema.columns.items() if facts.values is not None)):
        key, order = ("0", 1) if column is None else (names[column], 2)
        counted = f"SELECT {owner} AS u, {key} AS k, count(*) AS n FROM {relation} WHERE {known} GROUP BY 1, 2"
        units = f"SELECT sum(n) AS n, sum(n * n) AS s FROM ({counted}) AS r GROUP BY u"
        sizes = [
            (int(n), int(s), int(t)) for n, s, t in fetch(f"SELECT n, s, count(*) FROM ({units}) AS r GROUP BY n, s")
        ]
        most = limit.groups * limit.rows**order
        over = [(n, s, times) for n, s, times in sizes if (n if order == 1 else s) > most]
        lost = sum(times * (n - most if order == 1 else n - n * sqrt(most / s)) for n, s, times in over)
        people, rows = sum(times for *_, times in sizes), sum(n * times for n, _, times in sizes)
        if column is None:
            enough = _enough({n: times for n, _, times in sizes}, rows * LITTLE)
        yield Excess(column, sum(times for *_, times in over) / max(people, 1), lost / max(rows, 1), enough)


def _enough(sizes: Mapping[int, int], spared: float) -> int:
    """Return the least limit under which units of these sizes lose no more than this many rows in all."""
    lost, above, size = 0, 0, max(sizes, default=1)
    for smaller in sorted({1, *sizes}, reverse=True):
        step = (size - smaller) * above
        if lost + step > spared:
            return size - int((spared - lost) // above)
        lost, above, size = lost + step, above + sizes.get(smaller, 0), smaller
    return 1
