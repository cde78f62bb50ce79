"""Dates and points in time as DuckDB SQL. All values lie in the years 1 to 9999; what would not is NULL."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence

from privet.core.errors import InvariantError
from privet.core.expression import Value
from privet.core.schema import Kind

from .rendered import Bind
from .text import constant, quoted

Several = Sequence[tuple[str, Kind | None, Value]]
Method = Callable[[Bind, str, Several, bool], str]

FIRST, LAST = datetime.date(1, 1, 1), datetime.date(9999, 12, 31)
FIRST_MOMENT, LAST_MOMENT = datetime.datetime.min, datetime.datetime.max
MONDAY = "DATE '0001-01-01'"
"""The first day of the calendar is a Monday, so weeks can be counted from it."""

_YEAR = "(?:000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})"
_DATE_TEXT = f"{_YEAR}-[0-9]{{2}}-[0-9]{{2}}"
_TIME_TEXT = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,6})?"


def _as_moment(sql: str, kind: Kind | None) -> str:
    return sql if kind == "timestamp" else f"CAST({sql} AS TIMESTAMP)"


def _as_date(sql: str, kind: Kind | None) -> str:
    return sql if kind == "date" else f"CAST({sql} AS DATE)"


def _part(function: str) -> Method:
    def method(bind: Bind, name: str, several: Several, safe: bool) -> str:
        sql, _, _ = several[0]
        return f"CAST({function}({sql}) AS BIGINT)"

    return method


def _trunc(bind: Bind, name: str, several: Several, safe: bool) -> str:
    (_, _, part), (sql, kind, _) = several
    found = f"date_trunc({quoted(str(part))}, {sql})"
    return f"CAST({found} AS {'DATE' if kind == 'date' else 'TIMESTAMP'})"


def _ordinal(bind: Bind, part: str, sql: str, kind: Kind | None) -> str:
    """Return the number of the part that holds a moment, counted from the start of the calendar."""
    if part in ("day", "week"):
        days = f"({_as_date(sql, kind)} - {MONDAY})"
        return days if part == "day" else f"({days} // 7)"
    if part in ("second", "minute", "hour"):
        size = {"second": 1, "minute": 60, "hour": 3600}[part] * 1_000_000
        since = f"(epoch_us({_as_moment(sql, kind)}) + 62135596800000000)"  # from 0001-01-01, so never negative
        return f"({since} // {size})"
    if part == "year":
        return f"year({_as_date(sql, kind)})"
    months = bind(_as_date(sql, kind), lambda x: f"(year({x}) * 12 + month({x}) - 1)")
    return months if part == "month" else f"({months} // 3)"


def _diff(bind: Bind, name: str, several: Several, safe: bool) -> str:
    (_, _, part), start, end = several
    first, last = (_ordinal(bind, str(part), sql, kind) for sql, kind, _ in (start, end))
    return f"CAST({last} - {first} AS BIGINT)"


def shift_range(part: str, amount: int, kind: Kind | None) -> tuple[Value, Value] | None:
    """Return the first and the last value that can be moved by so much without leaving the calendar."""
    lowest, highest = (FIRST, LAST) if kind == "date" else (FIRST_MOMENT, LAST_MOMENT)
    try:
        if part == "month":
            low, high = max(12, 12 - amount), min(9999 * 12 + 11, 9999 * 12 + 11 - amount)
            if low > high:
                return None
            first = lowest.replace(year=low // 12, month=low % 12 + 1)
            # the last day of the last month: the day before the next one's first
            last = highest.replace(year=high // 12, month=high % 12 + 1, day=1)
            if (high // 12, high % 12) != (9999, 11):
                following = last.replace(year=(high + 1) // 12, month=(high + 1) % 12 + 1)
                last = following - datetime.timedelta(days=1)
            else:
                last = highest
            return first, last
        move = datetime.timedelta(**{f"{part}s": amount})
        return (lowest, highest - move) if amount >= 0 else (lowest - move, highest)
    except OverflowError:
        return None


def _shift(part: str) -> Method:
    def method(bind: Bind, name: str, several: Several, safe: bool) -> str:
        (sql, kind, _), (_, _, amount) = several
        if isinstance(amount, bool) or not isinstance(amount, int):
            raise InvariantError("a shift is by a constant whole number")
        typed = "DATE" if kind == "date" else "TIMESTAMP"
        found = shift_range(part, amount, kind)
        if found is None:
            return f"NULL::{typed}"
        interval = f"to_{part}s({amount})"
        moved = f"CAST({{x}} + {interval} AS {typed})"
        low, high = constant(found[0]), constant(found[1])
        return bind(sql, lambda x: f"CASE WHEN {x} >= {low} AND {x} <= {high} THEN {moved.format(x=x)} END")

    return method


def _to_date(bind: Bind, name: str, several: Several, safe: bool) -> str:
    sql, kind, _ = several[0]
    if kind == "text":
        return f"TRY_CAST(regexp_extract({sql}, {quoted(f'^{_DATE_TEXT}$')}) AS DATE)"
    return _as_date(sql, kind)


def _to_timestamp(bind: Bind, name: str, several: Several, safe: bool) -> str:
    sql, kind, _ = several[0]
    if kind == "text":
        return f"TRY_CAST(regexp_extract({sql}, {quoted(f'^{_DATE_TEXT}(?: {_TIME_TEXT})?$')}) AS TIMESTAMP)"
    return _as_moment(sql, kind)


METHODS: Mapping[str, Method] = {
    "year": _part("year"),
    "quarter": _part("quarter"),
    "month": _part("month"),
    "week": _part("week"),
    "day": _part("day"),
    "day_of_week": _part("isodow"),
    "day_of_year": _part("dayofyear"),
    "hour": _part("hour"),
    "minute": _part("minute"),
    "second": _part("second"),
    "date_trunc": _trunc,
    "date_diff": _diff,
    "add_days": _shift("day"),
    "add_months": _shift("month"),
    "add_seconds": _shift("second"),
    "to_date": _to_date,
    "to_timestamp": _to_timestamp,
}
