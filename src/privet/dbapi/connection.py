"""A connection as PEP 249 has it, over a privet.toml, a session, or a server. Nothing charged is ever taken back."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, Self, runtime_checkable

from privet.core.errors import BadParameter, RequestError
from privet.core.given import is_a
from privet.core.numbers import Number, open_probability, read_amount
from privet.planner.plan import Plan

from . import database_errors
from .cursors import Cursor
from .database_errors import InterfaceError, as_database_errors

if TYPE_CHECKING:
    from privet.answer import Answer

_ADDRESSES = ("https://", "http://")


@runtime_checkable
class AnswersSql(Protocol):
    """What a connection needs of a session, here or on another computer."""

    @property
    def plan(self) -> Callable[..., Plan]:
        """Returns the plan of a question, for nothing."""
        ...

    @property
    def ask(self) -> Callable[..., Answer]:
        """Returns the answer to a question, which is charged first."""
        ...

    def close(self) -> None:
        """Close it."""
        ...


def connect(
    source: str | os.PathLike[str] | AnswersSql = "privet.toml",
    *,
    analyst: str | None = None,
    token: str | None = None,
    epsilon: Number | None = None,
    rho: Number | None = None,
    confidence: Number | None = None,
) -> Connection:
    """Return a connection as PEP 249 has it: over a privet.toml, an open session, or a server.

    Args:
        source: the path of a privet.toml; or a `Session`, which is borrowed and stays open; or the https:// address of
            a server.
        analyst: with a path, whose account pays.
        token: with an address, the token of the account that pays.
        epsilon: what each question may cost where it does not say so itself, such as those of `pandas.read_sql`.
            Defaults to a tenth of the budget.
        rho: the same as a zCDP parameter. Pass either epsilon or rho, not both.
        confidence: the confidence level of the intervals. Defaults to 0.95.

    Raises:
        ProgrammingError: if the file has problems, or an argument does not fit.

    Example:
        >>> with privet.dbapi.connect(session, epsilon=0.5) as connection:
        ...     connection.cursor().execute("SELECT COUNT(*) FROM visits").description[0].type_code
        'integer'
    """
    with as_database_errors():
        terms = _read_terms(epsilon, rho, confidence)
        session = _opened(source, analyst, token)
    return Connection(session, terms, owned=session is not source)


def _read_terms(epsilon: object, rho: object, confidence: object) -> dict[str, Any]:
    if epsilon is not None and rho is not None:
        raise RequestError("Pass either epsilon or rho, not both.")
    readers = {
        "epsilon": (epsilon, read_amount),
        "rho": (rho, read_amount),
        "confidence": (confidence, open_probability),
    }
    return {name: read(value, name) for name, (value, read) in readers.items() if value is not None}


def _opened(source: Any, analyst: str | None, token: str | None) -> AnswersSql:
    if isinstance(source, str) and source.startswith(_ADDRESSES):
        if analyst is not None:
            raise BadParameter("analyst", analyst, "left out: the token says who asks a server")
        return _remote(source, token)
    if token is not None:
        raise BadParameter("token", "a token", "left out, except with the https:// address of a server")
    if isinstance(source, (str, os.PathLike)):
        from privet.config.sessions import open as open_session

        return open_session(Path(source), analyst)
    if analyst is not None:
        raise BadParameter("analyst", analyst, "left out, except with the path of a privet.toml")
    if not is_a(source, AnswersSql):
        raise BadParameter("source", type(source).__name__, "the path of a privet.toml, a Session, or an address")
    return source  # type: ignore[no-any-return]


def _remote(address: str, token: str | None) -> AnswersSql:
    from privet.remote.remote_session import connect as connect_session

    return connect_session(address, token)


class Connection:
    """A connection as PEP 249 has it. There are no transactions: a question is charged and answered, or neither.

    Made by `connect`. Threads may share it.

    Example:
        >>> connection = privet.dbapi.connect(session)
        >>> with connection.cursor() as cursor:
        ...     rows = cursor.execute("SELECT ward, COUNT(*) FROM visits GROUP BY ward", epsilon=0.5).fetchall()
        >>> [ward for ward, _ in rows]
        ['A', 'B']
    """

    Warning = database_errors.Warning
    Error = database_errors.Error
    InterfaceError = database_errors.InterfaceError
    DatabaseError = database_errors.DatabaseError
    DataError = database_errors.DataError
    OperationalError = database_errors.OperationalError
    IntegrityError = database_errors.IntegrityError
    InternalError = database_errors.InternalError
    ProgrammingError = database_errors.ProgrammingError
    NotSupportedError = database_errors.NotSupportedError

    def __init__(self, session: AnswersSql, terms: Mapping[str, Any], *, owned: bool) -> None:
        self._session, self._owned = session, owned
        self.terms: Mapping[str, Any] = MappingProxyType(dict(terms))
        """What each question may cost, and its confidence, where it does not say so itself."""
        self._lock = threading.Lock()
        self._count = 0
        self._closed = False

    @property
    def session(self) -> AnswersSql:
        """The session that answers, for all that SQL cannot ask."""
        return self._session

    def cursor(self) -> Cursor:
        """Return a new cursor.

        Raises:
            InterfaceError: if the connection is closed.
        """
        self.check_open()
        return Cursor(self)

    def commit(self) -> None:
        """Do nothing: what is answered is charged and stored already.

        Raises:
            InterfaceError: if the connection is closed.
        """
        self.check_open()
        with self._lock:
            self._count = 0

    def rollback(self) -> None:
        """Take nothing back: what is charged stays charged. It warns where something was asked since the last commit.

        Raises:
            InterfaceError: if the connection is closed.
        """
        self.check_open()
        with self._lock:
            answered, self._count = self._count, 0
        if answered:
            asked = "1 question was" if answered == 1 else f"{answered:,} questions were"
            warnings.warn(
                f"{asked} answered since the last commit; a rollback refunds nothing: what is charged stays charged",
                database_errors.Warning,
                stacklevel=2,
            )

    def close(self) -> None:
        """Close the connection, and the session that it opened itself; a session that it was given stays open."""
        with self._lock:
            closed, self._closed = self._closed, True
        if self._owned and not closed:
            self._session.close()

    def check_open(self) -> None:
        """Raise unless the connection is open."""
        if self._closed:
            raise InterfaceError("this connection is closed; make another one with connect()")

    def _planned(self, operation: str, terms: Mapping[str, Any]) -> Plan:
        """Return the plan of a question. It costs nothing."""
        return self._session.plan(operation, **terms)

    def _asked(self, operation: str, terms: Mapping[str, Any]) -> Answer:
        """Return the answer to a question, which is charged first."""
        answer = self._session.ask(operation, **terms)
        with self._lock:
            self._count += 1
        return answer

    def __enter__(self) -> Self:
        self.check_open()
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
