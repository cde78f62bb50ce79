"""The names that PEP 249 prescribes: exceptions, each an error of Privet as well, type objects and constructors.

The type code of a column is the kind that is declared for it.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from privet.core.errors import BadParameter, InvariantError, PrivetError, RequestError, Unsupported, raise_alone
from privet.core.given import choice
from privet.core.numbers import Number, rational
from privet.core.schema import Kind


class Warning(UserWarning):
    """A warning of a call that went on: that a rollback refunds nothing, or a note of an answer."""


class Error(PrivetError):
    """The root of the errors of PEP 249."""


class InterfaceError(Error, RequestError):
    """The interface is used wrongly: a closed connection or cursor, rows before a question."""


class DatabaseError(Error):
    """The root of the errors about a question, the budget, the ledger or the data."""


class DataError(DatabaseError):
    """A problem with values of the data. Never raised: errors depend on public facts only."""


class OperationalError(DatabaseError):
    """A budget is gone, or the ledger, the engine or the server failed."""


class IntegrityError(DatabaseError):
    """A constraint of the data is broken. Never raised: errors depend on public facts only."""


class InternalError(DatabaseError):
    """Privet is wrong: a fact that its proofs rely on is false."""


class ProgrammingError(DatabaseError):
    """The question or an argument can be mended by the caller."""


class NotSupportedError(DatabaseError):
    """The question is understood, and there is no sound way to answer it."""


_BY_PRIVET: tuple[tuple[type[PrivetError], type[DatabaseError]], ...] = (
    (Unsupported, NotSupportedError),
    (RequestError, ProgrammingError),
    (InvariantError, InternalError),
    (PrivetError, OperationalError),
)
"""The PEP's class for each of Privet's, the first that fits."""


def as_database_error(error: PrivetError) -> Error:
    """Return an error as one of PEP 249 too, with the same class, code, message and fields as before."""
    if isinstance(error, Error):
        return error
    return _joined(type(error), error.args, dict(vars(error)))


def _joined(kind: type[PrivetError], args: tuple[object, ...], fields: dict[str, object]) -> Error:
    made = _both(kind)  # type: ignore[arg-type]
    error = made.__new__(made, *args)
    error.__dict__.update(fields)
    return error


@cache
def _both(kind: type[PrivetError]) -> type[Error]:
    """Return the class of errors that are both of a kind of Privet's and of the PEP's."""
    pep = next(pep for privet, pep in _BY_PRIVET if issubclass(kind, privet))

    def reduced(self: Any) -> tuple[object, ...]:
        return _joined, (kind, self.args, dict(vars(self)))

    members = {"__module__": kind.__module__, "__doc__": kind.__doc__, "__reduce__": reduced}
    return type(kind.__name__, (pep, kind), members)


@contextmanager
def as_database_errors() -> Iterator[None]:
    """Raise errors of Privet inside as errors of PEP 249 too, which carry nothing else."""
    try:
        yield
        return
    except PrivetError as error:
        converted = as_database_error(error)
    raise_alone(converted)


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
