"""Whose row it is, as SQL over a stored table: the unit of a row, and the test that it has one."""

from __future__ import annotations

import datetime

from privet.core.errors import InvariantError
from privet.core.schema import Schema
from privet.core.unit import Person, Window
from privet.query.functions import LONGEST

from .text import whole
from .values import clamped, physical

_DAY = datetime.timedelta(days=1)
_MICROSECOND = datetime.timedelta(microseconds=1)
_FIRST = 62_135_596_800_000_000
"""Microseconds from the first day of the calendar to 1970."""


def owner_of(schema: Schema, prefix: str = "") -> tuple[str, str]:
    """Return the unit of a row, and the condition under which it has one.

    The person is as it is stored and neither clamped nor cut: that would make one person of several. For a window of
    time the unit is the person and the bucket that holds the row's time.

    Guarantee: rows of a person within a window of the unit's length have one of at most two units: buckets are that
    long, and a time that is clamped to its bounds moves no further from another.
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
        # than any that stands for itself, or somebody could be called like another's fingerprint
        mark = f"rpad(sha256({owner}), {LONGEST + 1}, '.')"
        owner = f"CASE WHEN strlen({owner}) > {LONGEST} THEN {mark} ELSE {owner} END"
    if isinstance(unit, Person):
        return owner, known
    time = clamped(f"{prefix}{names[unit.time]}", schema.columns[unit.time])
    bucket = _bucket(unit, f"({time})", dates=schema.columns[unit.time].kind == "date")
    return f"struct_pack(p := {owner}, b := {bucket})", f"{known} AND ({time}) IS NOT NULL"


def _bucket(unit: Window, time: str, *, dates: bool) -> str:
    """Return the number of the bucket that holds a time, counted so that it is never negative."""
    since = datetime.timedelta(days=unit.origin.toordinal() - 1)
    size, start = (
        (unit.length // _DAY, since // _DAY) if dates else (unit.length // _MICROSECOND, since // _MICROSECOND)
    )
    passed = f"({time} - DATE '0001-01-01')" if dates else f"(epoch_us({time}) + {whole(_FIRST)})"
    return f"(({passed} + {whole(-start % size)}) // {whole(size)})"
