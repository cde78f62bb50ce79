"""The type objects and constructors of PEP 249. The type code of a column is the kind that is declared for it."""

from __future__ import annotations

import datetime

from privet.core.errors import BadParameter
from privet.core.given import choice
from privet.core.numbers import Number, rational
from privet.core.schema import Kind

from .database_errors import as_database_errors

KINDS = ("integer", "number", "boolean", "text", "date", "timestamp")
"""Every type code."""


class TypeObject:
    """A group of type codes: it equals each of them.

    Example:
        >>> privet.dbapi.NUMBER == "integer", privet.dbapi.STRING == "integer"
        (True, False)
    """

    def __init__(self, *codes: Kind) -> None:
        self.codes = frozenset(choice(code, "codes", KINDS) for code in codes)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, TypeObject):
            return self.codes == other.codes
        return type(other) is str and other in self.codes

    def __hash__(self) -> int:
        return hash(self.codes)

    def __repr__(self) -> str:
        return f"TypeObject({', '.join(map(repr, sorted(self.codes)))})"


STRING = TypeObject("text")
BINARY = TypeObject()
NUMBER = TypeObject("integer", "number", "boolean")
DATETIME = TypeObject("date", "timestamp")
ROWID = TypeObject()

Date = datetime.date
Time = datetime.time
Timestamp = datetime.datetime
Binary = bytes


def DateFromTicks(ticks: Number) -> datetime.date:
    """Return the day of a number of seconds since 1970, in UTC.

    Example:
        >>> privet.dbapi.DateFromTicks(0)
        datetime.date(1970, 1, 1)
    """
    return TimestampFromTicks(ticks).date()


def TimeFromTicks(ticks: Number) -> datetime.time:
    """Return the time of day of a number of seconds since 1970, in UTC.

    Example:
        >>> privet.dbapi.TimeFromTicks(60)
        datetime.time(0, 1)
    """
    return TimestampFromTicks(ticks).time()


def TimestampFromTicks(ticks: Number) -> datetime.datetime:
    """Return the point in time of a number of seconds since 1970, in UTC and without a time zone.

    Example:
        >>> privet.dbapi.TimestampFromTicks(60)
        datetime.datetime(1970, 1, 1, 0, 1)
    """
    with as_database_errors():
        seconds = rational(ticks, "ticks", "a number of seconds since 1970")
        microseconds = round(seconds * 1_000_000)
        if not _FIRST <= microseconds <= _LAST:
            raise BadParameter("ticks", ticks, "a number of seconds since 1970, within the years 1 to 9999")
    return _EPOCH + datetime.timedelta(microseconds=microseconds)


_EPOCH = datetime.datetime(1970, 1, 1)
_FIRST, _LAST = (
    (moment - _EPOCH) // datetime.timedelta(microseconds=1) for moment in (datetime.datetime.min, datetime.datetime.max)
)
