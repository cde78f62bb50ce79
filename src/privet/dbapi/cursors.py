"""A cursor: one question after the other, each charged before a row is read, and the rows of the last answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Self

from privet.core.errors import BadParameter, Unsupported
from privet.core.given import listed
from privet.core.numbers import Number, whole
from privet.planner.plan import Plan
from privet.query.sql.rewrites import Parameters
from privet.query.terms import Width
from privet.results.output_columns import has_no_rows, output_columns

from .database_errors import InterfaceError, Warning, as_database_error, as_database_errors

if TYPE_CHECKING:
    from privet.answer import Answer

    from .connection import Connection


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
        """What there is to know about the last answer: what its intervals cover, and what they do not."""

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
        """How many rows `fetchmany` returns where it is not told."""
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
        """Refuse: each set of parameters is another question with a price of its own.

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
        found = rows[self._place : self._place + wanted]
        self._place += len(found)
        return found

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Return all rows of the last answer that were not returned yet.

        Raises:
            InterfaceError: if nothing was asked.
        """
        rows = self._answered()
        found = rows[self._place :]
        self._place = len(rows)
        return found

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
        """Return how a question is asked, with what the connection says where nothing else is said."""
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
        self._description = tuple(ResultColumn(one.name, one.kind) for one in columns)
        return plan
