"""Connections and cursors as PEP 249 has them, over a privet.toml, a session, or a server.

Each question is charged before a row is read, and nothing charged is ever taken back.
"""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Protocol, Self, runtime_checkable

from privet.core.errors import BadParameter, RequestError, Unsupported
from privet.core.given import is_a, listed
from privet.core.numbers import Number, open_probability, read_amount, whole
from privet.planner.plan import Plan
from privet.query.sql.rewrites import Parameters
from privet.query.terms import Width
from privet.results.output_columns import has_no_rows, output_columns

from . import pep249
from .pep249 import InterfaceError, Warning, as_database_error, as_database_errors

if TYPE_CHECKING:
    from privet.answer import Answer


class ResultColumn(NamedTuple):
    """One column of a result, as PEP 249 describes it. Only the first two are known."""

    name: str
    type_code: str | None
    display_size: None = None
    internal_size: None = None
    precision: None = None
    scale: None = None
    null_ok: None = None


class Cursor:
    """Asks questions in SQL over a connection and returns the rows of the last answer.

    Made by `Connection.cursor`. Threads may share a connection, but not a cursor.

    Example:
        >>> cursor = privet.dbapi.connect(session).cursor()
        >>> cursor.execute("SELECT COUNT(*) AS n FROM visits WHERE age > ?", [50], epsilon=0.5).rowcount
        1
        >>> cursor.answer.certificate()["cost"]["epsilon"]
        0.5
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._closed = False
        self._arraysize = 1
        self._clear()

    def _clear(self) -> None:
        self._answer: Answer | None = None
        self._description: tuple[ResultColumn, ...] | None = None
        self._rows: list[tuple[Any, ...]] | None = None
        self._place = 0
        self.messages: list[tuple[type[Warning], str]] = []
        """Notes on the last answer: what its intervals cover, and what they do not."""

    @property
    def connection(self) -> Connection:
        """The connection that the cursor asks over."""
        return self._connection

    @property
    def answer(self) -> Answer | None:
        """The last answer with its intervals, cost and certificate; None where there is none or no rows were asked for.

        Example:
            >>> cursor = privet.dbapi.connect(session).cursor().execute("SELECT COUNT(*) AS n FROM visits", epsilon=0.5)
            >>> cursor.answer["n"].low[0] <= cursor.answer["n"].values[0] <= cursor.answer["n"].high[0]
            True
        """
        return self._answer

    @property
    def description(self) -> tuple[ResultColumn, ...] | None:
        """The columns of the last answer, or of the last plan: of each its name and its kind."""
        return self._description

    @property
    def rowcount(self) -> int:
        """How many rows were released for the last question; -1 where none was answered."""
        return -1 if self._rows is None else len(self._rows)

    @property
    def rownumber(self) -> int | None:
        """The place of the next row, from 0."""
        return None if self._rows is None else self._place

    @property
    def lastrowid(self) -> None:
        """None: no row is ever inserted."""
        return None

    @property
    def arraysize(self) -> int:
        """How many rows `fetchmany` returns by default."""
        return self._arraysize

    @arraysize.setter
    def arraysize(self, size: int) -> None:
        with as_database_errors():
            self._arraysize = whole(size, "arraysize", least=1)

    def plan(
        self,
        operation: str,
        parameters: Parameters | None = None,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        within: Width | None = None,
        confidence: Number | None = None,
        at_most: Number | None = None,
    ) -> Plan:
        """Return the plan of a question, and set `description` from it. It costs nothing and reads no data.

        The arguments are those of `execute`.

        Example:
            >>> cursor = privet.dbapi.connect(session).cursor()
            >>> plan = cursor.plan("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", epsilon=0.5)
            >>> [(column.name, column.type_code) for column in cursor.description]
            [('ward', 'text'), ('n', 'integer')]
        """
        terms = self._terms(operation, parameters, (epsilon, rho, within, confidence, at_most))
        return self._planned(operation, terms)

    def execute(
        self,
        operation: str,
        parameters: Parameters | None = None,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        within: Width | None = None,
        confidence: Number | None = None,
        at_most: Number | None = None,
        key: str | None = None,
    ) -> Self:
        """Ask a question, which is charged first, and return this cursor. The same question again costs nothing.

        A question whose answer has no rows whatever the data are (LIMIT 0, or WHERE 1 = 0 around an answer) is not
        asked: it costs nothing, and only `description` is set. Tools send such questions to learn the columns.

        Args:
            operation: one SELECT, in SQL.
            parameters: values for ? and $1 in a list, or for :name and $name in a mapping. They become constants of
                the question, with their types, and never text of it.
            epsilon: the privacy loss that the answer may cost. Defaults to that of the connection, or else to a tenth
                of the budget.
            rho: the same as a zCDP parameter. Pass either epsilon or rho, not both.
            within: how wide intervals may be, instead of a cost. See `Session.plan`.
            confidence: the confidence level of the intervals. Defaults to 0.95.
            at_most: with `within`, the highest price.
            key: an idempotency key: trying again with the same key after a failure is charged once.

        Raises:
            ProgrammingError: if the question cannot be answered privately, or an argument is out of range. No charge.
            NotSupportedError: if there is no sound way to answer it. No charge.
            OperationalError: if the account cannot pay, or the ledger or the engine fails.

        Example:
            >>> cursor = privet.dbapi.connect(session).cursor()
            >>> len(cursor.execute("SELECT COUNT(*) FROM visits WHERE ward = :ward", {"ward": "B"}).fetchall())
            1
        """
        terms = self._terms(operation, parameters, (epsilon, rho, within, confidence, at_most))
        plan = self._planned(operation, terms)
        if isinstance(plan, Plan) and has_no_rows(plan):
            self._rows = []
            return self
        with as_database_errors():
            asked = {name: value for name, value in {**terms, "key": key}.items() if value is not None}
            answer = self._connection._asked(operation, asked)
        self._answer = answer
        self._rows = list(zip(*(series.values for series in answer.series), strict=True))
        self.messages = [(Warning, note) for note in answer.notes]
        return self

    def executemany(self, operation: str, seq_of_parameters: Sequence[Parameters]) -> NoReturn:
        """Refuse: each set of parameters is another question with its own price.

        Raises:
            NotSupportedError: always. Call `execute` for each set, or ask several questions for one charge with
                `Session.ask_all`.

        Example:
            >>> try:
            ...     privet.dbapi.connect(session).cursor().executemany("SELECT COUNT(*) FROM visits", [[], []])
            ... except privet.dbapi.NotSupportedError as refused:
            ...     print(refused.code)
            request.unsupported
        """
        self._check_open()
        raise as_database_error(
            Unsupported(
                "executemany would charge for each set of parameters, and keep the rows of the last one only; call "
                "execute for each, or ask several questions for one charge with Session.ask_all"
            )
        )

    def fetchone(self) -> tuple[Any, ...] | None:
        """Return the next row of the last answer, or None where there are no more.

        Raises:
            InterfaceError: if nothing was asked.
        """
        rows = self._answered()
        if self._place >= len(rows):
            return None
        self._place += 1
        return rows[self._place - 1]

    def fetchmany(self, size: int | None = None) -> list[tuple[Any, ...]]:
        """Return the next rows of the last answer, at most `size` of them, or `arraysize` where that is left out.

        Raises:
            InterfaceError: if nothing was asked.
        """
        rows = self._answered()
        with as_database_errors():
            wanted = self._arraysize if size is None else whole(size, "size")
        batch = rows[self._place : self._place + wanted]
        self._place += len(batch)
        return batch

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Return all rows of the last answer that were not returned yet.

        Raises:
            InterfaceError: if nothing was asked.
        """
        rows = self._answered()
        rest = rows[self._place :]
        self._place = len(rows)
        return rest

    def setinputsizes(self, sizes: Sequence[Any]) -> None:
        """Do nothing, as PEP 249 allows: parameters have the types of their values."""
        with as_database_errors():
            listed(sizes, "sizes", "a list with one entry for each parameter")

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Do nothing, as PEP 249 allows: values are returned whole."""
        with as_database_errors():
            whole(size, "size")
            if column is not None:
                whole(column, "column")

    def close(self) -> None:
        """Close the cursor: it takes no more questions."""
        self._clear()
        self._closed = True

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return self

    def __next__(self) -> tuple[Any, ...]:
        row = self.fetchone()
        if row is None:
            raise StopIteration
        return row

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _check_open(self) -> None:
        if self._closed:
            raise InterfaceError("this cursor is closed; make another one with cursor()")
        self._connection.check_open()

    def _answered(self) -> list[tuple[Any, ...]]:
        self._check_open()
        if self._rows is None:
            raise InterfaceError("there are no rows, for nothing was asked yet; call execute first")
        return self._rows

    def _terms(self, operation: str, parameters: Parameters | None, terms: tuple[Any, ...]) -> dict[str, Any]:
        """Return how a question is asked, with the connection's terms where no others are stated."""
        self._check_open()
        self._clear()
        with as_database_errors():
            if not isinstance(operation, str):
                raise BadParameter("operation", type(operation).__name__, "one SELECT, in SQL")
        names = ("epsilon", "rho", "within", "confidence", "at_most")
        said = {name: value for name, value in zip(names, terms, strict=True) if value is not None}
        usual: Mapping[str, Any] = self._connection.terms
        if said.keys() & {"epsilon", "rho", "within"}:  # another price replaces the connection's, whatever its measure
            usual = {name: value for name, value in usual.items() if name not in ("epsilon", "rho")}
        return {**usual, **said, **({} if parameters is None else {"parameters": parameters})}

    def _planned(self, operation: str, terms: Mapping[str, Any]) -> Plan:
        with as_database_errors():
            plan = self._connection._planned(operation, terms)
            columns = output_columns(plan)
        self._description = tuple(ResultColumn(column.name, column.kind) for column in columns)
        return plan


_ADDRESSES = ("https://", "http://")


@runtime_checkable
class AnswersSql(Protocol):
    """The part of a session that a connection needs, here or on another computer."""

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
        epsilon: the cost of each question that does not state its own, such as those of `pandas.read_sql`.
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
            raise BadParameter("analyst", analyst, "left out: the token identifies who asks a server")
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

    Warning = pep249.Warning
    Error = pep249.Error
    InterfaceError = pep249.InterfaceError
    DatabaseError = pep249.DatabaseError
    DataError = pep249.DataError
    OperationalError = pep249.OperationalError
    IntegrityError = pep249.IntegrityError
    InternalError = pep249.InternalError
    ProgrammingError = pep249.ProgrammingError
    NotSupportedError = pep249.NotSupportedError

    def __init__(self, session: AnswersSql, terms: Mapping[str, Any], *, owned: bool) -> None:
        self._session, self._owned = session, owned
        self.terms: Mapping[str, Any] = MappingProxyType(dict(terms))
        """The cost of each question, and its confidence level, where it does not state its own."""
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
        """Do nothing: answers are charged and stored already.

        Raises:
            InterfaceError: if the connection is closed.
        """
        self.check_open()
        with self._lock:
            self._count = 0

    def rollback(self) -> None:
        """Take nothing back: charges stay. It warns where a question was asked since the last commit.

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
                pep249.Warning,
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
