"""PostgreSQL's SQL, from version 14 on: types, constants, rows. Nothing here raises on a stored value.

Statements are templates of Python's % operator: a bound list stands as %(name)s, and every other per cent sign is
doubled.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction

from privet.core.errors import Unsupported
from privet.core.scan import Sum
from privet.core.schema import Kind
from privet.engines.scan_sql.dialect import Dialect
from privet.engines.scan_sql.row_values import between, between_doubles, doubles

from .postgres_forms import FORMS, INFINITY, double, fits, since_1970, text, whole, wide

_ATOM = re.compile(r"[a-z][a-z0-9]*|'-?[0-9][0-9.e+-]*'::(bigint|float8)")
_FIRST = 62_135_596_800_000_000
_FARTHEST = Fraction(2) ** 1000
_NEAREST = Fraction(1, 2**400)
_INT32 = 2**31 - 1
_SIGNED = 2**63

_STANDS_IN: dict[Kind, str] = {
    "integer": whole(0),
    "number": double(0),
    "boolean": "false",
    "text": text(""),
    "date": "DATE '0001-01-01'",
    "timestamp": "TIMESTAMP '0001-01-01'",
}
"""A value of each kind in place of NULL, beside the fact that it is one."""


class PostgresDialect(Dialect):
    """PostgreSQL, where the data is: every text is compared by bytes."""

    name = "PostgreSQL"
    types: Mapping[Kind, str] = {
        "integer": "bigint",
        "number": "float8",
        "boolean": "boolean",
        "text": "text",
        "date": "date",
        "timestamp": "timestamp",
    }
    infinity = INFINITY
    forms = FORMS
    sorts_well = True

    def is_atom(self, sql: str) -> bool:
        return _ATOM.fullmatch(sql) is not None

    def whole(self, value: int) -> str:
        return whole(value)

    def double(self, value: Fraction | int | float) -> str:
        return double(value)

    def text(self, value: str) -> str:
        return text(value)

    def cast_whole(self, sql: str) -> str:
        return f"CASE WHEN {fits(sql)} THEN CAST({sql} AS bigint) END"

    def cast_placed(self, sql: str) -> str:
        return f"CAST({sql} AS bigint)"

    def narrow(self, sql: str) -> str:
        return f"CAST({sql} AS bigint)"

    def wide(self, sql: str) -> str:
        return wide(sql)

    def divide_whole(self, x: str, y: str, *, wide: bool = False) -> str:
        if wide:
            return f"div({x}, {y})"
        return f"(CAST({x} AS bigint) / CAST({y} AS bigint))"  # of numerics, / would not cut

    def block(self, place: str, bits: int) -> str:
        return f"(CAST({place} AS bigint) >> {bits})"

    def root_guess(self, sql: str) -> str:
        return f"CAST(floor(sqrt(CAST({sql} AS float8))) AS bigint)"

    def least(self, x: str, y: str) -> str:
        return f"least({x}, {y})"

    def grid(self, total: Sum, x: str, y: str) -> tuple[str, str] | None:
        """Return how a double is put on a grid: clamped first, so that no arithmetic leaves the doubles.

        Guarantee: y lies between the places of the ends of the grid, and what it is cast to within [low, high].
        """
        scale = doubles(total)
        factor = Fraction(scale.factor)
        if max(abs(scale.low), abs(scale.high), abs(scale.origin)) > _FARTHEST or not _NEAREST < factor < 1 / _NEAREST:
            raise Unsupported("the grid of this sum is too far out for PostgreSQL; declare nearer bounds")
        held = f"({between_doubles(x, scale.low, scale.high, self)})"
        moved = f"({held} - {double(scale.origin)})" if scale.origin else held
        if factor < 1 if not scale.divides else factor > 1:
            # so near to 0 a number lies at 0 on the grid, and would become 0 on the way, which raises
            moved = f"(CASE WHEN abs({moved}) < {double(Fraction(1, 2**500))} THEN {double(0)} ELSE {moved} END)"
        placed = self.floor(f"{moved} {'/' if scale.divides else '*'} {double(scale.factor)} + {double(0.5)}")
        value = self.cast_placed(y)
        if scale.place(scale.low) < total.low or scale.place(scale.high) > total.high:
            value = f"CASE WHEN {y} IS NOT NULL THEN {between(value, whole(total.low), whole(total.high))} END"
        return placed, value if total.null_as is None else f"coalesce({value}, {whole(total.null_as)})"

    def from_steps(self, number: str, step: Fraction) -> str:
        if not _NEAREST < step < 1 / _NEAREST:
            raise Unsupported("the step of this sum is too far out for PostgreSQL; declare another")
        return super().from_steps(number, step)

    def from_truth(self, condition: str) -> str:
        return f"CASE WHEN {condition} THEN {whole(1)} ELSE {whole(0)} END"

    def is_nan(self, sql: str) -> str:
        return f"({sql} = 'NaN'::float8)"

    def unsigned_zero(self, sql: str) -> str:
        return f"({sql} + {double(0)})"

    def sign(self, sql: str) -> str:
        return f"float8send({sql})"

    def cut(self, sql: str, most: int) -> str:
        # no text has more characters than bytes
        return f"CASE WHEN octet_length({sql}) > {most} THEN substring({sql}, 1, {most}) ELSE {sql} END"

    def fits(self, sql: str, most: int) -> str:
        return f"octet_length({sql}) <= {most}"

    def known_by(self, sql: str, most: int) -> str:
        mark = f"rpad(encode(sha256(convert_to({sql}, 'UTF8')), 'hex'), {most + 1}, '.')"
        return f"CASE WHEN octet_length({sql}) > {most} THEN {mark} ELSE {sql} END"

    def days(self, sql: str) -> str:
        return f"({sql} - DATE '0001-01-01')"

    def microseconds(self, sql: str) -> str:
        return f"({since_1970(sql)} + {whole(_FIRST)})"

    def bound(self, sql: str, name: str, body: str) -> str:
        # OFFSET 0 keeps the planner from writing the value out wherever the name stands
        return f"(SELECT {body} FROM (SELECT {sql} AS {name} OFFSET 0) AS {name}named)"

    def record(self, parts: Mapping[str, str]) -> str:
        return f"ROW({', '.join(parts.values())})"

    def keyed_hash(self, columns: Sequence[str], secret: int) -> str:
        first, second = (((secret >> shift) & (2**64 - 1)) - _SIGNED for shift in (0, 64))
        return f"hash_record_extended(ROW({', '.join([*columns, whole(second)])}), {whole(first)})"

    def nth_least(self, sql: str, place: int) -> str:
        return f"(array_agg({sql} ORDER BY {sql}))[{place}]"

    def collected(self, sql: str) -> str:
        return f"array_agg({sql})"

    def _list(self, parameter: str, kind: Kind) -> str:
        return f"%({parameter})s::{self.types[kind]}[]"

    def listed(self, parameter: str, kind: Kind) -> str:
        return f"unnest({self._list(parameter, kind)})"

    def member_of(self, value: str, parameter: str, kind: Kind) -> str:
        return f"{value} = ANY({self._list(parameter, kind)})"

    def numbered(self, parameter: str, kind: Kind) -> str:
        value = 'v COLLATE "C" AS v' if kind == "text" else "v"
        values = f"unnest({self._list(parameter, kind)}) WITH ORDINALITY AS listed(v, c)"
        return f"SELECT {value}, min(c) - 1 AS c FROM {values} GROUP BY v"

    def members_of(self, values: Sequence[str], parameters: Sequence[tuple[str, Kind]]) -> str:
        # rows with a NULL in them are equal to none: that a part is NULL is compared beside what stands in for it
        kinds = [kind for _, kind in parameters]
        mine = [
            part
            for value, kind in zip(values, kinds, strict=True)
            for part in (f"{value} IS NULL", f"coalesce({value}, {_STANDS_IN[kind]})")
        ]
        lists = ", ".join(self._list(name, kind) for name, kind in parameters)
        names = [f"p{index}" for index in range(len(kinds))]
        theirs = [
            part
            for name, kind in zip(names, kinds, strict=True)
            for part in (f"{name} IS NULL", f"coalesce({name}, {_STANDS_IN[kind]})")
        ]
        listed = f"unnest({lists}) AS listed({', '.join(names)})"
        return f"({', '.join(mine)}) IN (SELECT {', '.join(theirs)} FROM {listed})"

    def fitting_sum(self, sql: str, condition: str | None, most: int) -> str:
        if most <= _INT32:  # a sum of 32-bit numbers has 64 bits, and wraps around
            return self.total(f"sum(CAST({sql} AS integer))", condition)
        return super().fitting_sum(sql, condition, most)

    def extreme(self, function: str, sql: str, kind: Kind | None) -> str:
        if kind == "boolean":
            return f"{'bool_and' if function == 'min' else 'bool_or'}({sql})"
        return super().extreme(function, sql, kind)

    def nested(self, query: str) -> str:
        # a name that follows from the text: no two queries that stand side by side are the same
        return f"({query}) AS q{hashlib.blake2b(query.encode(), digest_size=6).hexdigest()}"

    def computed(self, query: str) -> str:
        # OFFSET 0 keeps the planner from writing a column out wherever it is read
        return self.nested(f"{query} OFFSET 0")

    def semi_join(self, other: str, on: str) -> str:
        return f" JOIN {other} {on}"

    def all_but(self, *columns: str) -> str:
        return "*"  # an extra column does no harm


POSTGRES = PostgresDialect()
