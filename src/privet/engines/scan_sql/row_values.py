"""What one row contributes to each sum, as SQL: weighted, clamped, on the grid, clamped again, in integers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from privet.core.errors import InvariantError, Unsupported
from privet.core.expression import ColumnRef as Name
from privet.core.scan import Discovery, Norm, Sum
from privet.core.schema import ColumnFacts, Schema
from privet.engines.grid import doubles, line
from privet.query.functions import longest

from .expressions import Renderer
from .moments import FIRST, FIRST_MOMENT, LAST, LAST_MOMENT
from .rendered import RowSource
from .text import INT64, constant, double, whole

# One whole weight per unit, as SQL over its number of rows or keys. A float square root is only ever a guess.


_HEAP = 1_000_000


def with_weight(units: str, norm: Norm) -> str:
    """Return units with their weight w, from the size q of what they give: the largest that keeps to the limit."""
    one = 2**norm.shift
    limit = norm.limit * one**norm.order
    # beyond the limit the weight is 0 however large q is, so q is cut where 64 bits hold it: they divide far faster
    q = f"CAST(least(q, {whole(limit + 1)}) AS BIGINT)" if limit < INT64[1] else "q"
    if norm.order == 1:
        return f"SELECT *, CAST(least({whole(one)}, {whole(limit)} // {q}) AS BIGINT) AS w FROM ({units})"
    # w^2 q <= L is w <= isqrt(floor(L / q))
    largest = f"CAST(least({whole(limit)} // {q}, {whole(one * one)}) AS BIGINT)"
    return _with_root(f"SELECT *, {largest} AS p FROM ({units})", "p", "w")


def with_share(units: str, discovery: Discovery) -> str:
    """Return units with the weight d that each gives to each of the keys it keeps."""
    if discovery.order == 0:
        return f"SELECT *, {whole(2**discovery.shift)} AS d FROM ({units})"
    share = f"least(c, {whole(discovery.most)})"
    if discovery.order == 1:
        return f"SELECT *, {whole(2**discovery.shift)} // {share} AS d FROM ({units})"
    return _with_root(f"SELECT *, {whole(4**discovery.shift)} // {share} AS p FROM ({units})", "p", "d")


def nth_least(sql: str, place: int) -> str:
    """Return the aggregate for the so-manieth smallest; the engine's own keeps a heap, up to a million."""
    return f"min({sql}, {place})[{place}]" if place < _HEAP else f"list_sort(list({sql}))[{place}]"


def _with_root(rows: str, of: str, name: str) -> str:
    """Return rows with the whole part of a square root: a guess in doubles, corrected in integers."""
    guess = f"SELECT *, CAST(floor(sqrt(CAST({of} AS DOUBLE))) AS BIGINT) AS e FROM ({rows})"
    low, high = f"CAST(e * e > {of} AS BIGINT)", f"CAST((e + 1) * (e + 1) <= {of} AS BIGINT)"
    return f"SELECT * EXCLUDE (e, {of}), e - {low} + {high} AS {name} FROM ({guess})"


# What one row gives to each sum, as SQL: clamped, on the grid, clamped again, in integers.
#
# The columns that are read here are the table's own, under generated names, already of the engine's type for their
# kind.


LARGEST = 2**126
INFINITY = "'inf'::DOUBLE"
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


def clamped(sql: str, column: ColumnFacts) -> str:
    """Return a stored value held to the declared facts: clamped to its bounds, NULL where it is no value at all."""
    low, high = column.low, column.high
    match column.kind:
        case "integer" if column.values is not None:
            listed = [value for value in column.values if isinstance(value, int)]
            return f"CASE WHEN {sql} >= {whole(min(listed))} AND {sql} <= {whole(max(listed))} THEN {sql} END"
        case "integer" if isinstance(low, Fraction) and isinstance(high, Fraction):
            return between(sql, whole(int(low)), whole(int(high)))
        case "number" if isinstance(low, Fraction) and isinstance(high, Fraction):
            return between_doubles(sql, float(low), float(high))
        case "number":
            return f"CASE WHEN NOT isnan({sql}) THEN {sql} END"
        case "date" | "timestamp":
            if low is not None and high is not None:
                return between(sql, constant(low), constant(high))
            first, last = (FIRST, LAST) if column.kind == "date" else (FIRST_MOMENT, LAST_MOMENT)
            return f"CASE WHEN {sql} >= {constant(first)} AND {sql} <= {constant(last)} THEN {sql} END"
        case "text":  # no text has more characters than bytes, and these are known without looking at it
            most = longest(column)
            return f"CASE WHEN strlen({sql}) > {most} THEN substring({sql}, 1, {most}) ELSE {sql} END"
    return sql


def between(sql: str, low: str, high: str) -> str:
    """Return a value clamped to two constants; NULL stays NULL."""
    return f"CASE WHEN {sql} < {low} THEN {low} WHEN {sql} > {high} THEN {high} ELSE {sql} END"


def between_doubles(sql: str, low: float, high: float) -> str:
    """Return a double clamped to two constants; NULL and NaN, which sorts above infinity, become NULL."""
    bottom, top = double(low), double(high)
    return (
        f"CASE WHEN {sql} < {bottom} THEN {bottom} WHEN {sql} <= {top} THEN {sql} "
        f"WHEN {sql} <= {INFINITY} THEN {top} END"
    )


@dataclass(frozen=True)
class Given:
    """What a row gives to one sum, in three layers, each over the names of the one before.

    `x` is over the table's columns and called x0, x1, ...; `y` is over x and called y0, ...; `value` is over y.
    """

    x: str | None
    y: str | None
    value: str
    where: str | None
    condition: str | None
    one: bool = False
    """Whether each row that meets the condition gives 1, so that counting is enough."""
    raw: str | None = None
    """The column that `x` reads as it is stored."""

    @property
    def plain(self) -> str:
        """The value, or 0 where the row does not count."""
        counted = self.value if self.condition is None else f"CASE WHEN {self.condition} THEN {self.value} END"
        return counted if self.one and self.condition is None else f"coalesce({counted}, {whole(0)})"

    @property
    def total(self) -> str:
        """The sum over rows."""
        if self.one:
            return "count(*)" if self.condition is None else f"count(*) FILTER (WHERE {self.condition})"
        return f"sum({self.value})" if self.condition is None else f"sum({self.value}) FILTER (WHERE {self.condition})"


def grid_of(total: Sum) -> Sum:
    """Return a sum over the same grid, alike for all that read the same numbers from a row: x, and x squared."""
    return replace(total, where=None, null_as=None, power=1, offset=0)


def given(total: Sum, index: int, renderer: Renderer, *, stored: bool = False, like: int | None = None) -> Given:
    """Return what a row gives to a sum; refuses what cannot be proven to fit into 128 bits.

    With `stored`, columns can also be read as they are stored, under names that end in `RAW`. A sum over the same grid
    as an earlier one reads x and y of that one: they are computed once.
    """
    if like is not None and like != index:
        found = given(total, like, renderer, stored=stored)
        condition = None if found.condition is None else f"b{index}"
        return replace(found, x=None, y=None, condition=condition)
    corners = [total.low, total.high, total.low**total.power, total.high**total.power, *total.ends, total.offset]
    widest = max(abs(corner) for corner in corners)
    if widest >= LARGEST:
        raise Unsupported("what one row may add to this sum does not fit into 128 bits; declare narrower bounds")
    where = condition = None
    if total.where is not None:
        where, condition = renderer.render(total.where).sql, f"b{index}"
    if total.expression is None:
        gives = min(max(1, total.low), total.high) ** total.power - total.offset
        return Given(None, None, whole(gives), where, condition, one=gives == 1)
    rendered = renderer.render(total.expression)
    x, raw, facts = rendered.sql, None, rendered.argument.typed
    if rendered.kind == "integer":
        y, value = _whole_grid(total, f"x{index}", f"y{index}")
        if total.null_as is not None:
            value = f"coalesce({value}, {whole(total.null_as)})"
        narrow = facts.values is None and _clamps_whole(total, *facts.bounds)
    elif rendered.kind == "number":
        y, value = _double_grid(total, f"x{index}", f"y{index}")
        narrow = _clamps_alone(total, *facts.bounds)
    else:
        raise InvariantError("only numbers are summed")
    if stored and isinstance(total.expression, Name) and narrow:
        raw, x = total.expression.name, f"{rendered.sql}{RAW}"
    if widest > INT64[1]:
        value = f"CAST({value} AS HUGEINT)"
    if total.power > 1:
        value = " * ".join([f"({value})"] * total.power)
    if total.offset:
        value = f"({value} - {whole(total.offset)})"
    return Given(x, y, value, where, condition, raw=raw)


def _whole_grid(total: Sum, x: str, y: str) -> tuple[str, str]:
    """Return floor((x - origin) / step + 1/2) in integers, and what it is within [low, high].

    Whatever is known of x, it is clamped here: before it moves by whole steps, where that is all that happens to it;
    otherwise first so that nothing overflows, and then on the grid.
    """
    form = line(total)
    if form.most > LARGEST:
        raise Unsupported("the grid of this sum does not fit into 128 bits; declare a larger step")
    wide = form.most > INT64[1]
    bottom, top = total.low - form.shift, total.high - form.shift
    if form.factor == 1 and form.divisor == 1 and INT64[0] <= bottom and top <= INT64[1]:
        held = between(x, whole(bottom), whole(top))
        if not form.shift:
            return held, y
        return f"CAST({held} AS HUGEINT)" if wide else held, f"({y} + {whole(form.shift)})"
    # a 64-bit x lies between these in any case, where they are beyond 64 bits
    ends = (whole(min(max(end, INT64[0]), INT64[1])) for end in (form.low, form.high))
    moved = f"({between(x, *ends)})"
    moved = f"CAST({moved} AS HUGEINT)" if wide else moved
    moved = moved if form.factor == 1 else f"{moved} * {whole(form.factor)}"
    moved = moved if form.shift == 0 else f"({moved} + {whole(form.shift)})"
    if form.divisor != 1:
        # // cuts towards zero, so everything is first moved up by a multiple of the divisor
        up = -(-form.most // form.divisor)
        moved = f"((CAST({moved} AS HUGEINT) + {whole(up * form.divisor)}) // {whole(form.divisor)} - {whole(up)})"
    return moved, between(y, whole(total.low), whole(total.high))


def _double_grid(total: Sum, x: str, y: str) -> tuple[str, str]:
    """Return floor((x - origin) / step + 1/2) in doubles, and the integer that is made of it within [low, high].

    Every operation of the grid is monotone, so where x at the ends comes to lie at them too, clamping on the grid is
    clamping x: what is cast was just seen to lie between two doubles that are whole, and is whole itself. Otherwise x
    is clamped first and the integer again. NULL and NaN, which sorts above infinity, are neither below nor above.
    """
    scale, low, high = doubles(total), whole(total.low), whole(total.high)
    alone = _clamps_alone(total, Fraction(scale.low), Fraction(scale.high))
    x = x if alone else f"({between_doubles(x, scale.low, scale.high)})"
    moved = f"({x} - {double(scale.origin)})" if scale.origin else x
    placed = f"floor({moved} {'/' if scale.divides else '*'} {double(scale.factor)} + 0.5e0)"
    missing = "" if total.null_as is None else f" ELSE {whole(total.null_as)}"
    if not alone:
        cast = f"TRY_CAST({y} AS BIGINT)"
        return placed, f"CASE WHEN {cast} IS NOT NULL THEN {between(cast, low, high)}{missing} END"
    bottom, top = double(float(total.low)), double(float(total.high))
    return placed, (
        f"CASE WHEN {y} >= {bottom} AND {y} <= {top} THEN TRY_CAST({y} AS BIGINT) WHEN {y} < {bottom} THEN {low} "
        f"WHEN {y} <= {INFINITY} THEN {high}{missing} END"
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
