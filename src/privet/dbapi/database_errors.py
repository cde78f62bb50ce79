"""The exceptions of PEP 249, each of which is an error of Privet as well.

What a session raises keeps its class, its code and its fields: what the cursor raises is an instance of that class and
of the PEP's: `except privet.BudgetExceeded` catches a refused charge,
and so does `except privet.dbapi.OperationalError`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from privet.core.errors import InvariantError, PrivetError, RequestError, Unsupported, raise_alone


class Warning(UserWarning):
    """What is worth knowing although the call went on: that a rollback refunds nothing, or a note of an answer."""


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
    """Privet is wrong: a fact that its proofs rely on does not hold."""


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
    """Raise what Privet raises inside as errors of PEP 249 too, which carry nothing else."""
    try:
        yield
        return
    except PrivetError as error:
        found = as_database_error(error)
    raise_alone(found)
