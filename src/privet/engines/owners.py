"""Whose row it is, as SQL over a stored table: the unit of a row, and the test that it has one."""

from __future__ import annotations

import datetime

from privet.core.errors import InvariantError
from privet.core.schema import Schema
from privet.core.unit import Person, Window
from privet.query.functions import LONGEST

from .moments import FIRST, FIRST_MOMENT, LAST, LAST_MOMENT
from .text import constant, whole
from .values import between, clamped, physical

_DAY = datetime.timedelta(days=1)
_MICROSECOND = datetime.timedelta(microseconds=1)
_FIRST = 62_135_596_800_000_000
"""Microseconds from the first day of the calendar to 1970."""


def owner_of(schema: Schema, prefix: str = "") -> tuple[str, str]:
    """Return the unit of a row, and the condition under which it has one.

    The person is as it is stored and neither clamped nor cut: that would make one person of several. For a window of
    time the unit is the person and the bucket that holds the row's time.

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
        known += f" AND NOT isnan({owner})"
    if schema.columns[column].kind == "text":
        # joins copy it: one that is too long stands as its fingerprint, so that people stay apart; and that is longer
        # than any that stands for itself, or one person's id could equal another's fingerprint
        mark = f"rpad(sha256({owner}), {LONGEST + 1}, '.')"
        owner = f"CASE WHEN strlen({owner}) > {LONGEST} THEN {mark} ELSE {owner} END"
    if isinstance(unit, Person):
        return owner, known
    time, dates = f"{prefix}{names[unit.time]}", schema.columns[unit.time].kind == "date"
    first, last = (FIRST, LAST) if dates else (FIRST_MOMENT, LAST_MOMENT)
    bucket = _bucket(unit, f"({between(time, constant(first), constant(last))})", dates=dates)
    known += f" AND ({clamped(time, schema.columns[unit.time])}) IS NOT NULL"
    return f"struct_pack(p := {owner}, b := {bucket})", known


def _bucket(unit: Window, time: str, *, dates: bool) -> str:
    """Return the number of the bucket that holds a time, counted so that it is never negative."""
    since = datetime.timedelta(days=unit.origin.toordinal() - 1)
    size, start = (
        (unit.length // _DAY, since // _DAY) if dates else (unit.length // _MICROSECOND, since // _MICROSECOND)
    )
    passed = f"({time} - DATE '0001-01-01')" if dates else f"(epoch_us({time}) + {whole(_FIRST)})"
    return f"(({passed} + {whole(-start % size)}) // {whole(size)})"
